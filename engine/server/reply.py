"""Replies: answers on their way to a client, in one piece or as server-sent events.

A client that goes away cancels its answer, whether it waits or is being written. Until the first
byte is out, a failure has a status; afterwards it is an event of the stream, and no end follows it.
While a stream has nothing to tell, comments show that it lives.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from starlette.types import Message, Receive, Scope, Send

from engine.events import Event, Finished, PrefillProgress
from engine.server import wire
from engine.server.faults import SERVER, ApiError, from_engine
from engine.server.forms import Form, usage
from engine.server.inbox import ClientGone, Inbox
from engine.server.parts import AnswerParts, Part
from engine.server.queue import Job, JobQueue, QueueClosed

RETRY_AFTER_S = 5
STALLED_S = 60.0  # a client that reads nothing for so long is given up
_STREAM_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),  # proxies would hold the stream back
]


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer that was asked for: where it is written, heard and how it is told."""

    queue: JobQueue
    job: Job
    inbox: Inbox
    parts: AnswerParts
    form: Form

    async def next(self, until: float | None = None) -> Event | None:
        """The next event, or None at `until`. Raises ApiError, ClientGone."""
        try:
            event = await self.inbox.next(until)
        except ClientGone:
            raise
        except QueueClosed as error:
            raise stopping() from error
        except Exception as error:  # whatever the engine raised; a bug is in its log
            raise from_engine(error) from error
        return event

    def take(self, event: Event) -> list[Part]:
        """What the event makes known; ends an answer that has all it needs."""
        parts = self.parts.take(event)
        if self.parts.complete:
            self.queue.cancel(self.job)
        return parts

    def reason(self, finished: Finished) -> str:
        """How it ended. Raises ApiError where it was broken off."""
        reason = self.parts.finish_reason(finished.reason)
        if reason is None:
            raise stopping()
        return reason


def stopping() -> ApiError:
    """The server, or its model, is gone before the answer is whole."""
    return ApiError(
        503,
        "The server is stopping, or its model is being unloaded.",
        kind=SERVER,
        code="stopping",
        headers={"retry-after": str(RETRY_AFTER_S)},
    )


class Reply:
    """An ASGI response that watches its client."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        watch = asyncio.create_task(self._watch(receive))
        try:
            await self._respond(send)
        except ClientGone:
            pass
        finally:
            watch.cancel()
            self._answer.queue.cancel(self._answer.job)

    async def _watch(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._answer.inbox.deliver(ClientGone())

    async def _respond(self, send: Send) -> None:
        raise NotImplementedError


class WholeReply(Reply):
    """The answer as one JSON object."""

    async def _respond(self, send: Send) -> None:
        answer = self._answer
        parts: list[Part] = []
        while not isinstance(event := await answer.next(), Finished):
            parts += answer.take(event) if event else []
        parts += answer.take(event)
        body = wire.encode(answer.form.whole(parts, answer.reason(event), usage(event.stats)))
        length = str(len(body)).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", length)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


class StreamedReply(Reply):
    """The answer as server-sent events."""

    def __init__(self, answer: Answer, *, heartbeat_s: float, include_usage: bool) -> None:
        super().__init__(answer)
        self._heartbeat_s = heartbeat_s
        self._include_usage = include_usage
        self._started = False  # a byte is out: the status is told
        self._opened = False  # the opening chunk is out
        self._doing = ""  # what a comment says, once there is more to say than that it waits
        self._silent_until = asyncio.get_running_loop().time() + heartbeat_s

    async def _respond(self, send: Send) -> None:
        try:
            async for data in self._stream():
                await self._send(send, data)
        except ApiError as error:
            if not self._started:
                raise
            await self._send(send, wire.event(error.body()))
        await _send_body(send, b"", more=False)

    async def _stream(self) -> AsyncIterator[bytes]:
        answer, form = self._answer, self._answer.form
        while not isinstance(event := await answer.next(self._silent_until), Finished):
            if event is None:
                yield wire.comment(self._doing or self._place())
            elif isinstance(event, PrefillProgress):
                self._doing = f"reading the prompt: {event.done} of {event.total} tokens"
            elif parts := answer.take(event):
                yield self._opening() + self._told(parts)
        rest = self._opening() + self._told(answer.take(event))
        yield rest + wire.event(form.closing(answer.reason(event)))
        if self._include_usage:
            yield wire.event(form.usage_chunk(usage(event.stats)))
        yield wire.STREAM_END

    def _place(self) -> str:
        before = self._answer.queue.place(self._answer.job)
        return f"waiting: {before} before this one" if before else "waiting"

    def _opening(self) -> bytes:
        if self._opened:
            return b""
        self._opened = True
        opening = self._answer.form.opening()
        return wire.event(opening) if opening else b""

    def _told(self, parts: list[Part]) -> bytes:
        return b"".join(wire.event(self._answer.form.part(part)) for part in parts)

    async def _send(self, send: Send, data: bytes) -> None:
        if not self._started:
            self._started = True
            await send({"type": "http.response.start", "status": 200, "headers": _STREAM_HEADERS})
        await _send_body(send, data, more=True)
        self._silent_until = asyncio.get_running_loop().time() + self._heartbeat_s


async def _send_body(send: Send, data: bytes, *, more: bool) -> None:
    message: Message = {"type": "http.response.body", "body": data, "more_body": more}
    try:
        async with asyncio.timeout(STALLED_S):
            await send(message)
    except TimeoutError as error:
        raise ClientGone from error
