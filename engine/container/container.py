"""Container: an opened .qpack folder, every fact of it checked before a byte of weights is read.

Opening reads the JSON files, the dense file's header and a few sampled pages; it costs
milliseconds. What it does not see, wrong bytes of the right size, `verify` finds.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from engine.config import ModelConfig, Quantization, parse_config, token_ids
from engine.container.files import REDOWNLOAD, file_size, names_in, opened, read_bytes
from engine.container.inventory import by_bare_name, select_dense
from engine.container.json_file import LARGEST_JSON, read_object
from engine.container.layout import ExpertLayout, check_layout, parse_layout
from engine.container.manifest import Manifest, parse_manifest
from engine.container.safetensors import TensorEntry, read_header
from engine.errors import BadContainer

MANIFEST = "manifest.json"
CONFIG = "config.json"
GENERATION_CONFIG = "generation_config.json"
DENSE = "model.safetensors"
LAYOUT = "packed_experts/layout.json"
EMBEDDING = "model.embed_tokens"
SIDECAR = ".install-"  # begins the names of files beside a model that are not part of it
JOURNAL = f"{SIDECAR}progress.json"  # stands in a folder only while it is being filled

_PAGE_BYTES = 4096
_DENSE_SAMPLES = 64


def layer_name(layer: int) -> str:
    """The path of a layer's expert file inside a container."""
    return f"packed_experts/layer_{layer:02d}.bin"


@dataclass(frozen=True, slots=True)
class Container:
    """A model that can be run. Everything here agrees with everything else."""

    path: Path
    config: ModelConfig
    layout: ExpertLayout
    manifest: Manifest
    dense: Mapping[str, TensorEntry]  # by bare name; only what the model uses
    expert_quantization: Quantization | None  # derived from shapes; None: plain floats
    eos_token_ids: frozenset[int]  # of config.json and generation_config.json
    identity: str  # hex SHA-256 that binds saved states to these weights
    total_bytes: int  # of all files that belong to it
    warnings: tuple[str, ...]

    @property
    def expert_bits(self) -> int:
        """Bits of an expert's weight; 0 where unquantized."""
        return self.expert_quantization.bits if self.expert_quantization else 0

    @property
    def expert_group_size(self) -> int:
        """Weights that share a scale; 0 where unquantized."""
        return self.expert_quantization.group_size if self.expert_quantization else 0

    @property
    def expert_bytes(self) -> int:
        """The stride: bytes from one expert to the next in a layer's file."""
        return self.layout.stride

    @property
    def dense_path(self) -> Path:
        """The file of the tensors beside the experts."""
        return self.path / DENSE

    @property
    def dense_bytes(self) -> int:
        """Bytes of the tensors beside the experts."""
        return sum(entry.size for entry in self.dense.values())

    @property
    def resident_bytes(self) -> int:
        """Of them, what stays in memory."""
        return self.dense_bytes - sum(self.dense[name].size for name in self.stored)

    @property
    def stored(self) -> tuple[str, ...]:
        """The names of those that stay on the disk: a token needs one row of the embedding.

        None where it also makes the output.
        """
        if self.config.tie_word_embeddings or "lm_head.weight" not in self.dense:
            return ()
        return tuple(name for name in self.dense if name.startswith(f"{EMBEDDING}."))

    def layer_path(self, layer: int) -> Path:
        """The file of a layer's experts."""
        return _layer_path(self.path, layer)


@lru_cache(maxsize=1024)  # it is asked for every expert that is read
def _layer_path(folder: Path, layer: int) -> Path:
    return folder / layer_name(layer)


def open_container(path: Path) -> Container:
    """Open and check a container.

    Raises ModelNotFound, BadContainer or UnsupportedModel, naming the file, the value found and
    the value expected.
    """
    names = names_in(path)
    _check_complete(path, names)
    manifest = parse_manifest(read_object(path / MANIFEST), str(path / MANIFEST))
    _check_files(path, manifest)
    config = parse_config(read_object(path / CONFIG), str(path / CONFIG))
    layout = parse_layout(read_object(path / LAYOUT), str(path / LAYOUT))
    quantization = check_layout(layout, config, str(path / LAYOUT))
    _check_layers(path, layout)
    dense, ignored = _dense(path / DENSE, config)
    return Container(
        path=path,
        config=config,
        layout=layout,
        manifest=manifest,
        dense=dense,
        expert_quantization=quantization,
        eos_token_ids=config.eos_token_ids | _generation_eos(path, names),
        identity=_identity(path, layout, dense),
        total_bytes=_total_bytes(path, manifest, layout),
        warnings=tuple(_warnings(path, manifest, quantization, ignored)),
    )


