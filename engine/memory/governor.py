"""The governor: what to do about memory and heat, as a pure function of facts.

`decide(state, facts, limits)` is all. The state holds moments and sizes, no modes: whatever
happened, the next decision follows from the facts and the clock, so every course comes back to the
plan when the machine is calm. Two marks keep it from flapping: the pool shrinks where less than
`low_bytes` are available and grows only as far as `spare_bytes`, which is more, stay free. Stalls
count below the middle of the two: while more is available, it is not for want of it that a program
stands still, and a smaller pool would help nobody.

Under pressure it acts in one step, then waits to see what came of it. After a minute of calm it
grows in steps. Where growing made the model slower although more experts were found in memory, the
system pays for the pool elsewhere: it goes back a step, and tries again much later.
"""

from dataclasses import dataclass, replace
from typing import Literal

from engine.memory.pressure import SEVERITY
from engine.protocol import PressureLevel, ThermalState

SETTLE_S = 10.0  # after a shrink, before the same level is answered again
CALM_S = 60.0  # without any strain, before the pool grows
GROW_EVERY_S = 15.0
LASTING_S = 15.0  # of critical pressure with the pool at its floor: then the answer pauses
RELIEF_S = 5.0  # below critical: then the spell is over
JUDGED_TOKENS = 128  # that tell how fast a pool size is
CEILING_S = 600.0  # for which a size that was too large is not tried again
SLOWER = 0.7  # of the speed before: a loss beyond what noise explains

