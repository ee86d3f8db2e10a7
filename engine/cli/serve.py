"""`martlet serve`: OpenAI's API over one model, on this machine."""

import argparse
import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from engine.cli.options import add_model, add_snapshots, loading_options, snapshot_options
from engine.cli.streaming import load_shown
from engine.cli.terminal import warn
from engine.container.library import find_model
from engine.server.extra import check_extra
from engine.server.settings import ServerSettings

if TYPE_CHECKING:
    from engine.hosted_model import HostedModel

KEY_VARIABLE = "MARTLET_API_KEY"  # other users of a machine can read command lines
PAUSE_LOOK_S = 0.25  # while an answer waits for memory


def add_commands(commands: Any) -> None:
    """Register `serve`."""
    parser = commands.add_parser("serve", help="answer OpenAI clients", description=__doc__)
    add_model(parser)
    add_snapshots(parser)
    parser.add_argument("--host", default="127.0.0.1", help="another address needs a key")
    parser.add_argument("--port", type=int, default=8080, help="0: any free one (default: 8080)")
    parser.add_argument("--api-key", metavar="KEY", help=f"or in {KEY_VARIABLE}")
    parser.add_argument(
        "--allow-origin", action="append", default=[], metavar="ORIGIN", help="of a web page"
    )
    parser.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="a name of this machine"
    )
    parser.add_argument(
        "--queue", type=int, default=32, metavar="N", help="answers that may wait (default: 32)"
    )
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Serve until interrupted or terminated."""
    check_extra()
    settings = server_settings(parsed)
    logging.getLogger("engine.server").setLevel(logging.INFO)
    _serve(parsed.model, loading_options(parsed), settings, snapshot_options(parsed))
    return 0


def server_settings(parsed: argparse.Namespace) -> ServerSettings:
    """What the options and the environment say. Raises BadOption."""
    key = os.environ.get(KEY_VARIABLE) if parsed.api_key is None else parsed.api_key
    return ServerSettings(
        host=parsed.host,
        port=parsed.port,
        api_key=key,
        allowed_origins=tuple(parsed.allow_origin),
        allowed_hosts=tuple(parsed.allow_host),
        queue_limit=parsed.queue,
    )


def _serve(
    name: str,
    loading: dict[str, Any],
    settings: ServerSettings,
    snapshots: tuple[Path, int] | None,
) -> None:
    """Listen first: a port that is taken is known before a model is loaded."""
    from engine.server.server import Server, listen  # these need the extra

    with (
        closing(listen(settings)) as listener,
        closing(_hosted(name, loading, snapshots)) as model,
    ):
        served = model.served
        server = Server(served, settings, listener)
        with _ended_by_signals(server.stop):
            warn(f"Serving {served.name} at {server.url}; Ctrl-C ends it.")
            server.run(partial(_wait, model), partial(_tend, model))


def _hosted(
    name: str, loading: dict[str, Any], snapshots: tuple[Path, int] | None
) -> "HostedModel":
    """A model that is tended as the application's is."""
    from engine.hosted_model import HostedModel
    from engine.model_text import ModelText
    from engine.snapshot_shelf import open_shelf

    text = ModelText(find_model(name)).open_early()
    model = load_shown(name, loading)
    return HostedModel(model, open_shelf(model, *snapshots) if snapshots else None, text)


def _tend(model: "HostedModel") -> None:
    """Act on pressure, and say what was done."""
    for change in model.tend():
        warn(change.message)


def _wait(model: "HostedModel", cancelled: threading.Event) -> None:
    """Between two tokens: an answer waits while memory is critically short."""
    _tend(model)
    while model.paused and not cancelled.wait(PAUSE_LOOK_S):
        _tend(model)


@contextmanager
def _ended_by_signals(stop: Callable[[], None]) -> Iterator[None]:
    def asked(number: int, frame: FrameType | None) -> None:
        stop()

    before = {number: signal.signal(number, asked) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
