"""Server: the HTTP side on a thread of its own, the model on the thread that runs it.

MLX's streams belong to threads, so that whoever loaded the model writes the answers; sockets are
served beside, by uvicorn, which is told to log nothing about requests.
"""

import socket
import threading
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from engine.errors import BadOption, MartletError
from engine.server.app import create_app
from engine.server.queue import Between, JobQueue, work
from engine.server.served import ServedModel, Service, Source
from engine.server.settings import LOCALHOST, ServerSettings

CONNECTION_LIMIT = 128  # macOS gives a process 256 descriptors
KEEP_ALIVE_S = 30
GRACE_S = 5  # for answers that are being broken off, when the server stops


def listen(settings: ServerSettings) -> socket.socket:
    """A socket on the address of the settings. Raises BadOption, MartletError."""
    family, address = _address(settings)
    try:
        listener = socket.create_server(address, family=family, backlog=CONNECTION_LIMIT)
    except OSError as error:
        raise MartletError(
            f"{settings.host} port {settings.port} cannot be listened on: {error.strerror}.",
            "Choose another port, or end the program that uses it.",
        ) from error
    # Connections inherit it. Without, each answer waits 40 ms for the client's acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _address(settings: ServerSettings) -> tuple[int, tuple[Any, ...]]:
    host = "127.0.0.1" if settings.host == LOCALHOST else settings.host.strip("[]")
    try:
        found = socket.getaddrinfo(host, settings.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        remedy = "Give an address of this machine."
        raise BadOption(f"--host is {settings.host!r}.", remedy) from error
    family, *_, address = found[0]
    return family, address[:2]


class HttpSide:
    """Takes requests at one address, on a thread of its own. `listener` is closed at the end.

    `close`, which lets go of all answers, is called there when the end comes, in whatever way, and
    again when it is over.
    """

    def __init__(
        self,
        source: Source,
        settings: ServerSettings,
        listener: socket.socket,
        close: Callable[[], None],
    ) -> None:
        self.url = _url(listener)
        self._listener = listener
        self._close = close
        self._http = _Http(create_app(source, settings), close)
        self._thread = threading.Thread(target=self._serve, name="http", daemon=True)

    @property
    def stopped(self) -> bool:
        """Whether it was told to stop."""
        return self._http.should_exit

    def start(self) -> None:
        """Take requests from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Break off all answers and end. For any thread and signal handlers."""
        self._http.should_exit = True

    def join(self, timeout: float | None = None) -> None:
        """Wait until it is over."""
        self._thread.join(timeout)

    def _serve(self) -> None:
        try:
            self._http.run(sockets=[self._listener])
        finally:
            self._close()
            self._listener.close()


class Server:
    """One model at one address, for a program that does nothing else."""

    def __init__(
        self, model: ServedModel, settings: ServerSettings, listener: socket.socket
    ) -> None:
        self._service = Service(model, JobQueue(settings.queue_limit))
        self._http = HttpSide(
            Source(lambda: self._service), settings, listener, self._service.queue.close
        )

    @property
    def url(self) -> str:
        """What clients call the base URL."""
        return self._http.url

    def run(
        self,
        between: Between = lambda cancelled: None,
        idle: Callable[[], object] = lambda: None,
    ) -> None:
        """Write answers until `stop`; see `work`. Runs on the thread that owns the model."""
        self._http.start()
        try:
            work(self._service.queue, between, idle)
            if not self._http.stopped:
                raise RuntimeError("the HTTP side ended by itself")
        finally:
            self._http.stop()
            self._http.join()

    def stop(self) -> None:
        """Break off all answers and let `run` return. For any thread and signal handlers."""
        self._http.stop()


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/v1"


class _Http(uvicorn.Server):
    """uvicorn, which breaks off the answers before it waits for their connections."""

    def __init__(self, app: ASGIApp, close: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                loop="asyncio",
                http="h11",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                limit_concurrency=CONNECTION_LIMIT,
                timeout_keep_alive=KEEP_ALIVE_S,
                timeout_graceful_shutdown=GRACE_S,
            )
        )
        self._close = close

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Called once, when the server is to end."""
        self._close()
        await super().shutdown(sockets)
