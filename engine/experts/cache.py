"""ExpertCache: a layer's experts, found in their slots or read into them.

Joins slots (memory), residency (who lies where) and reader (threads). Owned by the thread that owns
MLX. A mapped slot holds its expert's bytes, or they are on their way and known to be; a read that
fails unmaps its slot, so that nothing half read is ever computed with.

A pinned expert keeps its slot. Callers hold the pins until the products of those slots have been
evaluated, or until they know that they will be before the layer is asked again.

A guess is an expert that nobody has asked for: it is read when no demand waits, and holds its slot
until the layer's next look-up, which takes it over or drops it.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from engine.errors import ReadFailed
from engine.experts.budget import check_slots
from engine.experts.files import ExpertFiles, empty_slots, read_request
from engine.experts.policy import HALF_LIFE, PolicyFactory, policy_for
from engine.experts.reader import Batch, ExpertReader, ReadRequest
from engine.experts.residency import Residency
from engine.experts.slots import LayerSlots, copy_slot
from engine.experts.staging import Staging
from engine.experts.stats import ExpertStats, Tally

Ids = NDArray[np.uint32]

REMEMBERED = 4 * int(HALF_LIFE)  # tokens of a prompt; what came before counts for next to nothing


class ExpertCache:
    """The slots of all layers, and the reader that fills them."""

    def __init__(
        self,
        files: ExpertFiles,
        slots_per_layer: int,
        reader: ExpertReader,
        policy: PolicyFactory = policy_for,
    ) -> None:
        """Allocates all slots at once. Raises BadOption where a token's experts do not fit."""
        self._files = files
        self._reader = reader
        self._policy = policy
        self._tally = Tally()
        count = self._checked(slots_per_layer)
        self._layers = [self._empty_layer(i, count) for i in range(files.layout.layer_count)]

    @property
    def stats(self) -> ExpertStats:
        """Counts since the start."""
        return self._tally.stats()

    def slots(self, layer: int) -> LayerSlots:
        """The layer's arrays. Ask each time: a resize replaces them."""
        return self._layers[layer].slots

    def slot_count(self, layer: int) -> int:
        """How many experts of the layer fit at once."""
        return self._layers[layer].residency.slot_count

    def slot_map(self, layer: int) -> NDArray[np.int32]:
        """(E,): each expert's slot, or -1. Where all experts fit, expert e lies in slot e."""
        slot_of = self._layers[layer].residency.slot_of
        slots = np.full(self._files.layout.expert_count, -1, np.int32)
        slots[list(slot_of.keys())] = list(slot_of.values())
        return slots

    def resident(self, layer: int) -> bool:
        """Whether every expert of the layer lies ready in its slot: expert e in slot e."""
        state = self._layers[layer]
        return state.residency.complete and not state.loading

    def missing(self, layer: int) -> list[int]:
        """Experts that have no slot."""
        slot_of = self._layers[layer].residency.slot_of
        return [e for e in range(self._files.layout.expert_count) if e not in slot_of]

    def count_hits(self, count: int) -> None:
        """So many look-ups were made without asking, in layers that are `resident`."""
        self._tally.hits += count

    def count_readback(self) -> None:
        """The model waited for a router's choice."""
        self._tally.readbacks += 1

    def guess(self, layer: int, experts: Iterable[int], most: int) -> None:
        """Start to read the first `most` of these that are missing, after all that is demanded.

        They take the slots of others, but always leave a token's worth.
        """
        state = self._layers[layer]
        room = state.residency.unpinned - self._files.config.experts_per_token
        absent = (expert for expert in experts if expert not in state.residency.slot_of)
        for expert, _ in zip(absent, range(min(most, room)), strict=False):
            state.residency.reserve(expert)
            batch = self._reader.submit([self._request(state, expert)], lookahead=True)
            state.loading[expert] = load = Load([expert], batch)
            state.guesses.append(load)

    def guessed(self, layer: int) -> list[int]:
        """What `guess` has given slots since the layer's last look-up."""
        return [expert for load in self._layers[layer].guesses for expert in load.experts]

    def begin(self, layer: int, experts: Sequence[int] | Ids) -> "Fetch":
        """Give all these experts slots, pin them, and start to read the missing ones.

        ValueError where there are more than the slots hold beside what is pinned: callers group.
        """
        fetch = self._begin(layer, experts)
        self._tally.misses += fetch.late_count
        self._tally.hits += len(fetch.held) - fetch.late_count
        return fetch

    def heard(self, layer: int, asked: Ids) -> None:
        """A prompt's tokens ask for these, (T, k): what follows will ask for much the same."""
        policy = self._layers[layer].residency.policy
        for experts in asked[-REMEMBERED:].tolist():
            policy.touch(experts)

    def warm(self, layer: int, experts: Sequence[int] | Ids) -> None:
        """Read the first of these, hottest first, into slots. Not counted as look-ups.

        Raises ReadFailed; what could be read stays.
        """
        hottest = list(experts)[: self.slot_count(layer)]
        with self._begin(layer, hottest[::-1]) as fetch:
            fetch.wait()

    def resize(self, layer: int, count: int) -> None:
        """Give the layer `count` slots and keep its hottest experts. Never while any is pinned.

        For a moment the layer has its old and its new slots; other layers are not touched.
        Raises BadOption below the floor.
        """
        count = self._checked(count)
        if count != self._idle(layer).residency.slot_count:
            self._layers[layer] = self._moved(self._layers[layer], count)
            mx.clear_cache()  # MLX would keep the old arrays for a use that never comes

    def invalidate(self) -> None:
        """Forget all contents: the files have changed. Never while any expert is pinned."""
        for layer in range(len(self._layers)):
            state = self._idle(layer)
            state.residency = self._empty_residency(state.residency.slot_count)

    def staging(self, group_size: int) -> Staging:
        """Room beside the slots for a prefill sweep; its reads count in `stats`."""
        return Staging(self._files, self._reader, self._tally, group_size)

    def close(self) -> None:
        """End the reader. Nothing can be read after that."""
        self._reader.close()

    def _begin(self, layer: int, experts: Sequence[int] | Ids) -> "Fetch":
        state = self._layers[layer]
        asked = np.asarray(experts, np.uint32)
        distinct = list(dict.fromkeys(asked.tolist()))
        state.resolve(distinct, self._tally)
        absent = state.residency.claim(distinct)
        if absent:
            batch = self._reader.submit([self._request(state, expert) for expert in absent])
            state.loading |= dict.fromkeys(absent, Load(absent, batch))
        return Fetch(state, asked, distinct, self._tally)

    def _request(self, state: "LayerState", expert: int) -> ReadRequest:
        slot = state.residency.slot_of[expert]
        return read_request(self._files, state.layer, expert, state.slots, slot)

    def _checked(self, count: int) -> int:
        return check_slots(count, self._files.layout, self._files.config.experts_per_token)

    def _idle(self, layer: int) -> "LayerState":
        state = self._layers[layer]
        state.resolve((), self._tally)
        state.settle_strays(self._tally)
        if state.residency.pinned:
            raise RuntimeError(f"experts of layer {layer} are pinned")
        return state

    def _empty_layer(self, layer: int, count: int) -> "LayerState":
        slots, residency = empty_slots(self._files, count), self._empty_residency(count)
        return LayerState(layer, slots, residency, self._files.layout.payload)

    def _empty_residency(self, count: int) -> Residency:
        policy = self._policy(count, self._files.config.experts_per_token)
        return Residency(self._files.layout.expert_count, count, policy)

    def _moved(self, old: "LayerState", count: int) -> "LayerState":
        new = self._empty_layer(old.layer, count)
        kept = old.residency.policy.hottest()[:count]
        for expert in reversed(kept):  # the coldest first, so that they will leave in this order
            new.residency.claim([expert])
            new.residency.unpin([expert])
            source, target = old.residency.slot_of[expert], new.residency.slot_of[expert]
            copy_slot(old.slots, source, new.slots, target)
        return new


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """Reads on their way into one layer."""

    experts: list[int]
    batch: Batch


