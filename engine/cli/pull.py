"""`martlet pull`: a download with a line of progress, quiet where nobody looks on."""

import argparse
import os
from pathlib import Path
from typing import Any

from engine import errors
from engine.cli.terminal import StatusLine, say, warn
from engine.container.catalogue import find_entry, mirrors_of
from engine.container.library import models_folders
from engine.errors import MartletError
from engine.install.protocol import (
    Begun,
    Discarded,
    Done,
    Event,
    Failed,
    Joined,
    Notice,
    Outcome,
    Paused,
    Progress,
    Start,
    Waiting,
)
from engine.install.room import gigabytes
from engine.install.stop import Stop
from engine.install.target import target_for

TOKEN = "HF_TOKEN"
PHASES = {
    "moving": "Moving",
    "downloading": "Downloading",
    "repacking": "Repacking",
    "verifying": "Verifying",
}
INTERRUPTED = 130


def add_commands(commands: Any) -> None:
    """Register `pull`."""
    pulling = commands.add_parser(
        "pull",
        help="download a model, or go on with it",
        description=f"Download a model. A hub's token is taken from {TOKEN}.",
    )
    pulling.add_argument(
        "source", metavar="SOURCE", help="a catalogue's name, OWNER/NAME, a link, or a folder"
    )
    pulling.add_argument("--to", type=Path, metavar="FOLDER", help="the model's own folder")
    pulling.add_argument(
        "--from", type=Path, metavar="FOLDER", dest="earlier", help="move what has arrived there"
    )
    pulling.add_argument("--revision", metavar="REV", help="a branch, tag or commit of the hub's")
    pulling.add_argument("--anyway", action="store_true", help="although the disk seems too small")
    pulling.add_argument("--repair", action="store_true", help="check all, fetch what is bad")
    pulling.set_defaults(run=run_pull)


def run_pull(parsed: argparse.Namespace) -> int:
    """Install; Ctrl-C pauses."""
    from engine.install.install import run  # brings in the network, which others do without
    from engine.install.source import exact, parse_source

    entry = find_entry(parsed.source)
    source = exact(parse_source(entry.source if entry else parsed.source))
    target = parsed.to or target_for(models_folders()[0], source)
    start = Start(
        source=source,
        target=str(target),
        revision=parsed.revision,
        token=os.environ.get(TOKEN) or None,
        anyway=parsed.anyway,
        repair=parsed.repair,
        earlier=os.path.abspath(parsed.earlier) if parsed.earlier else "",
        mirrors=() if parsed.revision else mirrors_of(source),
    )
    screen = Screen()
    try:
        outcome = run(start, screen.hear, Stop())
    except KeyboardInterrupt:
        screen.clear()
        warn("Paused. The same command goes on where it stopped.")
        return INTERRUPTED
    screen.clear()
    return _report(outcome)


def _report(outcome: Outcome) -> int:
    """Say how it ended; the exit code."""
    match outcome:
        case Done(path, total):
            say(f"{path}: {gigabytes(total)}, complete.")
            return 0
        case Discarded(freed):
            say(f"Cancelled: {gigabytes(freed)} freed.")
            return 0
        case Paused(reason, message, remedy):
            warn(f"martlet: {message} {remedy}")
            return errors.NotEnoughDisk.exit_code if reason == "disk" else 1
        case Failed(kind, message, remedy, page):
            warn(f"martlet: {message} {remedy} {page}")
            code: int = getattr(errors, kind, MartletError).exit_code
            return code


class Screen:
    """An installation's events, as a terminal shows them."""

    def __init__(self) -> None:
        self._line = StatusLine()
        self._trouble = ""
        self._done = 0  # bytes, as told last

    def hear(self, event: Event) -> None:
        """From any thread."""
        match event:
            case Begun(target, source, host=host):
                self._line.show(f"{source} from {host or 'this machine'} to {target}")
            case Progress():
                if event.done != self._done:
                    self._trouble = ""
                self._done = event.done
                self._line.show(progress_line(event, self._trouble))
            case Waiting(message, seconds):
                self._trouble = f"{message} Trying again in {max(1, round(seconds))} s."
            case Joined(pid):
                self._say(f"Process {pid} downloads this already.")
            case Notice(message):
                self._say(message)

    def clear(self) -> None:
        """Leave nothing behind."""
        self._line.clear()

    def _say(self, message: str) -> None:
        self._line.clear()
        warn(message)


def progress_line(progress: Progress, trouble: str = "") -> str:
    """`Downloading 3.1 of 19.5 GB · 96.4 MB/s · 4 min 25 s left`, or what it waits for."""
    name = PHASES[progress.phase]
    if not progress.total:
        return trouble or "Asking what is to be fetched"
    if progress.phase in ("moving", "verifying"):
        return f"{name} {progress.done / progress.total:.0%}"
    amount = amount_of(progress.done, progress.total)
    if trouble:
        return f"{amount} · {trouble}"
    parts = [f"{name} {amount}", f"{progress.bytes_per_s / 1e6:.1f} MB/s"]
    if progress.seconds_left is not None:
        parts.append(f"{duration(max(1, progress.seconds_left))} left")
    return " · ".join(parts)


def amount_of(done: int, total: int) -> str:
    """`3.1 of 19.5 GB`: both in the unit that suits the whole."""
    unit = 1e9 if total >= 10**8 else 1e6
    return f"{done / unit:.1f} of {gigabytes(total)}"


def duration(seconds: float) -> str:
    """`45 s`, `4 min 25 s`, `2 h 10 min`."""
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
