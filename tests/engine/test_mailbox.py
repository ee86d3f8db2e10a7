"""Order, quick commands out of line, and flags that do not wait."""

import threading

from engine.mailbox import Mailbox
from engine.options import GenerationOptions
from engine.protocol import Cancel, CountTokens, Generate, Load, Quit, Resize, Stats

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
    with mailbox.generation("1") as cancel:
        mailbox.put(Cancel("2"))
        assert not cancel.is_set()
        mailbox.put(Cancel("1"))
        assert cancel.is_set()


def test_cancel_reaches_a_generation_that_still_waits() -> None:
    mailbox = Mailbox()
    mailbox.put(FIRST)
    mailbox.put(Cancel("1"))
    with mailbox.generation("1") as cancel:
        assert cancel.is_set()
    with mailbox.generation("1") as again:
        assert not again.is_set()


def test_cancel_of_the_unknown_is_forgotten() -> None:
    mailbox = Mailbox()
    mailbox.put(Cancel("1"))
    with mailbox.generation("1") as cancel:
        assert not cancel.is_set()


def test_the_end_goes_before_all_that_waits() -> None:
    mailbox = Mailbox()
    with mailbox.generation("1") as cancel:
        mailbox.put(SECOND)
        mailbox.put(Quit())
        assert cancel.is_set()
    assert mailbox.take(0) == Quit()


def test_a_waiting_thread_is_woken() -> None:
    mailbox = Mailbox()
    taken: list[object] = []
    thread = threading.Thread(target=lambda: taken.append(mailbox.take(60)))
    thread.start()
    mailbox.put(FIRST)
    thread.join(60)
    assert taken == [FIRST]
