"""The governor over courses of events, scripted and drawn: it shrinks, and it comes back."""

from dataclasses import dataclass, replace
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.memory.governor import (
    CALM_S,
    CEILING_S,
    GROW_EVERY_S,
    LASTING_S,
    RELIEF_S,
    SETTLE_S,
    Decision,
    Facts,
    Limits,
    Rates,
    State,
    decide,
)
from engine.protocol import PressureLevel, ThermalState

MB = 1_000_000
LIMITS = Limits(
    floor_slots=8, plan_slots=64, row_bytes=50 * MB, low_bytes=400 * MB, spare_bytes=1500 * MB
)
PLENTY = 8000 * MB
NOTHING_WRITTEN = Rates()


@dataclass
class Machine:
    """A model on a machine whose other programs take what the test says, second by second."""

    limits: Limits = LIMITS
    free_bytes: int = PLENTY  # with the pool at the plan
    level: PressureLevel = "normal"
    compressed_bytes: int = 0
    cap_slots: int = 10**6
    rates: Rates = NOTHING_WRITTEN
    stalls: PressureLevel = "normal"
    thermal: ThermalState = "nominal"
    insisted: bool = False
    now_s: float = 0.0

    def __post_init__(self) -> None:
        self.slots = self.limits.plan_slots
        self.state = State()
        self.decisions: list[Decision] = []
        self.changes: list[tuple[float, int]] = []  # when, to how many slots

    @property
    def available_bytes(self) -> int:
        freed = (self.limits.plan_slots - self.slots) * self.limits.row_bytes
        return max(0, self.free_bytes + freed)

    def second(self, seconds: float = 1.0) -> Decision:
        self.now_s += seconds
        facts = Facts(
            now_s=self.now_s,
            level=self.level,
            available_bytes=self.available_bytes,
            compressed_bytes=self.compressed_bytes,
            slots=self.slots,
            cap_slots=self.cap_slots,
            rates=self.rates,
            stalls=self.stalls,
            thermal=self.thermal,
            insisted=self.insisted,
        )
        self.state, decision = decide(self.state, facts, self.limits)
        if decision.slots != self.slots:
            self.changes.append((self.now_s, decision.slots))
        self.slots = decision.slots
        self.decisions.append(decision)
        return decision

    def seconds(self, count: int) -> Decision:
        for _ in range(count):
            decision = self.second()
        return decision


def test_nothing_happens_on_a_calm_machine() -> None:
    machine = Machine()
    machine.seconds(600)
    assert set(machine.decisions) == {Decision("normal", 64)}


def test_a_warning_takes_a_quarter_at_once_and_never_more_than_half() -> None:
    machine = Machine(level="warning")
    assert machine.second() == Decision("warning", 48, spill=True)
    machine.seconds(int(SETTLE_S) - 1)
    assert machine.slots == 48  # it waits to see what came of it
    machine.seconds(300)
    assert machine.slots == 32


def test_critical_pressure_goes_down_to_a_tokens_experts() -> None:
    machine = Machine(level="critical")
    assert machine.second().slots == 32
    machine.seconds(60)
    assert machine.slots == LIMITS.floor_slots


def test_a_worse_level_does_not_wait() -> None:
    machine = Machine(level="warning")
    machine.second()
    machine.level = "critical"
    assert machine.second().slots == 24


def test_scarce_memory_is_given_back_in_one_step_until_there_is_room_to_spare() -> None:
    machine = Machine(free_bytes=100 * MB)
    decision = machine.second()
    assert decision == Decision("warning", 64 - 28, spill=True)
    assert machine.available_bytes >= LIMITS.spare_bytes
    machine.seconds(50)
    assert len(machine.changes) == 1


def test_a_neighbours_stalls_mean_nothing_while_memory_is_plentiful() -> None:
    machine = Machine(stalls="warning")
    machine.seconds(300)
    machine.stalls = "critical"
    machine.seconds(300)
    assert set(machine.decisions) == {Decision("normal", 64)}


def test_stalls_where_memory_is_tight_are_answered_until_it_no_longer_is() -> None:
    machine = Machine(free_bytes=LIMITS.tight_bytes - 1, stalls="warning")
    assert machine.second() == Decision("warning", 48, spill=True)
    machine.seconds(50)
    assert machine.changes == [
        (1.0, 48)
    ]  # there is enough now, so whoever stalls has other reasons
    machine.seconds(600)
    assert machine.available_bytes >= LIMITS.spare_bytes  # and growing leaves that much


