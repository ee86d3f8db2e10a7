"""`martlet generate`: go on after a text or after token ids."""

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engine.cli.options import (
    add_model,
    add_sampling,
    add_snapshots,
    add_thinking,
    generation_options,
    loading_options,
    snapshot_options,
)
from engine.cli.streaming import answer_record, open_session, show_answer
from engine.cli.terminal import say, warn
from engine.container.container import open_container
from engine.container.library import find_model
from engine.errors import BadOption
from engine.events import Event
from engine.experts.trace import TraceRecorder
from engine.options import GenerationOptions
from engine.session import ChatSession


def add_commands(commands: Any) -> None:
    """Register `generate`."""
    parser = commands.add_parser("generate", help="continue a text", description=__doc__)
    add_model(parser)
    add_snapshots(parser)
    prompt = parser.add_mutually_exclusive_group(required=True)
    prompt.add_argument("--prompt", metavar="TEXT")
    prompt.add_argument("--prompt-file", metavar="FILE", type=Path)
    prompt.add_argument("--ids", metavar="1,2,3", help="token ids; needs no tokenizer")
    parser.add_argument("--chat", action="store_true", help="the text is a user's message")
    parser.add_argument("--trace", metavar="FILE", type=Path, help="record the routing here")
    parser.add_argument("--json", action="store_true", help="print one object instead of text")
    add_thinking(parser)
    add_sampling(parser)
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Print what follows; of ids alone, the ids that follow."""
    options, loading = generation_options(parsed), loading_options(parsed)
    snapshots = snapshot_options(parsed)
    ids = parse_ids(parsed.ids) if parsed.ids is not None else None
    text = None if ids is not None else _text(parsed)
    opened = open_session(parsed.model, loading, snapshots)
    with _recording(parsed, loading), opened as (session, notices):
        events = _events(session, ids, text, options, chat=parsed.chat)
        finished = show_answer(events, notices, quiet=parsed.json or ids is not None)
    if parsed.json:
        say(json.dumps(answer_record(finished), ensure_ascii=False))
    elif ids is not None:
        say(",".join(map(str, finished.tokens)))
    return 0


@contextmanager
def _recording(parsed: argparse.Namespace, loading: dict[str, Any]) -> Iterator[None]:
    """Have the routing recorded, where `--trace` asks for it."""
    if parsed.trace is None:
        yield
        return
    config = open_container(find_model(parsed.model)).config
    sizes = config.layer_count, config.expert_count, config.experts_per_token
    try:
        recorder = TraceRecorder(parsed.trace, *sizes)
    except OSError as error:
        raise BadOption(f"--trace: {error}.", "Name a file that can be written.") from error
    with recorder:
        loading["on_route"] = recorder.add
        yield
    if recorder.fault:
        warn(f"martlet: {parsed.trace} is not complete: {recorder.fault}")


def parse_ids(text: str) -> list[int]:
    """`1,2,3` as token ids. Raises BadOption."""
    parts = text.split(",")
    for part in parts:
        if not part.strip().isascii() or not part.strip().isdigit():
            raise BadOption(f"--ids holds {part!r}.", "Write whole numbers like 1,2,3.")
    return [int(part) for part in parts]


def _text(parsed: argparse.Namespace) -> str:
    if parsed.prompt is not None:
        return str(parsed.prompt)
    try:
        text: str = parsed.prompt_file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadOption(
            f"{parsed.prompt_file} cannot be read as text: {error}.", "Give a UTF-8 text file."
        ) from error
    return text


def _events(
    session: ChatSession,
    ids: list[int] | None,
    text: str | None,
    options: GenerationOptions,
    *,
    chat: bool,
) -> Iterator[Event]:
    if ids is not None:
        return session.complete(ids, options, text=False)
    if chat:
        return session.stream([{"role": "user", "content": text}], options)
    return session.complete(session.text.tokenizer.encode(text or ""), options)
