"""Model: the whole stack of one container, run token by token or a chunk at a time.

A chunk is a transaction: until its last layer is done, nothing of it is in the state. So a cancel,
a failed read or a crash of the caller leaves the state as it was. One thread owns a model.
T tokens, D hidden, V vocabulary.
"""

import logging
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

import mlx.core as mx

from engine.config import ModelConfig
from engine.container.container import EMBEDDING, Container
from engine.errors import Cancelled, ContextFull
from engine.experts.cache import ExpertCache
from engine.experts.lookahead import Lookahead
from engine.experts.reader import ExpertReader
from engine.experts.staging import Staging
from engine.memory.machine import return_freed
from engine.memory.plan import MemoryPlan
from engine.model import mixers
from engine.model.embedding import StoredTable
from engine.model.kernels import Kernels
from engine.model.mixers import Attention, DeltaNet
from engine.model.moe import (
    SWEEP_TOKENS,
    ExpertMemory,
    NextRouter,
    OnRoute,
    SparseExperts,
    sparse_experts,
    unheard,
)
from engine.model.state import DeltaState, State
from engine.model.weights import Linear, linear, vector

log = logging.getLogger(__name__)

Step = TypeVar("Step")

LAYERS_AHEAD = 8  # that are built, where none waits, before the device begins with them


@dataclass(frozen=True, slots=True)
class Layer:
    """One decoder layer: a mixer, then the experts, each on a normed input with a residual."""

    input_norm: mx.array  # (D,)
    mixer: DeltaNet | Attention
    post_norm: mx.array  # (D,)
    experts: SparseExperts


@dataclass(frozen=True, slots=True)
class Passage:
    """How far a prefill is, in tokens."""

    kept: int  # in the state, whatever happens now
    passed: int  # with the share of the chunk on its way that its layers done are of all


