"""Fixtures of the native core's tests."""

from collections.abc import Iterator

import pytest

from engine.native.core import NativeCore, native_core


@pytest.fixture
def core() -> Iterator[NativeCore]:
    """The core, with as many threads and the instructions that it chose itself afterwards."""
    core = native_core()
    assert core is not None, "the core could not be built; the log says why"
    chosen, threads = core.instruction_set, core.threads
    yield core
    core.use_instruction_set(chosen)
    core.threads = threads
