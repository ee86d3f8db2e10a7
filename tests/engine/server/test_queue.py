"""The queue without a network: turns, bounds, cancelling, closing, and answers that fail."""

import logging
import threading
from collections.abc import Iterator

import pytest

from engine.errors import ReadFailed
from engine.events import Event, TextDelta
from engine.server.queue import Job, JobQueue, QueueClosed, QueueFull, work, write
from tests.engine.server.scripted import LIMIT_S, finished


def job(client: str, heard: list[object] | None = None) -> Job:
    heard = [] if heard is None else heard
    return Job(client, iter([TextDelta(client), finished()]), heard.append)


def taken(queue: JobQueue, count: int) -> list[object]:
    return [queue.take().client for _ in range(count)]  # type: ignore[union-attr]


def test_clients_take_turns() -> None:
    queue = JobQueue(10)
    for client in "aaabacb":
        queue.put(job(client))
    assert taken(queue, 3) == ["a", "b", "c"]
    queue.put(job("c"))
    assert taken(queue, 5) == ["a", "b", "c", "a", "a"]


def test_the_last_places_are_for_clients_that_have_none() -> None:
    queue = JobQueue(8)
    for _ in range(6):
        queue.put(job("greedy"))
    with pytest.raises(QueueFull):
        queue.put(job("greedy"))
    queue.put(job("b"))
    queue.put(job("c"))
    with pytest.raises(QueueFull):
        queue.put(job("d"))
    queue.take()
    queue.put(job("d"))


def test_a_cancelled_job_leaves_its_place() -> None:
    queue = JobQueue(1)
    first = job("a")
    queue.put(first)
    queue.cancel(first)
    assert first.cancelled.is_set()
    queue.put(job("b"))
    assert taken(queue, 1) == ["b"]
    queue.cancel(first)  # again: nothing happens


def test_a_job_knows_its_place() -> None:
    queue = JobQueue(10)
    jobs = {name: job(name[0]) for name in ("a1", "a2", "b1", "c1", "a3", "b2")}
    for waiting in jobs.values():
        queue.put(waiting)
    order = ["a1", "b1", "c1", "a2", "b2", "a3"]
    assert sorted(jobs, key=lambda name: queue.place(jobs[name])) == order
    assert [queue.place(jobs[name]) for name in order] == [0, 1, 2, 3, 4, 5]
    queue.engaged = True
    assert queue.place(jobs["a1"]) == 1
    queue.engaged = False
    for number, name in enumerate(order, start=1):
        assert queue.take(0) is jobs[name]
        assert queue.place(jobs[name]) == 0
        left = [queue.place(jobs[other]) for other in order[number:]]
        assert left == list(range(1, len(left) + 1)), "the one that runs comes first"
    assert queue.take(0) is None
    assert queue.waiting == 0


def test_whoever_is_asked_to_is_woken_by_each_job() -> None:
    woken: list[int] = []
    queue = JobQueue(2, lambda: woken.append(1))
    queue.put(job("a"))
    queue.put(job("b"))
    with pytest.raises(QueueFull):
        queue.put(job("c"))
    assert woken == [1, 1]


def test_between_is_called_after_each_event_but_the_last() -> None:
    heard: list[object] = []
    one = job("a", heard)
    write(one, lambda cancelled: heard.append(cancelled))
    assert heard == [TextDelta("a"), one.cancelled, finished()]


def test_the_end_of_whoever_listens_is_no_fault_of_the_answer() -> None:
    heard: list[object] = []

    def gone(_: threading.Event) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        write(job("a", heard), gone)
    assert heard == [TextDelta("a")]


def test_closing_breaks_off_refuses_and_ends() -> None:
    queue = JobQueue(5)
    heard: list[object] = []
    queue.put(job("a"))
    queue.put(job("b", heard))
    running = queue.take()
    queue.close()
    assert running
    assert running.cancelled.is_set()
    assert [type(item) for item in heard] == [QueueClosed]
    with pytest.raises(QueueClosed):
        queue.put(job("c"))
    assert queue.take() is None


def test_a_waiting_worker_hears_of_jobs_and_of_the_end() -> None:
    queue = JobQueue(5)
    heard: list[object] = []
    told = threading.Event()

    def deliver(item: Event | Exception) -> None:
        heard.append(item)
        if item == finished():
            told.set()

    worker = threading.Thread(target=work, args=(queue,))
    worker.start()
    queue.put(Job("a", iter([TextDelta("x"), finished()]), deliver))
    assert told.wait(LIMIT_S)
    assert heard == [TextDelta("x"), finished()]
    queue.close()
    worker.join(LIMIT_S)
    assert not worker.is_alive()


def test_an_idle_worker_looks_after_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.server.queue.IDLE_S", 0.001)
    queue = JobQueue(5)
    work(queue, idle=queue.close)
    assert queue.closed


def test_a_failure_costs_one_answer(caplog: pytest.LogCaptureFixture) -> None:
    def failing(error: Exception) -> Iterator[Event]:
        yield TextDelta("x")
        raise error

    def ending() -> Iterator[Event]:
        queue.close()
        yield finished("cancelled")

    queue, heard = JobQueue(5), list[object]()
    errors = [ReadFailed("Layer 3."), KeyError("a bug")]
    for name, events in (
        ("a", failing(errors[0])),
        ("b", failing(errors[1])),
        ("c", iter([finished()])),
        ("d", ending()),
    ):
        queue.put(Job(name, events, heard.append))
    with caplog.at_level(logging.INFO, "engine.server"):
        work(queue)
    assert heard[1::2][:2] == errors
    assert heard[4:] == [finished(), finished("cancelled")]
    assert [r.levelname for r in caplog.records] == ["WARNING", "ERROR", "INFO", "INFO"]
