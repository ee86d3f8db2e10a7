"""MemoryKeeper: gathers the governor's facts of a live model and does what it decides.

Lives on the thread that owns the model, and is asked between tokens and between prefill chunks: no
expert is pinned then, and nothing computes. Every change keeps the output as it would have been.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import mlx.core as mx

from engine.experts.budget import slots_for_budget
from engine.experts.slots import slot_bytes
from engine.live_state import LiveState, Pace
from engine.memory import machine
from engine.memory.condition import Condition, condition
from engine.memory.governor import Decision, Facts, Limits, PauseReason, Rates, State, decide
from engine.memory.pressure import Pressure
from engine.model.hybrid import Model
from engine.model.state import state_bytes
from engine.protocol import PressureLevel

LOOK_EVERY_S = 0.1  # a look costs less than a millisecond
GENTLE_CHUNK_TOKENS = 128

PAUSED: dict[PauseReason, str] = {
    "memory": "Memory is critically short, so the answer waits. Close other apps, or continue.",
    "heat": "The machine is too hot, so the answer waits. It goes on when it has cooled.",
}


@dataclass(frozen=True, slots=True)
class Change:
    """What was done, in a sentence for a person."""

    level: PressureLevel
    message: str


@dataclass(frozen=True, slots=True)
class Probes:
    """Where the machine's facts come from."""

    total_bytes: Callable[[], int] = machine.total_bytes
    available_bytes: Callable[[], int] = machine.available_bytes
    compressed_bytes: Callable[[], int] = machine.compressed_bytes
    condition: Callable[[], Condition] = condition
    clock: Callable[[], float] = time.monotonic


