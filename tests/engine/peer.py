"""The application's end of an engine process that plays a script; see `tests.app.fake_engine`."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, TypeVar

from engine import protocol as wire
from engine.options import GenerationOptions

FAKE_ENGINE = Path(__file__).parents[1] / "app" / "fake_engine.py"
LIMIT_S = 30
E = TypeVar("E")


class Peer:
    """The application's end of the pipes."""

    def __init__(self, script: Path, content: dict[str, Any]) -> None:
        script.write_text(json.dumps(content))
        self.process = subprocess.Popen(
            [sys.executable, FAKE_ENGINE, script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def send(self, *commands: wire.Command) -> None:
        assert self.process.stdin
        self.process.stdin.write(b"".join(map(wire.encode, commands)))
        self.process.stdin.flush()

    def hear(self, kind: type[E]) -> E:
        """The next event of this kind, past the others."""
        assert self.process.stdout
        for line in self.process.stdout:
            if isinstance(event := wire.decode_event(line), kind):
                return event
        raise AssertionError(f"the engine ended before {kind.__name__}")

    def end(self) -> int:
        """Close the input and wait; the exit status."""
        assert self.process.stdin
        self.process.stdin.close()
        return self.process.wait(LIMIT_S)


def ask(id: str, text: str = "hi") -> wire.Generate:
    """A question of the application's."""
    return wire.Generate(id, (wire.ChatMessage("user", text),), GenerationOptions())
