"""HostedModel: a loaded model and its session, in the words of the engine process's protocol."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from engine import events
from engine import protocol as wire
from engine.errors import ReadFailed
from engine.experts.integrity import CHECKED_READS
from engine.kernel_report import kernel_report
from engine.loading import default_kernels, load_model
from engine.memory import machine
from engine.memory.keeper import Change, MemoryKeeper
from engine.memory.pressure import Pressure, open_source
from engine.model.hybrid import Model
from engine.model_text import ModelText
from engine.options import GenerationOptions
from engine.server.served import ServedModel
from engine.session import ChatSession
from engine.snapshot_folder import SHELF_BYTES
from engine.snapshot_shelf import SnapshotShelf, open_shelf
from engine.storage_watch import StorageWatch

Progress = Callable[[str, float], None]
Watch = Callable[[Iterator[events.Event]], Iterator[events.Event]]

SHELVE_AFTER_S = 2.0  # without an answer


def load_hosted(command: wire.Load, progress: Progress) -> "HostedModel":
    """Load what the command names. Raises the errors of `load_model`."""
    path = Path(command.path)
    text = ModelText(path).open_early()
    model = load_model(
        path,
        memory_bytes=command.memory_bytes,
        slots=command.slots,
        check_reads=CHECKED_READS if command.check_reads else 0,
        progress=progress,
        kernels=default_kernels(plain=command.plain),
    )
    return HostedModel(model, _shelf(model, command), text)


def _shelf(model: Model, command: wire.Load) -> SnapshotShelf | None:
    if command.snapshots_folder is None:
        return None
    budget = SHELF_BYTES if command.snapshots_bytes is None else command.snapshots_bytes
    return open_shelf(model, Path(command.snapshots_folder), budget, named_only=True)


class HostedModel:
    """See `engine.host.Engine`. Used on the thread that loaded the model."""

    def __init__(
        self, model: Model, shelf: SnapshotShelf | None = None, text: ModelText | None = None
    ) -> None:
        self._model = model
        self._session = ChatSession(model, shelf=shelf, text=text, between=self._look)
        self._idle_since: float | None = None  # None while it answers, and once all is shelved
        pressure = Pressure()
        self._source = open_source(pressure)
        self._keeper = MemoryKeeper(model, self._session.live, pressure)
        self._storage = StorageWatch(model.container)
        self._changes: list[Change] = []  # made between tokens, not told yet
        self._counts = model.cache.stats
        self._pace = self._session.live.pace
        self._counted_at = time.monotonic()

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
    def kernels(self) -> wire.KernelReport:
        """What computes it."""
        return kernel_report(self._model.kernels)

    @property
    def plan(self) -> wire.MemoryPlan:
        """Its memory, as in force now."""
        plan = self._model.plan
        conversation = plan.state_bytes + plan.snapshots_bytes
        return wire.MemoryPlan(
            budget_bytes=plan.total_bytes,
            core_bytes=plan.dense_bytes,
            expert_bytes=plan.slots_bytes,
            conversation_bytes=conversation,
            scratch_bytes=plan.total_bytes - plan.dense_bytes - plan.slots_bytes - conversation,
            slots_per_layer=plan.slots_per_layer,
        )

    @property
    def served(self) -> ServedModel:
        """The same for other programs."""
        return ServedModel(
            name=self._model.container.path.stem,
            context_length=self._model.config.context_length,
            session=_Watched(self._session, self._watch),
            encode=lambda text: self._session.text.tokenizer.encode(text),  # read when first needed
        )

    def stream(
        self,
        messages: Sequence[wire.ChatMessage],
        options: GenerationOptions,
        cancel: threading.Event,
        conversation: str = "",
    ) -> Iterator[events.Event]:
        """The events of one answer; ends soon after `cancel` is set."""
        answer = self._session.stream(
            _plain(messages), options, cancelled=cancel.is_set, conversation=conversation
        )
        yield from self._watch(answer)

    def forget(self, conversations: Sequence[str]) -> None:
        """Erase what is kept of these conversations."""
        for conversation in conversations:
            self._session.live.forget(conversation)

    def count_tokens(self, messages: Sequence[wire.ChatMessage]) -> int:
        """Tokens of the prompt made of `messages`."""
        return self._session.count_tokens(_plain(messages))

    def resize(self, memory_bytes: int) -> wire.MemoryChanged:
        """Keep within a new budget, layer by layer, with the hottest experts kept."""
        return self._told(self._keeper.resize(memory_bytes))

    def tend(self) -> Sequence[wire.MemoryChanged | wire.StorageChanged]:
        """Act on pressure; what has changed since the last call."""
        self._look()
        self._shelve_when_idle()
        changes, self._changes = self._changes, []
        back = self._storage.look()
        return [*map(self._told, changes), *([back] if back else [])]

    @property
    def paused(self) -> str:
        """Why an answer should wait now, for a person; empty where it need not."""
        return self._keeper.paused

    def go_on(self) -> None:
        """Do not wait for memory."""
        self._keeper.insist()

    def stats(self) -> wire.EngineStats:
        """Figures since the last call."""
        now, counts, pace = time.monotonic(), self._model.cache.stats, self._session.live.pace
        elapsed, since, written = now - self._counted_at, counts - self._counts, pace - self._pace
        self._counted_at, self._counts, self._pace = now, counts, pace
        tokens, condition = max(1, written.tokens), self._keeper.condition
        return wire.EngineStats(
            memory_bytes=machine.used_bytes(),
            hit_rate=since.hit_rate,
            bytes_per_s=since.bytes_read / elapsed if elapsed > 0 else 0.0,
            token_ms=1000 * written.seconds / tokens,
            disk_ms=1000 * written.experts.wait_s / tokens,
            pressure=self._keeper.level,
            thermal=condition.thermal,
            low_power=condition.low_power,
            paused=self.paused,
        )

    def close(self) -> None:
        """Let go of everything."""
        if self._source is not None:
            self._source.close()
        self._session.live.shelve()
        self._model.close()

    def _watch(self, answer: Iterator[events.Event]) -> Iterator[events.Event]:
        """Around each answer. A read that fails makes the watch look for the files' return."""
        self._idle_since = None
        try:
            yield from answer
        except ReadFailed as failure:
            self._storage.failed(failure)
            raise
        finally:
            self._idle_since = time.monotonic()

    def _shelve_when_idle(self) -> None:
        """One snapshot a look: a question that comes now waits for one write at most."""
        since = self._idle_since
        if since is None or time.monotonic() - since < SHELVE_AFTER_S:
            return
        if not self._session.live.shelve_one():
            self._idle_since = None

    def _look(self) -> None:
        change = self._keeper.tend()
        if change is not None:
            self._changes.append(change)

    def _told(self, change: Change) -> wire.MemoryChanged:
        return wire.MemoryChanged(change.level, change.message, self.plan)


class _Watched:
    """A session as a server uses it; `watch` goes around each answer."""

    def __init__(self, session: ChatSession, watch: Watch) -> None:
        self._session = session
        self._watch = watch

    def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        options: GenerationOptions,
        *,
        tools: Sequence[Mapping[str, Any]] | None,
        cancelled: Callable[[], bool],
    ) -> Iterator[events.Event]:
        """Answer a conversation."""
        return self._watch(
            self._session.stream(messages, options, tools=tools, cancelled=cancelled)
        )

    def complete(
        self, ids: Sequence[int], options: GenerationOptions, *, cancelled: Callable[[], bool]
    ) -> Iterator[events.Event]:
        """Go on after token ids."""
        return self._watch(self._session.complete(ids, options, cancelled=cancelled))


def _plain(messages: Sequence[wire.ChatMessage]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in messages]
