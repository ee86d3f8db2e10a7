"""Checkpoint: a local folder as mlx-lm saves it, opened for repacking.

Sharded with an index, or files without one; links (as the hub's cache has them) are followed.
A raw checkpoint from the training side is refused: its experts lie singly, its convolutions the
other way round and its norms without the one that has to be added. mlx-lm does that conversion.
"""

import fnmatch
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

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
        repository = self.path.resolve().parent.parent.name
        if self.path.resolve().parent.name == "snapshots" and repository.startswith("models--"):
            return repository.removeprefix("models--").replace("--", "/", 1)
        return self.path.resolve().name

    def chunks(self, file: str, start: int, stop: int) -> Iterator[tuple[int, memoryview]]:
        """(offset, bytes) of a range of one of its files. Raises BadCheckpoint."""
        with blaming_checkpoint():
            yield from chunks(self.path / file, start, stop)


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
    _refuse_zero_centred(path, tensors)
    text = root.get("text_config")
    model_type = text.get("model_type") if isinstance(text, dict) else None
    return Checkpoint(path, config, str(model_type or root.get("model_type")), tensors)


def _headers(path: Path, names: frozenset[str]) -> dict[str, dict[str, TensorEntry]]:
    """The header of every weights file, by its name."""
    if INDEX not in names:
        files = sorted(fnmatch.filter(names, "model*.safetensors"))
        if not files:
            raise BadCheckpoint(f"{path} has no {INDEX} and no model*.safetensors.", "Check it.")
        return {name: read_header(path / name) for name in files}
    weight_map = read_object(path / INDEX).get("weight_map")
    if not isinstance(weight_map, dict) or not all(isinstance(v, str) for v in weight_map.values()):
        raise BadCheckpoint(f"{path / INDEX} has no usable weight_map.", "Download it again.")
    files = sorted({check_key(name, str(path / INDEX)) for name in weight_map.values()})
    headers = {name: read_header(path / name) for name in files}
    for tensor, name in weight_map.items():
        if tensor not in headers[name]:
            raise BadCheckpoint(
                f"{path / name} lacks {shown(tensor)}, which {INDEX} puts there.",
                "Download the checkpoint again.",
            )
    return headers


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


def _refuse_zero_centred(path: Path, tensors: Mapping[str, SourceTensor]) -> None:
    """A converted norm multiplies by about one; one that is meant as 1 + w lies around zero."""
    norms = [
        _values(path, tensor)
        for name, tensor in tensors.items()
        if _NORMS.search(name) and tensor.entry.dtype in FLOATS
    ]
    values = np.concatenate([np.zeros(0, np.float32), *norms])
    if values.size and np.mean(values <= 0.0) > 0.25:
        raise _raw("its norms are centred on zero")


def _values(path: Path, tensor: SourceTensor) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """A small tensor's numbers as float32."""
    raw = bytearray(min(tensor.entry.size, 1 << 20) & ~3)
    with opened(path / tensor.file) as fd:
        read_into(fd, memoryview(raw), tensor.entry.offset, path / tensor.file)
    if tensor.entry.dtype == "BF16":
        return (np.frombuffer(raw, "<u2").astype(np.uint32) << 16).view(np.float32)
    return np.frombuffer(raw, "<f4" if tensor.entry.dtype == "F32" else "<f2").astype(np.float32)


def _raw(what: str) -> UnsupportedModel:
    return UnsupportedModel(
        f"{SOURCE} is not in MLX's form: {what}.", "Convert it with `mlx_lm.convert` first."
    )
