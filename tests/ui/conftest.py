"""Qt without a screen, data folders of their own, and nothing left behind after a test."""

import os

os.environ["QT_QPA_PLATFORM"] = "offscreen"  # before anything imports Qt

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QColor, QGuiApplication, QPalette
from pytestqt.qtbot import QtBot


@pytest.fixture(autouse=True)
def martlet_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder, so that no test sees another's or the user's."""
    home = tmp_path / "martlet"
    monkeypatch.setenv("MARTLET_HOME", str(home))
    return home


def light_palette() -> QPalette:
    """Text and grounds as macOS has them in light mode."""
    return _palette("#ffffff", "#ececec", "#262626", "#0a66ff")


def dark_palette() -> QPalette:
    """Text and grounds as macOS has them in dark mode."""
    return _palette("#1e1e1e", "#323232", "#dcdcdc", "#3d8bff")


def _palette(base: str, window: str, text: str, accent: str) -> QPalette:
    palette = QPalette(QColor(window))
    palette.setColor(QPalette.ColorRole.Base, QColor(base))
    for role in (QPalette.ColorRole.Text, QPalette.ColorRole.WindowText):
        palette.setColor(role, QColor(text))
    palette.setColor(QPalette.ColorRole.Accent, QColor(accent))
    palette.setColor(QPalette.ColorRole.Highlight, QColor(accent))
    return palette


@pytest.fixture(params=[light_palette, dark_palette], ids=["light", "dark"])
def palette(request: pytest.FixtureRequest, qtbot: QtBot) -> Iterator[QPalette]:
    """The application in each of the two schemes."""
    before = QGuiApplication.palette()
    QGuiApplication.setPalette(request.param())
    yield QGuiApplication.palette()
    QGuiApplication.setPalette(before)