class MemoryKeeper:
    """Keeps a model within its plan and the plan within the machine."""

    def __init__(
        self, model: Model, live: LiveState, pressure: Pressure, probes: Probes | None = None
    ) -> None:
        self._model = model
        self._live = live
        self._pressure = pressure
        self._probes = probes or Probes()
        layout = model.container.layout
        self._row_bytes = slot_bytes(layout) * layout.layer_count  # one slot in every layer
        self._looked_at = -LOOK_EVERY_S
        self._insisted = False
        self._decision = Decision("normal", model.plan.slots_per_layer)
        self._condition = Condition()
        self._state = State(compressed_bytes=self._probes.compressed_bytes())
        self._begin_plan()

    @property
    def level(self) -> PressureLevel:
        """How short memory is, as last looked at."""
        return self._decision.strain

    @property
    def condition(self) -> Condition:
        """How hot the machine is, as last looked at."""
        return self._condition

    @property
    def paused(self) -> str:
        """Why an answer should wait now; empty where it need not."""
        return PAUSED[self._decision.pause] if self._decision.pause else ""

    def insist(self) -> None:
        """A person wants to go on: no pause for want of memory until the spell is over."""
        self._insisted = True
        self._decision = replace(self._decision, pause=None)

    def tend(self) -> Change | None:
        """Look at the facts, ten times a second at most or at news of pressure, and act on them."""
        now = self._probes.clock()
        news = self._pressure.take_news()
        if not news and now - self._looked_at < LOOK_EVERY_S:
            return None
        self._looked_at = now
        facts = self._facts(now)
        self._state, self._decision = decide(self._state, facts, self._limits())
        if self._state.critical_since_s is None:
            self._insisted = False
        return self._carry_out(self._decision, facts)

    def resize(self, memory_bytes: int) -> Change:
        """Follow a person's wish: a new plan within `memory_bytes`. Raises NotEnoughMemory."""
        model, layout = self._model, self._model.container.layout
        count = slots_for_budget(
            memory_bytes, model.plan.fixed_bytes, layout, model.config.experts_per_token
        )
        before = model.plan.slots_bytes
        self._resize(count)
        self._begin_plan()
        after = f"{_change(before, model.plan.slots_bytes)}, {count} experts a layer."
        return Change(self.level, f"Expert pool {after}")

    def _begin_plan(self) -> None:
        """From now on, the model's plan as it is is what may not be exceeded."""
        self._budget_bytes = self._model.plan.total_bytes
        self._plan_slots = self._model.plan.slots_per_layer
        self._resized_at = self._live.pace

    def _limits(self) -> Limits:
        """A control group's limit can change at any time, and with it what must stay free."""
        spare = machine.spare_bytes(self._probes.total_bytes())
        return Limits(
            floor_slots=self._model.config.experts_per_token,
            plan_slots=self._plan_slots,
            row_bytes=self._row_bytes,
            low_bytes=spare // 4,
            spare_bytes=spare,
        )

    def _facts(self, now: float) -> Facts:
        self._condition = self._probes.condition()
        return Facts(
            now_s=now,
            level=self._pressure.level(),
            available_bytes=self._probes.available_bytes(),
            compressed_bytes=self._probes.compressed_bytes(),
            slots=self._model.plan.slots_per_layer,
            cap_slots=self._cap_slots(),
            rates=_rates(self._live.pace - self._resized_at),
            stalls=self._pressure.stalls(),
            thermal=self._condition.thermal,
            insisted=self._insisted,
        )

    def _cap_slots(self) -> int:
        """What is left for slots once the conversation has grown beyond what was planned for it."""
        plan, model = self._model.plan, self._model
        length = len(self._live.ids) + plan.chunk_tokens
        state = max(plan.state_bytes, state_bytes(model.config, length, model.kernels.dtype.size))
        left = self._budget_bytes - (plan.fixed_bytes - plan.state_bytes + state)
        return left // self._row_bytes

    def _carry_out(self, decision: Decision, facts: Facts) -> Change | None:
        model = self._model
        usual = model.plan.chunk_tokens
        model.chunk_tokens = min(GENTLE_CHUNK_TOKENS, usual) if decision.gentle else usual
        model.lookahead.allowed = not decision.gentle
        if decision.spill:
            self._live.prefixes.spill_old()
            mx.synchronize()
            mx.clear_cache()
            machine.return_freed()
        if decision.slots == facts.slots:
            return None
        before = model.plan.slots_bytes
        self._resize(decision.slots)
        return Change(decision.strain, _told(decision, facts, before, model.plan.slots_bytes))

    def _resize(self, count: int) -> None:
        """Layer by layer: at most one layer is there twice.

        Where memory is to be freed there may be none for that: then the first layer makes room.
        """
        model, floor = self._model, self._model.config.experts_per_token
        shrinks = count < model.plan.slots_per_layer
        if shrinks:
            model.cache.resize(0, floor)
        for layer in reversed(range(model.config.layer_count)):
            model.cache.resize(layer, count)
            if shrinks:
                machine.return_freed()
        pool = count * self._row_bytes
        model.plan = replace(model.plan, slots_per_layer=count, slots_bytes=pool)
        self._resized_at = self._live.pace


def _rates(since: Pace) -> Rates:
    speed = since.tokens / since.seconds if since.seconds > 0 else 0.0
    return Rates(since.tokens, since.experts.hit_rate, speed)


def _told(decision: Decision, facts: Facts, before: int, after: int) -> str:
    pool = _change(before, after)
    if decision.strain != "normal":
        return f"Memory is short: expert pool {pool}; answers slower until it recovers."
    if decision.slots > facts.slots:
        return f"There is room again: expert pool {pool}."
    if decision.slots == facts.cap_slots:
        return f"The conversation needs more room: expert pool {pool}."
    return f"The larger expert pool was slower on this machine: back {pool}."


def _change(before: int, after: int) -> str:
    """`4.0 → 1.5 GB`, in the unit of the larger."""
    unit, size = ("GB", 1e9) if max(before, after) >= 1e9 else ("MB", 1e6)
    return f"{before / size:.1f} → {after / size:.1f} {unit}"
