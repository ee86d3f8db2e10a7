"""Appearance: light, dark, or as the system is; with palettes of ours where a desktop has none."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication, QPalette

from app.settings import Appearance
from app.ui.color import mix, readable

Role = QPalette.ColorRole


def apply_appearance(appearance: Appearance) -> None:
    """Have every window look so, now and when the system changes."""
    hints = QGuiApplication.styleHints()
    schemes = {
        "system": Qt.ColorScheme.Unknown,
        "light": Qt.ColorScheme.Light,
        "dark": Qt.ColorScheme.Dark,
    }
    hints.setColorScheme(schemes[appearance])
    if hints.colorScheme() == Qt.ColorScheme.Unknown:
        QGuiApplication.setPalette(plain_palette(dark=appearance == "dark"))


def plain_palette(*, dark: bool) -> QPalette:
    """A palette for a desktop that offers none."""
    window, base, text, accent, highlight = (
        QColor(code)
        for code in (
            ("#2b2b2d", "#1e1e20", "#e6e6e8", "#3d8bff", "#2563d9")
            if dark
            else ("#f2f2f4", "#ffffff", "#1f1f23", "#0a66ff", "#0a5fe8")
        )
    )
    palette = QPalette(window)
    for role in (Role.WindowText, Role.Text, Role.ButtonText):
        palette.setColor(role, text)
        palette.setColor(QPalette.ColorGroup.Disabled, role, mix(window, text, 0.4))
    palette.setColor(Role.Base, base)
    palette.setColor(Role.PlaceholderText, readable(mix(base, text, 0.55), base))
    palette.setColor(Role.Accent, accent)
    palette.setColor(Role.Link, accent)
    palette.setColor(Role.Highlight, highlight)
    palette.setColor(Role.HighlightedText, QColor("white"))
    return palette
