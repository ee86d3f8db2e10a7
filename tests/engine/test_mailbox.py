"""Order, quick commands out of line, and flags that do not wait."""

import threading

import pytest

from engine.mailbox import Mailbox
from engine.options import GenerationOptions
from engine.protocol import (
    Cancel,
    Command,
    CountTokens,
    Generate,
    Load,
    Quit,
    Resize,
    Serve,
    Stats,
    StopServing,
    Unload,
)

FIRST, SECOND = (Generate(id, (), GenerationOptions()) for id in ("1", "2"))


def test_commands_come_in_order() -> None:
    mailbox = Mailbox()
    for command in (Load("/m"), FIRST, SECOND):
        mailbox.put(command)
    assert [mailbox.take(0) for _ in range(4)] == [Load("/m"), FIRST, SECOND, None]


def test_only_quick_commands_are_taken_between_tokens() -> None:
    mailbox = Mailbox()
    for command in (FIRST, Resize(1), Load("/m"), CountTokens("c", ()), Stats()):
        mailbox.put(command)
    quick = [mailbox.take_quick() for _ in range(4)]
    assert quick == [Resize(1), CountTokens("c", ()), Stats(), None]
    assert [mailbox.take(0), mailbox.take(0)] == [FIRST, Load("/m")]


def test_cancel_reaches_the_running_generation_at_once() -> None:
    mailbox = Mailbox()
    mailbox.put(FIRST)
    assert mailbox.take(0) == FIRST
    mailbox.put(Cancel("1"))  # between the taking and the beginning, too
    with mailbox.generation() as cancel:
        assert cancel.is_set()
    mailbox.put(SECOND)
    mailbox.take(0)
    with mailbox.generation() as cancel:
        assert mailbox.put(Cancel("1")) is None
        assert not cancel.is_set()
        assert mailbox.put(Cancel("2")) is None
        assert cancel.is_set()


def test_cancel_takes_a_generation_out_of_the_line() -> None:
    mailbox = Mailbox()
    mailbox.put(FIRST)
    mailbox.put(SECOND)
    assert mailbox.put(Cancel("1")) == FIRST
    assert mailbox.put(Cancel("1")) is None
    assert [mailbox.take(0), mailbox.take(0)] == [SECOND, None]


def test_cancel_of_the_unknown_is_forgotten() -> None:
    mailbox = Mailbox()
    assert mailbox.put(Cancel("1")) is None
    mailbox.put(FIRST)
    mailbox.take(0)
    with mailbox.generation() as cancel:
        assert not cancel.is_set()


def test_the_end_goes_before_all_that_waits() -> None:
    mailbox = Mailbox()
    mailbox.put(FIRST)
    mailbox.take(0)
    with mailbox.generation() as cancel:
        mailbox.put(SECOND)
        mailbox.put(Quit())
        assert cancel.is_set()
    assert mailbox.take(0) == Quit()
    flag = threading.Event()
    with mailbox.program(flag):
        assert flag.is_set()


ENDING: list[Command] = [Load("/m"), Unload(), Serve("127.0.0.1", 1), StopServing(), Quit()]


@pytest.mark.parametrize("command", ENDING, ids=lambda command: type(command).__name__)
def test_an_answer_for_a_program_gives_way(command: Command) -> None:
    mailbox = Mailbox()
    running, next_one = threading.Event(), threading.Event()
    with mailbox.program(running):
        mailbox.put(FIRST)
        mailbox.put(Cancel("another"))
        assert not running.is_set()
        mailbox.put(command)
        assert running.is_set()
        assert mailbox.take_quick() is None  # first it ends
    with mailbox.program(next_one):
        assert next_one.is_set()


def test_serving_changes_between_the_application_s_own_tokens() -> None:
    mailbox = Mailbox()
    mailbox.put(FIRST)
    mailbox.take(0)
    with mailbox.generation() as cancel:
        mailbox.put(StopServing())
        assert mailbox.take_quick() == StopServing()
        assert not cancel.is_set()


def test_a_nudge_ends_the_waiting_once() -> None:
    mailbox = Mailbox()
    mailbox.nudge()
    assert mailbox.take(600) is None
    mailbox.put(Stats())
    assert mailbox.take(600) == Stats()


def test_a_waiting_thread_is_woken() -> None:
    mailbox = Mailbox()
    taken: list[object] = []
    thread = threading.Thread(target=lambda: taken.append(mailbox.take(60)))
    thread.start()
    mailbox.put(FIRST)
    thread.join(60)
    assert taken == [FIRST]
