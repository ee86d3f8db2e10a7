"""The icon: the file for a Mac holds the drawing, at every size."""

import struct
from collections.abc import Iterator
from pathlib import Path

import make_icon
import pytest
from PySide6.QtGui import QImage
from PySide6.QtSvg import QSvgRenderer

ICON = make_icon.RESOURCES / "martlet.icns"
SIDES = make_icon.PLAIN | make_icon.DOUBLE
NEAR = 3.0  # of 255 a pixel: between versions of Qt


def pictures(data: bytes) -> Iterator[tuple[bytes, QImage]]:
    magic, size = struct.unpack_from(">4sI", data)
    assert (magic, size) == (b"icns", len(data))
    at = 8
    while at < size:
        kind, length = struct.unpack_from(">4sI", data, at)
        yield kind, QImage.fromData(data[at + 8 : at + length])
        at += length


def test_every_size_is_there() -> None:
    found = {kind: (i.width(), i.height()) for kind, i in pictures(ICON.read_bytes())}
    assert found == {kind: (side, side) for kind, side in SIDES.items()}


@pytest.mark.parametrize("kind", [b"icp4", b"ic07"])
def test_it_is_the_drawing_as_it_is_now(qapp: object, kind: bytes) -> None:
    drawing = QSvgRenderer(str(make_icon.RESOURCES / "martlet.svg"))
    drawn = QImage.fromData(make_icon.drawn(drawing, SIDES[kind]))
    kept = dict(pictures(ICON.read_bytes()))[kind]
    assert difference(drawn, kept) < NEAR


def difference(a: QImage, b: QImage) -> float:
    """The mean difference of a channel."""
    form = QImage.Format.Format_ARGB32_Premultiplied
    one, other = (bytes(image.convertToFormat(form).constBits()) for image in (a, b))
    assert len(one) == len(other)
    return sum(abs(x - y) for x, y in zip(one, other, strict=True)) / len(one)


def test_the_smallest_shows_a_light_bird_on_a_dark_ground() -> None:
    small = dict(pictures(ICON.read_bytes()))[b"icp4"]
    light = [small.pixelColor(x, y).lightness() for x in range(16) for y in range(16)]
    assert 10 <= sum(value > 220 for value in light) <= 80
    assert Path(ICON).stat().st_size < 200_000
