"""The list of rows: few widgets, the keyboard, selection, dragging."""

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QDragMoveEvent, QDropEvent
from pytestqt.qtbot import QtBot

from app.ui.row_list import RowList, carried, carried_ids
from app.ui.sidebar_rows import ChatRow, Row, SectionRow

ROWS: tuple[Row, ...] = (
    SectionRow("f", "Work", is_folder=True),
    ChatRow("a", "Ada"),
    ChatRow("b", "Bob"),
    SectionRow("today", "Today"),
    ChatRow("c", "Cy"),
)


@pytest.fixture
def rows(qtbot: QtBot) -> RowList:
    made = RowList()
    qtbot.addWidget(made)
    made.resize(260, 300)
    made.show_rows(ROWS)
    made.show()
    return made


def chosen(rows: RowList) -> list[str]:
    names: list[str] = []
    rows.chosen.connect(lambda row: names.append(row.title))
    return names


def test_ten_thousand_rows_are_a_screenful_of_widgets(rows: RowList) -> None:
    rows.show_rows([ChatRow(str(n), f"Chat {n}") for n in range(10_000)])
    rows.verticalScrollBar().setValue(rows.verticalScrollBar().maximum())
    shown = rows.row_widgets()
    assert len(shown) < 20
    assert shown[-1].row == ChatRow("9999", "Chat 9999")


def test_click_chooses(qtbot: QtBot, rows: RowList) -> None:
    names = chosen(rows)
    qtbot.mouseClick(rows.row_widgets()[2], Qt.MouseButton.LeftButton)
    assert names == ["Bob"]
    assert rows.selected() == ("b",)


def test_arrows_step_over_headings_and_stop_at_the_ends(qtbot: QtBot, rows: RowList) -> None:
    names = chosen(rows)
    for key in (Qt.Key.Key_Down,) * 4 + (Qt.Key.Key_Up,):
        qtbot.keyClick(rows, key)
    qtbot.keyClick(rows, Qt.Key.Key_Up, Qt.KeyboardModifier.KeypadModifier)  # as a Mac tells it
    assert names == ["Ada", "Bob", "Cy", "Cy", "Bob", "Ada"]


def test_a_conversation_that_was_found_twice_can_be_stepped_through(
    qtbot: QtBot, rows: RowList
) -> None:
    hits = [ChatRow("a", "Ada", message_id=m, excerpt=m) for m in ("one", "two", "three")]
    rows.show_rows(hits)
    reached: list[str | None] = []
    rows.chosen.connect(lambda row: reached.append(row.message_id))
    for _ in hits:
        qtbot.keyClick(rows, Qt.Key.Key_Down)
    assert reached == ["one", "two", "three"]


def test_shift_and_command_select_several(qtbot: QtBot, rows: RowList) -> None:
    widgets = rows.row_widgets()
    qtbot.mouseClick(widgets[1], Qt.MouseButton.LeftButton)
    qtbot.mouseClick(widgets[4], Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ShiftModifier)
    assert rows.selected() == ("a", "b", "c")
    qtbot.mouseClick(widgets[2], Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ControlModifier)
    assert rows.selected() == ("a", "c")


def test_deleting_takes_command_and_delete(qtbot: QtBot, rows: RowList) -> None:
    deleted: list[tuple[str, ...]] = []
    rows.delete_wanted.connect(deleted.append)
    rows.set_current("b")
    qtbot.keyClick(rows, Qt.Key.Key_Backspace)
    qtbot.keyClick(rows, Qt.Key.Key_Delete)
    assert deleted == []
    qtbot.keyClick(rows, Qt.Key.Key_Backspace, Qt.KeyboardModifier.ControlModifier)
    assert deleted == [("b",)]


def test_rows_have_names_for_assistive_tools(rows: RowList) -> None:
    rows.set_active({"b"})
    rows.show_rows([ChatRow("a", "Ada", "14:20", is_pinned=True), *ROWS[2:]])
    names = [widget.accessibleName() for widget in rows.row_widgets()]
    assert names[0] == "Ada, 14:20, pinned"
    assert names[1] == "Bob, an answer is being written"


def test_selection_survives_a_new_list_and_forgets_what_is_gone(rows: RowList) -> None:
    rows.set_current("b")
    rows.show_rows([ChatRow("b", "Robert")])
    assert rows.selected() == ("b",)
    rows.show_rows([ChatRow("c", "Cy")])
    assert rows.selected() == ()


def test_dropping_on_a_folder_moves_into_it(rows: RowList) -> None:
    moves: list[tuple[tuple[str, ...], str | None]] = []
    rows.moved.connect(lambda ids, folder: moves.append((ids, folder)))
    drop(rows, "a", at="Bob")
    drop(rows, "a", at="Cy")
    assert moves == [(("a",), "f"), (("a",), None)]


def test_dragged_ids_come_back_whole() -> None:
    assert carried_ids(carried(["a", "b"])) == ("a", "b")


def drop(rows: RowList, conversation_id: str, at: str) -> None:
    place = next(row for row in rows.rows() if row.title == at)
    position = QPointF(rows.rectangle(place).center())
    data = carried([conversation_id])
    common = (Qt.DropAction.MoveAction, data, Qt.MouseButton.LeftButton)
    plain = Qt.KeyboardModifier.NoModifier
    rows.dragMoveEvent(QDragMoveEvent(position.toPoint(), *common, plain))
    rows.dropEvent(QDropEvent(position, *common, plain))


def test_menu_on_a_row_that_is_not_selected_selects_it(rows: RowList) -> None:
    wanted: list[tuple[Row, QPoint]] = []
    rows.menu_wanted.connect(lambda row, where: wanted.append((row, where)))
    rows.set_current("a")
    rows._want_menu(ROWS[2], QPoint(1, 1))
    assert rows.selected() == ("b",)
    assert wanted == [(ROWS[2], QPoint(1, 1))]
