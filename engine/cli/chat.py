"""`martlet chat`: one question, or a conversation in the terminal."""

import argparse
import json
import readline
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import platformdirs

from engine.cli.options import (
    add_model,
    add_sampling,
    add_snapshots,
    add_thinking,
    generation_options,
    loading_options,
    snapshot_options,
)
from engine.cli.streaming import Notices, answer_record, open_session, show_answer
from engine.cli.terminal import dimmed, say, warn
from engine.errors import MartletError
from engine.events import Finished
from engine.options import GenerationOptions
from engine.session import ChatSession

HISTORY_LINES = 1000
HELP = "/new begins anew, /retry answers again, /quit ends. Ctrl-C stops an answer."


def add_commands(commands: Any) -> None:
    """Register `chat`."""
    parser = commands.add_parser("chat", help="talk with a model", description=__doc__)
    add_model(parser)
    add_snapshots(parser)
    parser.add_argument("prompt", nargs="*", metavar="PROMPT", help="without one: a conversation")
    parser.add_argument("--system", metavar="TEXT", help="what the model is to be")
    parser.add_argument("--json", action="store_true", help="print one object instead of text")
    add_thinking(parser)
    add_sampling(parser)
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Answer the prompt, or converse until the input ends."""
    options = generation_options(parsed)
    loading, snapshots = loading_options(parsed), snapshot_options(parsed)
    messages = [{"role": "system", "content": parsed.system}] if parsed.system else []
    with open_session(parsed.model, loading, snapshots) as (session, notices):
        if parsed.prompt:
            messages.append({"role": "user", "content": " ".join(parsed.prompt)})
            return _answer_once(session, notices, messages, options, as_json=parsed.json)
        return _converse(session, notices, messages, options, as_json=parsed.json)


def _answer_once(
    session: ChatSession,
    notices: Notices,
    messages: list[dict[str, str]],
    options: GenerationOptions,
    *,
    as_json: bool,
) -> int:
    finished = show_answer(session.stream(messages, options), notices, quiet=as_json)
    if as_json:
        say(json.dumps(answer_record(finished), ensure_ascii=False))
    return 0


def _converse(
    session: ChatSession,
    notices: Notices,
    system: list[dict[str, str]],
    options: GenerationOptions,
    *,
    as_json: bool,
) -> int:
    """Turns until the input ends; an error costs its turn, not the conversation."""
    say(dimmed(HELP))
    messages = list(system)
    with _history():
        while (line := _read_line()) is not None:
            match line.strip():
                case "/quit":
                    break
                case "/new":
                    messages = list(system)
                    continue
                case "/retry" if messages and messages[-1]["role"] == "assistant":
                    messages.pop()
                case "":
                    continue
                case words:
                    messages.append({"role": "user", "content": words})
            _take_turn(session, notices, messages, options, as_json=as_json)
    return 0


def _take_turn(
    session: ChatSession,
    notices: Notices,
    messages: list[dict[str, str]],
    options: GenerationOptions,
    *,
    as_json: bool,
) -> None:
    with _stopped_by_interrupt() as stopped:
        try:
            events = session.stream(messages, options, cancelled=stopped)
            finished = show_answer(events, notices, quiet=as_json)
        except MartletError as error:
            warn(f"martlet: {error}")
            messages.pop()
            return
    if as_json:
        say(json.dumps(answer_record(finished), ensure_ascii=False))
    else:
        say(dimmed(_summary(finished)))
    messages.append({"role": "assistant", "content": finished.text})


def _summary(finished: Finished) -> str:
    stats = finished.stats
    stopped = " · stopped" if finished.reason == "cancelled" else ""
    return (
        f"{stats.generated_tokens} tokens · {stats.tokens_per_s:.1f}/s · "
        f"first after {stats.ttft_s:.2f} s · {stats.hit_rate:.0%} of experts in memory{stopped}"
    )


def _read_line() -> str | None:
    while True:
        try:
            return input("> ")
        except EOFError:
            say()
            return None
        except KeyboardInterrupt:
            say()


@contextmanager
def _stopped_by_interrupt() -> Iterator[Callable[[], bool]]:
    """While an answer streams, Ctrl-C asks for its end and for nothing else."""
    stop = threading.Event()

    def interrupted(number: int, frame: FrameType | None) -> None:
        stop.set()

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield stop.is_set
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _history() -> Iterator[None]:
    """Lines of earlier conversations, kept in the user's own folder."""
    file = Path(platformdirs.user_state_dir("Martlet", False)) / "chat_history"
    readline.set_history_length(HISTORY_LINES)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        readline.read_history_file(file)
    except OSError:
        pass  # the first time, or a folder that cannot be used: a history is a convenience
    try:
        yield
    finally:
        try:
            readline.write_history_file(file)
            file.chmod(0o600)
        except OSError as error:
            warn(f"The history could not be saved: {error}")
