"""The application without a screen, as a process to be killed: `headless.py DATA SCRIPT LOG`.

Sends turn after turn. Writes to LOG, a line each, what it has shown: "engine PID", "turn TEXT" (it
is committed), "said TURN CHARACTERS TIME" (so much of that turn's answer has arrived) and
"beat TIME", which tells how late the event loop ran.
"""

import sys
import time
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QTimer

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from app.conversation import AnswerDelta, Message
from app.workspace import Workspace


class Person:
    """Asks again as soon as there is an answer."""

    def __init__(self, workspace: Workspace, log: Path) -> None:
        self._log = log.open("a", encoding="utf-8", buffering=1)
        self._engine = workspace.engine
        self._said: dict[str, int] = {}
        self._known: set[str] = set()
        self._chat = workspace.new_chat()
        self._chat.branch_changed.connect(self._branch_changed)
        self._chat.answer_grew.connect(self._grew)
        self._chat.answer_ended.connect(self._ask)
        self._chat.open_new()
        self._beats = QTimer(interval=20)
        self._beats.timeout.connect(lambda: self._write("beat", time.monotonic()))
        self._beats.start()
        self._ask()

    def _ask(self, _: object = None) -> None:
        self._chat.send(f"turn-{len(self._known)}")

    def _branch_changed(self, _: int, messages: tuple[Message, ...]) -> None:
        for message in messages:
            if message.role == "user" and message.id not in self._known:
                self._known.add(message.id)
                self._write("turn", message.text)

    def _grew(self, delta: AnswerDelta) -> None:
        if not self._said:
            self._write("engine", self._engine.state.pid)
        said = self._said.get(delta.message_id, 0) + len(delta.text)
        self._said[delta.message_id] = said
        self._write("said", len(self._said) - 1, said, time.monotonic())

    def _write(self, *words: object) -> None:
        print(*words, file=self._log)


def main() -> None:
    """Run until killed."""
    data, script, log = (Path(argument) for argument in sys.argv[1:])
    app = QCoreApplication([])
    fake_engine = str(Path(__file__).parent / "fake_engine.py")
    workspace = Workspace(data, [sys.executable, fake_engine, str(script)])
    workspace.settings.update(model="/models/fake", titles_by_model=False)
    person = Person(workspace, log)
    app.exec()
    del person


if __name__ == "__main__":
    main()
