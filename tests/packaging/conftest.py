"""The build's modules can be imported by their names, as its scripts do."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from bundle.target import Bundle

sys.path.append(str(Path(__file__).parents[2] / "packaging"))


@pytest.fixture
def bundle(tmp_path: Path) -> "Bundle":
    """A Martlet.app of a few kilobytes, in which nothing is wrong."""
    from tests.packaging.sound_bundle import make_bundle

    return make_bundle(tmp_path)
