"""TranscriptView: the open conversation. Only what is near the screen is a widget.

It follows a growing answer while its end is in sight. Any scroll upwards and any selection lets go;
the end, or the round button, takes hold again.
"""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QPoint, Qt, QUrl, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPalette,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QFrame, QWidget

from app.blocks.typesetter import Typesetter
from app.chat_controller import ChatController
from app.conversation import Message
from app.ui import theme
from app.ui.scroll_bar import use_thin_scroll_bar
from app.ui.transcript.clipboard import excerpts_mime, messages_mime, messages_plain
from app.ui.transcript.column import Anchor, Column
from app.ui.transcript.end_button import EndButton
from app.ui.transcript.feed import Feed
from app.ui.transcript.finder import Finder
from app.ui.transcript.menu import turn_menu
from app.ui.transcript.page import Page
from app.ui.transcript.piece_view import PieceView
from app.ui.transcript.pointer import Pointer
from app.ui.transcript.scroller import Scroller
from app.ui.transcript.selector import Selector
from app.ui.transcript.spoken import announce, announcement
from app.ui.transcript.tabbing import outside, tab_stops
from app.ui.transcript.text import Text
from app.ui.transcript.turn_action import TurnAction
from app.ui.transcript.turn_view import TurnView

_TO_START = QKeySequence.StandardKey.MoveToStartOfDocument
_TO_END = QKeySequence.StandardKey.MoveToEndOfDocument
_LOOKS = (
    QEvent.Type.PaletteChange,
    QEvent.Type.ApplicationFontChange,
    QEvent.Type.FontChange,
)
_MOUSE = (
    QEvent.Type.MouseButtonPress,
    QEvent.Type.MouseButtonDblClick,
    QEvent.Type.MouseButtonRelease,
    QEvent.Type.MouseMove,
)


