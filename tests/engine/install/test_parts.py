"""The small parts of an installation, each alone: waiting, counting, working, claiming, gaps."""

import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.container.plan import Move
from engine.errors import Cancelled, DownloadFailed
from engine.install import gaps
from engine.install.claim import LOCK, Claim, Taken, holder, said
from engine.install.crew import Gate, work
from engine.install.digest import Digest
from engine.install.patience import LONGEST_WAIT_S, Backoff, Patience
from engine.install.stop import Stop
from engine.install.tally import Tally
from engine.install.wanted import Wanted


class TestBackoff:
    def test_waits_double_up_to_the_most_and_then_it_gives_up(self) -> None:
        backoff = Backoff(Patience(tries=8, first_s=1, most_s=10), random.Random(1))
        waits = [backoff.failed() for _ in range(8)]
        for wait, most in zip(waits[:7], (1, 2, 4, 8, 10, 10, 10), strict=True):
            assert wait
            assert most / 2 <= wait <= most
        assert waits[7] is None

    def test_progress_makes_it_patient_again_but_a_byte_is_none(self) -> None:
        backoff = Backoff(Patience(tries=3, progress_bytes=100))
        backoff.failed()
        backoff.progressed(99)
        backoff.failed()
        assert backoff.failures == 2
        backoff.progressed(100)
        assert backoff.failures == 0

    def test_two_that_failed_together_do_not_come_back_together(self) -> None:
        first, second = (Backoff(Patience(), random.Random(seed)) for seed in (1, 2))
        assert first.failed() != second.failed()

    def test_what_a_server_asks_for_is_the_least_and_has_an_end(self) -> None:
        assert (Backoff(Patience(first_s=0.01)).failed(30.0) or 0) == 30.0
        assert Backoff(Patience()).failed(LONGEST_WAIT_S + 1) is None


class TestTally:
    def test_a_rate_is_about_the_last_seconds(self) -> None:
        now = [100.0]
        tally = Tally(lambda: now[0])
        tally.begin("downloading", 1000, 100)
        for _ in range(10):
            now[0] += 1
            tally.moved(10)
        progress = tally.progress()
        assert (progress.done, progress.bytes_per_s, progress.seconds_left) == (200, 10.0, 80.0)
        now[0] += 6
        stalled = tally.progress()
        assert (stalled.bytes_per_s, stalled.seconds_left) == (0.0, None)

    def test_going_back_is_no_speed(self) -> None:
        tally = Tally(lambda: 5.0)
        tally.begin("downloading", 100, 50)
        tally.found(-20)
        assert (tally.progress().done, tally.progress().bytes_per_s) == (30, 0.0)

    def test_more_than_all_is_all(self) -> None:
        tally = Tally(lambda: 5.0)
        tally.begin("verifying", 10)
        tally.moved(15)
        assert tally.progress().done == 10


class TestStop:
    def test_the_first_reason_counts(self) -> None:
        stop = Stop()
        stop.give_up(DownloadFailed("first"))
        stop.give_up(DownloadFailed("second"))
        stop.ask("pause")
        with pytest.raises(DownloadFailed, match="first"):
            stop.check()

    def test_a_cancel_overrules(self) -> None:
        stop = Stop()
        stop.ask("pause")
        stop.ask("cancel")
        stop.ask("pause")
        assert stop.wish == "cancel"
        with pytest.raises(Cancelled):
            stop.sleep(60)


class TestCrew:
    def test_all_jobs_are_done(self) -> None:
        done: list[int] = []
        work([lambda n=n: done.append(n) for n in range(50)], 4, Stop())  # type: ignore[misc]
        assert sorted(done) == list(range(50))

    def test_no_jobs_are_done_at_once(self) -> None:
        work([], 4, Stop())

    def test_the_first_fault_is_raised_and_the_rest_left(self) -> None:
        def fail() -> None:
            raise DownloadFailed("no")

        done: list[int] = []
        with pytest.raises(DownloadFailed):
            work([fail, *([lambda: done.append(1)] * 100)], 1, Stop())
        assert done == []

    def test_a_stop_does_not_wait_for_a_thread_that_hangs(self) -> None:
        stop, forever = Stop(), threading.Event()
        threading.Timer(0.05, stop.ask, ("cancel",)).start()
        with pytest.raises(Cancelled):
            work([lambda: bool(forever.wait(60))], 1, stop)  # type: ignore[list-item]
        forever.set()

    def test_a_closed_gate_lets_nobody_in_and_waits_for_those_inside(self) -> None:
        gate, inside, leave = Gate(), threading.Event(), threading.Event()

        def write() -> None:
            with gate:
                inside.set()
                leave.wait(60)

        writer = threading.Thread(target=write)
        writer.start()
        inside.wait(60)
        closing = threading.Thread(target=gate.close)
        closing.start()
        closing.join(0.05)
        assert closing.is_alive()
        leave.set()
        closing.join(60)
        writer.join(60)
        with pytest.raises(Cancelled), gate:
            pass


