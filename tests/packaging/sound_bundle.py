"""A small bundle in which nothing is wrong, and the pieces that it is made of."""

import plistlib
import struct
from collections.abc import Sequence
from pathlib import Path

import audit
from bundle import macho
from bundle.finish import info_plist, write_file_list
from bundle.sources import Revision
from bundle.target import Bundle, target_named

ROOT = Path(__file__).parents[2]
X86_64 = 0x01000007
UNCHECKED = b"code\1\0\0\0" + bytes(8)


def command(number: int, body: bytes) -> bytes:
    """A load command of a Mach-O image."""
    body += bytes(-len(body) % 8)
    return struct.pack("<II", number, 8 + len(body)) + body


def named(number: int, name: str, header: int = 24) -> bytes:
    """A load command whose string stands behind `header` bytes."""
    text = name.encode() + b"\0"
    return command(number, struct.pack("<I", header) + bytes(header - 12) + text)


def image(
    *,
    processor: int = macho.ARM64,
    id: str = "",
    loads: Sequence[str] = ("/usr/lib/libSystem.B.dylib",),
    rpaths: Sequence[str] = (),
    floor: str = "14.0",
    signature: bytes = b"",
) -> bytes:
    """A Mach-O image with nothing but its load commands, and perhaps a signature behind them."""
    major, minor = map(int, floor.split("."))
    commands = [
        command(macho.BUILD_VERSION, struct.pack("<IIII", 1, major << 16 | minor << 8, 0, 0))
    ]
    commands += [named(macho.ID, id)] if id else []
    commands += [named(0xC, load) for load in loads]
    commands += [named(macho.RPATH, rpath, header=12) for rpath in rpaths]
    size = macho.HEADER + sum(map(len, commands)) + 16 * bool(signature)
    if signature:
        commands.append(command(macho.SIGNATURE, struct.pack("<II", size, len(signature))))
    header = macho.IMAGE + struct.pack("<IIIIIII", processor, 0, 6, len(commands), size, 0, 0)
    return header + b"".join(commands) + signature


def fat(*images: bytes) -> bytes:
    """A universal file of x86_64 and then arm64."""
    at = 8 + 20 * len(images)
    head, body = macho.FAT + struct.pack(">I", len(images)), b""
    for data in images:
        (processor,) = struct.unpack_from("<I", data, 4)
        head += struct.pack(">5I", processor, 0, at + len(body), len(data), 0)
        body += data
    return head + body


def write(path: Path, data: bytes | str = b"something") -> Path:
    """A file, with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def make_bundle(folder: Path) -> Bundle:
    """A Martlet.app of a few kilobytes."""
    made = Bundle(folder / "Martlet.app", target_named("macos"))
    for name in (*audit.PARTS, *audit.MACOS_PARTS):
        write(made.contents / name)
    plist = plistlib.dumps(info_plist(Revision("1.2.3", "abc1234", 0)))
    write(made.contents / "Info.plist", plist)
    _add_code(made)
    _add_framework(made)
    for name in ("martlet", "python", "mlx", "mlx_metal"):
        write(made.licences / name / "LICENSE")
    for name in ("mlx", "mlx_metal"):
        tag = f"Tag: py3-none-{audit.WHEEL_TAG}\n"
        write(made.site_packages / f"{name}-0.1.dist-info" / "WHEEL", tag)
    write(made.source / "app" / "__pycache__" / "__main__.cpython-313.pyc", UNCHECKED)
    write_file_list(made)
    return made


def _add_code(made: Bundle) -> None:
    for name in audit.MACOS_PARTS:
        if name.endswith(".dylib"):
            write(made.contents / name, image(id=f"@rpath/{Path(name).name}"))
    python = f"@executable_path/../Frameworks/{made.target.libpython}"
    write(made.program, image(loads=[python]))
    write(made.libpython, image(id=f"@rpath/{made.target.libpython}"))
    core = image(loads=["@rpath/libmlx.dylib"], rpaths=["@loader_path/lib"])
    write(made.site_packages / "mlx" / "core.so", core)
    write(made.source / "engine" / "native" / "martlet-0123.dylib", image(id="@rpath/martlet"))


def _add_framework(made: Bundle) -> None:
    framework = made.site_packages / "PySide6" / "Qt" / "lib" / "QtCore.framework"
    write(framework / "Versions" / "A" / "QtCore", image(id="@rpath/QtCore", floor="14.4"))
    write(framework / "Versions" / "A" / "Resources" / "Info.plist")
    (framework / "Versions" / "Current").symlink_to("A")
    for name in ("QtCore", "Resources"):
        (framework / name).symlink_to(f"Versions/Current/{name}")
