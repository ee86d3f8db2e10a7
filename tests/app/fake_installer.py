"""A download process that plays a script: the real protocol, without a network.

    python tests/app/fake_installer.py SCRIPT.json

The script is an object: for each source a list of plays, the n-th start takes the n-th, the last
one repeats. A play is a list of steps:

    "hold"       waits for Pause or the end of its input
    "done"       writes a manifest into the target and says Done
    "die"        is gone without a word (SIGKILL)
    "deaf"       hears nothing any more, not even the end of its input
    {type: ...}  any other event, as it goes over the wire
Every command that is heard is appended to SCRIPT.log.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from engine.container.container import DENSE
from engine.container.origin import Origin, write_origin
from engine.install import protocol as wire

ARRIVED = 100_000  # bytes that stand in the target


def main(script: Path) -> None:
    """Serve one command."""
    say(wire.Ready(os.getpid(), "fake"))
    line = sys.stdin.buffer.readline()
    if not line:
        return
    command = wire.decode_command(line)
    log = script.with_suffix(".log")
    source = getattr(command, "source", "search")
    before = log.read_text().splitlines() if log.exists() else []
    count = sum(json.loads(entry).get("source") == source for entry in before)
    note(log, line)
    plays = json.loads(script.read_text())[source]
    target = Path(getattr(command, "target", os.devnull))
    if isinstance(command, wire.Start):
        target.mkdir(parents=True, exist_ok=True)
        write_origin(target, Origin(source, "container"))
        (target / DENSE).write_bytes(bytes(ARRIVED))
    for step in plays[min(count, len(plays) - 1)]:
        play(step, target, log)


def play(step: Any, target: Path, log: Path) -> None:
    """One step."""
    if step == "hold":
        hold(log)
    elif step == "done":
        (target / "manifest.json").write_text("{}")
        say(wire.Done(str(target), 1000))
    elif step == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif step == "deaf":
        time.sleep(600)
    else:
        say(wire.decode_event(json.dumps(step).encode()))


def hold(log: Path) -> None:
    """Until something is asked."""
    note(log, sys.stdin.buffer.readline())
    say(wire.Paused("asked", "Paused.", "Everything that has arrived is kept."))


def say(event: wire.Event) -> None:
    sys.stdout.buffer.write(wire.encode(event))
    sys.stdout.buffer.flush()


def note(log: Path, line: bytes) -> None:
    with log.open("ab") as file:
        file.write(line or b"{}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
