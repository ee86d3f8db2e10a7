"""Commands of the Chat menu and of files: they act on conversations, mostly the one shown."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from app.conversation import Message
from app.ui import sheets
from app.ui.chat_settings import ConversationSettings
from app.ui.deleted_sheet import DeletedSheet
from app.workspace import Workspace

if TYPE_CHECKING:
    from app.ui.main_window import MainWindow

translate = QCoreApplication.translate

_KINDS = {"markdown": ("md", "Markdown (*.md)"), "json": ("json", "JSON (*.json)")}


class ChatCommands:
    """What can be done with the conversation of one window, and with its list."""

    def __init__(self, window: "MainWindow", workspace: Workspace) -> None:
        self._window = window
        self._chat = window.chat
        self._library = workspace.library
        self._settings = workspace.settings

    def available(self) -> Iterator[str]:
        """Names of the commands that make sense now."""
        yield from ("new_folder", "import_chats", "show_deleted", "export_all", "focus_composer")
        yield "attach_files"
        if self._window.sidebar.has_conversations:
            yield from ("previous_chat", "next_chat")
        if self._window.is_answering:
            yield "stop"
        if self._chat.conversation is not None:
            yield "chat_settings"
        if self._window.is_listed:
            yield from ("rename_chat", "toggle_pinned", "delete_chat")
            yield from ("export_markdown", "export_json")
        if answer := self._last_answer():
            yield from self._available_for(answer)

    def checked(self) -> Iterator[str]:
        """Names of the commands whose state is on."""
        if self._chat.conversation is not None and self._chat.conversation.pinned:
            yield "toggle_pinned"

    # The answer

    def focus_composer(self) -> None:
        """Put the keyboard where one writes."""
        self._window.pane.focus_composer()

    def attach_files(self) -> None:
        """Ask for text or code files for the message."""
        self._window.pane.choose_files()

    def stop(self) -> None:
        """End the running answer; what was written stays."""
        self._chat.stop()

    def regenerate(self) -> None:
        """Another version of the last answer."""
        self._with_last_answer(lambda answer: self._chat.regenerate(answer.id))

    def continue_answer(self) -> None:
        """Let the model go on with the last answer."""
        self._with_last_answer(lambda answer: self._chat.continue_(answer.id))

    def copy_answer(self) -> None:
        """The last answer to the clipboard."""
        self._with_last_answer(lambda answer: self._window.pane.copy_message(answer.id))

    # The conversation

    def rename_chat(self) -> None:
        """Edit the conversation's title where it stands."""
        self._window.panels.show_sidebar(True)
        self._window.sidebar.rename(self._shown_id())

    def toggle_pinned(self) -> None:
        """Keep the conversation at the top of the list, or no longer."""
        if conversation := self._chat.conversation:
            self._library.set_pinned(conversation.id, not conversation.pinned)

    def chat_settings(self) -> None:
        """What this conversation does differently."""
        ConversationSettings(self._chat, self._settings.settings, self._window).open()

    def delete_chat(self) -> None:
        """The conversation to Recently Deleted; Undo is offered."""
        self._library.delete([self._shown_id()])

    def previous_chat(self) -> None:
        """The conversation above this one."""
        self._window.sidebar.list.step(-1)

    def next_chat(self) -> None:
        """The conversation below this one."""
        self._window.sidebar.list.step(1)

    # The list

    def new_folder(self) -> None:
        """A folder, whose name is edited at once."""
        self._window.panels.show_sidebar(True)
        self._window.sidebar.add_folder()

    def show_deleted(self) -> None:
        """Recently Deleted."""
        DeletedSheet(self._library, self._window).open()

    def export_markdown(self) -> None:
        """To read elsewhere."""
        self._ask_target("markdown", [self._shown_id()])

    def export_json(self) -> None:
        """Nothing is lost; can be imported again."""
        self._ask_target("json", [self._shown_id()])

    def export_all(self) -> None:
        """Every conversation as JSON into a folder."""
        title = translate("chat", "Export All Conversations Into")
        sheets.open_folder(
            self._window, title, lambda path: self._library.export(None, Path(path), "json")
        )

    def import_chats(self) -> None:
        """Conversations from a JSON file."""
        title = translate("chat", "Import Conversations")
        sheets.open_file(
            self._window, title, "JSON (*.json)", lambda path: self._library.import_(Path(path))
        )

    # Menus for one or several conversations of the list

    def fill_row_menu(self, menu: QMenu, conversation_ids: Sequence[str]) -> None:
        """What can be done with the selected conversations."""
        if len(conversation_ids) == 1:
            self._fill_single(menu, conversation_ids[0])
        self.fill_move_menu(menu.addMenu(translate("chat", "Move to Folder")), conversation_ids)
        self._add(
            menu,
            translate("chat", "Export as Markdown…"),
            lambda: self._ask_target("markdown", conversation_ids),
        )
        menu.addSeparator()
        self._add(menu, translate("chat", "Delete"), lambda: self._library.delete(conversation_ids))

    def fill_move_menu(self, menu: QMenu, conversation_ids: Sequence[str] | None = None) -> None:
        """The folders that conversations (the one shown, unless given) can be moved into."""
        menu.clear()
        ids = [self._shown_id()] if conversation_ids is None else conversation_ids
        self._add(menu, translate("chat", "No Folder"), lambda: self._library.move(ids, None))
        menu.addSeparator()
        for folder in self._library.library.folders:
            self._add(menu, folder.name, partial(self._library.move, ids, folder.id))

    def _fill_single(self, menu: QMenu, conversation_id: str) -> None:
        self._add(
            menu,
            translate("chat", "Open in New Window"),
            lambda: self._window.new_window_wanted.emit(conversation_id),
        )
        self._add(
            menu,
            translate("chat", "Rename"),
            lambda: self._window.sidebar.rename(conversation_id),
        )
        pinned = any(
            c.id == conversation_id and c.pinned for c in self._library.library.conversations
        )
        self._add(
            menu,
            translate("chat", "Unpin") if pinned else translate("chat", "Pin"),
            lambda: self._library.set_pinned(conversation_id, not pinned),
        )

    def _add(self, menu: QMenu, text: str, run: Callable[[], object]) -> None:
        action = menu.addAction(text)
        action.setMenuRole(QAction.MenuRole.NoRole)
        action.triggered.connect(lambda _=False: run())

    # Pieces

    def _ask_target(
        self, form: Literal["markdown", "json"], conversation_ids: Sequence[str]
    ) -> None:
        title = translate("chat", "Export")

        def export(path: str) -> None:
            self._library.export(conversation_ids, Path(path), form)

        if len(conversation_ids) > 1:
            sheets.open_folder(self._window, title, export)
            return
        ending, kinds = _KINDS[form]
        name = f"{self._title(conversation_ids[0])}.{ending}"
        sheets.save_file(self._window, title, name, kinds, export)

    def _title(self, conversation_id: str) -> str:
        """Its title as a file name."""
        titles = {c.id: c.title for c in self._library.library.conversations}
        title = titles.get(conversation_id, "") or translate("chat", "Conversation")
        return "".join("-" if sign in '/\\:*?"<>|\0' else sign for sign in title)[:100].strip()

    def _shown_id(self) -> str:
        return self._chat.conversation.id if self._chat.conversation else ""

    def _last_answer(self) -> Message | None:
        last = self._chat.messages[-1] if self._chat.messages else None
        return last if last is not None and last.role == "assistant" else None

    def _with_last_answer(self, act: Callable[[Message], object]) -> None:
        if answer := self._last_answer():
            act(answer)

    def _available_for(self, answer: Message) -> Iterator[str]:
        if answer.text:
            yield "copy_answer"
        if answer.settled:
            yield "regenerate"
        if answer.can_continue:
            yield "continue_answer"
