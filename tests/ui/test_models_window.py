"""The Models window: what rows say, which buttons they have, and what those ask for."""

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QFileDialog, QMenu, QMessageBox, QPushButton
from pytestqt.qtbot import QtBot

from app.download import Freed, Hit, Progress, Trouble
from app.installed_models import DEMO
from app.ui.models_window import words
from app.ui.models_window.token_sheet import TokenSheet
from app.ui.models_window.window import ModelsWindow
from app.ui.theme import Role
from tests.ui.fakes import GB, MODEL, FakeWorkspace
from tests.ui.scenes_models import (
    AWAY,
    DOWNLOADS,
    FULL,
    INSTALLED,
    OFFERS,
    RUNNING,
    download,
    failed,
    window,
)


@pytest.fixture
def workspace() -> FakeWorkspace:
    return FakeWorkspace()


@pytest.fixture
def models(qtbot: QtBot, workspace: FakeWorkspace) -> ModelsWindow:
    made = window(workspace)
    qtbot.addWidget(made)
    made.show()
    return made


def test_a_running_download_says_all_there_is_to_say(
    models: ModelsWindow, workspace: FakeWorkspace
) -> None:
    workspace.downloads.become(RUNNING)
    row = models.downloading.row("run")
    assert row.detail() == "19.3 of 44.8 GB · 96 MB/s · 4 min 25 s left"
    assert row.acts() == ["Pause", "Cancel", "Show in Folder"]


def test_every_state_has_its_words() -> None:
    said = {d.id: words.download_line(d) for d in DOWNLOADS}
    assert said["Verifying"][0] == "Verifying: 43 %"
    assert said["Repacking"][0] == "Repacking · 19.3 of 44.8 GB · 96 MB/s · 2 h 5 min left"
    assert said["Stalled"] == (
        "0 MB/s · huggingface.co has stopped sending. Trying again in 4 s.",
        Role.WARNING,
    )
    assert said["Paused"] == ("Paused · 19.3 of 44.8 GB", Role.SECONDARY)
    assert said["Waiting"][0] == "Waits for its turn"
    assert said["Moving"][0] == "Moving what has arrived: 43 %"
    full = f"Paused: {FULL.message}\n{FULL.remedy} It then goes on by itself."
    assert said["Full"] == (full, Role.WARNING)


@pytest.mark.parametrize(
    ("state", "text", "asked"),
    [
        ("running", "Pause", ("pause", ("x",))),
        ("queued", "Pause", ("pause", ("x",))),
        ("paused", "Resume", ("resume", ("x", False))),
        ("running", "Cancel", ("cancel", ("x",))),
    ],
)
def test_buttons_of_a_download(
    models: ModelsWindow,
    workspace: FakeWorkspace,
    state: str,
    text: str,
    asked: tuple[str, tuple[object, ...]],
) -> None:
    workspace.downloads.become(download("x", state))
    press(models, f"{text}: x 4-bit")
    assert workspace.downloads.calls == [asked]


def press(models: ModelsWindow, name: str) -> None:
    """Click the button of that accessible name."""
    buttons = [b for b in models.findChildren(QPushButton) if b.accessibleName() == name]
    buttons[-1].click()


def test_a_button_keeps_the_keyboard_while_bytes_arrive(
    models: ModelsWindow, workspace: FakeWorkspace
) -> None:
    workspace.downloads.become(RUNNING)
    before = models.findChildren(QPushButton)
    workspace.downloads.become(replace(RUNNING, progress=Progress("verifying", 1, 2)))
    assert models.findChildren(QPushButton) == before


def test_the_menu_does_what_it_says(models: ModelsWindow, workspace: FakeWorkspace) -> None:
    workspace.downloads.become(failed("x", FULL))
    (menu,) = models.downloading.row("x").findChildren(QMenu)
    next(action for action in menu.actions() if action.text() == "Download Anyway").trigger()
    assert workspace.downloads.calls == [("resume", ("x", True))]


