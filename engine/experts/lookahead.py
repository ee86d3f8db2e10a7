"""Lookahead: whether experts of the next layer are read before they are asked for.

A layer's hidden state, given to the next layer's router, says most of what that will choose. The
price is a router more a layer, and reads and evictions for nothing; so it has to prove itself on
this machine, with this model, again and again: while decode waits for the disk, spells of tokens
with and without it alternate, and it stays on only where its guesses come true and tokens are
faster. It is not tried at all where slots are many. Nothing here changes what is computed.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import Literal

from engine.experts.cache import ExpertCache, Ids

FEW = 2  # one slot for so many experts, or fewer: only then it is tried
SPELL = 8  # tokens
TRIAL = 12 * SPELL
ON_FOR = 1024  # tokens after a trial that was won
OFF_FOR = 4096  # after one that was lost
LEAST_WAIT = 0.1  # of a token's time; below, there is nothing to gain
LEAST_PRECISION = 0.5
JUDGED = 100  # guesses after which a trial with less than that ends early
LEAST_GAIN = 0.03

Phase = Literal["watching", "trial", "on", "off"]


class Lookahead:
    """Used on the thread that owns the model. `allowed`: false on a machine that is too hot."""

    def __init__(
        self, cache: ExpertCache, budget: int, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self.allowed = True
        self.phase: Phase = "watching"
        self.precision = 0.0  # of the guesses of the last trial
        self.gain = 0.0  # of a token's time, in the last trial
        self._cache = cache
        self._budget = budget  # of a layer's likeliest experts
        self._clock = clock
        self._guessed: dict[int, list[int]] = {}  # of the layers to come
        self._begin("watching")

    @property
    def looks(self) -> bool:
        """Whether this token's guesses are to be made."""
        if not self.allowed:
            return False
        return self.phase == "on" or (self.phase == "trial" and self._spell % 2 == 1)

    @contextmanager
    def token(self) -> Iterator[None]:
        """A token is decoded inside; what it took decides about those to come."""
        self._guessed.clear()
        started, waited = self._clock(), self._cache.stats.wait_s
        yield
        took = self._clock() - started
        if self._tokens % SPELL == 0:
            self._spells.append(0.0)
        self._spells[-1] += took
        self._waited += self._cache.stats.wait_s - waited
        self._tokens += 1
        self._decide()

    def expect(self, layer: int, likely: Ids) -> None:
        """The layer will probably ask for these, the likeliest first: those are nearly sure."""
        slots = self._cache.slot_map(layer)
        absent = [expert for expert in likely[: self._budget].tolist() if slots[expert] < 0]
        self._guessed[layer] = absent
        self._cache.guess(layer, absent, self._budget)

    def heard(self, layer: int, asked: Ids) -> None:
        """The layer asks for these."""
        guessed = self._guessed.pop(layer, None)
        if guessed:
            self._made += len(guessed)
            self._right += len(set(guessed) & set(asked.tolist()))

    @property
    def _spell(self) -> int:
        return self._tokens // SPELL

    def _begin(self, phase: Phase) -> None:
        self.phase = phase
        self._tokens = self._made = self._right = 0
        self._waited = 0.0
        self._spells: list[float] = []  # seconds; in a trial without, with, without, ...

    def _decide(self) -> None:
        match self.phase:
            case "trial" if not self.allowed:
                self._begin("watching")
            case "trial" if self._made >= JUDGED and self._precise() < LEAST_PRECISION:
                self.precision = self._precise()
                self._begin("off")
            case "watching" if self._tokens == SPELL:
                waits = self._waited > LEAST_WAIT * sum(self._spells)
                self._begin("trial" if waits and self._slots_are_few() else "watching")
            case "trial" if self._tokens == TRIAL:
                self._begin("on" if self._has_won() else "off")
            case "on" if self._tokens == ON_FOR:
                self._begin("watching")
            case "off" if self._tokens == OFF_FOR:
                self._begin("watching")

    def _has_won(self) -> bool:
        """By medians: one spell in which the machine did something else says nothing."""
        without, with_ = (median(self._spells[first::2]) for first in (0, 1))
        self.precision = self._precise()
        self.gain = 1 - with_ / without if without > 0 else 0.0
        return self.precision >= LEAST_PRECISION and self.gain >= LEAST_GAIN

    def _precise(self) -> float:
        return self._right / max(1, self._made)

    def _slots_are_few(self) -> bool:
        return FEW * self._cache.slot_count(0) <= self._cache.slot_map(0).size
