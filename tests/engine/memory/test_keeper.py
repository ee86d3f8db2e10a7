"""A live model under pressure: what is done, what is said, and that no token changes."""

import gc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import engine
from engine.errors import NotEnoughMemory
from engine.events import Finished
from engine.experts.slots import slot_bytes
from engine.live_state import LiveState
from engine.memory.condition import Condition
from engine.memory.keeper import GENTLE_CHUNK_TOKENS, Change, MemoryKeeper, Probes
from engine.memory.machine import used_bytes
from engine.memory.plan import USUAL_CHUNK
from engine.memory.pressure import Pressure
from engine.options import GenerationOptions
from engine.protocol import PressureLevel
from engine.session import ChatSession
from engine.snapshot_shelf import open_shelf
from tests.engine.conftest import TinyModels

GREEDY = GenerationOptions(temperature=0, max_tokens=40)
PROMPT = [(7 * i) % 250 for i in range(90)]
PLENTY = 10**12
SLOTS, FLOOR = 12, 4


class Machine:
    """What the keeper is told."""

    def __init__(self) -> None:
        self.now = 0.0
        self.available = PLENTY
        self.compressed = 0
        self.condition = Condition()
        self.level: PressureLevel = "normal"

    def probes(self) -> Probes:
        return Probes(
            total_bytes=lambda: 16 * 10**9,
            available_bytes=lambda: self.available,
            compressed_bytes=lambda: self.compressed,
            condition=lambda: self.condition,
            clock=lambda: self.now,
        )


@pytest.fixture(scope="module")
def path(tiny_models: TinyModels) -> Path:
    return tiny_models.container("qwen3_next", bits=4)


@pytest.fixture
def model(path: Path) -> Iterator[engine.Model]:
    model = engine.load_model(path, slots=SLOTS)
    yield model
    model.close()


@pytest.fixture
def machine() -> Machine:
    return Machine()


def make_keeper(
    model: engine.Model, machine: Machine, live: LiveState | None = None
) -> MemoryKeeper:
    pressure = Pressure(lambda: machine.level, lambda: machine.now)
    return MemoryKeeper(model, live or LiveState(model, 10**9), pressure, machine.probes())


@pytest.fixture
def keeper(model: engine.Model, machine: Machine) -> MemoryKeeper:
    return make_keeper(model, machine)


def slots(model: engine.Model) -> list[int]:
    return [model.cache.slot_count(i) for i in range(model.config.layer_count)]


def look(keeper: MemoryKeeper, machine: Machine, seconds: int = 1) -> list[Change]:
    """What was done in so many seconds."""
    changes = []
    for _ in range(seconds):
        machine.now += 1.0
        if change := keeper.tend():
            changes.append(change)
    return changes


def test_pressure_shrinks_every_layer_in_one_step_and_calm_brings_all_back(
    model: engine.Model, machine: Machine, keeper: MemoryKeeper
) -> None:
    planned = model.plan
    machine.level = "critical"
    (change,) = look(keeper, machine)
    assert slots(model) == [6] * 4
    assert model.plan.slots_bytes == planned.slots_bytes // 2
    assert change.level == "critical"
    assert change.message.startswith("Memory is short: expert pool 0.4 → 0.2 MB")
    look(keeper, machine, 20)
    assert slots(model) == [FLOOR] * 4
    machine.level = "normal"
    changes = look(keeper, machine, 200)
    assert slots(model) == [SLOTS] * 4
    assert model.plan == planned
    assert {change.message.split(":")[0] for change in changes} == {"There is room again"}


def test_it_looks_now_and_then_but_at_news_at_once(model: engine.Model, machine: Machine) -> None:
    pressure = Pressure(lambda: machine.level, lambda: machine.now)
    keeper = MemoryKeeper(model, LiveState(model, 10**9), pressure, machine.probes())
    keeper.tend()
    machine.level = "warning"
    machine.now += 0.05
    assert keeper.tend() is None
    pressure.on_pressure("warning")
    assert keeper.tend() is not None
    assert keeper.level == "warning"


def test_what_the_ledger_gives_up_leaves_the_process(
    tiny_models: TinyModels, machine: Machine
) -> None:
    large = tiny_models.container(
        "qwen3_next", bits=4, num_experts=64, hidden_size=256, moe_intermediate_size=512
    )
    model = engine.load_model(large, slots=64)
    try:
        keeper = make_keeper(model, machine)
        gc.collect()
        planned, used = model.plan.slots_bytes, used_bytes()
        machine.level = "critical"
        look(keeper, machine, 60)
        gc.collect()
        given_up = planned - model.plan.slots_bytes
        assert given_up > 45_000_000
        assert used - used_bytes() > 0.9 * given_up
    finally:
        model.close()


