"""The menu of a turn: everything its buttons do, and what only concerns the place pressed."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from app.conversation import Message
from app.ui.transcript.code_view import CodeView
from app.ui.transcript.piece_view import PieceView
from app.ui.transcript.table_view import TableView
from app.ui.transcript.turn_action import TurnAction

translate = QCoreApplication.translate


def turn_menu(
    parent: QWidget,
    message: Message,
    piece: PieceView | None,
    act: Callable[[TurnAction], None],
    *,
    waits: bool,
    first: Sequence[tuple[str, Callable[[], None]]] = (),
) -> QMenu:
    """A menu for a turn; `piece` is under the pointer, `first` is offered before all else."""
    menu = QMenu(parent)
    for words, run in first:
        _add(menu, words, run)
    if isinstance(piece, CodeView):
        _add(menu, translate("menu", "Copy Code"), piece.copy_code)
    elif isinstance(piece, TableView):
        _add(menu, translate("menu", "Copy Table"), piece.copy_table)
    for words, action in _copying():
        _add(menu, words, _bound(act, action))
    menu.addSeparator()
    _add(menu, translate("menu", "Select Message"), _bound(act, TurnAction.SELECT))
    menu.addSeparator()
    for words, action in _changing(message, waits=waits):
        _add(menu, words, _bound(act, action))
    return menu


def _copying() -> list[tuple[str, TurnAction]]:
    return [
        (translate("menu", "Copy Message"), TurnAction.COPY),
        (translate("menu", "Copy as Plain Text"), TurnAction.COPY_PLAIN),
    ]


def _changing(message: Message, *, waits: bool) -> list[tuple[str, TurnAction]]:
    actions: list[tuple[str, TurnAction]] = []
    if message.role == "user":
        actions.append((translate("menu", "Edit…"), TurnAction.EDIT))
    elif message.settled:
        actions.append((translate("menu", "Answer Again"), TurnAction.AGAIN))
    if message.can_continue:
        actions.append((translate("menu", "Continue"), TurnAction.CONTINUE))
    if message.sibling_index > 0:
        actions.append((translate("menu", "Earlier Version"), TurnAction.EARLIER))
    if message.sibling_index < message.sibling_count - 1:
        actions.append((translate("menu", "Later Version"), TurnAction.LATER))
    delete = (translate("menu", "Remove from Queue"), TurnAction.REMOVE)
    actions.append(delete if waits else (translate("menu", "Delete"), TurnAction.DELETE))
    return actions


def _add(menu: QMenu, words: str, run: Callable[[], None]) -> None:
    action = menu.addAction(words)
    action.setMenuRole(QAction.MenuRole.NoRole)
    action.triggered.connect(run)


def _bound(act: Callable[[TurnAction], None], action: TurnAction) -> Callable[[], None]:
    return lambda: act(action)
