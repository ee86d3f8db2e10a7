"""How it looks: contrast in both schemes, live changes of palette and size, directions."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QGuiApplication, QPalette
from PySide6.QtWidgets import QAbstractButton, QApplication, QPushButton, QWidget

from app.blocks.drawing import Ink
from app.ui import theme
from app.ui.appearance import plain_palette
from app.ui.color import contrast
from app.ui.theme import Role
from app.ui.transcript import TranscriptView
from app.ui.transcript.bubble_view import BubbleView
from app.ui.transcript.code_ink import ink_color
from app.ui.transcript.prose_view import ProseView
from tests.ui.fake_chat import FakeChat, answer, user


@pytest.mark.parametrize("ink", list(Ink))
def test_every_word_of_code_can_be_read(palette: QPalette, ink: Ink) -> None:
    assert contrast(ink_color(ink), theme.color(Role.CODE)) >= 4.5


def test_the_view_follows_the_palette_while_it_is_shown(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show([user(1, "Q"), answer(1, "See [this](https://example.org) and `code`.")])
    settle()
    before = QGuiApplication.palette()
    try:
        for dark in (True, False):
            QApplication.setPalette(plain_palette(dark=dark))
            settle()
            text = next(iter(_prose(view))).text
            link = text.cursor_over(5, 6).charFormat().foreground().color()
            assert link == theme.color(Role.LINK)
            assert _ground(view) == theme.color(Role.BASE)
            ink = _darkest(text) if not dark else _lightest(text)
            assert contrast(ink, theme.color(Role.BASE)) >= 4.5
    finally:
        QApplication.setPalette(before)


def _prose(view: TranscriptView) -> list[ProseView]:
    return [prose for prose in view.findChildren(ProseView) if prose.isVisible()]


def _ground(view: TranscriptView) -> QColor:
    return view.grab().toImage().pixelColor(3, 300)


def _pixels(widget: QWidget) -> list[QColor]:
    image = widget.window().grab().toImage()
    corner = widget.mapTo(widget.window(), QPoint(0, 0))
    across, down = range(min(widget.width(), 60)), range(widget.height())
    return [image.pixelColor(corner + QPoint(x, y)) for x in across for y in down]


def _darkest(widget: QWidget) -> QColor:
    return min(_pixels(widget), key=lambda pixel: pixel.lightness())


def _lightest(widget: QWidget) -> QColor:
    return max(_pixels(widget), key=lambda pixel: pixel.lightness())


@pytest.mark.parametrize("percent", [80, 100, 200])
def test_text_grows_and_nothing_is_cut_off(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None], percent: int
) -> None:
    chat.show(
        [
            user(1, "A question of some length, which has to be wrapped at the larger sizes"),
            answer(1, "**Answer** " * 30 + "\n\n```py\nx = 1\n```\n", status="interrupted"),
        ]
    )
    view.set_text_size(percent)
    settle()
    for piece in [p for _, p in view._column.view("a1").views()]:  # type: ignore[union-attr]
        if piece.text is not None:
            assert piece.text.height() <= piece.height()
    for button in view.findChildren(QAbstractButton):
        if button.isVisible() and isinstance(button, QPushButton):
            assert button.width() >= button.sizeHint().width()
            assert button.height() >= button.sizeHint().height()
    (bubble,) = [bubble for bubble in view.findChildren(BubbleView) if bubble.isVisible()]
    assert bubble.text.geometry().right() <= bubble.width()


def test_text_is_as_large_as_asked(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show([user(1, "Q"), answer(1, "words")])
    heights = {}
    for percent in (80, 100, 200):
        view.set_text_size(percent)
        settle()
        heights[percent] = _prose(view)[0].text.height()
    assert heights[80] < heights[100]
    assert heights[200] == pytest.approx(2 * heights[100], rel=0.1)


def test_the_column_is_never_wider_than_720_pixels(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show([user(1, "Q"), answer(1, "words " * 100)])
    for width in (400, 900, 1600):
        view.resize(width, 600)
        settle()
        prose = _prose(view)[0]
        assert prose.width() <= theme.COLUMN_WIDTH
        left = prose.mapTo(view.viewport(), QPoint(0, 0)).x()
        right = view.viewport().width() - left - prose.width()
        assert left >= 4 * theme.SPACE
        assert abs(left - right) <= 1


def test_a_persons_words_stand_at_the_right_and_right_to_left_where_they_are(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show([user(1, "שלום, מה שלומך?\nfine"), answer(1, "OK")])
    settle()
    (bubble,) = view.findChildren(BubbleView)
    assert bubble.text.x() > bubble.width() / 2
    first = bubble.text.document.firstBlock()
    assert first.textDirection() == Qt.LayoutDirection.RightToLeft
    assert first.next().textDirection() == Qt.LayoutDirection.LeftToRight


def test_code_is_left_to_right_among_right_to_left_words(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show([user(1, "Q"), answer(1, "שלום\n\n```py\nx = 'שלום'\n```\n")])
    settle()
    code = next(
        p.text for _, p in view._column.view("a1").views() if p.text and p.text.length == 10
    )  # type: ignore[union-attr]
    assert code._layout(0).textOption().textDirection() != Qt.LayoutDirection.RightToLeft  # type: ignore[attr-defined]
    assert code._layout(0).lineAt(0).naturalTextRect().left() < 5  # type: ignore[attr-defined]


def test_formulas_are_drawn_for_the_screens_resolution(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show([user(1, "Q"), answer(1, "so $x$ is")])
    settle()
    view.typesetter.answer()  # type: ignore[attr-defined]
    settle()
    view.grab()
    (setting,) = view._page.formulas._settings
    assert setting.pixmap is not None
    assert setting.pixmap.devicePixelRatio() == view.devicePixelRatio()
