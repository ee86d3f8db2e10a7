"""When lookahead is tried, what it has to show to stay on, and that it stops."""

from pathlib import Path

import numpy as np
import pytest

from engine.experts import lookahead
from engine.experts.cache import ExpertCache
from engine.experts.lookahead import OFF_FOR, ON_FOR, SPELL, TRIAL, Lookahead
from tests.engine.experts.handmade import EXPERTS, describe, make_layout
from tests.engine.experts.test_cache_random import LateReader

SLOTS = EXPERTS // 2


class Decode:
    """Tokens of a made-up model: what they take, and whether guesses come true."""

    def __init__(self, slots: int = SLOTS) -> None:
        self.now = 0.0
        self.cache = ExpertCache(describe(Path("nowhere"), make_layout()), slots, LateReader())
        self.lookahead = Lookahead(self.cache, 1, lambda: self.now)
        self.token = 0

    def run(
        self, count: int, *, with_s: float = 0.8, without_s: float = 1.0, right: bool = True
    ) -> int:
        """Decode; of how many tokens it looked ahead."""
        looked = 0
        for _ in range(count):
            self.token += 1
            likely = np.array([self.token % EXPERTS], np.uint32)
            with self.lookahead.token():
                if self.lookahead.looks:
                    looked += 1
                    self.lookahead.expect(1, likely)
                asked = likely if right else (likely + EXPERTS - 2) % EXPERTS
                self.lookahead.heard(1, asked)
                with self.cache.begin(1, asked):
                    pass
                self.now += with_s if self.lookahead.looks else without_s
                self.cache._tally.wait_s += self.waits
        return looked

    waits = 0.5


def test_it_is_tried_where_decode_waits_and_stays_where_it_pays() -> None:
    decode = Decode()
    assert decode.run(SPELL) == 0
    assert decode.lookahead.phase == "trial"
    assert decode.run(TRIAL) == TRIAL // 2
    assert decode.lookahead.phase == "on"
    assert decode.lookahead.precision > 0.9
    assert decode.lookahead.gain == pytest.approx(0.2)
    assert decode.run(ON_FOR) == ON_FOR
    assert decode.lookahead.phase == "watching"  # it has to prove itself again


@pytest.mark.parametrize(
    "how", [{"with_s": 0.99}, {"right": False}, {"with_s": 1.5}], ids=["no gain", "wrong", "slower"]
)
def test_what_does_not_pay_is_switched_off_for_long(how: dict[str, float]) -> None:
    decode = Decode()
    decode.run(SPELL + TRIAL, **how)  # type: ignore[arg-type]
    assert decode.lookahead.phase == "off"
    assert decode.run(OFF_FOR - 1) == 0


def test_it_is_not_tried_without_waits_or_where_slots_are_many() -> None:
    quick = Decode()
    quick.waits = 0.01
    assert quick.run(20 * SPELL) == 0
    roomy = Decode(slots=SLOTS + 1)
    assert roomy.run(20 * SPELL) == 0


def test_a_hot_machine_guesses_nothing() -> None:
    decode = Decode()
    decode.lookahead.allowed = False
    assert decode.run(SPELL + TRIAL + SPELL) == 0


def test_guesses_are_of_the_likeliest_and_only_of_what_is_missing() -> None:
    cache = ExpertCache(describe(Path("nowhere"), make_layout()), SLOTS, LateReader())
    ahead = Lookahead(cache, 4)
    with cache.begin(0, [1, 2]) as fetch:
        fetch.wait()
    ahead.expect(0, np.array([1, 5, 2, 6, 7], np.uint32))
    mapped = np.flatnonzero(cache.slot_map(0) >= 0).tolist()
    assert mapped == [1, 2, 5, 6]


def test_a_trial_whose_guesses_are_wrong_ends_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookahead, "JUDGED", 1)
    decode = Decode()
    decode.run(SPELL)
    assert 0 < decode.run(TRIAL, right=False) <= SPELL
    assert decode.lookahead.phase == "off"
    assert decode.lookahead.precision < 0.1
    decode = Decode()
    decode.run(SPELL)
    assert decode.run(TRIAL) == TRIAL // 2  # right ones are given all the time
    assert decode.lookahead.phase == "on"
