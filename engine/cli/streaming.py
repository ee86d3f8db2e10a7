"""Answers in a terminal: a session opened by name, its events shown as they come."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
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


@contextmanager
def open_session(
    name: str, loading: dict[str, Any], snapshots: tuple[Path, int] | None = None
) -> Iterator[ChatSession]:
    """A session with the model of that name or path; closed at the end.

    `snapshots`: a folder, and how much it may take, for what the session has read.
    """
    text = ModelText(find_model(name)).open_early()
    model = load_shown(name, loading)
    shelf = open_shelf(model, *snapshots) if snapshots else None
    session, pressure = ChatSession(model, shelf=shelf, text=text), Pressure()
    session.between = _telling(MemoryKeeper(model, session.live, pressure))
    source = open_source(pressure)
    try:
        yield session
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


def _telling(keeper: MemoryKeeper) -> Callable[[], None]:
    """Tends memory and says what it did. A terminal does not wait: an interrupt ends an answer."""

    def between() -> None:
        change = keeper.tend()
        if change is not None:
            warn(change.message)

    return between


def show_answer(events: Iterable[Event], *, quiet: bool) -> Finished:
    """Print an answer as it comes (`quiet`: nothing); how it ended."""
    status = StatusLine()
    reasoning = False
    for event in events:
        match event:
            case PrefillProgress(done, total, cached):
                if total - cached > SMALL_PROMPT:
                    status.show(f"Reading prompt {done / total:.0%} ({done:,} of {total:,} tokens)")
            case Finished():
                status.clear()
                if not quiet:
                    say()
                return event
            case ReasoningDelta(text) if not quiet:
                status.clear()
                reasoning = True
                say(dimmed(text), end="")
            case TextDelta(text) if not quiet:
                status.clear()
                say(f"\n\n{text}" if reasoning else text, end="")
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
