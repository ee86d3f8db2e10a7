"""Inbox: from the thread that writes an answer to the coroutine that sends it."""

import asyncio
import contextlib

from engine.events import Event


class ClientGone(Exception):
    """Whoever asked has closed the connection."""


class Inbox:
    """Of one answer. Made in the event loop; `deliver` is for any thread.

    It takes whatever comes: the engine never waits for a slow reader, and an answer is finite.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._items: asyncio.Queue[Event | Exception] = asyncio.Queue()

    def deliver(self, item: Event | Exception) -> None:
        """Hand over an event, or what went wrong."""
        with contextlib.suppress(RuntimeError):  # the loop has closed: nobody listens any more
            self._loop.call_soon_threadsafe(self._items.put_nowait, item)

    async def next(self, until: float | None = None) -> Event | None:
        """The next event, or None at `until` (of the loop's clock). Raises what went wrong."""
        try:
            async with asyncio.timeout_at(until):
                item = await self._items.get()
        except TimeoutError:
            return None
        if isinstance(item, Exception):
            raise item
        return item
