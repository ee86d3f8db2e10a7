"""Settings, Local Server: off at first, honest about what is true, and silent about the key."""

import ast
import subprocess
import sys

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

import app.local_server
from app.conversation import Failure
from app.engine_state import ServingState
from app.settings import EVERYWHERE, LOOPBACK
from app.ui import server_words
from app.ui.settings.example import EXAMPLES
from app.ui.settings.server import ServerPage
from app.ui.theme import Role
from tests.ui.fakes import MODEL, FakeWorkspace
from tests.ui.test_settings import pick_text

URL = "http://127.0.0.1:8080/v1"


@pytest.fixture
def workspace(qtbot: QtBot) -> FakeWorkspace:
    made = FakeWorkspace()
    made.settings.update(model="/models/Some Model.qpack")
    made.server.start()
    return made


@pytest.fixture
def page(qtbot: QtBot, workspace: FakeWorkspace) -> ServerPage:
    return shown(qtbot, workspace)


def shown(qtbot: QtBot, workspace: FakeWorkspace) -> ServerPage:
    page = ServerPage(workspace.settings, workspace.engine, workspace.server)  # type: ignore[arg-type]
    qtbot.addWidget(page)
    page.show()
    return page


def test_it_is_off_at_first(page: ServerPage, workspace: FakeWorkspace) -> None:
    assert not page._on.isChecked()
    assert page._status.text() == "Off: no other program can ask."
    assert workspace.engine.calls == []


def test_it_is_switched_on_and_off(page: ServerPage, workspace: FakeWorkspace) -> None:
    page._on.click()
    assert workspace.engine.calls == [("serve", (LOOPBACK, 8080, None))]
    assert page._status.text() == "Starting"
    workspace.engine.become(serving=ServingState(URL))
    assert page._status.text() == f"Listening at {URL}"
    workspace.engine.become(serving=ServingState(URL, answering=True, waiting=2))
    assert page._status.text() == f"Listening at {URL} · answering a program, 2 waiting"
    page._on.click()
    assert workspace.engine.names()[-1] == "stop_serving"
    assert "Off" in page._status.text()


def test_a_port_in_use_is_said_with_its_remedy(page: ServerPage, workspace: FakeWorkspace) -> None:
    page._on.click()
    failure = Failure("NotServing", "Port 8080 is in use.", "Choose another port.")
    workspace.engine.become(serving=ServingState(failure=failure))
    assert page._status.text() == "Port 8080 is in use. Choose another port."
    assert page._light._role == Role.WARNING
    page._port.setValue(8081)
    assert workspace.engine.calls[-1] == ("serve", (LOOPBACK, 8081, None))


def test_a_port_that_is_typed_is_tried_once(
    qtbot: QtBot, page: ServerPage, workspace: FakeWorkspace
) -> None:
    page._on.click()
    page._port.selectAll()
    qtbot.keyClicks(page._port, "12345\r")
    assert [call[1][1] for call in workspace.engine.calls] == [8080, 12345]


def test_a_key_is_made_masked_and_copied(page: ServerPage, workspace: FakeWorkspace) -> None:
    assert not page._copy_key.isEnabled()
    page._keyed.click()
    key = workspace.server_key.token
    assert key
    assert page._key.echoMode() == QLineEdit.EchoMode.Password
    assert page._key.displayText() == page._key.displayText()[0] * len(key)
    page._copy_key.click()
    assert QGuiApplication.clipboard().text() == key
    page._make_key.click()
    assert workspace.server_key.token != key
    page._copy_key.click()
    assert QGuiApplication.clipboard().text() == workspace.server_key.token
    page._keyed.click()
    assert page._key.text() == ""
    assert not page._make_key.isEnabled()


def test_a_key_that_cannot_be_kept_is_said(page: ServerPage, workspace: FakeWorkspace) -> None:
    workspace.server_key.keeps = False
    assert page._kept.isHidden()
    page._keyed.click()
    assert not page._kept.isHidden()


def test_a_key_that_is_gone_is_said(qtbot: QtBot, workspace: FakeWorkspace) -> None:
    workspace.settings.update(server_on=True, server_keyed=True)
    page = shown(qtbot, workspace)
    assert "Generate a new one" in page._status.text()
    page._make_key.click()
    assert page._status.text() == "Starting"


