"""FooterView: what can be done with a turn, and the figures of an answer.

It always takes its room, so that nothing moves when it appears; its buttons are made when it first
does.
"""

from collections.abc import Iterator

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QFont, QPalette
from PySide6.QtWidgets import QLabel, QWidget

from app.conversation import Message
from app.ui import figures, theme
from app.ui.theme import Role
from app.ui.transcript.copy_button import CopyButton
from app.ui.transcript.footer_text import footer_text
from app.ui.transcript.page import Page
from app.ui.transcript.piece import Piece
from app.ui.transcript.piece_view import ActingView
from app.ui.transcript.quiet_button import QuietButton
from app.ui.transcript.turn_action import TurnAction


class FooterView(ActingView):
    """Shown for the last answer, and for the turn that the pointer or the keyboard is at."""

    def __init__(self, page: Page, parent: QWidget) -> None:
        super().__init__(page, parent)
        self._parts: list[QWidget] = []
        self._is_active = False

    def fill(self, piece: Piece) -> None:
        for part in self._parts:
            part.hide()
            part.deleteLater()  # never at once: an assistive tool may be looking at it
        self._parts = []
        self._show_parts()

    def fit(self, width: int) -> int:
        self._lay_out(width)
        return self._height()

    def set_active(self, active: bool) -> None:
        if active != self._is_active:
            self._is_active = active
            self._show_parts()

    def _show_parts(self) -> None:
        assert self.piece is not None
        shown = self._is_active or self.piece.is_last
        if shown and not self._parts:
            self._parts = list(self._make_parts(self.piece))
            self._lay_out(self.width())
        for part in self._parts:
            part.setVisible(shown)

    def _make_parts(self, piece: Piece) -> Iterator[QWidget]:
        message = piece.message
        assert message is not None
        if not message.settled:
            return
        if piece.can_continue:
            yield self._button("play", self.tr("Continue"), TurnAction.CONTINUE, word=True)
        yield self._copy_button()
        if message.role == "user":
            yield self._button("edit", self.tr("Edit"), TurnAction.EDIT, word=piece.is_last)
        if message.role == "user" and piece.is_last:
            yield self._button("close", self.tr("Remove"), TurnAction.REMOVE, word=True)
        if message.role == "assistant":
            yield self._button("again", self.tr("Answer again"), TurnAction.AGAIN)
        if message.sibling_count > 1:
            yield from self._branch_switch(message)
        if text := footer_text(message):
            yield _Figures(text, self.page, self)

    def _copy_button(self) -> QuietButton:
        font = self.page.caption_font
        button = CopyButton(self, icon="copy", name=self.tr("Copy"), font=font)
        button.clicked.connect(lambda: self.acted.emit(TurnAction.COPY))
        return button

    def _branch_switch(self, message: Message) -> Iterator[QWidget]:
        index, count = message.sibling_index, message.sibling_count
        earlier = self._button("chevron-left", self.tr("Earlier version"), TurnAction.EARLIER)
        later = self._button("chevron-right", self.tr("Later version"), TurnAction.LATER)
        earlier.setEnabled(index > 0)
        later.setEnabled(index < count - 1)
        place = self.tr("%1/%2").replace("%1", figures.count(index + 1))
        label = _Figures(place.replace("%2", figures.count(count)), self.page, self)
        spoken = self.tr("Version %1 of %2").replace("%1", figures.count(index + 1))
        label.setAccessibleName(spoken.replace("%2", figures.count(count)))
        yield from (earlier, label, later)

    def _button(
        self, icon: str, name: str, action: TurnAction, *, word: bool = False
    ) -> QuietButton:
        button = QuietButton(
            self,
            icon=icon,
            text=name if word else "",
            name="" if word else name,
            font=self.page.caption_font,
        )
        button.clicked.connect(lambda: self.acted.emit(action))
        return button

    def _lay_out(self, width: int) -> None:
        """In a row: from the left under an answer, to the right under a person's words."""
        assert self.piece is not None
        assert self.piece.message is not None
        gap = self.page.px(0.5)
        whole = sum(part.sizeHint().width() + gap for part in self._parts)
        is_user = self.piece.message.role == "user"
        x = width - whole if is_user else 0
        for part in self._parts:
            hint = part.sizeHint()
            room = max(min(hint.width(), width - x), 0)
            part.setGeometry(x, (self._height() - hint.height()) // 2, room, hint.height())
            x += room + gap

    def _height(self) -> int:
        return self.page.caption_line + 2 * theme.SPACE


class _Figures(QLabel):
    """Quiet text that can be selected and copied."""

    def __init__(self, text: str, page: Page, parent: QWidget) -> None:
        super().__init__(text, parent)
        font = QFont(page.caption_font)
        font.setFeature(font.Tag("tnum"), 1)
        self.setFont(font)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setForegroundRole(QPalette.ColorRole.WindowText)
        self._tint()

    def changeEvent(self, event: QEvent) -> None:
        if event.type() == QEvent.Type.PaletteChange:
            self._tint()
        super().changeEvent(event)

    def _tint(self) -> None:
        ink, palette = theme.color(Role.TERTIARY), self.palette()
        if palette.color(QPalette.ColorRole.WindowText) != ink:
            palette.setColor(QPalette.ColorRole.WindowText, ink)
            self.setPalette(palette)
