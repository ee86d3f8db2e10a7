"""State: what a conversation has left in the model, and exact snapshots of it.

Keys and values of attention layers grow by steps to the live length; the convolution's last
inputs and the delta state (float32) of DeltaNet layers are replaced, never changed while anybody
may read them. Recurrent state cannot be trimmed, so going back means restoring a snapshot.
Snapshots of one conversation share the rows that they have in common.

K key/value heads, d head dim, C conv channels, W conv width, Hv value heads, dv, dk dims.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import mlx.core as mx

from engine.config import ModelConfig

ROOM_STEP = 256


@dataclass(frozen=True, slots=True)
class DeltaState:
    """A DeltaNet layer's memory: the same size however long the conversation."""

    conv: mx.array  # (W-1, C)
    delta: mx.array  # (Hv, dv, dk) float32


@dataclass(frozen=True, slots=True)
class KeyValueRows:
    """Rows [start, end) of every attention layer; the rows before them are the parent's."""

    start: int
    end: int
    keys: tuple[mx.array, ...]  # one a layer: (K, end - start, d)
    values: tuple[mx.array, ...]
    parent: "KeyValueRows | None"

    @property
    def nbytes(self) -> int:
        """Memory of these rows, without the parent's."""
        return sum(rows.nbytes for rows in (*self.keys, *self.values))

    def lineage(self) -> "list[KeyValueRows]":
        """From the first rows to these."""
        chain: list[KeyValueRows] = []
        node: KeyValueRows | None = self
        while node is not None:
            chain.append(node)
            node = node.parent
        return chain[::-1]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state after `rows.end` tokens."""

    deltas: tuple[DeltaState, ...]  # of the DeltaNet layers, in order
    rows: KeyValueRows

    @property
    def length(self) -> int:
        """Tokens in the state."""
        return self.rows.end


def snapshots_bytes(snapshots: Iterable[Snapshot]) -> int:
    """Memory that a set of snapshots holds, what they share counted once."""
    arrays: dict[int, int] = {}
    for snapshot in snapshots:
        for state in snapshot.deltas:
            arrays[id(state.conv)] = state.conv.nbytes
            arrays[id(state.delta)] = state.delta.nbytes
        for rows in snapshot.rows.lineage():
            arrays[id(rows)] = rows.nbytes
    return sum(arrays.values())


class KeyValueCache:
    """The rows of one attention layer: keys, values (K, room, d), filled up to the length."""

    def __init__(self, config: ModelConfig, dtype: mx.Dtype) -> None:
        shape = (config.kv_head_count, 0, config.head_dim)
        self.keys = mx.zeros(shape, dtype)
        self.values = mx.zeros(shape, dtype)

    def reserve(self, length: int) -> None:
        """Make room for `length` rows, in whole steps."""
        room = -(-length // ROOM_STEP) * ROOM_STEP
        missing = room - self.keys.shape[1]
        if missing <= 0:
            return
        more = mx.zeros((self.keys.shape[0], missing, self.keys.shape[2]), self.keys.dtype)
        self.keys = mx.concatenate([self.keys, more], axis=1)
        self.values = mx.concatenate([self.values, more], axis=1)
        mx.eval(self.keys, self.values)

    def replace(self, keys: Sequence[mx.array], values: Sequence[mx.array]) -> None:
        """Hold just these rows, given in pieces."""
        self.keys = mx.concatenate(list(keys), axis=1)
        self.values = mx.concatenate(list(values), axis=1)
        mx.eval(self.keys, self.values)

    def rows(self, start: int, end: int) -> tuple[mx.array, mx.array]:
        """Copies of rows [start, end)."""
        return mx.contiguous(self.keys[:, start:end]), mx.contiguous(self.values[:, start:end])


class State:
    """One conversation's state; `length` tokens are in it.

    `recycles`: the delta states that a token's commit replaces are kept for the next token's to be
    written into, unless a snapshot holds them.
    """

    def __init__(self, config: ModelConfig, dtype: mx.Dtype, *, recycles: bool = False) -> None:
        self.config = config
        self.dtype = dtype
        self._recycles = recycles
        self._spare: list[mx.array] = []
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.length = 0
        self._rows: KeyValueRows | None = None
        blank = _blank_delta(self.config, self.dtype)
        self._take([blank for linear in self.config.linear_layers if linear], shared=True)
        self.caches = [
            KeyValueCache(self.config, self.dtype)
            for linear in self.config.linear_layers
            if not linear
        ]

    def reserve(self, tokens: int) -> None:
        """Make room for `tokens` more rows in every attention layer."""
        if tokens > 1:
            self._spare = []  # a chunk needs the memory more than the time
        for cache in self.caches:
            cache.reserve(self.length + tokens)

    def commit(self, tokens: int, deltas: Sequence[DeltaState]) -> None:
        """Take over a chunk as a whole. Until then, nothing of it counts."""
        replaced, free = self.deltas, self._recycles and not self._shared and tokens == 1
        self._take(deltas, shared=False)
        self._spare = [state.delta for state in replaced] if free else []
        self.length += tokens

    def spare(self, layer: int) -> mx.array | None:
        """Memory for the next delta state of a DeltaNet layer; what it holds means nothing."""
        return self._spare[layer] if self._spare else None

    def snapshot(self) -> Snapshot:
        """The state as it is now; exact, and unaffected by what comes later."""
        parent = self._rows
        start = parent.end if parent else 0
        pairs = [cache.rows(start, self.length) for cache in self.caches]
        keys, values = tuple(k for k, _ in pairs), tuple(v for _, v in pairs)
        mx.eval(keys, values, [(s.conv, s.delta) for s in self.deltas])
        self._rows = KeyValueRows(start, self.length, keys, values, parent)
        self._shared = True
        return Snapshot(tuple(self.deltas), self._rows)

    def restore(self, snapshot: Snapshot) -> None:
        """Go back (or over) to a snapshot of the same model."""
        chain = snapshot.rows.lineage()
        for layer, cache in enumerate(self.caches):
            cache.replace([s.keys[layer] for s in chain], [s.values[layer] for s in chain])
        self._take(snapshot.deltas, shared=True)
        self.length = snapshot.length
        self._rows = snapshot.rows

    def _take(self, deltas: Sequence[DeltaState], *, shared: bool) -> None:
        """`shared`: others read them too, so that they are never written into."""
        self.deltas = list(deltas)
        self._shared = shared
        self._spare = []


def state_bytes(config: ModelConfig, length: int, itemsize: int) -> int:
    """Memory of one state of `length` tokens, `itemsize` bytes an activation."""
    room = -(-length // ROOM_STEP) * ROOM_STEP
    attention = sum(not linear for linear in config.linear_layers)
    rows = 2 * config.kv_head_count * config.head_dim * room * itemsize
    conv = (config.conv_kernel - 1) * config.conv_dim * itemsize
    key_dim, value_dim = config.linear_key_head_dim, config.linear_value_head_dim
    delta = config.linear_value_head_count * key_dim * value_dim * 4
    return attention * rows + (config.layer_count - attention) * (conv + delta)


def _blank_delta(config: ModelConfig, dtype: mx.Dtype) -> DeltaState:
    heads, dims = config.linear_value_head_count, config.linear_value_head_dim
    state = DeltaState(
        mx.zeros((config.conv_kernel - 1, config.conv_dim), dtype),
        mx.zeros((heads, dims, config.linear_key_head_dim), mx.float32),
    )
    mx.eval(state.conv, state.delta)
    return state
