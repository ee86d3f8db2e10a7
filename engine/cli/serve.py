"""`martlet serve`: OpenAI's API over one model, on this machine."""

import argparse
import importlib.util
import logging
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from types import FrameType
from typing import Any

from engine.cli.options import add_model, loading_options
from engine.cli.streaming import open_session
from engine.cli.terminal import warn
from engine.errors import MartletError
from engine.server.settings import ServerSettings

KEY_VARIABLE = "MARTLET_API_KEY"  # other users of a machine can read command lines
EXTRA = ("starlette", "uvicorn")


def add_commands(commands: Any) -> None:
    """Register `serve`."""
    parser = commands.add_parser("serve", help="answer OpenAI clients", description=__doc__)
    add_model(parser)
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
    _check_extra()
    settings = server_settings(parsed)
    logging.getLogger("engine.server").setLevel(logging.INFO)
    _serve(parsed.model, loading_options(parsed), settings)
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


def _serve(name: str, loading: dict[str, Any], settings: ServerSettings) -> None:
    """Listen first: a port that is taken is known before a model is loaded."""
    from engine.server.server import Server, listen, served  # these need the extra

    with closing(listen(settings)) as listener, open_session(name, loading) as session:
        model = served(session)
        server = Server(model, settings, listener)
        with _ended_by_signals(server.stop):
            warn(f"Serving {model.name} at {server.url}; Ctrl-C ends it.")
            server.run()


def _check_extra() -> None:
    for name in EXTRA:
        if importlib.util.find_spec(name) is None:
            raise MartletError(
                f"The server needs {name}, which is not installed.", "Install martlet[server]."
            )


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
