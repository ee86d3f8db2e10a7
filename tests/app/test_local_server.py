"""The server as the settings want it; the key is in the keychain, and never falls away unseen."""

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from PySide6.QtCore import QCoreApplication

import app.local_server
from app.conversation import Activity, Failure
from app.engine_state import ServingState
from app.keychain import LOCAL_SERVER, Keychain
from app.local_server import LocalServer
from app.safe_start import Suspicion
from app.settings import EVERYWHERE, LOOPBACK
from app.settings_store import SettingsStore
from app.workspace import Workspace
from engine.options import GenerationOptions
from engine.protocol import ChatMessage
from engine.server.settings import ServerSettings
from tests.app.conftest import Heard, Script, WaitFor
from tests.app.test_keychain import FakeVault, NoVault
from tests.ui.fakes import FakeEngine

LIMIT_S = 30
QUESTION = {"messages": [{"role": "user", "content": "hi"}]}


class Bench:
    """A server on a fake engine."""

    def __init__(self, folder: Path, vault: FakeVault) -> None:
        self.settings = SettingsStore(folder / "settings.json")
        self.engine = FakeEngine()
        self.vault = vault
        self.server = self.make()

    def make(self) -> LocalServer:
        keychain = Keychain(self.vault, LOCAL_SERVER)
        return LocalServer(self.settings, self.engine, keychain)  # type: ignore[arg-type]

    def last(self) -> Any:
        return self.engine.calls[-1] if self.engine.calls else None


@pytest.fixture
def bench(qapp: QCoreApplication, tmp_path: Path) -> Bench:
    made = Bench(tmp_path, FakeVault())
    made.server.start()
    return made


def test_it_is_off_until_it_is_switched_on(bench: Bench) -> None:
    assert bench.engine.calls == []
    assert bench.server.status.condition == "off"
    bench.server.switch(True)
    assert bench.last() == ("serve", (LOOPBACK, 8080, None))
    assert bench.server.status.condition == "starting"
    bench.settings.update(text_size=125)
    bench.settings.update(server_port=8081)
    assert bench.engine.names() == ["serve", "serve"]
    bench.server.switch(False)
    assert bench.last() == ("stop_serving", ())
    assert bench.server.status.condition == "off"


def test_it_is_on_after_a_restart_but_not_before_it_may_be(bench: Bench) -> None:
    bench.server.switch(True)
    bench.engine.calls.clear()
    again = bench.make()
    assert bench.engine.calls == []
    again.start()
    assert bench.engine.names() == ["serve"]


def test_a_key_is_made_and_kept_in_the_keychain(bench: Bench) -> None:
    bench.server.switch(True)
    assert bench.server.ask_key(True)
    key = bench.vault.held[LOCAL_SERVER]
    assert ServerSettings(api_key=key).api_key == key
    assert len(key) > 40
    assert bench.last() == ("serve", (LOOPBACK, 8080, key))
    assert bench.server.ask_key(False)
    assert bench.last() == ("serve", (LOOPBACK, 8080, None))
    assert bench.server.ask_key(True)
    assert bench.vault.held[LOCAL_SERVER] == key, "the same as before"
    assert bench.server.make_key()
    assert bench.vault.held[LOCAL_SERVER] != key
    assert bench.last()[1][2] == bench.vault.held[LOCAL_SERVER]


def test_the_key_is_in_no_file(bench: Bench, tmp_path: Path) -> None:
    bench.server.switch(True)
    bench.server.ask_key(True)
    for file in tmp_path.rglob("*"):
        assert bench.server.key not in file.read_text()


def test_without_its_key_it_does_not_serve(bench: Bench) -> None:
    """The keychain was emptied, or the key was for one session: not a reason to need none."""
    bench.server.ask_key(True)
    bench.server.switch(True)
    bench.vault.held.clear()
    bench.engine.calls.clear()
    again = bench.make()
    again.start()
    assert bench.engine.calls == []
    assert again.status.condition == "no_key"
    again.make_key()
    assert bench.engine.names() == ["serve"]
    assert again.status.condition == "starting"


def test_without_a_keychain_the_key_is_for_this_session(
    qapp: QCoreApplication, tmp_path: Path
) -> None:
    bench = Bench(tmp_path, NoVault())
    assert not bench.server.ask_key(True)
    assert bench.server.key


