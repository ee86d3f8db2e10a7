"""The sidebar on a library: search, folding, renaming, folders, menus."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from app.conversation import Folder, Library, SearchHit, SearchResults
from app.ui.rename_editor import RenameEditor
from app.ui.sidebar import Sidebar
from app.ui.sidebar_rows import SectionRow
from tests.ui.fakes import FakeLibrary, conversation


@pytest.fixture
def library() -> FakeLibrary:
    made = FakeLibrary()
    made.library = Library(
        (Folder("f", "Work"),),
        (conversation("Ada"), conversation("Bob", 10), conversation("Inside", folder_id="f")),
    )
    return made


@pytest.fixture
def sidebar(qtbot: QtBot, library: FakeLibrary) -> Sidebar:
    made = Sidebar(library)  # type: ignore[arg-type]
    qtbot.addWidget(made)
    made.resize(260, 500)
    made.show()
    return made


def titles(sidebar: Sidebar) -> list[str]:
    return [row.title for row in sidebar.list.rows()]


def editor(sidebar: Sidebar) -> RenameEditor:
    return sidebar.list.viewport().findChildren(RenameEditor)[-1]


def test_lists_the_library_and_its_changes(sidebar: Sidebar, library: FakeLibrary) -> None:
    assert titles(sidebar) == ["Work", "Inside", "Today", "Ada", "Bob"]
    library.set_pinned("Bob", True)
    assert titles(sidebar) == ["Pinned", "Bob", "Work", "Inside", "Today", "Ada"]


def test_search_asks_once_typing_pauses_and_shows_what_was_found(
    qtbot: QtBot, sidebar: Sidebar, library: FakeLibrary
) -> None:
    qtbot.keyClicks(sidebar.search, "ov")
    qtbot.waitUntil(lambda: "search" in library.names())
    assert library.calls[-1] == ("search", ("ov",))
    hit = SearchHit("Ada", "Ada", "m", "in the oven", ((7, 4),), 0)
    library.search_finished.emit(SearchResults("o", (hit, hit)))
    assert "Bob" in titles(sidebar), "the answer to an older search is not shown"
    library.search_finished.emit(SearchResults("ov", (hit,)))
    assert titles(sidebar) == ["Ada"]


def test_escape_ends_a_search(qtbot: QtBot, sidebar: Sidebar, library: FakeLibrary) -> None:
    sidebar.search.setText("ov")
    library.search_finished.emit(SearchResults("ov", ()))
    with qtbot.waitSignal(sidebar.left):
        qtbot.keyClick(sidebar.search, Qt.Key.Key_Escape)
    assert "Ada" in titles(sidebar)


def test_choosing_a_hit_names_its_message(
    qtbot: QtBot, sidebar: Sidebar, library: FakeLibrary
) -> None:
    sidebar.search.setText("ov")
    hit = SearchHit("Ada", "Ada", "m7", "in the oven", ((7, 4),), 0)
    library.search_finished.emit(SearchResults("ov", (hit,)))
    with qtbot.waitSignal(sidebar.chosen) as told:
        qtbot.keyClick(sidebar.search, Qt.Key.Key_Return)
    assert told.args == ["Ada", "m7"]


def test_folder_folds_and_is_remembered(qtbot: QtBot, sidebar: Sidebar) -> None:
    heading = sidebar.list.row_widgets()[0]
    qtbot.mouseClick(heading, Qt.MouseButton.LeftButton)
    assert "Inside" not in titles(sidebar)
    assert sidebar.folded == {"f"}


def test_rename_in_place(qtbot: QtBot, sidebar: Sidebar, library: FakeLibrary) -> None:
    sidebar.rename("Ada")
    field = editor(sidebar)
    assert field.selectedText() == "Ada"
    field.setText("  Countess ")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert library.calls == [("rename", ("Ada", "Countess"))]


def test_escape_keeps_the_old_name(qtbot: QtBot, sidebar: Sidebar, library: FakeLibrary) -> None:
    sidebar.rename("Ada")
    field = editor(sidebar)
    field.setText("Other")
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert library.calls == []


def test_double_click_renames(qtbot: QtBot, sidebar: Sidebar) -> None:
    row = sidebar.list.row_widgets()[3]
    qtbot.mouseDClick(row, Qt.MouseButton.LeftButton)
    assert editor(sidebar).text() == "Ada"


def test_date_heading_cannot_be_renamed(qtbot: QtBot, sidebar: Sidebar) -> None:
    qtbot.mouseDClick(sidebar.list.row_widgets()[2], Qt.MouseButton.LeftButton)
    assert sidebar.list.viewport().findChildren(RenameEditor) == []


def test_new_folder_is_named_at_once(sidebar: Sidebar, library: FakeLibrary) -> None:
    sidebar.add_folder()
    assert editor(sidebar).text() == "New Folder"


def test_menu_of_a_folder(qtbot: QtBot, sidebar: Sidebar, library: FakeLibrary) -> None:
    sidebar._open_menu(SectionRow("f", "Work", is_folder=True), QPoint(5, 5))
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    menu.actions()[1].trigger()
    menu.close()
    assert library.calls == [("delete_folder", ("f",))]


def test_menu_of_conversations_is_filled_by_the_window(qtbot: QtBot, sidebar: Sidebar) -> None:
    sidebar.list.set_current("Ada")
    row = next(row for row in sidebar.list.rows() if row.title == "Ada")
    with qtbot.waitSignal(sidebar.menu_opening) as told:
        sidebar._open_menu(row, QPoint(5, 5))
    assert told.args is not None
    assert told.args[1] == ("Ada",)


def test_empty_library_says_so(qtbot: QtBot) -> None:
    made = Sidebar(FakeLibrary())  # type: ignore[arg-type]
    qtbot.addWidget(made)
    made.show()
    assert not made.has_conversations
    assert made._nothing.isVisible()
