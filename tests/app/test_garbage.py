"""Cycles are collected by the timer, on its thread, and by nothing else."""

import gc
import threading
import weakref
from collections.abc import Iterator

import pytest

from app.garbage import GarbageTimer
from tests.app.conftest import WaitFor


class Node:
    """Garbage that only a collection finds."""

    def __init__(self) -> None:
        self.me = self


@pytest.fixture
def timer(qapp: object) -> Iterator[GarbageTimer]:
    timer = GarbageTimer(interval_ms=1)
    yield timer
    timer.close()


def test_a_cycle_ends_on_the_thread_of_the_timer(timer: GarbageTimer, wait_for: WaitFor) -> None:
    ended: list[int] = []

    def litter() -> None:
        node = Node()
        weakref.finalize(node, lambda: ended.append(threading.get_ident()))
        del node
        for _ in range(5 * gc.get_threshold()[0]):
            Node()  # enough for Python to collect, if it still did

    thread = threading.Thread(target=litter)
    thread.start()
    thread.join()
    assert ended == []
    wait_for(lambda: ended)
    assert ended == [threading.get_ident()]


def test_python_collects_again_when_it_is_closed(qapp: object) -> None:
    enabled = gc.isenabled()
    gc.enable()
    timer = GarbageTimer()
    assert not gc.isenabled()
    timer.close()
    assert gc.isenabled()
    if not enabled:
        gc.disable()