class TestClaim:
    def test_one_holds_it_and_others_learn_who(self, tmp_path: Path) -> None:
        with Claim(tmp_path) as claim:
            claim.tell({"done": 3})
            with pytest.raises(Taken) as taken, Claim(tmp_path):
                pass
            assert taken.value.pid == os.getpid() == holder(tmp_path)
            assert said(tmp_path)["progress"] == {"done": 3}
        assert holder(tmp_path) is None
        assert not (tmp_path / LOCK).exists()

    def test_it_ends_with_its_process(self, tmp_path: Path) -> None:
        code = (
            "import os, sys; from pathlib import Path; from engine.install.claim import Claim\n"
            "Claim(Path(sys.argv[1])).__enter__(); os.kill(os.getpid(), 9)"
        )
        subprocess.run([sys.executable, "-c", code, str(tmp_path)])
        assert (tmp_path / LOCK).exists()
        assert holder(tmp_path) is None
        with Claim(tmp_path):
            assert holder(tmp_path) == os.getpid()

    def test_a_folder_made_for_nothing_goes_again(self, tmp_path: Path) -> None:
        with Claim(tmp_path / "new"):
            pass
        assert not (tmp_path / "new").exists()

    @pytest.mark.parametrize("content", [b"", b"{", b'{"pid": "x"}', b"[]", b"\xff" * 9])
    def test_a_lock_that_says_nonsense_says_nothing(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / LOCK).write_bytes(content)
        assert said(tmp_path) == {}
        assert holder(tmp_path) is None


class TestDigest:
    def test_without_a_hash_everything_is_right(self) -> None:
        digest = Digest(Wanted("x", 3, None, None, optional=False))
        digest.update(b"abc")
        assert digest.is_right

    def test_gits_hash_counts_where_it_is_all_there_is(self) -> None:
        sha1 = "f2ba8f84ab5c1bce84a7b441cb1959cfc7093b7f"  # git hash-object of "abc"
        digest = Digest(Wanted("x", 3, None, sha1, optional=False))
        digest.update(b"ab")
        assert not digest.is_right
        digest.update(b"c")
        assert digest.is_right


@st.composite
def shards(draw: st.DrawFn) -> tuple[bytes, list[Move]]:
    """Bytes, and moves of some of them in order, some in pieces that land apart."""
    moves, at, end = [], draw(st.integers(0, 5)), 0
    for number in range(draw(st.integers(0, 4))):
        piece, pieces = draw(st.integers(1, 6)), draw(st.integers(1, 3))
        size = piece * pieces
        step = piece + draw(st.integers(0, 4))
        moves.append(Move("shard", at, size, f"target-{number}", 2, piece, step))
        end = at + size
        at = end + draw(st.integers(0, 4))
    total = end + draw(st.integers(0, 5))
    return draw(st.binary(min_size=total, max_size=total)), moves


@given(shards(), st.integers(1, 7), st.integers(0, 60))
@settings(deadline=None, max_examples=60)
def test_a_shard_is_put_together_again_from_where_it_went(
    tmp_path_factory: pytest.TempPathFactory,
    shard: tuple[bytes, list[Move]],
    part: int,
    stop: int,
) -> None:
    data, moves = shard
    folder = tmp_path_factory.mktemp("gaps")
    for move in moves:
        (folder / move.target).write_bytes(bytes(100))
    for at in range(0, len(data), part):
        piece = memoryview(data)[at : at + part]
        gaps.keep(folder, "shard", moves, at, piece)
        for move in moves:
            with (folder / move.target).open("r+b") as file:
                for target, start, end in move.pieces(at, at + len(piece)):
                    file.seek(target)
                    file.write(data[start:end])
    stop = min(stop, len(data))
    assert b"".join(gaps.read_back(folder, "shard", moves, stop)) == data[:stop]
