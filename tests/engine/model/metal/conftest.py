"""Shaders built for the processor. Programs are kept in pytest's cache: a text compiles once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.model.metal.shader import Build
from tests.shaders.host import HostTarget, compiler


@pytest.fixture(scope="session")
def program_folder(request: pytest.FixtureRequest) -> Path:
    if compiler() is None:
        pytest.skip("no C++ compiler with address and undefined-behaviour sanitizers")
    return request.config.cache.mkdir("shaders")


@pytest.fixture(scope="module")
def build(program_folder: Path) -> Iterator[Build]:
    """Stands for `mx.fast.metal_kernel`: every launch runs in three orders of lanes."""
    target = HostTarget(program_folder)
    yield target
    target.close()