@dataclass(slots=True)
class LayerState:
    """One layer: its memory, who lies where, and what is still on its way there."""

    layer: int
    slots: LayerSlots
    residency: Residency
    blob_bytes: int  # that a read fills
    loading: dict[int, Load] = field(default_factory=dict)  # by expert
    guesses: list[Load] = field(default_factory=list)  # of one expert each, which is pinned
    strays: list[Load] = field(default_factory=list)  # guesses that were wrong and are being read

    def resolve(self, asked: Collection[int], tally: Tally) -> None:
        """Before a look-up: guesses that are asked for become reads like any other.

        Of the others, those that nobody has begun are dropped, and no one waits for the rest.
        """
        self.settle_strays(tally)
        for load in self.guesses:
            (expert,) = load.experts
            if load.batch.cancel():
                del self.loading[expert]
                self.residency.drop(expert)
            elif expert in asked:
                self.residency.unpin(load.experts)
            else:
                self.strays.append(load)
        self.guesses.clear()
        if not self.residency.has_room(asked):
            self.settle_strays(tally)

    def settle_strays(self, tally: Tally) -> None:
        """Wait for wrong guesses; their experts stay until they are evicted."""
        if not self.strays:
            return
        for load in self.strays:
            failed = self.settle(load, tally)
            self.residency.unpin([expert for expert in load.experts if expert not in failed])
        self.strays.clear()

    def settle(self, load: Load, tally: Tally) -> dict[int, ReadFailed]:
        """Wait for `load`; failed experts lose their slots. May be repeated."""
        answers = dict(zip(load.experts, load.batch.wait(), strict=True))
        for expert, failure in answers.items():
            if self.loading.get(expert) is not load:
                continue  # settled before
            del self.loading[expert]
            if failure is None:
                tally.bytes_read += self.blob_bytes
            else:
                self.residency.drop(expert)
        return {expert: failure for expert, failure in answers.items() if failure is not None}


