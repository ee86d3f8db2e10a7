"""Answers in a terminal: a session opened by name, its events shown as they come."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from engine.cli.terminal import StatusLine, dimmed, say, warn
from engine.container.library import find_model
from engine.events import Event, Finished, PrefillProgress, ReasoningDelta, TextDelta
from engine.loading import load_model
from engine.memory.keeper import MemoryKeeper
from engine.memory.pressure import Pressure, open_source
from engine.model.hybrid import Model
from engine.model_text import ModelText
from engine.session import ChatSession
from engine.snapshot_shelf import open_shelf

SMALL_PROMPT = 64  # tokens; reading fewer needs no progress shown
Notices = deque[str]  # what was done about memory, until it can be said


@contextmanager
def open_session(
    name: str, loading: dict[str, Any], snapshots: tuple[Path, int] | None = None
) -> Iterator[tuple[ChatSession, Notices]]:
    """A session with the model of that name or path, and what it has to say; closed at the end.

    `snapshots`: a folder, and how much it may take, for what the session has read.
    """
    text = ModelText(find_model(name)).open_early()
    model = load_shown(name, loading)
    shelf = open_shelf(model, *snapshots) if snapshots else None
    session, pressure = ChatSession(model, shelf=shelf, text=text), Pressure()
    keeper, notices = MemoryKeeper(model, session.live, pressure), Notices()

    def tend() -> None:  # and never wait: in a terminal an interrupt ends an answer
        if change := keeper.tend():
            notices.append(change.message)

    session.between = tend
    source = open_source(pressure)
    try:
        yield session, notices
    finally:
        if source is not None:
            source.close()
        session.live.shelve()
        model.close()


def load_shown(name: str, loading: dict[str, Any]) -> Model:
    """Load the model of that name or path, and say so meanwhile."""
    status = StatusLine()
    path = find_model(name)
    status.show(f"Loading {path.stem}")
    model = load_model(path, **loading)
    status.clear()
    return model


class _Page:
    """An answer on standard output, and notices on standard error between its lines."""

    def __init__(self, notices: Notices) -> None:
        self._notices = notices
        self._status = StatusLine()
        self._in_line = False

    def progress(self, text: str) -> None:
        """While there are no words yet."""
        self._status.show(text)

    def write(self, text: str, style: Callable[[str], str] = str) -> None:
        """Words of the answer."""
        self._status.clear()
        lines, newline, rest = text.rpartition("\n")
        if newline:
            say(style(lines))
            self._in_line = False
            self.tell()
        if rest:
            say(style(rest), end="")
            self._in_line = True

    def tell(self) -> None:
        """Say the notices that wait, unless words stand before the cursor."""
        while self._notices and not self._in_line:
            self._status.clear()
            warn(self._notices.popleft())

    def close(self) -> None:
        """End the line, whatever the answer came to."""
        self._status.clear()
        if self._in_line:
            say()
        self._in_line = False
        self.tell()


def show_answer(events: Iterable[Event], notices: Notices, *, quiet: bool) -> Finished:
    """Print an answer as it comes (`quiet`: nothing), notices between its lines; how it ended."""
    with closing(_Page(notices)) as page:
        reasoning = False
        for event in events:
            page.tell()
            match event:
                case PrefillProgress(done, total, cached):
                    if total - cached > SMALL_PROMPT:
                        page.progress(
                            f"Reading prompt {done / total:.0%} ({done:,} of {total:,} tokens)"
                        )
                case Finished():
                    return event
                case ReasoningDelta(text) if not quiet:
                    reasoning = True
                    page.write(text, dimmed)
                case TextDelta(text) if not quiet:
                    page.write(f"\n\n{text}" if reasoning else text)
                    reasoning = False
    raise RuntimeError("an answer ended without saying so")


def answer_record(finished: Finished) -> dict[str, Any]:
    """What `--json` prints."""
    stats = finished.stats
    return {
        "text": finished.text,
        "tokens": list(finished.tokens),
        "finish_reason": finished.reason,
        "prompt_tokens": stats.prompt_tokens,
        "cached_tokens": stats.cached_tokens,
        "ttft_s": round(stats.ttft_s, 4),
        "tokens_per_s": round(stats.tokens_per_s, 3),
        "hit_rate": round(stats.hit_rate, 4),
        "bytes_read": stats.bytes_read,
        "peak_memory_bytes": stats.peak_memory_bytes,
    }
