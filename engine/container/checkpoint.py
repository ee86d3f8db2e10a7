"""Checkpoint: a local folder as mlx-lm saves it, opened for repacking.

Sharded with an index, or files without one; links (as the hub's cache has them) are followed.
A raw checkpoint from the training side is refused: its experts lie singly, its convolutions the
other way round and its norms without the one that has to be added. mlx-lm does that conversion.
"""

import fnmatch
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.config import ModelConfig, parse_config
from engine.container.container import CONFIG, MANIFEST
from engine.container.files import chunks, names_in, opened, read_into
from engine.container.inventory import by_bare_name
from engine.container.json_file import read_object, shown
from engine.container.manifest import check_key
from engine.container.plan import SOURCE, SourceTensor
from engine.container.safetensors import TensorEntry, read_header
from engine.container.widths import FLOATS
from engine.errors import BadCheckpoint, BadContainer, UnsupportedModel

INDEX = "model.safetensors.index.json"

_RAW_EXPERTS = re.compile(r"\.mlp\.experts\.")
_NORMS = re.compile(r"(layernorm|model\.norm|[qk]_norm)\.weight$")


@contextmanager
def blaming_checkpoint() -> Iterator[None]:
    """Turn a fault found by the checks shared with containers into one of the checkpoint."""
    try:
        yield
    except BadContainer as error:
        raise BadCheckpoint(error.message, "Download or convert the checkpoint again.") from error


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """An opened checkpoint. `tensors` are by bare name, without vision and prediction heads."""

    path: Path
    config: ModelConfig
    model_type: str  # of the text model
    tensors: Mapping[str, SourceTensor]

    @property
    def name(self) -> str:
        """What a manifest calls it: owner/name from the hub's cache, else the folder's name."""
        return source_name(self.path)

    def chunks(self, file: str, start: int, stop: int) -> Iterator[tuple[int, memoryview]]:
        """(offset, bytes) of a range of one of its files. Raises BadCheckpoint."""
        with blaming_checkpoint():
            yield from chunks(self.path / file, start, stop)


def source_name(path: Path) -> str:
    """owner/name for a folder of the hub's cache, else the folder's name."""
    folder = path.resolve()
    repository = folder.parent.parent.name
    if folder.parent.name == "snapshots" and repository.startswith("models--"):
        return repository.removeprefix("models--").replace("--", "/", 1)
    return folder.name


@blaming_checkpoint()
def open_checkpoint(path: Path) -> Checkpoint:
    """Open a checkpoint. Raises ModelNotFound, BadCheckpoint or UnsupportedModel."""
    names = names_in(path)
    if MANIFEST in names and INDEX not in names:
        raise BadCheckpoint(f"{path} is a container already.", "Open it as it is.")
    root = read_object(path / CONFIG)
    config = parse_config(root, str(path / CONFIG))
    tensors = gather(_headers(path, names), str(path))
    refuse_raw(tensors)
    refuse_zero_centred(_stored(path, t) for name, t in tensors.items() if is_norm(name, t))
    return Checkpoint(path, config, model_type(root), tensors)


def model_type(root: Mapping[str, Any]) -> str:
    """The text model's type, as a parsed config.json names it."""
    text = root.get("text_config")
    inner = text.get("model_type") if isinstance(text, dict) else None
    return str(inner or root.get("model_type"))


def _headers(path: Path, names: frozenset[str]) -> dict[str, dict[str, TensorEntry]]:
    """The header of every weights file, by its name."""
    if INDEX not in names:
        files = weight_files(names)
        if not files:
            raise BadCheckpoint(f"{path} has no {INDEX} and no model*.safetensors.", "Check it.")
        return {name: read_header(path / name) for name in files}
    weight_map = parse_index(read_object(path / INDEX), str(path / INDEX))
    headers = {name: read_header(path / name) for name in sorted(set(weight_map.values()))}
    check_index(weight_map, headers, str(path))
    return headers


def weight_files(names: Iterable[str]) -> list[str]:
    """The weights of a checkpoint without an index."""
    return sorted(fnmatch.filter(names, "model*.safetensors"))


def parse_index(index: Mapping[str, Any], name: str) -> dict[str, str]:
    """Tensor -> file, of a parsed index; `name` is what errors call it. Raises BadCheckpoint."""
    weight_map = index.get("weight_map")
    if not isinstance(weight_map, dict) or not all(isinstance(v, str) for v in weight_map.values()):
        raise BadCheckpoint(f"{name} has no usable weight_map.", "Download it again.")
    return {tensor: check_key(file, name) for tensor, file in weight_map.items()}


def check_index(
    weight_map: Mapping[str, str], headers: Mapping[str, Mapping[str, TensorEntry]], where: str
) -> None:
    """Raise BadCheckpoint for a tensor that is not where the index puts it."""
    for tensor, name in weight_map.items():
        if tensor not in headers[name]:
            raise BadCheckpoint(
                f"{where}/{name} lacks {shown(tensor)}, which {INDEX} puts there.",
                "Download the checkpoint again.",
            )


def gather(headers: Mapping[str, Mapping[str, TensorEntry]], where: str) -> dict[str, SourceTensor]:
    """All tensors of all files by bare name. Raises BadContainer where one stands twice."""
    found: dict[str, SourceTensor] = {}
    for file, entries in headers.items():
        for bare, name in by_bare_name(entries, f"{where}/{file}").items():
            if bare in found:
                raise BadContainer(f"{where}: {found[bare].file} and {file} hold {shown(bare)}.")
            found[bare] = SourceTensor(file, entries[name])
    return found


def refuse_raw(tensors: Mapping[str, SourceTensor]) -> None:
    """Raise UnsupportedModel for a checkpoint that was not converted by mlx-lm."""
    for name, tensor in tensors.items():
        if _RAW_EXPERTS.search(name):
            raise _raw(f"its experts are not stacked ({shown(name)})")
        if name.endswith("conv1d.weight") and tensor.entry.shape[-1:] != (1,):
            shape = list(tensor.entry.shape)
            raise _raw(f"its convolutions are not transposed ({shown(name)} is {shape})")


def is_norm(name: str, tensor: SourceTensor) -> bool:
    """Whether a tensor (by bare name) is a norm that multiplies by about one."""
    return _NORMS.search(name) is not None and tensor.entry.dtype in FLOATS


def refuse_zero_centred(norms: Iterable[tuple[str, bytes]]) -> None:
    """Raise UnsupportedModel for norms (dtype and bytes) that are meant as 1 + w: around zero."""
    low = total = 0
    for dtype, raw in norms:
        values = _bits(dtype, raw)
        sign = 1 << (8 * values.itemsize - 1)
        low += sum(bits >= sign or bits == 0 for bits in values)
        total += len(values)
    if low > total / 4:
        raise _raw("its norms are centred on zero")


def _stored(path: Path, tensor: SourceTensor) -> tuple[str, bytes]:
    """The dtype and the bytes of a small tensor."""
    raw = bytearray(min(tensor.entry.size, 1 << 20))
    with opened(path / tensor.file) as fd:
        read_into(fd, memoryview(raw), tensor.entry.offset, path / tensor.file)
    return tensor.entry.dtype, bytes(raw)


def _bits(dtype: str, raw: bytes) -> "array[int]":
    """The bit patterns of floats: negative ones have the highest bit."""
    values = array("I" if dtype == "F32" else "H")
    values.frombytes(raw[: len(raw) & ~3])
    return values


def _raw(what: str) -> UnsupportedModel:
    return UnsupportedModel(
        f"{SOURCE} is not in MLX's form: {what}.", "Convert it with `mlx_lm.convert` first."
    )
