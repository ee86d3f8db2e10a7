"""A session that answers by a script, and a real server around it."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from engine.events import AnswerStats, Event, Finished, FinishReason, PrefillProgress, TextDelta
from engine.options import GenerationOptions
from engine.server.served import ServedModel
from engine.server.server import Server, listen
from engine.server.settings import ServerSettings

LIMIT_S = 60.0  # for what takes milliseconds on an idle machine
NAME = "scripted"
CHAT = "/chat/completions"


@dataclass(frozen=True, slots=True)
class Asked:
    """What reached the session."""

    options: GenerationOptions
    cancelled: Callable[[], bool]
    messages: Sequence[Mapping[str, Any]] = ()
    tools: Sequence[Mapping[str, Any]] | None = None
    ids: Sequence[int] = ()


Script = Callable[[Asked], Iterator[Event]]


def finished(reason: FinishReason = "stop", text: str = "", cached: int = 0) -> Finished:
    stats = AnswerStats(10, cached, len(text), 0.1, 20.0, 100.0, 0.5, 0, 0.0, 1)
    return Finished(reason, text, tuple(range(len(text))), stats)


def saying(*texts: str, reason: FinishReason = "stop") -> Script:
    """Every answer is these texts."""

    def script(asked: Asked) -> Iterator[Event]:
        yield PrefillProgress(10, 10, 0)
        for text in texts:
            if asked.cancelled():
                yield finished("cancelled")
                return
            yield TextDelta(text)
        yield finished(reason, "".join(texts))

    return script


def echo(asked: Asked) -> Iterator[Event]:
    """Every answer is the last message."""
    return saying(*asked.messages[-1]["content"])(asked)


@dataclass(slots=True)
class Scripted:
    """The session. `refuse` is raised at once, as a session refuses a bad prompt."""

    script: Script = echo
    refuse: Exception | None = None
    asked: list[Asked] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)  # why answers ended that were begun
    threads: set[str] = field(default_factory=set)  # that asked for events
    _busy: threading.Lock = field(default_factory=threading.Lock)

    def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        options: GenerationOptions,
        *,
        tools: Sequence[Mapping[str, Any]] | None,
        cancelled: Callable[[], bool],
    ) -> Iterator[Event]:
        return self._begin(Asked(options, cancelled, messages, tools))

    def complete(
        self, ids: Sequence[int], options: GenerationOptions, *, cancelled: Callable[[], bool]
    ) -> Iterator[Event]:
        return self._begin(
            Asked(options, cancelled, [{"content": "".join(map(chr, ids))}], ids=ids)
        )

    def _begin(self, asked: Asked) -> Iterator[Event]:
        if self.refuse:
            raise self.refuse
        self.asked.append(asked)
        return self._events(asked, self.script)

    def _events(self, asked: Asked, script: Script) -> Iterator[Event]:
        assert self._busy.acquire(blocking=False), "two answers at a time"
        self.threads.add(threading.current_thread().name)
        try:
            for event in script(asked):
                yield event
                if isinstance(event, Finished):
                    self.ends.append(event.reason)
        finally:
            self._busy.release()


@contextmanager
def serving(session: Scripted, **settings: Any) -> Iterator[httpx.Client]:
    """A client of a server on a free port; nothing of either is left at the end."""
    chosen = ServerSettings(port=0, **settings)
    model = ServedModel(NAME, 4096, session, lambda text: [ord(letter) for letter in text])
    server = Server(model, chosen, listen(chosen))
    thread = threading.Thread(target=server.run, name="model")
    thread.start()
    try:
        with httpx.Client(base_url=server.url, timeout=LIMIT_S, trust_env=False) as client:
            yield client
    finally:
        server.stop()
        thread.join(LIMIT_S)
        assert not thread.is_alive(), "the server did not stop"


def user(text: str) -> dict[str, Any]:
    """The messages of a chat with one question."""
    return {"messages": [{"role": "user", "content": text}]}