def test_another_folder_can_be_chosen(
    models: ModelsWindow, workspace: FakeWorkspace, tmp_path: Path
) -> None:
    workspace.downloads.become(failed("x", FULL))
    press(models, "Choose Folder…: x 4-bit")
    (sheet,) = models.findChildren(QFileDialog)
    assert sheet.windowTitle() == "Choose a Folder for “x”"
    sheet.fileSelected.emit(str(tmp_path))
    assert workspace.downloads.calls == [("move", ("x", tmp_path))]
    sheet.close()


def test_what_waits_for_its_disk_can_wait_elsewhere_or_no_longer(
    models: ModelsWindow, workspace: FakeWorkspace
) -> None:
    workspace.downloads.become(failed("x", AWAY))
    row = models.downloading.row("x")
    assert row.acts() == ["Choose Folder…", "Try Again", "Pause", "Cancel", "Show in Folder"]
    row.act("Pause")
    assert workspace.downloads.calls == [("pause", ("x",))]


def test_a_repair_stays_where_its_model_is(models: ModelsWindow, workspace: FakeWorkspace) -> None:
    workspace.downloads.become(download("x", "failed", trouble=FULL, repair=True))
    assert "Choose Folder…" not in models.downloading.row("x").acts()


def test_a_full_disk_can_be_overruled(models: ModelsWindow, workspace: FakeWorkspace) -> None:
    workspace.downloads.become(failed("x", FULL))
    row = models.downloading.row("x")
    row.act("Download Anyway")
    row.act("Try Again")
    assert workspace.downloads.calls == [("resume", ("x", True)), ("resume", ("x", False))]


def test_a_missing_token_is_asked_for(models: ModelsWindow, workspace: FakeWorkspace) -> None:
    workspace.keychain.keeps = False
    workspace.downloads.become(failed("x", Trouble("Who are you?", "", "token")))
    models.downloading.row("x").act("Enter Token…")
    (sheet,) = models.findChildren(TokenSheet)
    sheet.field.setText(" hf_1 ")
    sheet.accept()
    assert workspace.keychain.token == "hf_1"
    assert workspace.downloads.calls == [("resume", ("x", False))]
    assert "until you quit" in models.said.text()


def test_cancelled_says_what_came_back(models: ModelsWindow, workspace: FakeWorkspace) -> None:
    workspace.downloads.cancelled.emit(Freed("Tiny", 3 * GB))
    assert models.said.text() == "“Tiny” was cancelled: 3.0 GB came back."
    assert models.said.isVisible()


def test_cancelling_a_repair_is_asked_first(models: ModelsWindow, workspace: FakeWorkspace) -> None:
    workspace.downloads.become(download("x", "paused", repair=True))
    models.downloading.row("x").act("Cancel")
    (sheet,) = models.findChildren(QMessageBox)
    assert workspace.downloads.calls == []
    next(b for b in sheet.buttons() if b.text() == "Delete").click()
    assert workspace.downloads.calls == [("cancel", ("x",))]


def test_a_repair_that_has_not_begun_is_cancelled_without_a_question(
    models: ModelsWindow, workspace: FakeWorkspace
) -> None:
    workspace.downloads.become(download("x", "queued", repair=True, progress=Progress()))
    models.downloading.row("x").act("Cancel")
    assert workspace.downloads.calls == [("cancel", ("x",))]


def test_the_catalogue_offers_what_is_not_here(
    models: ModelsWindow, workspace: FakeWorkspace
) -> None:
    assert models.offered.order() == [offer.source for offer in OFFERS]
    first = OFFERS[0]
    row = models.offered.row(first.source)
    assert row.detail() == "19.5 GB download · Apache-2.0 · 262k context · chat, code, thinking"
    row.act("Download")
    assert workspace.downloads.calls == [("add", (first.source, first.name, first.variant))]
    workspace.downloads.become(replace(RUNNING, source=first.source))
    assert first.source not in models.offered.order()