def test_a_pause_ends_with_the_pressure_or_when_a_person_insists(
    model: engine.Model, machine: Machine, keeper: MemoryKeeper
) -> None:
    machine.level = "critical"
    look(keeper, machine, 60)
    assert "Close other apps" in keeper.paused
    keeper.insist()
    look(keeper, machine, 60)
    assert keeper.paused == ""
    machine.level = "normal"
    look(keeper, machine, 60)
    machine.level = "critical"
    look(keeper, machine, 60)
    assert keeper.paused  # another spell, another question


def test_heat_makes_chunks_small_and_a_hot_machine_waits(
    model: engine.Model, machine: Machine, keeper: MemoryKeeper
) -> None:
    machine.condition = Condition("serious", low_power=True)
    look(keeper, machine)
    assert model.chunk_tokens == GENTLE_CHUNK_TOKENS
    assert keeper.condition.low_power
    machine.condition = Condition("critical")
    look(keeper, machine)
    assert "too hot" in keeper.paused
    machine.condition = Condition("nominal")
    look(keeper, machine)
    assert (keeper.paused, model.chunk_tokens) == ("", USUAL_CHUNK)


def test_a_persons_choice_is_kept_and_never_enlarged(
    model: engine.Model, machine: Machine, keeper: MemoryKeeper
) -> None:
    row = slot_bytes(model.container.layout) * model.config.layer_count
    wanted = model.plan.fixed_bytes + 7 * row
    change = keeper.resize(wanted)
    assert model.plan.total_bytes <= wanted
    assert slots(model) == [7] * 4
    assert "7 experts a layer" in change.message
    look(keeper, machine, 300)
    assert slots(model) == [7] * 4
    with pytest.raises(NotEnoughMemory, match="Allow at least"):
        keeper.resize(model.plan.fixed_bytes)
    assert slots(model) == [7] * 4


def test_old_conversations_go_to_disk_and_come_back(
    model: engine.Model, machine: Machine, tmp_path: Path
) -> None:
    shelf = open_shelf(model, tmp_path)
    session = ChatSession(model, 10**9, shelf=shelf)
    keeper = make_keeper(model, machine, session.live)
    first, second = PROMPT, [i + 1 for i in PROMPT]
    told = [tokens(session, first), tokens(session, second)]
    machine.level = "warning"
    look(keeper, machine)
    assert len(session.live.prefixes) == 1
    assert len(shelf) >= 1
    machine.level = "normal"
    events = list(session.complete([*first, *told[0][:-1], 9], GREEDY, text=False))
    finished = events[-1]
    assert isinstance(finished, Finished)
    assert finished.stats.cached_tokens >= len(first)


def tokens(session: ChatSession, prompt: list[int]) -> tuple[int, ...]:
    *_, finished = session.complete(prompt, GREEDY, text=False)
    assert isinstance(finished, Finished)
    return finished.tokens


@pytest.fixture(scope="module")
def undisturbed(path: Path) -> tuple[int, ...]:
    model = engine.load_model(path, slots=16)
    try:
        return tokens(ChatSession(model), PROMPT)
    finally:
        model.close()


changes = st.lists(
    st.tuples(st.integers(0, 45), st.integers(FLOOR, 16)), max_size=12
)  # at which step, to how many slots


@settings(
    deadline=None, max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(changes, st.integers(FLOOR, 16))
def test_resizes_at_any_moment_leave_every_token_as_it_was(
    path: Path,
    undisturbed: tuple[int, ...],
    planned: list[tuple[int, int]],
    slots_at_start: int,
) -> None:
    model = engine.load_model(path, slots=slots_at_start)
    model.chunk_tokens = 32
    steps = iter(range(1000))
    at: dict[int, int] = dict(planned)

    def between() -> None:
        wanted = at.get(next(steps))
        if wanted is not None:
            for layer in range(model.config.layer_count):
                model.cache.resize(layer, wanted)

    try:
        assert tokens(ChatSession(model, between=between), PROMPT) == undisturbed
    finally:
        model.close()


@settings(
    deadline=None, max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(("normal", "warning", "critical")),
            st.integers(0, 2 * 10**9),
            st.integers(0, 10**9),
            st.sampled_from(("nominal", "serious")),
        ),
        min_size=1,
    )
)
def test_any_pressure_at_any_moment_leaves_every_token_as_it_was(
    path: Path,
    undisturbed: tuple[int, ...],
    course: list[tuple[PressureLevel, int, int, str]],
) -> None:
    model, machine = engine.load_model(path, slots=16), Machine()
    model.chunk_tokens = 32
    session = ChatSession(model)
    keeper = make_keeper(model, machine, session.live)
    moments = iter(course * 200)

    def between() -> None:
        machine.level, machine.available, machine.compressed, thermal = next(moments)
        machine.condition = replace(machine.condition, thermal=thermal)  # type: ignore[arg-type]
        machine.now += 7.0
        keeper.tend()

    session.between = between
    try:
        assert tokens(session, PROMPT) == undisturbed
    finally:
        model.close()
