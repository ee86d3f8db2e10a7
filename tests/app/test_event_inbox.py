"""Events from other threads come in order, in batches, and joined where they can be."""

import threading
from typing import Any

from PySide6.QtCore import QCoreApplication

from app.event_inbox import INTERVAL_S, SLOWEST_S, EventInbox
from engine import protocol as wire
from tests.app.conftest import WaitFor


def collect(inbox: EventInbox) -> list[tuple[Any, Any]]:
    items: list[tuple[Any, Any]] = []
    inbox.arrived.connect(items.extend)
    return items


def test_order_and_joining(qapp: QCoreApplication) -> None:
    inbox = EventInbox()
    items = collect(inbox)
    one, other = object(), object()
    for source, event in [
        (one, wire.Text("g", "a")),
        (one, wire.Text("g", "b")),
        (one, wire.Text("h", "c")),
        (one, wire.Reasoning("h", "d")),
        (one, wire.Reasoning("h", "e")),
        (other, wire.Reasoning("h", "f")),
        (one, wire.Unloaded()),
        (one, wire.Unloaded()),
    ]:
        inbox.put(source, event)
    inbox.empty()
    assert items == [
        (one, wire.Text("g", "ab")),
        (one, wire.Text("h", "c")),
        (one, wire.Reasoning("h", "de")),
        (other, wire.Reasoning("h", "f")),
        (one, wire.Unloaded()),
        (one, wire.Unloaded()),
    ]
    inbox.empty()
    assert len(items) == 6


def test_from_many_threads_nothing_is_lost(qapp: QCoreApplication, wait_for: WaitFor) -> None:
    inbox = EventInbox()
    items = collect(inbox)

    def put(name: str) -> None:
        for number in range(5000):
            inbox.put(name, wire.Text(name, f"{number} "))

    threads = [threading.Thread(target=put, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    texts: dict[str, str] = {}

    def all_there() -> bool:
        texts.clear()
        for name, event in items:
            texts[name] = texts.get(name, "") + event.text
        return sum(text.count(" ") for text in texts.values()) == 15_000

    wait_for(all_there)
    for thread in threads:
        thread.join()
    assert texts["a"] == texts["b"] == texts["c"] == "".join(f"{n} " for n in range(5000))


def test_it_comes_less_often_while_a_batch_takes_long(
    qapp: QCoreApplication, wait_for: WaitFor
) -> None:
    inbox = EventInbox()
    intervals: list[float] = []

    def slow(items: list[Any]) -> None:
        intervals.append(inbox.interval_s)
        inbox.put("x", wire.Unloaded())
        threading.Event().wait(0.1)

    inbox.arrived.connect(slow)
    inbox.put("x", wire.Unloaded())
    wait_for(lambda: len(intervals) >= 2)
    inbox.arrived.disconnect(slow)  # else it feeds itself into the tests that follow
    assert intervals[:2] == [INTERVAL_S, SLOWEST_S]
