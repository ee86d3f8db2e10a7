"""JobQueue: answers that were asked for, and the one thread that writes them.

Clients take turns, so that one with many requests does not keep the others waiting. The number of
waiting answers is bounded; the last places are left to clients that have none yet.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field

from engine.errors import MartletError
from engine.events import Event, Finished

log = logging.getLogger(__name__)

Deliver = Callable[[Event | Exception], None]


class QueueFull(Exception):
    """No more answers may wait."""


class QueueClosed(Exception):
    """No more answers will be written."""


@dataclass(slots=True, eq=False)
class Job:
    """One answer: `events`, asked for by the thread that owns the model, go to `deliver` there.

    The last that is delivered is Finished or what was raised; once cancelled, perhaps nothing.
    """

    client: Hashable  # whose turn it takes
    events: Iterator[Event]
    deliver: Deliver
    cancelled: threading.Event = field(default_factory=threading.Event)


class JobQueue:
    """Any thread puts and cancels; one takes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._changed = threading.Condition()
        self._lines: dict[Hashable, deque[Job]] = {}  # of clients, the next one first
        self._running: Job | None = None
        self._closed = False

    def put(self, job: Job) -> None:
        """Add an answer. Raises QueueFull, QueueClosed."""
        with self._changed:
            if self._closed:
                raise QueueClosed
            waiting = sum(map(len, self._lines.values()))
            kept_free = -(-self._limit // 4) if job.client in self._lines else 0
            if waiting >= self._limit - kept_free:
                raise QueueFull
            self._lines.setdefault(job.client, deque()).append(job)
            self._changed.notify()

    def take(self) -> Job | None:
        """The next answer to write, once there is one; None once the queue is closed."""
        with self._changed:
            self._running = None
            self._changed.wait_for(lambda: self._closed or self._lines)
            if not self._closed:
                self._running = self._next()
            return self._running

    def cancel(self, job: Job) -> None:
        """Nobody waits for this one any more; it may be running, waiting or done."""
        job.cancelled.set()
        with self._changed:
            line = self._lines.get(job.client)
            if line is not None and job in line:
                line.remove(job)
                self._drop_if_empty(job.client)

    def close(self) -> None:
        """Break off what runs, refuse what waits and what comes."""
        with self._changed:
            self._closed = True
            waiting = [job for line in self._lines.values() for job in line]
            self._lines.clear()
            if self._running:
                self._running.cancelled.set()
            self._changed.notify()
        for job in waiting:
            job.deliver(QueueClosed())

    def _next(self) -> Job:
        client = next(iter(self._lines))
        line = self._lines.pop(client)
        job = line.popleft()
        if line:
            self._lines[client] = line  # at the end: it is the others' turn
        return job

    def _drop_if_empty(self, client: Hashable) -> None:
        if not self._lines[client]:
            del self._lines[client]


def work(queue: JobQueue) -> None:
    """Write answers until the queue is closed. Runs on the thread that owns the model."""
    while (job := queue.take()) is not None:
        _write(job)


def _write(job: Job) -> None:
    try:
        for event in job.events:
            job.deliver(event)
            if isinstance(event, Finished):
                _log(event)
    except MartletError as error:
        log.warning("%s", error)
        job.deliver(error)
    except Exception as error:  # the outermost frame of an answer: a bug costs this one alone
        log.exception("an answer failed")
        job.deliver(error)


def _log(finished: Finished) -> None:
    stats = finished.stats
    log.info(
        "%d prompt tokens (%d cached), %d generated at %.1f/s, first after %.2f s: %s",
        stats.prompt_tokens,
        stats.cached_tokens,
        stats.generated_tokens,
        stats.tokens_per_s,
        stats.ttft_s,
        finished.reason,
    )