def test_what_does_not_fit_can_be_had_all_the_same(models: ModelsWindow) -> None:
    assert models.offered.row("acme/Large").acts() == ["Download Anyway"]


def test_installed_models(models: ModelsWindow, workspace: FakeWorkspace) -> None:
    workspace.installed.changed.emit(INSTALLED)
    said = {key: models.installed.row(key).detail() for key in models.installed.order()}
    assert said[MODEL] == "19.5 GB · in use"
    assert said["/app/demo.qpack"] == "14 MB · a toy that shows how Martlet works"
    assert said["/m/dwq"] == "On “Archive”, which is not connected."
    assert models.installed.row("/m/dwq").acts() == []
    assert "Move to Trash" not in models.installed.row("/app/demo.qpack").acts()
    models.installed.row("/m/8").act("Repair")
    models.installed.row("/m/half").act("Go On")
    assert workspace.downloads.calls == [
        ("repair", ("/m/8", "acme/8bit", "Qwen3.6-35B-A3B-8bit")),
        ("go_on", ("/m/half", "a/h", "Half")),
    ]


def test_use(models: ModelsWindow, workspace: FakeWorkspace, qtbot: QtBot) -> None:
    workspace.installed.changed.emit(INSTALLED)
    with qtbot.waitSignal(models.chosen) as heard:
        models.installed.row("/app/demo.qpack").act("Use")
    assert heard.args == ["/app/demo.qpack"]
    workspace.settings.update(model="/app/demo.qpack")
    assert models.installed.row("/app/demo.qpack").acts() == ["Show in Folder"]


def test_the_trash_takes_the_model_out_of_memory_first(
    models: ModelsWindow, workspace: FakeWorkspace
) -> None:
    workspace.installed.changed.emit(INSTALLED)
    workspace.engine.become(model="loaded", model_path=MODEL)
    workspace.installed.has_trash = False
    models.installed.row(MODEL).act("Move to Trash")
    assert workspace.engine.names() == ["unload"]
    assert workspace.installed.calls[-1] == ("trash", (MODEL,))
    (sheet,) = models.findChildren(QMessageBox)
    assert "could not be moved" in sheet.text()


def test_after_the_trash_the_built_in_model_answers(
    models: ModelsWindow, workspace: FakeWorkspace
) -> None:
    workspace.installed.changed.emit(INSTALLED)
    models.installed.row(MODEL).act("Move to Trash")
    assert workspace.settings.settings.model == str(DEMO)


def test_what_is_on_its_way_is_not_listed_as_installed(
    models: ModelsWindow, workspace: FakeWorkspace
) -> None:
    workspace.installed.changed.emit(INSTALLED)
    workspace.downloads.become(download("x", "running", target="/m/half"))
    assert "/m/half" not in models.installed.order()


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("qwen next", "search"),
        ("acme/Tiny", "look_up"),
        ("https://hub.example/acme/Tiny", "look_up"),
    ],
)
def test_words_are_searched_and_sources_looked_up(
    models: ModelsWindow, workspace: FakeWorkspace, qtbot: QtBot, text: str, asked: str
) -> None:
    models.search.setText(text)
    qtbot.keyClick(models.search, Qt.Key.Key_Return)
    assert workspace.hub.calls == [(asked, (text,))]


def test_a_hit_is_looked_at_and_downloaded(models: ModelsWindow, workspace: FakeWorkspace) -> None:
    models.search.setText("whole")
    workspace.hub.found.emit("whole", (Hit("acme/Whole", 1200, True, "mit"),))
    row = models.found.row("acme/Whole")
    assert row.detail() == "1,200 downloads · mit · its owners ask for a licence"
    row.act("Details")
    workspace.hub.offered.emit(OFFERS[-1])
    models.found.row("acme/Whole").act("Download")
    assert workspace.hub.calls == [("look_up", ("acme/Whole",))]
    assert workspace.downloads.names() == ["add"]
    assert models.found.order() == []