def test_the_keychain_is_not_asked_before_the_key_is_wanted(
    qapp: QCoreApplication, tmp_path: Path
) -> None:
    class Locked(FakeVault):
        def get_password(self, service: str, account: str) -> str | None:
            raise AssertionError("it would ask the person")

    bench = Bench(tmp_path, Locked())
    bench.server.start()
    bench.server.switch(True)
    assert bench.engine.names() == ["serve"]


def test_an_address_that_others_reach_needs_a_key(bench: Bench) -> None:
    bench.server.switch(True)
    bench.server.listen_at(EVERYWHERE)
    assert bench.settings.settings.server_keyed
    assert bench.last() == ("serve", (EVERYWHERE, 8080, bench.server.key))
    assert all(call[1][2] for call in bench.engine.calls if EVERYWHERE in call[1])


def test_what_is_true_is_told(bench: Bench) -> None:
    bench.server.switch(True)
    told = Heard(bench.server.changed)
    bench.engine.become(serving=ServingState("http://127.0.0.1:8080/v1"))
    assert bench.server.status.condition == "listening"
    bench.engine.become(pid=5)
    assert len(told) == 1
    bench.engine.become(serving=ServingState(failure=Failure("NotServing", "Busy.", "Move.")))
    assert bench.server.status.condition == "failed"
    bench.engine.gave_up = True
    bench.engine.become(serving=ServingState())
    assert bench.server.status.condition == "stopped"


def test_without_the_extra_nothing_is_served(
    monkeypatch: pytest.MonkeyPatch, qapp: QCoreApplication, tmp_path: Path
) -> None:
    monkeypatch.setattr(app.local_server, "missing", lambda: "uvicorn")
    bench = Bench(tmp_path, FakeVault())
    bench.settings.update(server_on=True)
    bench.server.start()
    assert bench.engine.calls == []
    assert (bench.server.status.condition, bench.server.status.package) == ("missing", "uvicorn")


def test_a_wanted_model_is_loaded_once_and_not_after_a_failure(bench: Bench) -> None:
    bench.server.load_model()
    assert bench.engine.calls == [], "none is chosen"
    bench.settings.update(model="/m", memory_bytes=5)
    bench.server.load_model()
    assert bench.engine.calls == [("load", ("/m", 5))]
    bench.engine.become(model="loading")
    bench.server.load_model()
    bench.engine.become(model="none", load_failure=Failure("NotEnoughMemory", "No."))
    bench.server.load_model()
    assert bench.engine.names() == ["load"]


def test_programs_are_told_which_model_would_be_loaded(bench: Bench) -> None:
    bench.settings.update(model="/models/some.qpack")
    assert bench.engine.expected == "some"
    bench.settings.update(model="")
    assert bench.engine.expected == ""


@pytest.fixture
def make_whole(
    qapp: QCoreApplication, tmp_path: Path, engine_command: Callable[[Script], list[str]]
) -> Iterator[Callable[..., Workspace]]:
    """A workspace with an engine process that plays a script, serving at a free port."""
    made: list[Workspace] = []

    def make(**script: Any) -> Workspace:
        keychain = Keychain(FakeVault(), LOCAL_SERVER)
        workspace = Workspace(tmp_path / "data", engine_command(script), server_keychain=keychain)
        made.append(workspace)
        port = _free_port()
        workspace.settings.update(model="/models/fake", titles_by_model=False, server_port=port)
        workspace.server.start()
        return workspace

    yield make
    for workspace in made:
        workspace.close()


