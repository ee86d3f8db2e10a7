"""TurnView: the widget of a turn, with widgets for those of its pieces that are near the screen."""

from collections.abc import Iterable, Iterator

from PySide6.QtCore import QEvent, QRectF, Qt, Signal
from PySide6.QtGui import QEnterEvent, QFocusEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QApplication, QWidget

from app.ui import theme
from app.ui.theme import Role
from app.ui.transcript.attachments_view import AttachmentsView
from app.ui.transcript.bubble_view import BubbleView
from app.ui.transcript.code_view import CodeView
from app.ui.transcript.editor_view import EditorView
from app.ui.transcript.footer_view import FooterView
from app.ui.transcript.gap import gap_above
from app.ui.transcript.page import Page
from app.ui.transcript.piece import Piece, PieceKind
from app.ui.transcript.piece_view import ActingView, PieceView
from app.ui.transcript.progress_view import ProgressView
from app.ui.transcript.prose_view import MathView, ProseView
from app.ui.transcript.spoken import turn_name
from app.ui.transcript.table_view import TableView
from app.ui.transcript.thinking_view import ThinkingView
from app.ui.transcript.trouble_view import TroubleView
from app.ui.transcript.turn import Turn

_VIEWS: dict[PieceKind, type[PieceView]] = {
    PieceKind.ATTACHMENTS: AttachmentsView,
    PieceKind.BUBBLE: BubbleView,
    PieceKind.EDITOR: EditorView,
    PieceKind.THINKING: ThinkingView,
    PieceKind.PROSE: ProseView,
    PieceKind.CODE: CodeView,
    PieceKind.TABLE: TableView,
    PieceKind.MATH: MathView,
    PieceKind.PROGRESS: ProgressView,
    PieceKind.TROUBLE: TroubleView,
    PieceKind.FOOTER: FooterView,
}
_BY_KEYBOARD = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)
_QUIET_INDENT = 4  # steps of the spacing
_OUTSET = 2  # the same: how far the ring of the focus stands off


