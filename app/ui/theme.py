"""The look: spacing, radii, fonts, colour roles and icons, all derived from the system's palette.

A role's colour is worked out from the palette in force when it is asked for, so that light, dark
and accent follow the system live: ask while painting, or again in `changeEvent` when the palette
changes. Text roles keep a contrast of 4.5:1 on every ground that this file names.
"""

from enum import Enum, auto
from functools import cache
from pathlib import Path

from PySide6.QtCore import QByteArray, QRect, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontDatabase,
    QFontInfo,
    QGuiApplication,
    QIcon,
    QIconEngine,
    QPainter,
    QPalette,
    QPixmap,
)
from PySide6.QtSvg import QSvgRenderer

from app.ui.color import luminance, mix, readable

SPACE = 4  # px; every gap is a multiple of it
RADIUS_CONTROL = 7
RADIUS_CARD = 9
RADIUS_BUBBLE = 14  # the composer and the user's words
COLUMN_WIDTH = 720  # px; the widest column of text

CAPTION, BODY, READING, TITLE = 0.87, 1.0, 1.08, 1.5  # sizes, in system fonts
LINE_HEIGHT = 1.5  # of running text

_RESOURCES = Path(__file__).parents[2] / "resources"
_ICONS = _RESOURCES / "icons"


class Role(Enum):
    """What a colour is for."""

    # Text, readable on every ground below.
    TEXT = auto()
    SECONDARY = auto()
    TERTIARY = auto()
    LINK = auto()  # the accent, as text
    WARNING = auto()  # it needs you
    ERROR = auto()  # it is lost
    # Grounds.
    BASE = auto()  # the window's content
    SIDEBAR = auto()
    CODE = auto()  # code blocks, the composer, plots
    BUBBLE = auto()  # the user's words
    HOVER = auto()
    SELECTED = auto()
    FOUND = auto()  # words that are looked for; under TEXT alone
    FOUND_HERE = auto()  # the same, where the reader is; under ON_FOUND_HERE alone
    ON_FOUND_HERE = auto()
    # Shapes.
    LINE = auto()  # hairlines and outlines
    ACCENT = auto()  # filled controls
    ON_ACCENT = auto()  # text and icons on ACCENT
    READY = auto()  # the light of a model that is ready
    # Plots: where memory and time go.
    CORE = auto()  # dense core; computing
    EXPERTS = auto()  # expert pool; hit rate
    CONVERSATION = auto()  # state and cache
    STAGING = auto()  # experts on their way
    SCRATCH = auto()  # temporaries
    RUNTIME = auto()  # the interpreter and its libraries
    DISK = auto()  # waiting for disk
    FREE = auto()  # what is left of the budget


TEXT_ROLES = (
    Role.TEXT,
    Role.SECONDARY,
    Role.TERTIARY,
    Role.LINK,
    Role.WARNING,
    Role.ERROR,
)
GROUND_ROLES = (Role.BASE, Role.SIDEBAR, Role.CODE, Role.BUBBLE, Role.HOVER, Role.SELECTED)


def is_dark(palette: QPalette | None = None) -> bool:
    """Whether text is light on dark."""
    palette = palette or QGuiApplication.palette()
    return luminance(palette.base().color()) < luminance(palette.text().color())


def color(role: Role, palette: QPalette | None = None) -> QColor:
    """The colour of a role in `palette` (the application's, unless given)."""
    palette = palette or QGuiApplication.palette()
    key = palette.cacheKey()
    if key not in _schemes:
        _schemes.clear()  # a palette that was replaced does not come back
        _schemes[key] = _scheme(palette)
    return QColor(_schemes[key][role])


_schemes: dict[int, dict[Role, QColor]] = {}