def _check_complete(path: Path, names: frozenset[str]) -> None:
    if MANIFEST in names:
        return
    if JOURNAL in names:
        raise BadContainer(
            f"{path} is not complete: its {MANIFEST} is not written yet.",
            "Run the same installation again; it goes on where it stopped.",
        )
    if CONFIG in names and "packed_experts" not in names:
        raise BadContainer(
            f"{path} is a checkpoint, not a container: it has no {MANIFEST}.",
            "Convert it with `martlet repack SOURCE DEST`.",
        )
    raise BadContainer(f"{path / MANIFEST} is missing: the model is not complete.", REDOWNLOAD)


def _check_files(path: Path, manifest: Manifest) -> None:
    for name, expected in manifest.files.items():
        _check_size(path / name, expected, f"{MANIFEST} expects")


def _check_layers(path: Path, layout: ExpertLayout) -> None:
    expects = f"{layout.expert_count} experts of {layout.stride} bytes are"
    for layer in range(layout.layer_count):
        _check_size(path / layer_name(layer), layout.layer_bytes, expects)


def _check_size(path: Path, expected: int, who: str) -> None:
    found = file_size(path)
    if found != expected:
        raise BadContainer(f"{path} has {found} bytes, {who} {expected}.", REDOWNLOAD)


def _dense(path: Path, config: ModelConfig) -> tuple[dict[str, TensorEntry], int]:
    """The tensors to load, and how many others of the text model the file holds."""
    header = read_header(path)
    names = by_bare_name(header, str(path))
    chosen = select_dense(config, {bare: header[name] for bare, name in names.items()}, str(path))
    return chosen, len(names) - len(chosen)


def _generation_eos(path: Path, names: frozenset[str]) -> frozenset[int]:
    if GENERATION_CONFIG not in names:
        return frozenset()
    return frozenset(token_ids(read_object(path / GENERATION_CONFIG).get("eos_token_id")))


def _total_bytes(path: Path, manifest: Manifest, layout: ExpertLayout) -> int:
    layers = map(layer_name, range(layout.layer_count))
    files = {*manifest.files, *layers, MANIFEST, CONFIG, LAYOUT, DENSE}
    return sum(file_size(path / name) for name in files)


def _warnings(
    path: Path, manifest: Manifest, derived: Quantization | None, ignored: int
) -> Iterator[str]:
    recorded = (manifest.bits, manifest.group_size)
    real = (derived.bits, derived.group_size) if derived else (None, None)
    if recorded != real:
        yield (
            f"{path / MANIFEST} records experts of {recorded[0]} bits in groups of {recorded[1]}, "
            f"but their shapes say {real[0]} in groups of {real[1]}; the shapes are used."
        )
    if ignored:
        yield f"{path / DENSE} holds {ignored} tensors that this engine does not use."


def _identity(path: Path, layout: ExpertLayout, dense: Mapping[str, TensorEntry]) -> str:
    """Models of one shape differ in their weights only, so pages of every file are sampled."""
    digest = hashlib.sha256()
    for name in (CONFIG, LAYOUT):
        digest.update(hashlib.sha256(read_bytes(path / name, LARGEST_JSON)).digest())
    for tensor, entry in sorted(dense.items()):
        digest.update(f"{tensor} {entry.dtype} {entry.shape} {entry.offset}\n".encode())
    end = max(entry.offset + entry.size for entry in dense.values())
    digest.update(_pages(path / DENSE, range(0, end, end // _DENSE_SAMPLES + 1)))
    middle = layout.stride * (layout.expert_count // 2)
    for layer in range(layout.layer_count):
        digest.update(_pages(path / layer_name(layer), [middle]))
    return digest.hexdigest()


def _pages(path: Path, offsets: Iterable[int]) -> bytes:
    """One page at each offset; less where the file ends."""
    with opened(path) as fd:
        return b"".join(os.pread(fd, _PAGE_BYTES, offset) for offset in offsets)