def test_the_keychain_is_not_read_before_the_page_is_seen(
    qtbot: QtBot, workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.settings.update(server_keyed=True)
    read: list[int] = []
    monkeypatch.setattr(type(workspace.server), "key", property(lambda _: read.append(1) or "k"))
    page = ServerPage(workspace.settings, workspace.engine, workspace.server)  # type: ignore[arg-type]
    qtbot.addWidget(page)
    workspace.settings.update(text_size=125)
    assert read == []
    page.show()
    assert read


def test_other_computers_need_the_key(page: ServerPage, workspace: FakeWorkspace) -> None:
    page._on.click()
    pick_text(page._address, "All computers on the network")
    assert workspace.engine.calls[-1] == ("serve", (EVERYWHERE, 8080, workspace.server_key.token))
    assert page._keyed.isChecked()
    assert not page._keyed.isEnabled()
    assert "On other computers" in page._hint.text()
    assert "unencrypted" in page._hint.text()
    pick_text(page._address, "This computer only")
    assert page._keyed.isEnabled()


def test_an_address_written_by_hand_is_shown(qtbot: QtBot, workspace: FakeWorkspace) -> None:
    workspace.settings.update(server_host="192.168.1.5", server_keyed=True)
    assert shown(qtbot, workspace)._address.currentText() == "192.168.1.5"


def test_without_the_extra_it_cannot_be_switched_on(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app.local_server, "missing", lambda: "uvicorn")
    workspace = FakeWorkspace()
    workspace.server.start()
    page = shown(qtbot, workspace)
    assert "needs uvicorn" in page._status.text()
    assert "martlet[server]" in page._status.text()
    assert not page._on.isEnabled()


def test_examples_are_copied_and_hold_no_key(page: ServerPage, workspace: FakeWorkspace) -> None:
    page._keyed.click()
    for kind in ("curl", "Python"):
        pick_text(page._example_kind, kind)
        page._copy_example.click()
        copied = QGuiApplication.clipboard().text()
        assert URL in copied
        assert "Some Model" in copied
        assert "MARTLET_API_KEY" in copied
        assert (workspace.server_key.token or "") not in copied
    workspace.engine.become(serving=ServingState("http://127.0.0.1:9000/v1"))
    assert "127.0.0.1:9000" in page._example.toPlainText()


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("model", ["demo", 'it\'s “odd” "name" $(x) \\'])
def test_examples_are_what_they_say(model: str, keyed: bool) -> None:
    """The shell and Python read the model's name as it is."""
    curl, python = (example.text(URL, model, keyed) for example in EXAMPLES)
    calls = [node for node in ast.walk(ast.parse(python)) if isinstance(node, ast.keyword)]
    named = next(call.value for call in calls if call.arg == "model")
    assert ast.literal_eval(named) == model
    shell = f'curl() {{ for a in "$@"; do printf \'%s\\n\' "$a"; done; }}\n{curl}'
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=True)
    words = done.stdout.split("-d\n")[1]
    code = "import json, sys; sys.stdout.write(json.loads(sys.stdin.read())['model'])"
    read = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", code],
        input=words,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    assert read.stdout == model
    assert ("Authorization" in curl) == keyed


def test_words_for_an_engine_that_gave_up(page: ServerPage, workspace: FakeWorkspace) -> None:
    page._on.click()
    workspace.engine.gave_up = True
    workspace.engine.become(serving=ServingState())
    assert "Restart it" in page._status.text()


def test_light_of_the_status_bar() -> None:
    assert server_words.light(ServingState()) is None
    idle = server_words.light(ServingState(URL))
    busy = server_words.light(ServingState(URL, answering=True))
    failed = server_words.light(ServingState(failure=Failure("NotServing", "Busy.", "Move.")))
    assert idle is not None
    assert busy is not None
    assert failed is not None
    assert (idle.light, busy.light, failed.light) == (Role.TERTIARY, Role.READY, Role.WARNING)
    assert failed.text == "Busy. Move."


def test_loaded_model_is_the_one_of_the_example(page: ServerPage, workspace: FakeWorkspace) -> None:
    page._on.click()
    workspace.engine.become(model="loaded", model_path=MODEL)
    assert "Qwen3.6-35B-A3B-4bit" in page._example.toPlainText()