PauseReason = Literal["memory", "heat"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What does not change while a plan is in force. Slots are a layer's."""

    floor_slots: int  # a token's experts
    plan_slots: int
    row_bytes: int  # one slot in every layer
    low_bytes: int  # available memory below which the pool shrinks
    spare_bytes: int  # available memory that growing leaves

    @property
    def half_slots(self) -> int:
        """How far a mere warning takes the pool."""
        return max(self.floor_slots, self.plan_slots // 2)

    @property
    def tight_bytes(self) -> int:
        """Available memory below which a stall is held to come of its want."""
        return (self.low_bytes + self.spare_bytes) // 2


@dataclass(frozen=True, slots=True)
class Rates:
    """Of decoding with the present number of slots."""

    tokens: int = 0
    hit_rate: float = 0.0
    tokens_per_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Facts:
    """What is so at a moment."""

    now_s: float  # on a clock that only goes forward
    level: PressureLevel  # as the system judges
    available_bytes: int
    compressed_bytes: int  # of this process, compressed or swapped out by the system
    slots: int
    cap_slots: int  # what the plan's total leaves for slots beside the conversation as it is now
    rates: Rates = Rates()
    stalls: PressureLevel = "normal"  # programs that stood still for memory, this one or others
    thermal: ThermalState = "nominal"
    insisted: bool = False  # a person wants to go on whatever the level


@dataclass(frozen=True, slots=True)
class Trial:
    """A growth that is not judged yet."""

    slots: int  # before it
    rates: Rates


@dataclass(frozen=True, slots=True)
class State:
    """What the next decision needs to know of the past."""

    strained_at_s: float | None = None  # when there last was any strain
    shrunk_at_s: float | None = None
    answered: PressureLevel = "normal"  # what that shrink answered
    grown_at_s: float | None = None
    critical_since_s: float | None = None  # the first moment of a critical spell
    critical_at_s: float | None = None  # its last moment so far
    compressed_bytes: int = 0  # when last looked at in peace, or answered
    trial: Trial | None = None
    ceiling_slots: int | None = None
    ceiling_until_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to be done now."""

    strain: PressureLevel  # what a person is shown
    slots: int
    spill: bool = False  # old snapshots to disk, the allocator's cache to the system
    pause: PauseReason | None = None
    gentle: bool = False  # the machine is hot: no lookahead, small prefill chunks


def decide(state: State, facts: Facts, limits: Limits) -> tuple[State, Decision]:
    """The next state and what to do."""
    strain = strain_of(state, facts, limits)
    state = _noted(state, facts, strain)
    acts = strain != "normal" and _due(state, facts, strain)
    if acts:
        state, slots = _shrunk(state, facts, limits, strain)
    elif strain == "normal":
        state, slots = _eased(state, facts, limits)
    else:
        slots = facts.slots
    slots = max(limits.floor_slots, min(slots, limits.plan_slots, facts.cap_slots))
    return state, Decision(
        strain=strain,
        slots=slots,
        spill=acts,
        pause=_pause(state, facts, slots, limits),
        gentle=facts.thermal in ("serious", "critical"),
    )


def strain_of(state: State, facts: Facts, limits: Limits) -> PressureLevel:
    """What the system tells, or a warning where our own figures give one."""
    squeezed = _newly_compressed(state, facts) > _tolerated_bytes(facts, limits)
    short = facts.available_bytes < limits.low_bytes
    own: PressureLevel = "warning" if squeezed or short else "normal"
    return _worse(_told(facts, limits), own)


def _told(facts: Facts, limits: Limits) -> PressureLevel:
    """The system's judgement is obeyed; a stall counts where memory is tight for us too."""
    tight = facts.available_bytes < limits.tight_bytes
    return _worse(facts.level, facts.stalls) if tight else facts.level


def _worse(one: PressureLevel, other: PressureLevel) -> PressureLevel:
    return max(one, other, key=SEVERITY.__getitem__)


def _noted(state: State, facts: Facts, strain: PressureLevel) -> State:
    """The moments of strain, and what the process had compressed in peace."""
    now = facts.now_s
    if strain == "normal":
        state = replace(state, compressed_bytes=min(state.compressed_bytes, facts.compressed_bytes))
    else:
        state = replace(state, strained_at_s=now)
    if strain == "critical":
        spell = state.critical_since_s
        return replace(state, critical_since_s=now if spell is None else spell, critical_at_s=now)
    if state.critical_at_s is not None and now - state.critical_at_s >= RELIEF_S:
        state = replace(state, critical_since_s=None, critical_at_s=None)
    return state


def _due(state: State, facts: Facts, strain: PressureLevel) -> bool:
    """A new or a worse strain is answered at once, a lasting one when the last answer has told."""
    if state.shrunk_at_s is None or facts.now_s - state.shrunk_at_s >= SETTLE_S:
        return True
    return SEVERITY[strain] > SEVERITY[state.answered]


def _shrunk(state: State, facts: Facts, limits: Limits, strain: PressureLevel) -> tuple[State, int]:
    """By what is missing, or by the level's share, whichever is more."""
    missing = _newly_compressed(state, facts)
    if facts.available_bytes < limits.low_bytes:
        missing = max(missing, limits.spare_bytes - facts.available_bytes)
    by_need = facts.slots - -(-missing // limits.row_bytes)
    slots = min(by_need, _by_level(facts, limits))
    state = replace(
        state,
        shrunk_at_s=facts.now_s,
        answered=strain,
        compressed_bytes=facts.compressed_bytes,
        trial=None,
    )
    return state, slots


def _by_level(facts: Facts, limits: Limits) -> int:
    told = _told(facts, limits)
    if told == "critical":
        return facts.slots // 2
    if told == "warning":
        return min(facts.slots, max(limits.half_slots, facts.slots * 3 // 4))
    return facts.slots


def _eased(state: State, facts: Facts, limits: Limits) -> tuple[State, int]:
    """Nothing is the matter: judge the last growth, or grow when it has been calm for long."""
    if _can_judge(state, facts):
        return _judged(state, facts)
    step = _step(state, facts, limits)
    if step == 0:
        return state, facts.slots
    trial = state.trial or Trial(facts.slots, facts.rates)
    state = replace(
        state, grown_at_s=facts.now_s, compressed_bytes=facts.compressed_bytes, trial=trial
    )
    return state, facts.slots + step


def _can_judge(state: State, facts: Facts) -> bool:
    trial = state.trial
    return trial is not None and min(trial.rates.tokens, facts.rates.tokens) >= JUDGED_TOKENS


def _judged(state: State, facts: Facts) -> tuple[State, int]:
    """Back to where a growth began that cost speed although it found more in memory."""
    trial, rates = state.trial, facts.rates
    assert trial is not None, "there is something to judge"
    state = replace(state, trial=None)
    slower = rates.tokens_per_s < SLOWER * trial.rates.tokens_per_s
    if not (slower and rates.hit_rate > trial.rates.hit_rate):
        return state, facts.slots
    ceiling = min(trial.slots, facts.slots)
    until = facts.now_s + CEILING_S
    return replace(state, ceiling_slots=ceiling, ceiling_until_s=until), ceiling


def _step(state: State, facts: Facts, limits: Limits) -> int:
    """Slots to grow by now: a quarter of the plan at most, and no dribbles."""
    for moment, wait_s in (
        (state.strained_at_s, CALM_S),
        (state.shrunk_at_s, CALM_S),
        (state.grown_at_s, GROW_EVERY_S),
    ):
        if moment is not None and facts.now_s - moment < wait_s:
            return 0
    most = min(limits.plan_slots, facts.cap_slots)
    if state.ceiling_slots is not None and facts.now_s < state.ceiling_until_s:
        most = min(most, state.ceiling_slots)
    wanted = min(most - facts.slots, max(1, limits.plan_slots // 4))
    affordable = (facts.available_bytes - limits.spare_bytes) // limits.row_bytes
    least = min(wanted, max(1, limits.plan_slots // 16))
    return min(wanted, affordable) if wanted > 0 and affordable >= least else 0


def _pause(state: State, facts: Facts, slots: int, limits: Limits) -> PauseReason | None:
    if facts.thermal == "critical":
        return "heat"
    since = state.critical_since_s
    lasting = since is not None and facts.now_s - since >= LASTING_S
    if lasting and slots <= limits.floor_slots and not facts.insisted:
        return "memory"
    return None


def _newly_compressed(state: State, facts: Facts) -> int:
    return max(0, facts.compressed_bytes - state.compressed_bytes)


def _tolerated_bytes(facts: Facts, limits: Limits) -> int:
    """Compressed memory that means nothing: idle parts of any process are compressed."""
    return max(64_000_000, facts.slots * limits.row_bytes // 10)