def _scheme(palette: QPalette) -> dict[Role, QColor]:
    dark = is_dark(palette)
    base = palette.base().color()
    text = mix(base, palette.text().color(), 1)
    accent = palette.accent().color()
    grounds = {
        Role.BASE: base,
        Role.SIDEBAR: mix(base, text, 0.055),
        Role.CODE: mix(base, text, 0.035),
        Role.BUBBLE: mix(base, accent, 0.22 if dark else 0.10),
        Role.HOVER: mix(base, text, 0.07),
        Role.SELECTED: mix(base, text, 0.11),
    }
    found = QColor("#ffcc33")
    marks = {
        Role.FOUND: mix(base, found, 0.30 if dark else 0.40),
        Role.FOUND_HERE: found,
        Role.ON_FOUND_HERE: QColor("black"),
    }

    def legible(ink: QColor) -> QColor:
        return readable(ink, *grounds.values())

    inks = {
        Role.TEXT: legible(text),
        Role.SECONDARY: legible(mix(base, text, 0.72)),
        Role.TERTIARY: legible(mix(base, text, 0.5)),
        Role.LINK: legible(accent),
        Role.WARNING: legible(QColor("#f0a040" if dark else "#b86e00")),
        Role.ERROR: legible(QColor("#ff7066" if dark else "#d02b20")),
    }
    on_accent = readable(QColor("white"), accent, ratio=3.0)
    shapes = {
        Role.LINE: mix(base, text, 0.16 if dark else 0.12),
        Role.ACCENT: accent,
        Role.ON_ACCENT: on_accent,
        Role.READY: QColor("#4cc265" if dark else "#2fa84f"),
        Role.CORE: QColor("#5b8def"),
        Role.EXPERTS: QColor("#35b09c"),
        Role.CONVERSATION: QColor("#b48ade"),
        Role.STAGING: QColor("#e0a458"),
        Role.SCRATCH: QColor("#d9788c"),
        Role.RUNTIME: QColor("#8a94a6"),
        Role.DISK: QColor("#b48ade"),
        Role.FREE: mix(base, text, 0.16),
    }
    return grounds | marks | inks | shapes


def font(
    size: float = BODY,
    *,
    weight: QFont.Weight = QFont.Weight.Normal,
    tabular: bool = False,
    scale: float = 1.0,
) -> QFont:
    """The system's font; `tabular` figures for numbers that change in place."""
    chosen = QFont(QGuiApplication.font())
    chosen.setPointSizeF(_system_points() * size * scale)
    chosen.setWeight(weight)
    if tabular:
        chosen.setFeature(QFont.Tag("tnum"), 1)
    return chosen


def code_font(scale: float = 1.0) -> QFont:
    """The system's font of fixed width, as large as running text looks beside it."""
    chosen = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    chosen.setPointSizeF(_system_points() * 0.96 * scale)
    return chosen


def _system_points() -> float:
    return QFontInfo(QGuiApplication.font()).pointSizeF()  # of a font set in pixels, too


def icon(name: str, role: Role = Role.SECONDARY) -> QIcon:
    """One of the SVG files in resources/icons, in the role's colour; follows the palette live."""
    return QIcon(_TintedIcon(name, role))


def application_icon() -> QIcon:
    """The application's own icon, at the sizes that window systems ask for."""
    renderer = QSvgRenderer(str(_RESOURCES / "martlet.svg"))
    made = QIcon()
    for side in (32, 64, 256):
        pixmap = QPixmap(side, side)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        renderer.render(painter)
        painter.end()
        made.addPixmap(pixmap)
    return made


def paint_icon(painter: QPainter, rect: QRectF, name: str, ink: QColor) -> None:
    """Paint an icon of resources/icons into `rect` in one colour."""
    svg = _source(name).replace(b"currentColor", ink.name().encode())
    QSvgRenderer(QByteArray(svg)).render(painter, rect)


@cache
def _source(name: str) -> bytes:
    return (_ICONS / f"{name}.svg").read_bytes()


class _TintedIcon(QIconEngine):
    """Paints an SVG in a role's colour, looked up at every paint."""

    def __init__(self, name: str, role: Role) -> None:
        super().__init__()
        self._name = name
        self._role = role
        _source(name)  # a misspelt name fails here, not in the middle of a paint

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        ink = color(self._role)
        if mode == QIcon.Mode.Disabled:
            ink = mix(color(Role.BASE), ink, 0.4)
        paint_icon(painter, QRectF(rect), self._name, ink)

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        pixmap = QPixmap(size)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        self.paint(painter, QRect(0, 0, size.width(), size.height()), mode, state)
        painter.end()
        return pixmap

    def clone(self) -> QIconEngine:
        return _TintedIcon(self._name, self._role)
