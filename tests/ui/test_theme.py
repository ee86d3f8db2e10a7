"""Roles: readable text in both schemes, and icons that follow the palette."""

import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QColor, QGuiApplication, QIcon, QImage, QPalette
from pytestqt.qtbot import QtBot

from app.ui import theme
from app.ui.color import contrast, mix, readable
from app.ui.theme import GROUND_ROLES, TEXT_ROLES, Role


def test_every_text_role_is_readable_on_every_ground(palette: QPalette) -> None:
    for ground in GROUND_ROLES:
        for ink in TEXT_ROLES:
            ratio = contrast(theme.color(ink), theme.color(ground))
            assert ratio >= 4.5, f"{ink.name} on {ground.name}: {ratio:.2f}"


def test_found_words_are_readable(palette: QPalette) -> None:
    assert contrast(theme.color(Role.TEXT), theme.color(Role.FOUND)) >= 4.5
    assert contrast(theme.color(Role.ON_FOUND_HERE), theme.color(Role.FOUND_HERE)) >= 4.5


@pytest.mark.parametrize("accent", ["#ffd60a", "#0a66ff", "#8e8e93", "#ffffff", "#000000"])
def test_any_accent_a_person_chooses_stays_readable(qtbot: QtBot, accent: str) -> None:
    palette = QGuiApplication.palette()
    palette.setColor(QPalette.ColorRole.Accent, QColor(accent))
    link, base = theme.color(Role.LINK, palette), theme.color(Role.BASE, palette)
    on_accent = contrast(theme.color(Role.ON_ACCENT, palette), QColor(accent))
    assert contrast(link, base) >= 4.5
    assert on_accent >= 3.0


def test_what_palettes_of_ours_write_can_be_read(palette: QPalette) -> None:
    pairs = (
        (palette.text(), palette.base()),
        (palette.windowText(), palette.window()),
        (palette.placeholderText(), palette.base()),
        (palette.highlightedText(), palette.highlight()),
    )
    for ink, ground in pairs:
        assert contrast(ink.color(), ground.color()) >= 4.5


def test_disabled_text_looks_disabled(palette: QPalette) -> None:
    disabled = palette.color(QPalette.ColorGroup.Disabled, QPalette.ColorRole.WindowText)
    window = palette.window().color()
    assert contrast(disabled, window) < contrast(palette.windowText().color(), window) / 2


def test_weights_of_text_stand_in_order(palette: QPalette) -> None:
    base = theme.color(Role.BASE)
    ratios = [contrast(theme.color(r), base) for r in (Role.TEXT, Role.SECONDARY, Role.TERTIARY)]
    assert ratios == sorted(ratios, reverse=True)
    assert len(set(ratios)) == 3


def test_colours_follow_a_new_palette(qtbot: QtBot) -> None:
    before = QGuiApplication.palette()
    dark = QPalette(before)
    dark.setColor(QPalette.ColorRole.Base, QColor("#1e1e1e"))
    dark.setColor(QPalette.ColorRole.Text, QColor("#dcdcdc"))
    assert not theme.is_dark()
    QGuiApplication.setPalette(dark)
    try:
        assert theme.is_dark()
        assert theme.color(Role.BASE) == QColor("#1e1e1e")
    finally:
        QGuiApplication.setPalette(before)


def test_icon_is_tinted_from_the_palette_at_paint_time(qtbot: QtBot) -> None:
    icon = theme.icon("stop", Role.ACCENT)
    before = QGuiApplication.palette()
    changed = QPalette(before)
    changed.setColor(QPalette.ColorRole.Accent, QColor("#ff00ff"))
    first = _centre(icon)
    QGuiApplication.setPalette(changed)
    try:
        second = _centre(icon)
    finally:
        QGuiApplication.setPalette(before)
    assert first == before.accent().color()
    assert second == QColor("#ff00ff")


def test_application_has_an_icon(qtbot: QtBot) -> None:
    icon = theme.application_icon()
    assert _centre(icon) == QColor("white"), "the bird"
    assert QSize(256, 256) in icon.availableSizes()


def test_misspelt_icon_fails_at_once(qtbot: QtBot) -> None:
    with pytest.raises(FileNotFoundError):
        theme.icon("no-such-icon")


def test_mix_honours_alpha() -> None:
    half_black = QColor(0, 0, 0, 128)
    assert mix(QColor("white"), half_black, 1).lightness() == pytest.approx(127, abs=1)


def test_readable_leaves_a_good_colour_alone() -> None:
    assert readable(QColor("#000000"), QColor("#ffffff")) == QColor("#000000")


def test_tabular_figures_are_all_of_one_width(qtbot: QtBot) -> None:
    assert theme.font(tabular=True).featureTags()


def _centre(icon: QIcon) -> QColor:
    image: QImage = icon.pixmap(QSize(64, 64)).toImage()
    return image.pixelColor(image.width() // 2, image.height() // 2)