class TurnView(QWidget):
    """Shows a turn.

    Signals:
        resized: a piece needs another height.
        acted (TurnAction): the person wants this done with the turn.
        edited (str): the person changed the words of the turn to these.
    """

    resized = Signal()
    acted = Signal(object)
    edited = Signal(str)

    def __init__(self, turn: Turn, page: Page, parent: QWidget) -> None:
        super().__init__(parent)
        self.turn = turn
        self._page = page
        self._views: dict[int, PieceView] = {}
        self._leaving: list[PieceView] = []  # on the screen until all is placed
        self._is_selected = False
        self._has_ring = False
        self._margin = page.px(_OUTSET)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_StaticContents)  # it grows at its end
        self.refresh()

    @property
    def margin(self) -> int:
        """How far it reaches over the column at both sides."""
        return self._margin

    def refresh(self) -> None:
        """Show what the turn says now, in the widgets that there are."""
        pieces = self.turn.pieces
        self._keep_footer(pieces)
        for index in [i for i in self._views if i >= len(pieces)]:
            self._drop(index)
        for index, view in list(self._views.items()):
            if view.piece is not None and view.piece.kind is not pieces[index].kind:
                self._drop(index)
            else:
                view.show_piece(pieces[index])
        self.setAccessibleName(turn_name(self.turn.message))
        self.update(0, 0, 2 * self._margin, self.height())  # the line beside the reasoning

    def _keep_footer(self, pieces: list[Piece]) -> None:
        """The footer stays the last one when there is more before it."""
        end, last = max(self._views, default=0), len(pieces) - 1
        footer = self._views.get(end)
        if footer is not None and isinstance(footer, FooterView) and end < last:
            self._views[last] = self._views.pop(end)

    def realise(self, indexes: Iterable[int], width: int) -> None:
        """Make widgets for these pieces and measure them."""
        for index in indexes:
            if index not in self._views or not self.turn.is_measured(index):
                self._measure(index, width)

    def release(self, kept: range) -> None:
        """Let the widgets of all other pieces go, but for the one that has the focus."""
        focused = QApplication.focusWidget()
        for index in [i for i in self._views if i not in kept]:
            if focused is None or not self._views[index].isAncestorOf(focused):
                self._drop(index)

    def distance_to(self, top: int, height: int) -> int | None:
        """How far what is on the screen moves when the turn is placed at `top`; None if nothing is.

        The screen is `height` pixels high. What it shows of the turn may stand still although the
        turn begins elsewhere: then heights above it have changed.
        """
        for index, view in self._views.items():
            was = self.y() + view.y()
            if was < height and was + view.height() > 0 and not view.isHidden():
                gap = gap_above(self.turn.pieces, index, self._page)
                return top + self.turn.heights.top(index) + gap - was
        return None

    def place(self, width: int) -> None:
        """Put every widget where its piece is."""
        for index, view in self._views.items():
            gap = gap_above(self.turn.pieces, index, self._page)
            top = self.turn.heights.top(index) + gap
            indent = self._indent(self.turn.pieces[index])
            height = self.turn.heights[index] - gap
            view.setGeometry(self._margin + indent, top, width - indent, height)
            view.settle()
            if view.isHidden():
                view.show()
        while self._leaving:
            gone = self._leaving.pop()
            gone.hide()
            gone.deleteLater()  # never at once: an assistive tool may be looking at it

    def view(self, index: int) -> PieceView | None:
        """The widget of a piece, if it has one."""
        return self._views.get(index)

    def views(self) -> Iterator[tuple[int, PieceView]]:
        """The widgets there are, from the top down."""
        return iter(sorted(self._views.items()))

    def set_selected(self, selected: bool) -> None:
        """Show the whole turn as selected."""
        if selected != self._is_selected:
            self._is_selected = selected
            self.update()

    def edit(self) -> None:
        """Let the person type into the editor, which must be there."""
        for _, view in self.views():
            if isinstance(view, EditorView):
                view.take_focus()

    def _measure(self, index: int, width: int) -> None:
        piece = self.turn.pieces[index]
        view = self._views.get(index) or self._make(index, piece)
        gap = gap_above(self.turn.pieces, index, self._page)
        inside = width - self._indent(piece)
        view.resize(inside, view.height())
        self.turn.set_height(index, gap + view.fit(inside))
        if view.isHidden():
            view.settle()

    def _make(self, index: int, piece: Piece) -> PieceView:
        view = _VIEWS[piece.kind](self._page, self)
        view.show_piece(piece)
        view.set_active(self._is_active())
        view.resized.connect(lambda: self._piece_resized(view))
        if isinstance(view, ActingView):
            view.acted.connect(self.acted)
            view.edited.connect(self.edited)
        self._views[index] = view
        return view

    def _piece_resized(self, view: PieceView) -> None:
        for index, known in self._views.items():
            if known is view:
                self.turn.forget_height(index)
        self.resized.emit()

    def _drop(self, index: int) -> None:
        self._leaving.append(self._views.pop(index))

    def _indent(self, piece: Piece) -> int:
        return self._page.px(_QUIET_INDENT) if piece.is_quiet else 0

    def _is_active(self) -> bool:
        focused = QApplication.focusWidget()
        has_focus = focused is not None and (focused is self or self.isAncestorOf(focused))
        return self.underMouse() or has_focus

    def show_activity(self) -> None:
        """Show the actions while the pointer or the keyboard is here."""
        active = self._is_active()
        for view in self._views.values():
            view.set_active(active)

    def enterEvent(self, event: QEnterEvent) -> None:
        self.show_activity()
        super().enterEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        self.show_activity()
        super().leaveEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._has_ring = event.reason() in _BY_KEYBOARD
        self.update()
        self.show_activity()
        super().focusInEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._has_ring = False
        self.update()
        self.show_activity()
        super().focusOutEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._is_selected or self._has_ring:
            self.update()  # the outline is all around

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._is_selected:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.color(Role.SELECTED))
            painter.drawRoundedRect(self._outline(), theme.RADIUS_CARD, theme.RADIUS_CARD)
        if self._has_ring:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(theme.color(Role.ACCENT), 2))
            painter.drawRoundedRect(self._outline(), theme.RADIUS_CARD, theme.RADIUS_CARD)
        self._paint_quiet_line(painter)

    def _outline(self) -> QRectF:
        return QRectF(self.rect()).adjusted(1, 1, -1, -1)

    def _paint_quiet_line(self, painter: QPainter) -> None:
        """A line beside the reasoning."""
        quiet = [i for i, piece in enumerate(self.turn.pieces) if piece.is_quiet]
        if quiet:
            top = self.turn.heights.top(quiet[0])
            bottom = self.turn.heights.top(quiet[-1] + 1)
            line = QRectF(self._margin + 1, top, 2, bottom - top)
            painter.fillRect(line, theme.color(Role.LINE))
