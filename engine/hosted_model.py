"""HostedModel: a loaded model and its session, in the words of the engine process's protocol."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from engine import events
from engine import protocol as wire
from engine.experts.budget import slots_for_budget
from engine.experts.slots import slot_bytes
from engine.loading import load_model
from engine.memory import machine
from engine.memory.plan import MemoryPlan
from engine.model.hybrid import Model
from engine.options import GenerationOptions
from engine.session import ChatSession

Progress = Callable[[str, float], None]


def load_hosted(command: wire.Load, progress: Progress) -> "HostedModel":
    """Load what the command names. Raises the errors of `load_model`."""
    model = load_model(
        Path(command.path),
        memory_bytes=command.memory_bytes,
        slots=command.slots,
        progress=progress,
    )
    return HostedModel(model)


class HostedModel:
    """See `engine.host.Engine`. Used on the thread that loaded the model."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._session = ChatSession(model)
        self._counts = model.cache.stats
        self._counted_at = time.monotonic()
        self._tokens = 0  # generated since `_counted_at`

    @property
    def facts(self) -> wire.ModelFacts:
        """What it is."""
        container, config = self._model.container, self._model.config
        return wire.ModelFacts(
            name=container.path.stem,
            path=str(container.path),
            family=config.family,
            context_length=config.context_length,
            layer_count=config.layer_count,
            expert_count=config.expert_count,
            experts_per_token=config.experts_per_token,
            can_think=self._session.text.template.supports_thinking(),
        )

    @property
    def plan(self) -> wire.MemoryPlan:
        """Its memory, as in force now."""
        plan = self._model.plan
        return wire.MemoryPlan(
            budget_bytes=plan.total_bytes,
            core_bytes=plan.dense_bytes,
            expert_bytes=plan.slots_bytes,
            conversation_bytes=plan.state_bytes + plan.snapshots_bytes,
            scratch_bytes=plan.scratch_bytes + plan.interpreter_bytes,
            slots_per_layer=plan.slots_per_layer,
        )

    def stream(
        self,
        messages: Sequence[wire.ChatMessage],
        options: GenerationOptions,
        cancel: threading.Event,
    ) -> Iterator[events.Event]:
        """The events of one answer; ends soon after `cancel` is set."""
        for event in self._session.stream(_plain(messages), options, cancelled=cancel.is_set):
            if isinstance(event, events.TextDelta | events.ReasoningDelta):
                self._tokens += 1
            yield event

    def count_tokens(self, messages: Sequence[wire.ChatMessage]) -> int:
        """Tokens of the prompt made of `messages`."""
        return self._session.count_tokens(_plain(messages))

    def resize(self, memory_bytes: int) -> wire.MemoryChanged:
        """Keep within a new budget, layer by layer, with the hottest experts kept."""
        model, layout = self._model, self._model.container.layout
        count = slots_for_budget(
            memory_bytes, model.plan.fixed_bytes, layout, model.config.experts_per_token
        )
        before, bytes_a_slot = model.plan, slot_bytes(layout) * layout.layer_count
        for layer in range(layout.layer_count):
            model.cache.resize(layer, count)
        model.plan = replace(before, slots_per_layer=count, slots_bytes=count * bytes_a_slot)
        return wire.MemoryChanged("normal", _resized(before, model.plan), self.plan)

    def tend(self) -> Sequence[wire.MemoryChanged]:
        """Nothing changes by itself."""
        return ()

    def stats(self) -> wire.EngineStats:
        """Figures since the last call."""
        now, counts = time.monotonic(), self._model.cache.stats
        elapsed, since, tokens = now - self._counted_at, counts - self._counts, self._tokens
        self._counted_at, self._counts, self._tokens = now, counts, 0
        return wire.EngineStats(
            memory_bytes=machine.used_bytes(),
            hit_rate=since.hit_rate,
            bytes_per_s=since.bytes_read / elapsed if elapsed > 0 else 0.0,
            token_ms=1000 * elapsed / tokens if tokens else 0.0,
            disk_ms=1000 * since.wait_s / tokens if tokens else 0.0,
        )

    def close(self) -> None:
        """Let go of everything."""
        self._model.close()


def _plain(messages: Sequence[wire.ChatMessage]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in messages]


def _resized(before: MemoryPlan, after: MemoryPlan) -> str:
    pools = f"{before.slots_bytes / 1e9:.1f} → {after.slots_bytes / 1e9:.1f} GB"
    return f"Expert pool {pools}: {after.slots_per_layer} experts a layer."
