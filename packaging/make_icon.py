"""Draws the application's icon at all sizes, and packs them for a Mac:

    .venv/bin/python packaging/make_icon.py        resources/martlet.svg → resources/martlet.icns

Needs PySide6. An .icns file is a list of chunks, big-endian: type, length with these eight bytes,
a PNG. Source: the table of types in Apple's IconServices; `@2x` is for screens of double density.
"""

import os
import struct
import sys
from pathlib import Path

os.environ["QT_QPA_PLATFORM"] = "offscreen"

from PySide6.QtCore import QBuffer, QIODevice, QRectF, Qt
from PySide6.QtGui import QGuiApplication, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

RESOURCES = Path(__file__).resolve().parent.parent / "resources"
PLAIN = {b"icp4": 16, b"icp5": 32, b"ic07": 128, b"ic08": 256, b"ic09": 512}  # px
DOUBLE = {b"ic11": 32, b"ic12": 64, b"ic13": 256, b"ic14": 512, b"ic10": 1024}  # @2x


def main() -> int:
    """Write the file."""
    qt = QGuiApplication(sys.argv)
    drawing = QSvgRenderer(str(RESOURCES / "martlet.svg"))
    (RESOURCES / "martlet.icns").write_bytes(
        packed({kind: drawn(drawing, side) for kind, side in (PLAIN | DOUBLE).items()})
    )
    del qt
    return 0


def drawn(drawing: QSvgRenderer, side: int) -> bytes:
    """A PNG of `side` by `side` pixels."""
    image = QImage(side, side, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    drawing.render(painter, QRectF(0, 0, side, side))
    painter.end()
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]
    return bytes(buffer.data().data())


def packed(pictures: dict[bytes, bytes]) -> bytes:
    """The bytes of an .icns file."""
    chunks = [kind + struct.pack(">I", 8 + len(png)) + png for kind, png in pictures.items()]
    body = b"".join(chunks)
    return b"icns" + struct.pack(">I", 8 + len(body)) + body


if __name__ == "__main__":
    sys.exit(main())
