"""JobQueue: answers that were asked for, and the one thread that writes them.

Clients take turns, so that one with many requests does not keep the others waiting. The number of
waiting answers is bounded; the last places are left to clients that have none yet. A queue belongs
to one loaded model and is closed with it.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field

from engine.errors import MartletError
from engine.events import Event, Finished

IDLE_S = 1.0  # how often an idle worker looks after the model

log = logging.getLogger(__name__)

Between = Callable[[threading.Event], object]  # called between events; may wait until it is set
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
    """Any thread puts and cancels; one takes. `wake` is called, there, after each put."""

    def __init__(self, limit: int, wake: Callable[[], None] = lambda: None) -> None:
        self._limit = limit
        self._wake = wake
        self.engaged = False  # the model answers somebody who does not wait here
        self._changed = threading.Condition()
        self._lines: dict[Hashable, deque[Job]] = {}  # of clients, the next one first
        self._running: Job | None = None
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether no more answers will be written."""
        return self._closed

    @property
    def waiting(self) -> int:
        """Answers that are not begun."""
        with self._changed:
            return self._waiting()

    def place(self, job: Job) -> int:
        """How many answers come before this one, as things stand; 0 for one that is begun."""
        with self._changed:
            line = self._lines.get(job.client, ())
            if job not in line:
                return 0
            at, mine = line.index(job), list(self._lines).index(job.client)
            ahead = (
                min(len(other), at + (number < mine))
                for number, other in enumerate(self._lines.values())
                if number != mine
            )
            return at + sum(ahead) + (self.engaged or self._running is not None)

    def put(self, job: Job) -> None:
        """Add an answer. Raises QueueFull, QueueClosed."""
        with self._changed:
            if self._closed:
                raise QueueClosed
            kept_free = -(-self._limit // 4) if job.client in self._lines else 0
            if self._waiting() >= self._limit - kept_free:
                raise QueueFull
            self._lines.setdefault(job.client, deque()).append(job)
            self._changed.notify()
        self._wake()

    def take(self, timeout: float | None = None) -> Job | None:
        """The next answer to write, once there is one; None after `timeout` seconds or if closed.

        The one that was taken before is done.
        """
        with self._changed:
            self._running = None
            self._changed.wait_for(lambda: self._closed or self._lines, timeout)
            if self._lines and not self._closed:
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

    def _waiting(self) -> int:
        return sum(map(len, self._lines.values()))

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


def work(
    queue: JobQueue,
    between: Between = lambda cancelled: None,
    idle: Callable[[], object] = lambda: None,
) -> None:
    """Write answers until the queue is closed. Runs on the thread that owns the model.

    `between` is called after each event but the last, `idle` about once a second while there is
    nothing to write.
    """
    while not queue.closed:
        job = queue.take(IDLE_S)
        if job is not None:
            write(job, between)
        else:
            idle()


def write(job: Job, between: Between = lambda cancelled: None) -> None:
    """Write one answer. Whatever goes wrong with it is told to who asked, and costs it alone."""
    try:
        for event in job.events:
            job.deliver(event)
            if isinstance(event, Finished):
                _log(event)
            else:
                between(job.cancelled)
    except BrokenPipeError:  # whoever `between` speaks to is gone, which is no fault of the answer
        raise
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