def _free_port() -> int:
    with socket.create_server((LOOPBACK, 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def post(workspace: Workspace) -> httpx.Response:
    key = {"Authorization": f"Bearer {workspace.server.key or 'none'}"}
    url = workspace.engine.state.serving.url + "/chat/completions"
    return httpx.post(url, json=QUESTION, headers=key, trust_env=False, timeout=LIMIT_S)


def listens(workspace: Workspace) -> Callable[[], bool]:
    return lambda: workspace.server.status.condition == "listening"


def test_from_the_switch_to_an_answer(
    make_whole: Callable[..., Workspace], wait_for: WaitFor
) -> None:
    workspace = make_whole(answers=[{"text": "Hello there."}])
    workspace.server.ask_key(True)
    workspace.server.switch(True)
    wait_for(listens(workspace))
    key = {"Authorization": f"Bearer {workspace.server.key}"}
    listed = httpx.get(f"{workspace.engine.state.serving.url}/models", headers=key, trust_env=False)
    assert [model["id"] for model in listed.json()["data"]] == ["fake"]
    refused = post(workspace)
    assert refused.status_code == 503
    wait_for(lambda: workspace.engine.state.model == "loaded")
    assert "Hello there." in post(workspace).text
    wait_for(lambda: not workspace.engine.state.serving.answering)
    workspace.server.switch(False)
    wait_for(lambda: workspace.engine.state.serving == ServingState())


def test_a_port_in_use_is_said_and_another_one_served(
    make_whole: Callable[..., Workspace], wait_for: WaitFor
) -> None:
    workspace = make_whole()
    with socket.create_server((LOOPBACK, workspace.settings.settings.server_port)):
        workspace.server.switch(True)
        wait_for(lambda: workspace.server.status.condition == "failed")
        failure = workspace.server.status.serving.failure
        assert failure is not None
        assert "Choose another port" in failure.remedy
        workspace.settings.update(server_port=_free_port())
        wait_for(listens(workspace))


def test_it_outlives_the_engine_and_the_model(
    make_whole: Callable[..., Workspace], wait_for: WaitFor
) -> None:
    """A death, and unloading, end the process; the next one serves again."""
    workspace = make_whole(answers=[{"text": "a", "crash_at": 0}])
    workspace.server.switch(True)
    wait_for(listens(workspace))
    first = workspace.engine.state.pid
    workspace.engine.load("/m")
    wait_for(lambda: workspace.engine.state.model == "loaded")
    workspace.engine.generate("g", [ChatMessage("user", "hi")], GenerationOptions())
    wait_for(lambda: workspace.engine.state.death is not None)
    wait_for(lambda: listens(workspace)() and workspace.engine.state.pid != first)
    second = workspace.engine.state.pid
    workspace.engine.load("/m")
    wait_for(lambda: workspace.engine.state.model == "loaded")
    workspace.engine.unload()
    wait_for(lambda: listens(workspace)() and workspace.engine.state.pid != second)
    assert workspace.engine.state.model == "none"


def test_own_question_waits_for_a_program_and_can_be_stopped(
    make_whole: Callable[..., Workspace], wait_for: WaitFor
) -> None:
    workspace = make_whole(
        answers=[
            {"match": "hi", "text": ["a"] * 100_000, "delay_s": 0.01},
            {"match": "own", "text": "Mine."},
        ]
    )
    workspace.server.switch(True)
    workspace.engine.load("/models/fake")
    wait_for(lambda: listens(workspace)() and workspace.engine.state.model == "loaded")
    chat = workspace.new_chat()
    phases, ended = Heard(chat.activity_changed), Heard(chat.answer_ended)
    chat.open_new()
    url = workspace.engine.state.serving.url + "/chat/completions"
    body = {**QUESTION, "stream": True}
    with httpx.stream("POST", url, json=body, trust_env=False, timeout=LIMIT_S) as answer:
        lines = answer.iter_lines()  # kept: the answer ends with it
        next(lines)
        wait_for(lambda: workspace.engine.state.serving.answering)
        chat.send("own")
        wait_for(lambda: phases and phases.last == Activity("queued", phases.last.message_id, 1))
        chat.stop()
        wait_for(lambda: ended)
        assert chat.messages[-1].status == "stopped"
        chat.send("own again")
        wait_for(lambda: phases.last.phase == "queued")
        del lines
    wait_for(lambda: len(ended) == 2)
    assert (chat.messages[-1].status, chat.messages[-1].text) == ("complete", "Mine.")


def test_a_program_does_not_load_what_may_have_brought_the_computer_down(
    make_whole: Callable[..., Workspace], wait_for: WaitFor
) -> None:
    workspace = make_whole()
    workspace.safe_start.suspicion = Suspicion("/models/fake", True, None)
    workspace.server.switch(True)
    wait_for(listens(workspace))
    wanted = Heard(workspace.engine.model_wanted)
    assert post(workspace).status_code == 503
    wait_for(lambda: wanted)
    assert workspace.engine.state.model == "none"


def test_settings_of_before_there_was_a_server(tmp_path: Path, qapp: QCoreApplication) -> None:
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"text_size": 125}))
    settings = SettingsStore(file).settings
    assert (settings.server_on, settings.server_host) == (False, LOOPBACK)
