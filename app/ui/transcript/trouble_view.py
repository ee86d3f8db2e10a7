"""TroubleView: a card about an answer that failed: what happened, what is safe, what to do."""

from PySide6.QtCore import QCoreApplication, QRectF, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QPushButton, QWidget

from app.conversation import Message
from app.ui import theme
from app.ui.theme import Role
from app.ui.transcript.page import Page
from app.ui.transcript.piece import Piece
from app.ui.transcript.piece_view import ActingView
from app.ui.transcript.turn_action import TurnAction

translate = QCoreApplication.translate

_WRAP = Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignTop


class TroubleView(ActingView):
    """Orange for what was interrupted and can go on, red for what failed."""

    def __init__(self, page: Page, parent: QWidget) -> None:
        super().__init__(page, parent)
        self.setFont(theme.font(scale=page.scale))
        self._continue = self._button(self.tr("Continue"), TurnAction.CONTINUE)
        self._again = self._button(self.tr("Try Again"), TurnAction.AGAIN)
        self._words: tuple[str, str] = ("", "")

    def fill(self, piece: Piece) -> None:
        assert piece.message is not None
        self._continue.setVisible(piece.can_continue)
        self._words = trouble_words(piece.message, has_text=piece.can_continue)
        self.setAccessibleName(" ".join(self._words))
        self.update()

    def fit(self, width: int) -> int:
        edge, gap = self.page.px(3), self.page.px(2)
        y = edge + sum(self._heights(width)) + gap
        x = self._left()
        for button in (self._continue, self._again):
            if not button.isHidden():
                hint = button.sizeHint()
                button.setGeometry(x, y, hint.width(), hint.height())
                x += hint.width() + gap
        return y + self._again.sizeHint().height() + edge

    def paintEvent(self, event: QPaintEvent) -> None:
        assert self.piece is not None
        assert self.piece.message is not None
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        card = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.setPen(QPen(theme.color(Role.LINE)))
        painter.setBrush(theme.color(Role.CODE))
        painter.drawRoundedRect(card, theme.RADIUS_CARD, theme.RADIUS_CARD)
        is_error = self.piece.message.status == "failed"
        side = QFontMetrics(self.font()).height() + 2
        spot = QRectF(self.page.px(3), self.page.px(3) - 1, side, side)
        ink = theme.color(Role.ERROR if is_error else Role.WARNING)
        theme.paint_icon(painter, spot, "error" if is_error else "warning", ink)
        self._paint_words(painter)

    def _paint_words(self, painter: QPainter) -> None:
        x, y = self._left(), self.page.px(3)
        fonts, roles = self._fonts(), (Role.TEXT, Role.SECONDARY)
        heights = self._heights(self.width())
        for text, font, role, height in zip(self._words, fonts, roles, heights, strict=True):
            painter.setFont(font)
            painter.setPen(theme.color(role))
            area = QRectF(x, y, self.width() - x - self.page.px(3), height)
            painter.drawText(area, _WRAP, text)
            y += height

    def _heights(self, width: int) -> list[int]:
        room = width - self._left() - self.page.px(3)
        return [
            QFontMetrics(font).boundingRect(0, 0, room, 10_000, _WRAP, text).height()
            + self.page.px(1)
            for text, font in zip(self._words, self._fonts(), strict=True)
        ]

    def _fonts(self) -> tuple[QFont, QFont]:
        heavy = theme.font(weight=QFont.Weight.DemiBold, scale=self.page.scale)
        return heavy, self.font()

    def _left(self) -> int:
        return self.page.px(3) + QFontMetrics(self.font()).height() + self.page.px(2.5)

    def _button(self, text: str, action: TurnAction) -> QPushButton:
        button = QPushButton(text, self)
        button.setAutoDefault(False)
        button.setFont(theme.font())  # a native button is made for the system's size
        button.clicked.connect(lambda: self.acted.emit(action))
        return button


def trouble_words(message: Message, *, has_text: bool) -> tuple[str, str]:
    """What happened, in one sentence; what is safe and what to do, in the next ones."""
    safe = (
        translate("trouble", "The answer so far is kept.")
        if has_text
        else translate("trouble", "Your message is kept.")
    )
    if message.error is not None:
        return message.error.message, f"{safe} {message.error.remedy}".strip()
    return translate("trouble", "This answer was interrupted."), safe