def test_a_hit_that_wants_a_token_asks_for_it(
    models: ModelsWindow, workspace: FakeWorkspace
) -> None:
    hits = (Hit("acme/Gated", 12, True, ""), Hit("acme/Open", 12, False, ""))
    workspace.hub.found.emit("acme", hits)
    assert models.found.row("acme/Gated").acts() == ["Enter Token…", "Details"]
    assert models.found.row("acme/Open").acts() == ["Details"]
    models.found.row("acme/Gated").act("Enter Token…")
    enter(models, "hf_1")
    assert workspace.keychain.token == "hf_1"
    assert workspace.hub.calls == [("look_up", ("acme/Gated",))]
    workspace.hub.found.emit("acme", hits)
    assert models.found.row("acme/Gated").acts() == ["Details"]


def enter(models: ModelsWindow, token: str) -> None:
    """Fill in the token sheet."""
    (sheet,) = models.findChildren(TokenSheet)
    sheet.field.setText(token)
    sheet.accept()


@pytest.mark.parametrize("among_hits", [True, False])
@pytest.mark.parametrize(
    ("trouble", "acts"),
    [
        (Trouble("Who are you?", "", "token"), ["Enter Token…", "Try Again"]),
        (Trouble("Accept it.", "", "page", "https://hub/a"), ["Open Page…", "Try Again"]),
    ],
)
def test_a_refused_question_has_the_button_that_helps(
    models: ModelsWindow,
    workspace: FakeWorkspace,
    trouble: Trouble,
    acts: list[str],
    among_hits: bool,
) -> None:
    if among_hits:
        hits = (Hit("acme/Gated", 12, True, ""), Hit("acme/Open", 12, False, ""))
        workspace.hub.found.emit("acme", hits)
    workspace.hub.failed.emit("acme/Gated", trouble)
    row = models.found.row("acme/Gated")
    assert (row.detail(), row.acts()) == (trouble.message, acts)
    assert len(models.found.order()) == (2 if among_hits else 1)
    row.act("Try Again")
    assert workspace.hub.calls == [("look_up", ("acme/Gated",))]


def test_no_answer_is_said_and_goes_with_the_question(
    models: ModelsWindow, workspace: FakeWorkspace
) -> None:
    models.search.setText("acme/None")
    workspace.hub.failed.emit("acme/None", Trouble("There is none.", "Look again."))
    assert models.said.text() == "There is none. Look again."
    models.search.clear()
    assert not models.said.isVisible()


def test_the_real_catalogue_is_offered(
    qtbot: QtBot, workspace: FakeWorkspace, tmp_path: Path
) -> None:
    made = ModelsWindow(workspace.real, tmp_path)
    qtbot.addWidget(made)
    assert len(made.offered.order()) >= 3
    assert all("download" in made.offered.row(key).detail() for key in made.offered.order())


def test_the_disk_is_measured_when_a_person_asks(
    models: ModelsWindow, workspace: FakeWorkspace
) -> None:
    assert workspace.probe.calls == []
    models.measure.click()
    assert workspace.probe.names() == ["measure"]
    workspace.probe.become(None, is_measuring=True)
    assert models.disk.text().endswith("free on the disk · measuring…")
    assert not models.measure.isVisible()
    workspace.probe.become(2.9e9)
    assert models.disk.text().endswith("free on the disk · reads 2.9 GB/s")


def test_a_measured_disk_gives_the_catalogue_its_speeds(
    qtbot: QtBot, workspace: FakeWorkspace, tmp_path: Path
) -> None:
    made = ModelsWindow(workspace.real, tmp_path)
    qtbot.addWidget(made)
    workspace.probe.become(2.9e9)
    assert all("token" in offer.fits.speed for offer in made._catalogue())


def test_the_ground_follows_the_scheme(models: ModelsWindow, palette: QPalette) -> None:
    assert models.palette().window().color() == palette.base().color()


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.2, "1 s left"), (59, "59 s left"), (265, "4 min 25 s left"), (7500, "2 h 5 min left")],
)
def test_time_left(seconds: float, said: str) -> None:
    assert words.time_left(seconds) == said
