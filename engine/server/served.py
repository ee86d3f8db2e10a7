"""What a server serves: one model, the session that answers for it, and the line of its answers."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from engine.events import Event
from engine.options import GenerationOptions
from engine.server.queue import JobQueue


class Session(Protocol):
    """What answers: a ChatSession, in use.

    Both methods judge what they are given at once, on any thread; the events are asked for on the
    thread that owns the model. Raises the errors of `engine.errors`.
    """

    def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        options: GenerationOptions,
        *,
        tools: Sequence[Mapping[str, Any]] | None,
        cancelled: Callable[[], bool],
    ) -> Iterator[Event]:
        """Answer a conversation."""

    def complete(
        self, ids: Sequence[int], options: GenerationOptions, *, cancelled: Callable[[], bool]
    ) -> Iterator[Event]:
        """Go on after token ids."""


@dataclass(frozen=True, slots=True)
class ServedModel:
    """The model of a server."""

    name: str
    context_length: int
    session: Session
    encode: Callable[[str], Sequence[int]]  # a text's token ids, on any thread
    since: int = field(default_factory=lambda: int(time.time()))


@dataclass(frozen=True, slots=True)
class Service:
    """A model and who waits for it. Another model has another queue."""

    model: ServedModel
    queue: JobQueue


@dataclass(frozen=True, slots=True)
class Source:
    """Where the HTTP side finds what it serves; asked at each request, on any thread."""

    service: Callable[[], Service | None]  # None: no model is loaded now
    expected: Callable[[], str] = lambda: ""  # the name of the one that would be, if any
    wanted: Callable[[], object] = lambda: None  # an answer was asked for, and there is no model
