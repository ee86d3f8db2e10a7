"""Mach-O files, as far as a bundle needs: read what they load, keep one processor's slice of them.

Source: <mach-o/loader.h> and <mach-o/fat.h> of macOS. Only 64-bit little-endian images are known.
"""

import plistlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FAT, IMAGE = b"\xca\xfe\xba\xbe", b"\xcf\xfa\xed\xfe"
ARM64 = 0x0100000C
NAMES = {ARM64: "arm64", 0x01000007: "x86_64"}

LOADS = {0xC, 0x80000018, 0x8000001F, 0x80000023}  # LC_LOAD_DYLIB: plain, weak, re-exported, upward
ID, RPATH, SIGNATURE, BUILD_VERSION, VERSION_MIN = 0xD, 0x8000001C, 0x1D, 0x32, 0x24
HEADER = 32
ENTITLEMENTS = 0xFADE7171  # a blob of a signature (cs_blobs.h)


class BadImage(Exception):
    """A file that begins like Mach-O and does not go on so."""


@dataclass(frozen=True, slots=True)
class Image:
    """What one processor's slice says of itself."""

    processor: str
    id: str  # the name a library is linked by; empty for programs and plugins
    loads: tuple[str, ...]
    rpaths: tuple[str, ...]
    floor: str  # the oldest macOS it asks for
    is_signed: bool


def is_macho(path: Path) -> bool:
    """Whether the file begins as one."""
    with path.open("rb") as file:
        start = file.read(8)
    if start[:4] == FAT:  # so do Java's classes, whose next number is a version above 40
        return int.from_bytes(start[4:8], "big") < 40
    return start[:4] == IMAGE


def read_images(path: Path) -> list[Image]:
    """One for each processor. Raises BadImage."""
    data = path.read_bytes()
    try:
        return [_image(data[offset : offset + size]) for _, offset, size in _slices(data)]
    except (struct.error, ValueError) as error:
        raise BadImage(f"{path} is damaged: {error}") from error


def find_code(folder: Path) -> list[Path]:
    """All Mach-O files below, in order."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    return [path for path in files if is_macho(path)]


def adopt(folder: Path) -> None:
    """Make all code below fit for a bundle: arm64 alone, and no library called by a far path.

    Raises BadImage.
    """
    for path in find_code(folder):
        thin(path)
        if read_images(path)[0].id.startswith("/"):
            set_id(path, f"@rpath/{path.name}")


def thin(path: Path) -> None:
    """Keep arm64 alone; the slice carries its own signature. Raises BadImage where none is."""
    data = path.read_bytes()
    if data[:4] != FAT:
        return
    for processor, offset, size in _slices(data):
        if processor == ARM64:
            path.write_bytes(data[offset : offset + size])
            return
    raise BadImage(f"{path} has no arm64 code")


def set_id(path: Path, name: str) -> None:
    """Name a library anew, in the room of its old name. Whoever does this signs it again."""
    data = bytearray(path.read_bytes())
    for command, at, size in _commands(data):
        if command == ID:
            (start,) = struct.unpack_from("<I", data, at + 8)
            room = size - start
            if len(name) >= room:
                raise BadImage(f"{path}: no room for the name {name} in {room} bytes")
            data[at + start : at + size] = name.encode().ljust(room, b"\0")
    path.write_bytes(data)


def entitlements(path: Path) -> dict[str, object]:
    """What a signed program asks of the system; nothing where it asks for nothing.

    The signature is a list of blobs, big-endian: magic, length, content.
    """
    data = path.read_bytes()
    for command, at, _ in _commands(data):
        if command == SIGNATURE:
            start, size = struct.unpack_from("<II", data, at + 8)
            return _entitlements(data[start : start + size])
    return {}


def _entitlements(signature: bytes) -> dict[str, object]:
    _, _, count = struct.unpack_from(">3I", signature)
    for index in range(count):
        (at,) = struct.unpack_from(">I", signature, 12 + 8 * index + 4)
        magic, size = struct.unpack_from(">II", signature, at)
        if magic == ENTITLEMENTS:
            return dict(plistlib.loads(signature[at + 8 : at + size]))
    return {}


def _slices(data: bytes) -> Iterator[tuple[int, int, int]]:
    """(processor, offset, size)."""
    if data[:4] == IMAGE:
        yield struct.unpack_from("<I", data, 4)[0], 0, len(data)
        return
    if data[:4] != FAT:
        raise ValueError("no Mach-O magic")
    (count,) = struct.unpack_from(">I", data, 4)
    for index in range(count):
        processor, _, offset, size, _ = struct.unpack_from(">5I", data, 8 + 20 * index)
        if offset + size > len(data):
            raise ValueError("a slice ends behind the file")
        yield processor, offset, size


def _commands(data: bytes | bytearray) -> Iterator[tuple[int, int, int]]:
    """(command, offset, size)."""
    (count,) = struct.unpack_from("<I", data, 16)
    at = HEADER
    for _ in range(count):
        command, size = struct.unpack_from("<II", data, at)
        if size < 8 or at + size > len(data):
            raise ValueError("a load command ends behind the file")
        yield command, at, size
        at += size


def _image(data: bytes) -> Image:
    processor = struct.unpack_from("<I", data, 4)[0]
    loads, rpaths, id, floor, is_signed = [], [], "", "", False
    for command, at, size in _commands(data):
        if command in LOADS:
            loads.append(_text(data, at, size))
        elif command == RPATH:
            rpaths.append(_text(data, at, size))
        elif command == ID:
            id = _text(data, at, size)
        elif command in (BUILD_VERSION, VERSION_MIN):
            floor = _version(
                struct.unpack_from("<I", data, at + (12 if command == BUILD_VERSION else 8))[0]
            )
        elif command == SIGNATURE:
            is_signed = True
    name = NAMES.get(processor, hex(processor))
    return Image(name, id, tuple(loads), tuple(rpaths), floor, is_signed)


def _text(data: bytes, at: int, size: int) -> str:
    (start,) = struct.unpack_from("<I", data, at + 8)
    return data[at + start : at + size].partition(b"\0")[0].decode()


def _version(packed: int) -> str:
    return f"{packed >> 16}.{packed >> 8 & 0xFF}"