def test_a_group_that_stalls_at_its_limit_shrinks_and_grows_back_when_it_is_over() -> None:
    """A hog in the same group takes the room, then thrashes: all of the group stands still."""
    machine = Machine(free_bytes=500 * MB)
    machine.seconds(60)
    assert machine.changes == []
    for told in ("warning", "critical", "critical", "normal", "critical"):
        machine.stalls = told
        machine.seconds(3)
    assert machine.changes == [(61.0, 48)]  # enough: the room for its pages of files is back
    machine.free_bytes = 100 * MB  # it takes that too
    assert machine.seconds(3).slots == 24
    machine.stalls, machine.free_bytes = "normal", PLENTY
    machine.seconds(300)
    assert machine.slots == LIMITS.plan_slots


def test_our_own_compressed_memory_means_that_the_pool_is_too_large() -> None:
    machine = Machine()
    machine.second()
    machine.compressed_bytes = 1000 * MB
    assert machine.second() == Decision("warning", 64 - 20, spill=True)
    machine.seconds(55)
    assert machine.slots == 44  # the same gigabyte is not answered twice


def test_it_grows_back_in_steps_after_a_minute_of_calm() -> None:
    machine = Machine(level="critical")
    machine.seconds(60)
    machine.level = "normal"
    left_at = machine.now_s
    machine.seconds(300)
    grown = [(at, slots) for at, slots in machine.changes if at > left_at]
    assert [slots for _, slots in grown] == [24, 40, 56, 64]
    assert grown[0][0] - left_at >= CALM_S - 1
    gaps = [b - a for (a, _), (b, _) in pairwise(grown)]
    assert min(gaps) >= GROW_EVERY_S


def test_it_grows_no_further_than_others_leave_room() -> None:
    machine = Machine(free_bytes=100 * MB)
    machine.second()
    machine.free_bytes += 500 * MB
    machine.seconds(1000)
    assert machine.available_bytes - LIMITS.spare_bytes < LIMITS.row_bytes
    assert [slots for _, slots in machine.changes] == [36, 46]


def test_a_pressure_that_comes_and_goes_each_second_changes_little() -> None:
    machine = Machine()
    for _ in range(600):
        machine.level = "warning" if machine.level == "normal" else "normal"
        machine.second()
    assert len(machine.changes) <= 3
    assert machine.slots == LIMITS.half_slots


def test_an_answer_pauses_only_at_lasting_critical_pressure_with_nothing_left_to_give() -> None:
    machine = Machine(level="critical")
    machine.seconds(int(LASTING_S))
    assert all(decision.pause is None for decision in machine.decisions)
    assert machine.seconds(60).pause == "memory"
    machine.insisted = True
    assert machine.second().pause is None
    machine.insisted = False
    machine.level = "warning"
    assert machine.seconds(int(RELIEF_S) + 1).pause is None


def test_critical_for_one_look_only_leaves_no_latch() -> None:
    machine = Machine(level="critical")
    machine.second()
    machine.level = "normal"
    machine.seconds(int(CALM_S + 10 * GROW_EVERY_S))
    assert machine.slots == LIMITS.plan_slots
    assert machine.second() == Decision("normal", 64)


def test_heat_makes_it_gentle_then_pauses_and_passes() -> None:
    machine = Machine(thermal="serious")
    assert machine.second() == Decision("normal", 64, gentle=True)
    machine.thermal = "critical"
    assert machine.second() == Decision("normal", 64, pause="heat", gentle=True)
    machine.thermal = "fair"
    assert machine.second() == Decision("normal", 64)


def test_a_long_conversation_takes_its_room_from_the_pool() -> None:
    machine = Machine(cap_slots=50)
    assert machine.second() == Decision("normal", 50)
    machine.cap_slots = 2
    assert machine.second().slots == LIMITS.floor_slots
    machine.cap_slots = 10**6
    machine.seconds(120)
    assert machine.slots == LIMITS.plan_slots


def shrunk_and_calm() -> Machine:
    """A machine at half its plan that is about to grow, with its speed known."""
    machine = Machine(level="warning", rates=Rates(200, 0.6, 10.0))
    machine.seconds(60)
    machine.level = "normal"
    return machine


