"""Begun with the first reason, ended with the last, and never left behind."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from app.awake import Awake
from app.keychain import Keychain
from app.workspace import Workspace
from tests.app.conftest import WaitFor
from tests.app.test_keychain import FakeVault

FAKE_INSTALLER = Path(__file__).parent / "fake_installer.py"
SLEEP = (sys.executable, "-c", "import time; time.sleep(600)")


def pid(awake: Awake) -> int | None:
    return awake._process.pid if awake._process else None


def test_one_process_for_all_reasons() -> None:
    awake = Awake(SLEEP)
    awake.set("answers", True)
    first = pid(awake)
    assert first is not None
    awake.set("download", True)
    awake.set("answers", False)
    assert pid(awake) == first
    awake.set("download", False)
    assert pid(awake) is None
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)


def test_release_ends_it_whatever_works() -> None:
    awake = Awake(SLEEP)
    awake.set("answers", True)
    awake.release()
    assert pid(awake) is None
    assert not awake.is_held


def test_where_nothing_is_to_be_done_nothing_is() -> None:
    awake = Awake(())
    awake.set("answers", True)
    assert awake.is_held
    assert pid(awake) is None


def test_answers_keep_the_machine_awake(
    make_workspace: Callable[..., Workspace], wait_for: WaitFor
) -> None:
    workspace = make_workspace({"answers": [{"text": "a b c", "delay_s": 0.05}]})
    chat = workspace.new_chat()
    chat.open_new()
    chat.send("hi")
    wait_for(lambda: workspace.awake.is_held)
    wait_for(lambda: not workspace.awake.is_held)


def test_only_a_running_download_keeps_the_machine_awake(
    tmp_path: Path, qapp: object, wait_for: WaitFor
) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"a/A": [["hold"]]}))
    command = [sys.executable, str(FAKE_INSTALLER), str(script)]
    keychain = Keychain(FakeVault())
    workspace = Workspace(tmp_path / "data", install_command=command, keychain=keychain)
    workspace.downloads.add("a/A", "A")
    wait_for(lambda: workspace.awake.is_held)
    workspace.downloads.pause(workspace.downloads.downloads[0].id)
    wait_for(lambda: not workspace.awake.is_held)
    workspace.close()
