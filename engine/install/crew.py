"""Crew: jobs on a few threads, of which none may outlive its leave to write.

A thread that hangs in the network cannot be ended; it can be kept from the disk.
"""

import queue
import threading
from collections.abc import Callable, Sequence
from typing import Self

from engine.errors import Cancelled
from engine.install.stop import Stop

Job = Callable[[], None]


class Gate:
    """Lets writers in, any number at once, until it is closed for good."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._closed = False

    def __enter__(self) -> Self:
        with self._changed:
            if self._closed:
                raise Cancelled("Stopped as asked.", "")
            self._inside += 1
        return self

    def __exit__(self, *exception: object) -> None:
        with self._changed:
            self._inside -= 1
            self._changed.notify_all()

    def close(self) -> None:
        """Let nobody in any more, and wait for those inside."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: self._inside == 0)


def work(jobs: Sequence[Job], hands: int, stop: Stop) -> None:
    """Do all jobs, begun in order, `hands` at a time.

    The first fault becomes the reason to stop and is raised, as is any other reason, at once: a
    thread that is stuck is left behind.
    """
    todo: queue.SimpleQueue[Job] = queue.SimpleQueue()
    for job in jobs:
        todo.put(job)
    done: queue.SimpleQueue[None] = queue.SimpleQueue()
    for number in range(min(hands, len(jobs))):
        threading.Thread(
            target=_work, args=(todo, done, stop), name=f"hand {number}", daemon=True
        ).start()
    for _ in jobs:
        while True:
            stop.check()
            try:
                done.get(timeout=0.05)
                break
            except queue.Empty:
                continue


def _work(todo: "queue.SimpleQueue[Job]", done: "queue.SimpleQueue[None]", stop: Stop) -> None:
    while not stop.is_asked():
        try:
            job = todo.get_nowait()
        except queue.Empty:
            return
        try:
            job()
        except BaseException as fault:  # noqa: BLE001  # a thread's outermost frame: `work` raises it
            stop.give_up(fault)
            return
        done.put(None)
