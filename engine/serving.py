"""Serving: the local server inside the engine process, beside the application's own questions.

HTTP lives on a thread of its own; all methods here are called on the main thread, which owns the
model. Answers for programs are written by `answer_one`, one a call, so that the main thread decides
whose turn it is. The server outlives the model: while there is none, programs are told to ask
again. Starlette and uvicorn are imported when they are first needed.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from engine import protocol as wire
from engine.errors import MartletError
from engine.server.extra import check_extra
from engine.server.queue import Between, JobQueue, write
from engine.server.served import ServedModel, Service, Source
from engine.server.settings import ServerSettings

if TYPE_CHECKING:
    from engine.server.server import HttpSide

JOIN_S = 1.0  # for what is broken off to reach the programs
WANTED_EVERY_S = 5.0  # at most
IDLE = wire.Served(answering=False, waiting=0)
_AGAIN = "Switch it off and on again."

Running = Callable[[threading.Event], AbstractContextManager[None]]


class Serving:
    """`send` tells the application, from any thread; `wake` makes the main thread look here."""

    def __init__(self, send: Callable[[wire.Event], None], wake: Callable[[], None]) -> None:
        self._send = send
        self._wake = wake
        self._http: HttpSide | None = None
        self._limit = 0
        self._model: ServedModel | None = None
        self._service: Service | None = None  # what the threads of HTTP see
        self._expected = ""
        self._wanted_at = -WANTED_EVERY_S
        self._engaged = False
        self._told = IDLE  # since listening began

    def start(self, command: wire.Serve) -> None:
        """Serve at this address from now on, or tell why not."""
        self.close()
        try:
            settings = ServerSettings(command.host, command.port, command.api_key)
            self._http = self._open(settings)
        except MartletError as error:
            self._send(wire.NotServing(error.message, error.remedy))
            return
        self._limit = settings.queue_limit
        self.offer(self._model)
        self._send(wire.Serving(self._http.url))  # it listens; what it says of itself comes after
        self._http.start()

    def stop(self) -> None:
        """Serve no more."""
        self.close()
        self._send(wire.NotServing())

    def close(self) -> None:
        """Stop listening, and break off what is asked for."""
        http, self._http = self._http, None
        self._let_go()
        self._service = None
        self._told = IDLE
        if http is not None:
            http.stop()
            http.join(JOIN_S)

    def offer(self, model: ServedModel | None) -> None:
        """Serve this model from now on; who waits for another one is told to ask again."""
        self._model = model
        self._let_go()
        self._service = None
        if model is not None and self._http is not None:
            queue = JobQueue(self._limit, self._wake)
            queue.engaged = self._engaged
            self._service = Service(model, queue)

    def expect(self, name: str) -> None:
        """The model of this name would be loaded for a program that asks; "" for none."""
        self._expected = name

    def answer_one(self, running: Running, between: Between) -> bool:
        """Write the next answer that is wanted, within `running`; whether there was one."""
        service = self._service
        job = service.queue.take(0) if service is not None else None
        if service is None or job is None:
            self._tell(IDLE)
            return False
        self._tell(wire.Served(answering=True, waiting=service.queue.waiting))
        with running(job.cancelled):
            write(job, between)
        return True

    def look(self) -> None:
        """Tell how many wait, if that has changed."""
        waiting = self._service.queue.waiting if self._service is not None else 0
        self._tell(replace(self._told, waiting=waiting))

    @contextmanager
    def engaged(self) -> Iterator[None]:
        """The model answers the application: programs wait."""
        self._tell(replace(self._told, answering=False))
        self._engage(True)
        try:
            yield
        finally:
            self._engage(False)

    def _engage(self, engaged: bool) -> None:
        self._engaged = engaged
        if self._service is not None:
            self._service.queue.engaged = engaged

    def _open(self, settings: ServerSettings) -> "HttpSide":
        check_extra()
        from engine.server.server import HttpSide, listen

        def over() -> None:
            if self._http is http:  # nobody asked for it
                self._let_go()
                self._send(wire.NotServing("The local server stopped by itself.", _AGAIN))

        source = Source(lambda: self._service, lambda: self._expected, self._want)
        http = HttpSide(source, settings, listen(settings), over)
        return http

    def _want(self) -> None:
        """On the threads of HTTP."""
        now = time.monotonic()
        if now - self._wanted_at >= WANTED_EVERY_S:
            self._wanted_at = now
            self._send(wire.ModelWanted())

    def _let_go(self) -> None:
        """On any thread: nobody is answered by the model that was there."""
        if (service := self._service) is not None:
            service.queue.close()

    def _tell(self, served: wire.Served) -> None:
        if served != self._told:
            self._told = served
            self._send(served)