def test_growing_that_costs_speed_is_taken_back_and_tried_again_much_later() -> None:
    machine = shrunk_and_calm()
    while machine.slots == LIMITS.half_slots:
        machine.second()
    machine.rates = Rates(150, 0.8, 5.0)
    assert machine.second().slots == LIMITS.half_slots
    taken_back_at = machine.now_s
    machine.rates = Rates(200, 0.6, 10.0)
    while machine.slots == LIMITS.half_slots:
        machine.second()
    assert machine.now_s - taken_back_at >= CEILING_S


def test_growing_that_pays_goes_on() -> None:
    machine = shrunk_and_calm()
    while machine.slots == LIMITS.half_slots:
        machine.second()
    machine.rates = Rates(150, 0.8, 12.0)
    machine.seconds(120)
    assert machine.slots == LIMITS.plan_slots


levels = st.sampled_from(("normal", "warning", "critical"))
moments = st.tuples(
    st.integers(1, 120),  # seconds that it lasts
    levels,
    st.integers(-4000, 8000),  # MB free with the pool at the plan
    st.integers(0, 3000),  # MB compressed
    st.integers(0, 100),  # slots that the conversation leaves
    st.sampled_from(("nominal", "fair", "serious", "critical")),
    st.tuples(st.integers(0, 400), st.floats(0, 1), st.floats(0.1, 50)),
    st.booleans(),
    levels,  # of stalls
)
Moment = tuple[
    int,
    PressureLevel,
    int,
    int,
    int,
    ThermalState,
    tuple[int, float, float],
    bool,
    PressureLevel,
]


@settings(deadline=None, max_examples=100)
@given(st.lists(moments, max_size=12), st.integers(1, 64), st.integers(1, 200))
def test_any_course_stays_within_bounds_and_recovers(
    course: list[Moment],
    floor_slots: int,
    row_mb: int,
) -> None:
    limits = replace(LIMITS, floor_slots=floor_slots, row_bytes=row_mb * MB)
    machine = Machine(limits)
    for seconds, level, free, compressed, cap, thermal, rates, insisted, stalls in course:
        machine.level, machine.free_bytes = level, free * MB
        machine.compressed_bytes, machine.cap_slots = compressed * MB, cap
        machine.thermal, machine.rates, machine.insisted = thermal, Rates(*rates), insisted
        machine.stalls = stalls
        changes_before = len(machine.changes)
        machine.seconds(seconds)
        assert len(machine.changes) - changes_before <= 8 + seconds // SETTLE_S
    for decision in machine.decisions:
        assert limits.floor_slots <= decision.slots <= limits.plan_slots
    machine.level, machine.free_bytes, machine.thermal = "normal", PLENTY * 4, "nominal"
    machine.cap_slots, machine.rates, machine.insisted = 10**6, Rates(), False
    machine.seconds(int(CEILING_S + CALM_S + 20 * GROW_EVERY_S))
    assert machine.second() == Decision("normal", limits.plan_slots)  # whatever others stall


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.tuples(st.integers(1, 90), st.integers(900, 2000), levels), max_size=20),
    st.integers(1, 200),
)
def test_stalls_that_come_and_go_where_memory_is_about_tight_do_not_make_it_flap(
    course: list[tuple[int, int, PressureLevel]], row_mb: int
) -> None:
    machine = Machine(replace(LIMITS, row_bytes=row_mb * MB))
    for seconds, free, stalls in course:
        machine.free_bytes, machine.stalls = free * MB, stalls
        machine.seconds(seconds)
    sizes = [machine.limits.plan_slots, *(slots for _, slots in machine.changes)]
    shrunk_at = -CALM_S
    for (at, after), before in zip(machine.changes, sizes, strict=False):
        if after > before:
            assert at - shrunk_at >= CALM_S
        else:
            shrunk_at = at


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.integers(1, 60), st.integers(-3000, 6000)), max_size=20))
def test_whoever_takes_memory_gets_it_and_it_comes_back(course: list[tuple[int, int]]) -> None:
    machine = Machine()
    for seconds, free in course:
        machine.free_bytes = free * MB
        machine.seconds(seconds)
        at_floor = machine.slots == LIMITS.floor_slots
        if seconds > SETTLE_S:
            assert at_floor or machine.available_bytes >= LIMITS.low_bytes
    machine.free_bytes = PLENTY
    machine.seconds(300)
    assert machine.slots == LIMITS.plan_slots