class TranscriptView(QAbstractScrollArea):
    """Shows the conversation that a ChatController has open.

    Signals:
        link_activated (QUrl): a person pressed a link; only http, https and mailto come here.
        link_hovered (str): where the link under the pointer leads; "" when it left.
        selection_changed: there is something else to copy, or nothing.
    """

    link_activated = Signal(QUrl)
    link_hovered = Signal(str)
    selection_changed = Signal()

    def __init__(
        self,
        chat: ChatController,
        parent: QWidget | None = None,
        *,
        typesetter: Typesetter | None = None,
    ) -> None:
        super().__init__(parent)
        self._chat = chat
        self.typesetter = typesetter or Typesetter(self)
        self._page = Page(self.typesetter, self)
        self._column = Column(self._page, self.viewport())
        use_thin_scroll_bar(self)
        bar = self.verticalScrollBar()
        self._scroller = Scroller(self._column, self.viewport(), bar)
        self._feed = Feed(chat, self._page, self._column, self._scroller)
        self._selector = Selector(self._column, self.viewport())
        self._finder = Finder(self._column, self._scroller, self.viewport())
        self._pointer = Pointer(self._page, self._selector, self.viewport(), bar)
        self._end_button = EndButton(self.viewport())  # over its sibling, it would stop moves
        self._deeds = self._make_deeds()
        self._set_up_surface()
        self._connect()

    def _set_up_surface(self) -> None:
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName(self.tr("Conversation"))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setBackgroundRole(QPalette.ColorRole.Base)
        self.viewport().setAutoFillBackground(True)
        self.verticalScrollBar().setSingleStep(5 * theme.SPACE)

    def _connect(self) -> None:
        self._page.link_activated.connect(self.link_activated)
        self._page.link_hovered.connect(self.link_hovered)
        self._column.resized.connect(self._scroller.arrange)
        self._column.acted.connect(self.act)
        self._column.edited.connect(self._finish_edit)
        self._scroller.arranged.connect(self._selector.show)
        self._scroller.arranged.connect(self._finder.show)
        self._scroller.arranged.connect(self._place_end_button)
        self._scroller.left_end.connect(self._end_button.setVisible)
        self._selector.changed.connect(self._selected)
        self._end_button.clicked.connect(self.scroll_to_end)
        self._chat.answer_ended.connect(self._announce)
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._focus_moved)
        application.aboutToQuit.connect(self.typesetter.close)

    # The look

    def set_text_size(self, percent: int) -> None:
        """Show text at 80 to 200 per cent of its usual size."""
        if self._page.scale != percent / 100:
            self._page.set_scale(percent / 100)
            self._scroller.through(self._column.rebuild)

    def set_reasoning_open(self, is_open: bool) -> None:
        """Whether thinking is unfolded where the person did not choose."""
        self._feed.set_reasoning_open(is_open)

    # The place

    @property
    def place(self) -> Anchor | None:
        """Where the reader is; None at the end. For the window's state."""
        return self._feed.place

    def go_to(self, place: Anchor) -> None:
        """Take the reader back to a place."""
        self._scroller.go_to(place)

    def scroll_to_end(self) -> None:
        """Show the end, and follow it."""
        self._scroller.follow()

    @property
    def is_busy(self) -> bool:
        """Whether something is still to be shown, or to be made ready near the screen."""
        return not (self._feed.is_idle and self._scroller.is_idle and self._page.chores.is_done)

    # Finding

    def look_for(self, words: str) -> None:
        """Mark these words wherever they are read; "" marks nothing."""
        self._finder.look_for(words)

    def show_found(self, message_id: str, number: int) -> None:
        """Bring one of the marked places of a message into sight."""
        self._finder.go_to(message_id, number)

    # Copying

    @property
    def has_selection(self) -> bool:
        return not self._selector.is_empty

    @property
    def selected_text(self) -> str:
        """The text that is selected within one turn, as it reads."""
        return "\n\n".join(excerpt.plain for excerpt in self._selector.excerpts())

    def select_all(self) -> None:
        """Select all messages."""
        self._selector.select_all()

    def copy(self) -> None:
        """Copy the selected text or messages; without a selection, the message with the focus."""
        clipboard = QGuiApplication.clipboard()
        if messages := self._messages_to_copy():
            clipboard.setMimeData(messages_mime(messages))
        elif excerpts := self._selector.excerpts():
            clipboard.setMimeData(excerpts_mime(excerpts))

    def copy_plain(self) -> None:
        """The same without marks and formats."""
        if messages := self._messages_to_copy():
            QGuiApplication.clipboard().setText(messages_plain(messages))
        elif text := self.selected_text:
            QGuiApplication.clipboard().setText(text)

    def _messages_to_copy(self) -> Sequence[Message]:
        focused = self._focused_turn()
        if self._selector.is_empty and focused is not None:
            return [focused.turn.message]
        return self._selector.messages()

    # What is done with a turn

    def act(self, message_id: str, action: TurnAction) -> None:
        """Do something with the turn of a message."""
        if self._column.index_of(message_id) is not None:
            self._deeds[action](message_id)

    def _make_deeds(self) -> dict[TurnAction, Callable[[str], None]]:
        chat = self._chat
        return {
            TurnAction.COPY: self._copy_message,
            TurnAction.COPY_PLAIN: self._copy_message_plain,
            TurnAction.EDIT: self._edit,
            TurnAction.STOP_EDITING: self._stop_editing,
            TurnAction.AGAIN: chat.regenerate,
            TurnAction.EARLIER: lambda message_id: chat.switch_branch(message_id, -1),
            TurnAction.LATER: lambda message_id: chat.switch_branch(message_id, 1),
            TurnAction.CONTINUE: chat.continue_,
            TurnAction.REMOVE: chat.remove_queued,
            TurnAction.DELETE: chat.delete,
            TurnAction.FOLD: self._feed.fold,
            TurnAction.SELECT: self._selector.select_turn,
        }

    def _message(self, message_id: str) -> Message:
        index = self._column.index_of(message_id)
        assert index is not None
        return self._column.turns[index].message

    def _copy_message(self, message_id: str) -> None:
        QGuiApplication.clipboard().setMimeData(messages_mime([self._message(message_id)]))

    def _copy_message_plain(self, message_id: str) -> None:
        QGuiApplication.clipboard().setText(messages_plain([self._message(message_id)]))

    def _edit(self, message_id: str) -> None:
        self._scroller.release()
        self._feed.edit(message_id)
        if view := self._column.view(message_id):
            view.edit()

    def _stop_editing(self, message_id: str) -> None:
        self._feed.edit("")
        self._page.edits.pop(message_id, None)
        self.setFocus()

    def _finish_edit(self, message_id: str, text: str) -> None:
        self._stop_editing(message_id)
        if text != self._message(message_id).text:
            self._chat.edit(message_id, text)

    def _announce(self, message: Message) -> None:
        announce(self, announcement(message))

    def _selected(self) -> None:
        if not self._selector.is_empty:
            self._scroller.release()
        self.selection_changed.emit()

    def _focused_turn(self) -> TurnView | None:
        focused = QApplication.focusWidget()
        while focused is not None and not isinstance(focused, TurnView):
            focused = focused.parentWidget()
        return focused if focused is not None and self.isAncestorOf(focused) else None

    def _focus_moved(self, before: QWidget | None, now: QWidget | None) -> None:
        for view in self._column.views():
            view.show_activity()

    def _step_focus(self, step: int, *, extend: bool) -> None:
        """Move the focus to the turn above or below."""
        focused = self._focused_turn()
        if focused is None:
            index = self._column.turn_at(self.verticalScrollBar().value())
        else:
            index = self._column.index_of(focused.turn.message.id)
            index = None if index is None else index + step
        if index is None or not 0 <= index < len(self._column.turns):
            return
        turn_id = self._column.turns[index].message.id
        if extend and focused is not None:
            if not self._selector.messages():
                self._selector.select_turn(focused.turn.message.id)
            self._selector.select_turn(turn_id, extend=True)
        self._scroller.show_turn(index)
        if view := self._column.view(turn_id):
            view.setFocus(Qt.FocusReason.TabFocusReason)

    # Qt's events

    def focusNextPrevChild(self, next: bool) -> bool:
        """Tab goes through the turns in reading order; what it comes to is scrolled into sight."""
        stops = [self, *tab_stops(self._column.views())]
        if self._end_button.isVisible():
            stops.append(self._end_button)
        focused = QApplication.focusWidget()
        at = stops.index(focused) + (1 if next else -1) if focused in stops else 0
        if 0 <= at < len(stops):
            target: QWidget | None = stops[at]
        else:
            target = outside(
                self, QWidget.nextInFocusChain if next else QWidget.previousInFocusChain
            )
        if target is None:
            return False
        reason = Qt.FocusReason.TabFocusReason if next else Qt.FocusReason.BacktabFocusReason
        target.setFocus(reason)
        is_inside = focused is not None and target.isAncestorOf(focused)
        if not next and isinstance(target, TurnView) and not is_inside:
            target = tab_stops([target])[-1]  # its controls came with the focus
            target.setFocus(reason)
        if self.viewport().isAncestorOf(target):
            top = target.mapTo(self.viewport(), QPoint(0, 0)).y()
            self._scroller.show_stretch(top, top + target.height())
        return True

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not self._handle_key(event):
            super().keyPressEvent(event)

    def _handle_key(self, event: QKeyEvent) -> bool:
        bar = self.verticalScrollBar()
        shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        alt = bool(event.modifiers() & Qt.KeyboardModifier.AltModifier)
        key = event.key()
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.matches(QKeySequence.StandardKey.SelectAll):
            self.select_all()
        elif key == Qt.Key.Key_Escape and self.has_selection:
            self._selector.clear()
        elif alt and key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self._step_focus(-1 if key == Qt.Key.Key_Up else 1, extend=shift)
        elif key == Qt.Key.Key_Home or event.matches(_TO_START):
            bar.setValue(bar.minimum())
        elif key == Qt.Key.Key_End or event.matches(_TO_END):
            self.scroll_to_end()
        elif key == Qt.Key.Key_Space:
            step = (
                bar.SliderAction.SliderPageStepSub if shift else bar.SliderAction.SliderPageStepAdd
            )
            bar.triggerAction(step)
        else:
            return False
        return True

    def viewportEvent(self, event: QEvent) -> bool:
        if (
            event.type() in _MOUSE
            and isinstance(event, QMouseEvent)
            and self._pointer.handle(event)
        ):
            return True
        return super().viewportEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        below: QWidget | None = self.viewport().childAt(
            self.viewport().mapFromGlobal(event.globalPos())
        )
        piece: PieceView | None = None
        while below is not None and not isinstance(below, TurnView):
            piece = below if isinstance(below, PieceView) else piece
            below = below.parentWidget()
        if below is None:
            return
        message = below.turn.message
        menu = turn_menu(
            self,
            message,
            piece,
            lambda action: self.act(message.id, action),
            waits=self._feed.waits(message.id),
            first=self._menu_of_place(event.globalPos()),
        )
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(event.globalPos())

    def _menu_of_place(self, where: QPoint) -> list[tuple[str, Callable[[], None]]]:
        """What the menu offers because of the selection and of the link under the pointer."""
        offers: list[tuple[str, Callable[[], None]]] = []
        if self.has_selection:
            offers.append((self.tr("Copy Selection"), self.copy))
        below = self.viewport().childAt(self.viewport().mapFromGlobal(where))
        if isinstance(below, Text) and (link := below.link_at(below.mapFromGlobal(where))):
            clipboard = QGuiApplication.clipboard()
            offers.append((self.tr("Copy Link"), lambda: clipboard.setText(link)))
        return offers

    def _place_end_button(self) -> None:
        """It is moved along with the turns, and below those that are new."""
        x = (self.viewport().width() - self._end_button.width()) // 2
        y = self.viewport().height() - self._end_button.height() - 4 * theme.SPACE
        self._end_button.move(x, y)
        self._end_button.raise_()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        if not self._scroller.is_arranging:
            self._scroller.scrolled(upwards=dy > 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._scroller.through(self._column.fit_width)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in _LOOKS:
            self._page.set_scale(self._page.scale)
            self._scroller.through(self._column.rebuild)