class Model:
    """A loaded model. Open one with `engine.loading.load_model`."""

    def __init__(
        self,
        container: Container,
        tensors: dict[str, mx.array],
        cache: ExpertCache,
        kernels: Kernels,
        plan: MemoryPlan,
        reader: ExpertReader,
        on_route: OnRoute = unheard,
    ) -> None:
        config = container.config
        self.container = container
        self.config = config
        self.cache = cache
        self.lookahead = Lookahead(cache, max(1, config.experts_per_token // 2))
        self.kernels = kernels
        self.plan = plan
        self.chunk_tokens = plan.chunk_tokens  # of a prefill; may change between chunks
        self._reader = reader
        self.embedding = _embedding(container, tensors)
        self.head = self._head(tensors)
        self.norm = vector(tensors, "model.norm.weight", kernels.dtype)
        self.layers = [_layer(tensors, i, config, kernels.dtype) for i in range(config.layer_count)]
        routers = tuple(
            NextRouter(layer.post_norm, config.rms_norm_eps, layer.experts.gate)
            for layer in self.layers[1:]
        )
        staging = _staging(cache, plan)
        self.memory = ExpertMemory(cache, staging, on_route, self.lookahead, routers)

    def new_state(self) -> State:
        """An empty state for this model."""
        return State(self.config, self.kernels.dtype, recycles=self.kernels.recycles)

    def prefill(
        self,
        ids: Sequence[int],
        state: State,
        cancelled: Callable[[], bool] = lambda: False,
        chunk_tokens: int | None = None,
    ) -> Generator[Passage, None, mx.array]:
        """Take in `ids` (at least one), chunk by chunk; returns the last token's logits (V,).

        Yields after every layer of a long chunk, and after every chunk. Raises Cancelled (`kept`
        stays), ContextFull, ReadFailed.
        """
        hidden, start = mx.zeros((1, self.config.hidden_size)), 0
        while start < len(ids):
            end = min(start + (chunk_tokens or self.chunk_tokens), len(ids))
            chunk = self._pass(ids[start:end], state, cancelled, admit=end == len(ids))
            while not isinstance(step := _advanced(chunk), mx.array):
                if end - start >= SWEEP_TOKENS:
                    yield Passage(start, start + (end - start) * step // self.config.layer_count)
            hidden, start = step, end
            yield Passage(end, end)
        if len(ids) >= SWEEP_TOKENS:  # decode has no use for what such chunks needed
            mx.clear_cache()
            return_freed()
        return self.logits(hidden[-1:])[0]

    def read(self, ids: Sequence[int], state: State, chunk_tokens: int | None = None) -> mx.array:
        """Prefill without a word: the last token's logits (V,)."""
        steps = self.prefill(ids, state, chunk_tokens=chunk_tokens)
        while not isinstance(step := _advanced(steps), mx.array):
            pass
        return step

    def decode(
        self, token: int, state: State, cancelled: Callable[[], bool] = lambda: False
    ) -> mx.array:
        """Take in one token; its logits (V,)."""
        with self.lookahead.token():
            hidden = self.forward([token], state, cancelled)
        return self.logits(hidden)[0]

    def forward(
        self,
        ids: Sequence[int],
        state: State,
        cancelled: Callable[[], bool] = lambda: False,
        *,
        admit: bool = True,
    ) -> mx.array:
        """Take in a chunk: (T, D) after the last layer, before the final norm.

        `admit`: what follows is decode, so that a long chunk leaves its hottest experts in the
        slots.
        """
        layers = self._pass(ids, state, cancelled, admit=admit)
        while not isinstance(step := _advanced(layers), mx.array):
            pass
        return step

    def _pass(
        self, ids: Sequence[int], state: State, cancelled: Callable[[], bool], *, admit: bool
    ) -> Generator[int, None, mx.array]:
        """`forward`, layer by layer: yields how many are done."""
        self._check_room(state.length + len(ids))
        state.reserve(len(ids))

        def check() -> None:
            if cancelled():
                raise Cancelled("Stopped as asked.")

        x = self._embed(ids)
        deltas: list[DeltaState] = []
        for layer in self.layers:
            check()
            x = self._run(layer, x, state, deltas, check, admit)
            if layer.experts.layer % LAYERS_AHEAD == LAYERS_AHEAD - 1:
                mx.async_eval(x)
            yield layer.experts.layer + 1
        mx.eval(x, [(s.conv, s.delta) for s in deltas])
        state.commit(len(ids), deltas)
        return x

    def logits(self, hidden: mx.array) -> mx.array:
        """(T, D) -> (T, V) float32."""
        normed = self.kernels.rms_norm(hidden, self.norm, self.config.rms_norm_eps)
        return self.kernels.linear(normed, self.head).astype(mx.float32)

    def close(self) -> None:
        """End the reader's threads."""
        self._reader.close()

    def _run(
        self,
        layer: Layer,
        x: mx.array,
        state: State,
        deltas: list[DeltaState],
        check: Callable[[], None],
        admit: bool,
    ) -> mx.array:
        """One layer; a DeltaNet layer's new state is appended to `deltas`."""
        kernels, eps = self.kernels, self.config.rms_norm_eps
        normed = kernels.rms_norm(x, layer.input_norm, eps)
        if isinstance(layer.mixer, DeltaNet):
            number = len(deltas)
            before, spare = state.deltas[number], state.spare(number)
            mixed, after = layer.mixer.mix(kernels, normed, before, spare)
            deltas.append(after)
        else:
            attention_layers_before = layer.experts.layer - len(deltas)
            cache = state.caches[attention_layers_before]
            mixed = layer.mixer.mix(kernels, normed, cache, state.length)
        x, normed = kernels.add_rms_norm(x, mixed, layer.post_norm, eps)
        return layer.experts.mix(kernels, self.memory, normed, x, check, admit)

    def _head(self, tensors: Mapping[str, mx.array]) -> Linear:
        if isinstance(self.embedding, Linear):  # tied
            return self.embedding
        return linear(tensors, "lm_head", self.config)

    def _embed(self, ids: Sequence[int]) -> mx.array:
        """(T,) -> (T, D)."""
        if isinstance(self.embedding, StoredTable):
            return self.embedding.embed(self.kernels, ids)
        return self.kernels.embed(self.embedding, mx.array(list(ids), mx.uint32))

    def _check_room(self, length: int) -> None:
        limit = self.config.context_length
        if length > limit:
            raise ContextFull(
                f"{length:,} tokens do not fit into this model's context of {limit:,}.",
                "Shorten the conversation or start a new one.",
            )


def _advanced(steps: Generator[Step, None, mx.array]) -> Step | mx.array:
    """What comes next: a step, or at the end the result."""
    try:
        return next(steps)
    except StopIteration as end:
        return cast("mx.array", end.value)


def _embedding(container: Container, tensors: Mapping[str, mx.array]) -> StoredTable | Linear:
    if container.stored:
        return StoredTable(container)
    return linear(tensors, EMBEDDING, container.config)


def _staging(cache: ExpertCache, plan: MemoryPlan) -> Staging | None:
    """None where every expert has a slot, or a token's experts are all there are."""
    return cache.staging(plan.staged_experts) if plan.staged_experts else None


def _layer(tensors: dict[str, mx.array], index: int, config: ModelConfig, dtype: mx.Dtype) -> Layer:
    prefix = f"model.layers.{index}"
    mixer = (
        mixers.delta_net(tensors, f"{prefix}.linear_attn", config, dtype)
        if config.is_linear(index)
        else mixers.attention(tensors, f"{prefix}.self_attn", config, dtype)
    )
    return Layer(
        vector(tensors, f"{prefix}.input_layernorm.weight", dtype),
        mixer,
        vector(tensors, f"{prefix}.post_attention_layernorm.weight", dtype),
        sparse_experts(tensors, f"{prefix}.mlp", index, config),
    )
