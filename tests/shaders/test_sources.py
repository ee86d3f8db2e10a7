"""Rules that every shader source keeps."""

import re
from importlib.resources import files

import pytest

SOURCES = [f for f in files("engine.shaders").iterdir() if f.name.endswith((".metal", ".h"))]


@pytest.mark.parametrize("source", SOURCES, ids=lambda f: f.name)
def test_sources_are_ascii(source) -> None:  # type: ignore[no-untyped-def]
    source.read_bytes().decode("ascii")


@pytest.mark.parametrize("source", SOURCES, ids=lambda f: f.name)
def test_no_function_takes_a_device_pointer(source) -> None:  # type: ignore[no-untyped-def]
    """MLX passes inputs of fewer than 8 elements as `constant`: such a function would not fit."""
    text = re.sub(r"//.*", "", source.read_text("ascii"))
    assert not re.search(r"inline [^{;]*\bdevice\b[^{;]*\{", text)