class Fetch:
    """Experts of one layer, pinned in their slots from `begin` to `release`.

    As a context manager it releases on leaving. In the order in which they were asked for:
    `experts`, their `slot_ids`, and `hit_mask`: True where the slot was ready at once.
    """

    def __init__(self, state: LayerState, asked: Ids, held: list[int], tally: Tally) -> None:
        late = {expert: state.loading[expert] for expert in held if expert in state.loading}
        slot_of, order = state.residency.slot_of, asked.tolist()
        self.experts = asked
        self.slot_ids: Ids = np.array([slot_of[expert] for expert in order], np.uint32)
        self.hit_mask = np.array([expert not in late for expert in order], np.bool_)
        self.held = held  # the distinct experts
        self.late_count = len(late)
        self._loads = list(dict.fromkeys(late.values()))
        self._failures: dict[int, ReadFailed] = {}
        self._state = state
        self._tally = tally

    def wait(self) -> None:
        """Block until all are in their slots.

        Raises ReadFailed of one that could not be read. Those have lost their slots, and their
        `slot_ids` mean nothing; the others stay.
        """
        self._settle()
        if self._failures:
            raise next(iter(self._failures.values()))

    def release(self) -> None:
        """Unpin. Waits for reads that are still on their way. May be repeated."""
        self._settle()
        self._state.residency.unpin([e for e in self.held if e not in self._failures])
        self.held = []

    def _settle(self) -> None:
        if not self._loads:
            return
        with self._tally.waiting():
            for load in self._loads:
                failures = self._state.settle(load, self._tally)
                self._failures |= {e: failure for e, failure in failures.items() if e in self.held}
        self._loads.clear()  # and with them views of the slots

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()
