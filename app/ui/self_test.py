"""The screen's part of the self-test, `python -m app.ui.self_test`: see `app.self_test`."""

import sys
from collections.abc import Iterator
from functools import partial

from PySide6.QtCore import QSize, qVersion
from PySide6.QtGui import QFontDatabase, QGuiApplication, QIcon, QImageReader
from PySide6.QtWidgets import QApplication, QStyleFactory

from app.self_test import Check, attempt, import_all, tell
from app.ui import theme, translation

FORMATS = ("gif", "ico", "jpeg", "png", "svg", "webp")
ICONS = translation.FOLDER.parent / "icons"
SIDE = 32  # px


def checks() -> Iterator[Check]:
    """Everything that is drawn with. Needs the application object."""
    yield attempt("app modules", lambda: import_all("app"))
    yield attempt("qt platform", lambda: f"{QGuiApplication.platformName()}, Qt {qVersion()}")
    yield attempt("qt style", _style)
    yield attempt("fonts", _fonts)
    for name in FORMATS:
        yield attempt(f"image format {name}", partial(_image_format, name))
    yield attempt("icon of the application", lambda: _drawn(theme.application_icon()))
    for path in sorted(ICONS.glob("*.svg")):
        yield attempt(f"icon {path.stem}", partial(_icon, path.stem))
    yield attempt("translations", _translations)


def _style() -> str:
    """A Mac's own; elsewhere Qt's."""
    wanted = "macos" if sys.platform == "darwin" else "fusion"
    styles = [name.lower() for name in QStyleFactory.keys()]  # noqa: SIM118 - no mapping
    if wanted not in styles:
        raise LookupError(f"the style {wanted} is not among {styles}")
    return wanted


def _fonts() -> str:
    families = QFontDatabase.families()
    if not families:
        raise LookupError("Qt finds no font")
    return f"{len(families)} families; {theme.font().family()}, {theme.code_font().family()}"


def _image_format(name: str) -> None:
    formats = [bytes(known.data()).decode() for known in QImageReader.supportedImageFormats()]
    if name not in formats:
        raise LookupError(f"{name} is not among {formats}")


def _icon(name: str) -> None:
    _drawn(theme.icon(name))


def _drawn(icon: QIcon) -> None:
    """Raises ValueError where nothing is drawn."""
    image = icon.pixmap(QSize(SIDE, SIDE)).toImage()
    pixels = (image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height()))
    if not any(pixel.alpha() for pixel in pixels):
        raise ValueError("it is empty")


def _translations() -> str:
    files = sorted(path.name for path in translation.FOLDER.glob("*.qm"))
    if not files:
        raise FileNotFoundError(f"{translation.FOLDER} holds none")
    return ", ".join(files)


if __name__ == "__main__":
    qt = QApplication(sys.argv)
    tell(checks())
