"""The window on the real store and queue, with an engine process that plays a script."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot

from app.ui.application import Application
from app.ui.main_window import MainWindow
from app.ui.settings.plan_view import PlanView
from app.workspace import Workspace

FAKE_ENGINE = Path(__file__).parents[1] / "app" / "fake_engine.py"
PATIENCE_MS = 60_000

Start = Callable[..., Application]


class Life:
    """One life of the application on a data folder."""

    def __init__(self, data: Path, script: Path) -> None:
        self.workspace = Workspace(data, [sys.executable, str(FAKE_ENGINE), str(script)])
        self.workspace.settings.update(model="/models/fake.qpack", titles_by_model=False)
        self.application = Application(self.workspace, data)
        self.application.start()
        self.is_over = False

    @property
    def window(self) -> MainWindow:
        return self.application.windows[0]

    def end(self) -> None:
        """As quitting does."""
        if not self.is_over:
            self.is_over = True
            self.application.close()
            self.workspace.close()
            self.application.deleteLater()
            QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
            del self.application, self.workspace


@pytest.fixture
def live(qtbot: QtBot, tmp_path: Path) -> Iterator[Callable[[dict[str, object]], Life]]:
    lives: list[Life] = []

    def start(script: dict[str, object]) -> Life:
        for life in lives:
            life.end()
        file = tmp_path / "script.json"
        file.write_text(json.dumps(script))
        data = tmp_path / "data"
        data.mkdir(exist_ok=True)
        lives.append(Life(data, file))
        return lives[-1]

    yield start
    for life in lives:
        life.end()


def said(window: MainWindow) -> list[tuple[str, str]]:
    """Status and text of every message that is shown."""
    return [(message.status, message.text) for message in window.chat.messages]


def last(window: MainWindow) -> tuple[str, str]:
    return (said(window) or [("", "")])[-1]


def titles(window: MainWindow) -> list[str]:
    return [row.title for row in window.sidebar.list.rows()]


def wait(qtbot: QtBot, until: Callable[[], bool]) -> None:
    qtbot.waitUntil(until, timeout=PATIENCE_MS)


def press(window: MainWindow, key: str, text: str) -> None:
    banner = window.banners.banner(key)
    assert banner is not None
    next(b for b in banner.findChildren(QPushButton) if b.text() == text).click()


def test_question_is_listed_and_answered(
    qtbot: QtBot, live: Callable[[dict[str, object]], Life]
) -> None:
    window = live({"answers": [{"text": "An answer."}]}).window
    window.pane.composer.text.setPlainText("A question?")
    window.pane.composer.send()
    wait(qtbot, lambda: last(window) == ("complete", "An answer."))
    assert said(window)[0] == ("complete", "A question?")
    wait(qtbot, lambda: titles(window) == ["Today", "A question?"])
    assert window.windowTitle() == "A question?"
    assert "Ready" in window.status.line()


def test_engine_death_keeps_the_answer_and_goes_on(
    qtbot: QtBot, live: Callable[[dict[str, object]], Life]
) -> None:
    answers = [
        {"match": "Go on", "text": "one two three four", "crash_at": 2},
        {"match": "Again", "text": "Whole."},
    ]
    window = live({"answers": answers}).window
    window.chat.send("Go on.")
    wait(qtbot, lambda: window.banners.banner("engine") is not None)
    wait(qtbot, lambda: last(window) == ("interrupted", "one two "))
    press(window, "engine", "Restart")
    window.chat.send("Again.")
    wait(qtbot, lambda: last(window) == ("complete", "Whole."))
    assert said(window)[1] == ("interrupted", "one two ")
    assert window.banners.banner("engine") is None


def test_quitting_while_it_answers_loses_nothing(
    qtbot: QtBot, live: Callable[[dict[str, object]], Life]
) -> None:
    life = live({"answers": [{"text": "word " * 500, "delay_s": 0.02}]})
    window = life.window
    window.chat.send("Talk.")
    wait(qtbot, lambda: last(window)[1].count("word") > 2)
    pid = life.workspace.engine.state.pid
    life.end()
    assert pid is not None
    assert not Path(f"/proc/{pid}").exists()

    window = live({}).window
    wait(qtbot, lambda: len(window.chat.messages) == 2)
    status, text = last(window)
    assert status in ("stopped", "interrupted")
    assert text.startswith("word word")
    assert said(window)[0] == ("complete", "Talk.")


def test_deleting_while_it_answers_and_taking_it_back(
    qtbot: QtBot, live: Callable[[dict[str, object]], Life]
) -> None:
    window = live({"answers": [{"text": "word " * 500, "delay_s": 0.02}]}).window
    window.chat.send("Talk.")
    wait(qtbot, lambda: "Talk." in titles(window) and "word" in last(window)[1])
    window.sidebar.list.delete_wanted.emit((window.chat.conversation.id,))  # type: ignore[union-attr]
    wait(qtbot, lambda: titles(window) == [])
    wait(qtbot, lambda: window.windowTitle() == "New Chat")
    press(window, "undo", "Undo")
    wait(qtbot, lambda: "Talk." in titles(window))
    wait(qtbot, lambda: window._workspace.engine.state.answering is None)


def test_search_finds_what_was_said_and_shows_it(
    qtbot: QtBot, live: Callable[[dict[str, object]], Life]
) -> None:
    window = live({"answers": [{"text": "The oven is warm."}]}).window
    window.chat.send("Dinner?")
    wait(qtbot, lambda: last(window) == ("complete", "The oven is warm."))
    window.chat.open_new()
    window.sidebar.search.setText("oven")
    wait(qtbot, lambda: "Dinner?" in titles(window) and len(titles(window)) == 1)
    window.sidebar.select_place(0)
    wait(qtbot, lambda: window.windowTitle() == "Dinner?")


def test_reader_returns_to_the_place_where_the_window_was_closed(
    qtbot: QtBot, live: Callable[[dict[str, object]], Life]
) -> None:
    script: dict[str, object] = {"answers": [{"text": "A long paragraph of words. " * 400}]}
    window = live(script).window
    window.chat.send("Talk.")
    wait(qtbot, lambda: last(window)[0] == "complete")
    bar = window.pane.transcript.verticalScrollBar()
    wait(qtbot, lambda: bar.maximum() > 1000)
    bar.setValue(700)
    wait(qtbot, lambda: window.pane.place is not None)
    place = window.pane.place

    window = live(script).window
    wait(qtbot, lambda: window.pane.place == place)


def test_one_can_write_before_the_conversation_is_there(
    qtbot: QtBot, live: Callable[[dict[str, object]], Life]
) -> None:
    script: dict[str, object] = {"answers": [{"text": "Yes."}]}
    window = live(script).window
    window.chat.send("First.")
    wait(qtbot, lambda: last(window) == ("complete", "Yes."))
    window = live(script).window  # it reads "First." while this is written and sent
    window.pane.composer.text.setPlainText("Second.")
    window.pane.composer.send()
    wait(qtbot, lambda: titles(window) == ["Today", "Second.", "First."])


def test_model_that_cannot_be_loaded_is_said(
    qtbot: QtBot, live: Callable[[dict[str, object]], Life]
) -> None:
    error = {"kind": "NotEnoughMemory", "message": "It needs 6 GB.", "remedy": "Close programs."}
    window = live({"load": {"error": error}}).window
    window.chat.send("Hello?")
    wait(qtbot, lambda: window.banners.banner("load") is not None)
    banner = window.banners.banner("load")
    assert banner is not None
    assert banner.accessibleName() == "It needs 6 GB. Close programs."
    assert window.toolbar.model.accessibleDescription() == "The model could not be loaded"


def test_a_paused_answer_goes_on_at_a_press(
    qtbot: QtBot, live: Callable[[dict[str, object]], Life]
) -> None:
    reason = "Memory is critically short, so the answer waits."
    window = live({"paused": reason, "answers": [{"text": "One two."}]}).window
    window.chat.send("Hello?")
    wait(qtbot, lambda: window.banners.banner("pause") is not None)
    banner = window.banners.banner("pause")
    assert banner is not None
    assert banner.accessibleName() == reason
    press(window, "pause", "Continue")
    wait(qtbot, lambda: last(window) == ("complete", "One two."))
    wait(qtbot, lambda: window.banners.banner("pause") is None)


def test_a_disk_that_fails_costs_an_answer_and_its_return_is_noticed(
    qtbot: QtBot, live: Callable[[dict[str, object]], Life]
) -> None:
    error = {"kind": "ReadFailed", "message": "Expert 1 could not be read.", "remedy": "Look."}
    script = {
        "answers": [{"text": "One two.", "error_at": 1, "error": error}, {"text": "Whole."}],
        "storage": [[True, "The model's files can be read again."]],
    }
    window = live(script).window
    window.chat.send("Hello?")
    wait(qtbot, lambda: last(window) == ("failed", "One "))
    failed = window.chat.messages[-1]
    assert failed.error is not None
    assert failed.error.message == "Expert 1 could not be read."
    wait(qtbot, lambda: window.banners.banner("files") is not None)
    window.chat.regenerate(failed.id)
    wait(qtbot, lambda: last(window) == ("complete", "Whole."))
    assert window.chat.messages[-1].sibling_count == 2
    window.banners.hide_banner("files")


def test_settings_show_the_engines_own_plan(
    qtbot: QtBot, live: Callable[[dict[str, object]], Life]
) -> None:
    life = live({})
    life.application.run("show_settings")
    settings = life.application._settings_window
    assert settings is not None
    settings.show_page(1)
    view = settings.findChild(PlanView)
    wait(qtbot, lambda: view._words.text() == "Takes 100 MB of the 500 MB that are free.")
    assert life.workspace.engine.state.model == "none", "nothing was loaded for it"
