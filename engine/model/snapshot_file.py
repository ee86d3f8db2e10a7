"""A snapshot as one file: safetensors, with the token ids, the model's identity and a checksum.

Written beside its place and renamed, so that a file under its name is whole. A file that is
damaged or of another model is refused with BadSnapshot: the caller reads the prompt again.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np

from engine.config import ModelConfig
from engine.errors import MartletError
from engine.model.state import DeltaState, KeyValueRows, Snapshot

FORMAT = "martlet-snapshot-1"


class BadSnapshot(MartletError):
    """A snapshot file is damaged or belongs to another model."""


def save_snapshot(path: Path, snapshot: Snapshot, ids: Sequence[int], identity: str) -> None:
    """Write the state after `ids`; `identity` is the container's."""
    arrays = _arrays(snapshot, ids)
    mx.eval(arrays)
    metadata = {"format": FORMAT, "identity": identity, "sha256": _digest(arrays)}
    partial = path.with_name(f".{path.name}.{os.getpid()}.safetensors")
    try:
        mx.save_safetensors(str(partial), arrays, metadata=metadata)
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def load_snapshot(
    path: Path, config: ModelConfig, dtype: mx.Dtype, identity: str
) -> tuple[Snapshot, list[int]]:
    """The snapshot and its token ids. Raises BadSnapshot."""
    arrays, metadata = _read(path)
    if metadata.get("format") != FORMAT or metadata.get("identity") != identity:
        raise BadSnapshot(f"{path} was saved for another model or by another version.", _REMEDY)
    if metadata.get("sha256") != _digest(arrays):
        raise BadSnapshot(f"{path} is damaged: its checksum does not match.", _REMEDY)
    _check_shapes(path, arrays, config, dtype)
    ids = np.array(arrays["ids"]).tolist()
    return _snapshot(arrays, config, len(ids)), ids


_REMEDY = "The conversation is kept; its text is read again."


def _read(path: Path) -> tuple[dict[str, mx.array], dict[str, str]]:
    try:
        loaded: Any = mx.load(str(path), format="safetensors", return_metadata=True)
        mx.eval(loaded[0])
    except (OSError, RuntimeError, ValueError) as error:
        raise BadSnapshot(f"{path} cannot be read: {error}.", _REMEDY) from error
    arrays, metadata = loaded
    return arrays, metadata


def _arrays(snapshot: Snapshot, ids: Sequence[int]) -> dict[str, mx.array]:
    arrays = {"ids": mx.array(list(ids), mx.uint32)}
    for i, state in enumerate(snapshot.deltas):
        arrays[f"conv.{i}"] = state.conv
        arrays[f"delta.{i}"] = state.delta
    chain = snapshot.rows.lineage()
    for i in range(len(snapshot.rows.keys)):
        arrays[f"keys.{i}"] = mx.concatenate([rows.keys[i] for rows in chain], axis=1)
        arrays[f"values.{i}"] = mx.concatenate([rows.values[i] for rows in chain], axis=1)
    return arrays


def _digest(arrays: Mapping[str, mx.array]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(json.dumps([name, list(array.shape), str(array.dtype)]).encode())
        if array.size:
            digest.update(memoryview(array).cast("B"))  # type: ignore[arg-type]
    return digest.hexdigest()


def _check_shapes(
    path: Path, arrays: Mapping[str, mx.array], config: ModelConfig, dtype: mx.Dtype
) -> None:
    expected = _shapes(config, arrays["ids"].size if "ids" in arrays else 0)
    found = {name: tuple(array.shape) for name, array in arrays.items()}
    others = {a.dtype for name, a in arrays.items() if name.startswith(("keys", "values", "conv"))}
    if found != expected or others - {dtype}:
        raise BadSnapshot(f"{path} holds other tensors than this model's state.", _REMEDY)


def _shapes(config: ModelConfig, length: int) -> dict[str, tuple[int, ...]]:
    linear = sum(config.linear_layers)
    rows = (config.kv_head_count, length, config.head_dim)
    delta = (
        config.linear_value_head_count,
        config.linear_value_head_dim,
        config.linear_key_head_dim,
    )
    shapes: dict[str, tuple[int, ...]] = {"ids": (length,)}
    for i in range(linear):
        shapes |= {f"conv.{i}": (config.conv_kernel - 1, config.conv_dim), f"delta.{i}": delta}
    for i in range(config.layer_count - linear):
        shapes |= {f"keys.{i}": rows, f"values.{i}": rows}
    return shapes


def _snapshot(arrays: Mapping[str, mx.array], config: ModelConfig, length: int) -> Snapshot:
    linear = sum(config.linear_layers)
    attention = config.layer_count - linear
    return Snapshot(
        tuple(DeltaState(arrays[f"conv.{i}"], arrays[f"delta.{i}"]) for i in range(linear)),
        KeyValueRows(
            0,
            length,
            tuple(arrays[f"keys.{i}"] for i in range(attention)),
            tuple(arrays[f"values.{i}"] for i in range(attention)),
            None,
        ),
    )
