"""kill -9 at random moments, of the application and of the engine.

No user turn is lost, at most the last half second of an answer is, no process is left, and the
database is sound.
"""

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from app import message_rows, paths
from app.conversation import Message
from app.conversation_rows import read_library
from app.database import close_database, open_database, transaction
from app.message_tree import MessageTree
from app.workspace import Workspace
from tests.app.conftest import Heard, WaitFor

pytestmark = pytest.mark.slow

HEADLESS = Path(__file__).parent / "headless.py"
LIMIT_S = 60
MAY_BE_LOST_S = 0.5
AT_ONCE = 5  # processes side by side


@dataclass
class Victim:
    """A headless application, to be killed."""

    folder: Path
    process: "subprocess.Popen[bytes]"
    killed_at: float = 0.0

    def lines(self, kind: str) -> list[list[str]]:
        log = self.folder / "log"
        text = log.read_text(encoding="utf-8") if log.exists() else ""
        whole = text[: text.rfind("\n") + 1]
        return [words[1:] for line in whole.splitlines() if (words := line.split())[0] == kind]

    def kill(self) -> None:
        self.process.kill()
        self.killed_at = time.monotonic()
        self.process.wait(LIMIT_S)

    def lateness(self) -> float:
        """How late the event loop ran in the last second of its life: not the program's fault."""
        beats = [float(time) for (time,) in self.lines("beat")]
        last = [beat for beat in beats if beat > self.killed_at - 1.5] + [self.killed_at]
        return max(after - before for before, after in itertools.pairwise([last[0], *last]))

    def must_be_kept(self, turn: int) -> int:
        """Characters of this turn's answer that were shown long enough before the end."""
        deadline = self.killed_at - MAY_BE_LOST_S - self.lateness()
        shown = [
            int(characters)
            for number, characters, time in self.lines("said")
            if int(number) == turn and float(time) < deadline
        ]
        return max(shown, default=0)


def start(folder: Path, script: dict[str, object]) -> Victim:
    folder.mkdir()
    (folder / "script").write_text(json.dumps(script))
    arguments = [folder / "data", folder / "script", folder / "log"]
    return Victim(folder, subprocess.Popen([sys.executable, HEADLESS, *arguments]))


def wait_until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] == "Z"


@pytest.mark.parametrize("batch", range(4))
def test_the_application_is_killed(tmp_path: Path, batch: int) -> None:
    script = {"answers": [{"prefill": [9, 3, 0.03], "text": "word " * 80, "delay_s": 0.01}]}
    victims = [start(tmp_path / str(number), script) for number in range(AT_ONCE)]
    moments = [random.Random(f"{batch}-{number}").uniform(0, 2.5) for number in range(AT_ONCE)]
    for victim in victims:
        wait_until(lambda victim=victim: victim.lines("said"))
    began = time.monotonic()
    for moment, victim in sorted(zip(moments, victims, strict=True), key=lambda pair: pair[0]):
        time.sleep(max(0.0, began + moment - time.monotonic()))
        victim.kill()
    for victim in victims:
        check(victim)


def check(victim: Victim) -> None:
    ((engine,),) = victim.lines("engine")
    wait_until(lambda: is_gone(int(engine)))
    messages = stored_after_a_restart(victim.folder / "data")
    users, answers = messages[::2], messages[1::2]
    shown = [text for (text,) in victim.lines("turn")]
    assert [user.text for user in users][: len(shown)] == shown
    assert len(users) - len(shown) <= 1  # committed, and not yet shown
    for number, answer in enumerate(answers):
        assert answer.settled
        assert len(answer.text) >= victim.must_be_kept(number)
    for answer in answers[:-1]:
        assert answer.status == "complete"


def stored_after_a_restart(data: Path) -> tuple[Message, ...]:
    path = paths.database_file(data)
    opened = open_database(path, paths.backups_folder(data))
    assert opened.notices == []
    assert opened.connection.execute("PRAGMA quick_check").fetchone() == ("ok",)
    with transaction(opened.connection):
        message_rows.mark_interrupted(opened.connection)
    (conversation,) = read_library(opened.connection).conversations
    branch = MessageTree(message_rows.read_messages(opened.connection, conversation.id)).branch()
    opened.connection.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")
    close_database(path, opened.connection)
    return branch


def test_the_engine_is_killed(
    make_workspace: Callable[..., Workspace], wait_for: WaitFor, tmp_path: Path
) -> None:
    words = tmp_path / "words"
    answer = {"prefill": [9, 3, 0.01], "text": "word " * 2000, "delay_s": 0.002}
    workspace = make_workspace({"answers": [answer], "words_log": str(words)})
    chat = workspace.new_chat()
    chat.open_new()
    died = Heard(workspace.engine.died)
    chance = random.Random(7)
    for number in range(20):
        words.write_text("")
        chat.send(f"turn-{number}")
        wait_for(lambda: words.stat().st_size)
        wait_briefly(wait_for, chance.uniform(0, 0.3))
        pid = workspace.engine.state.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        killed_at = time.time()
        wait_for(lambda number=number: len(died) == number + 1)
        wait_for(lambda number=number: is_settled(chat.messages, number))
        said = [line.split("\t") for line in words.read_text().splitlines(keepends=False)]
        kept = [int(n) for t, n in said if float(t) < killed_at - MAY_BE_LOST_S]
        last = chat.messages[-1]
        assert (chat.messages[-2].text, last.status) == (f"turn-{number}", "interrupted")
        assert len(last.text) >= max(kept, default=0)
        assert is_gone(pid)
        if workspace.engine.gave_up:
            workspace.engine.restart()
    wait_for(lambda: workspace.answers.is_idle)
    shown = chat.messages
    workspace.close()
    assert stored_after_a_restart(tmp_path / "data") == shown


def is_settled(messages: tuple[Message, ...], number: int) -> bool:
    return len(messages) == 2 * number + 2 and messages[-1].settled


def wait_briefly(wait_for: WaitFor, seconds: float) -> None:
    until = time.monotonic() + seconds
    wait_for(lambda: time.monotonic() >= until)
