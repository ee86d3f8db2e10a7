"""Server: the HTTP side on a thread of its own, the model on the thread that runs it.

MLX's streams belong to threads, so that whoever loaded the model writes the answers; sockets are
served beside, by uvicorn, which is told to log nothing about requests.
"""

import socket
import threading
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from engine.errors import BadOption, MartletError
from engine.server.app import create_app
from engine.server.queue import JobQueue, work
from engine.server.served import ServedModel
from engine.server.settings import LOCALHOST, ServerSettings
from engine.session import ChatSession

CONNECTION_LIMIT = 128  # macOS gives a process 256 descriptors
KEEP_ALIVE_S = 30
GRACE_S = 5  # for answers that are being broken off, when the server stops


def served(session: ChatSession) -> ServedModel:
    """A session and its model as a server shows them."""
    model = session.model
    return ServedModel(
        name=model.container.path.stem,
        context_length=model.config.context_length,
        session=session,
        encode=lambda text: session.text.tokenizer.encode(text),  # read when first needed
    )


def listen(settings: ServerSettings) -> socket.socket:
    """A socket on the address of the settings. Raises BadOption, MartletError."""
    family, address = _address(settings)
    try:
        listener = socket.create_server(address, family=family, backlog=CONNECTION_LIMIT)
    except OSError as error:
        raise MartletError(
            f"{settings.host} port {settings.port} cannot be listened on: {error.strerror}.",
            "Choose another --port, or end the program that uses it.",
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


class Server:
    """One model at one address. `listener` is closed when the server has run."""

    def __init__(
        self, model: ServedModel, settings: ServerSettings, listener: socket.socket
    ) -> None:
        self._listener = listener
        self._queue = JobQueue(settings.queue_limit)
        self._http = _Http(create_app(model, settings, self._queue), self._queue)

    @property
    def url(self) -> str:
        """What clients call the base URL."""
        host, port = self._listener.getsockname()[:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}/v1"

    def run(self) -> None:
        """Write answers until `stop`. Runs on the thread that owns the model."""
        thread = threading.Thread(target=self._serve_http, name="http")
        thread.start()
        try:
            work(self._queue)
            if not self._http.should_exit:
                raise RuntimeError("the HTTP side ended by itself")
        finally:
            self._http.should_exit = True
            thread.join()

    def stop(self) -> None:
        """Break off all answers and let `run` return. For any thread and signal handlers."""
        self._http.should_exit = True

    def _serve_http(self) -> None:
        try:
            self._http.run(sockets=[self._listener])
        finally:
            self._queue.close()
            self._listener.close()


class _Http(uvicorn.Server):
    """uvicorn, which breaks off the answers before it waits for their connections."""

    def __init__(self, app: ASGIApp, queue: JobQueue) -> None:
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
        self._queue = queue

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Called once, when the server is to end."""
        self._queue.close()
        await super().shutdown(sockets)
