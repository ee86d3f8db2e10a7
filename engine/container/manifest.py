"""manifest.json: the mark of a complete container, written last, and the sizes of its files.

Its keys are paths from somebody else's machine: none may leave the container's folder.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.config import Quantization
from engine.container.files import REDOWNLOAD
from engine.container.json_file import shown, whole_number
from engine.errors import BadContainer, UnsupportedModel

MAGIC = "QPACK"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a manifest records. `quantization`: of the experts, as its writer believed it."""

    model_name: str
    source: str
    bits: int | None
    group_size: int | None
    files: Mapping[str, int]  # path with forward slashes -> bytes


def parse_manifest(data: dict[str, Any], name: str) -> Manifest:
    """Check a parsed manifest.json; `name` is what errors call it."""
    if data.get("magic") != MAGIC:
        raise BadContainer(
            f"{name}: magic is {shown(data.get('magic'))}, expected {MAGIC!r}.", REDOWNLOAD
        )
    version = whole_number(data, "version", name)
    if version != VERSION:
        raise UnsupportedModel(
            f"{name}: version is {version}, expected {VERSION}.", "Update Martlet."
        )
    return Manifest(
        model_name=_text(data, "modelName", name),
        source=_text(data, "sourceCheckpoint", name),
        bits=_optional(data, "quantBits", name),
        group_size=_optional(data, "quantGroupSize", name),
        files=_files(data.get("files"), name),
    )


def _text(data: dict[str, Any], key: str, name: str) -> str:
    value = data.get(key, "")
    if not isinstance(value, str):
        raise BadContainer(f"{name}: {key} is {shown(value)}, expected a text.", REDOWNLOAD)
    return value


def _optional(data: dict[str, Any], key: str, name: str) -> int | None:
    return None if data.get(key) is None else whole_number(data, key, name)


def _files(value: object, name: str) -> dict[str, int]:
    if not isinstance(value, dict):
        raise BadContainer(f"{name}: files is {shown(value)}, expected an object.", REDOWNLOAD)
    for key in value:
        check_key(key, name)
    return {key: whole_number(value, key, f"{name}: files") for key in value}


def check_key(key: str, name: str) -> str:
    """A relative path that stays in its folder, returned as it is. Raises BadContainer."""
    parts = key.split("/")
    inside = all(part not in ("", ".", "..") and len(part.encode("utf-8", "replace")) <= 255
                 for part in parts)  # fmt: skip
    if not inside or len(key) > 1000 or "\\" in key or not key.isprintable():
        raise BadContainer(
            f"{name}: the file name {shown(key)} is not one inside the model's folder.",
            "Do not use this model.",
        )
    return key


def dump_manifest(
    *, model_name: str, source: str, quantization: Quantization | None, files: Mapping[str, int]
) -> dict[str, Any]:
    """The JSON form: the experts' real width, and every file with its size."""
    width = {}
    if quantization is not None:
        width = {"quantBits": quantization.bits, "quantGroupSize": quantization.group_size}
    return {
        "magic": MAGIC,
        "version": VERSION,
        "modelName": model_name,
        "sourceCheckpoint": source,
        "files": dict(files),
        **width,
    }
