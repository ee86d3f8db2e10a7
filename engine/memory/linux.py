"""Memory as Linux tells it: /proc, and the control groups that this process lives in.

Sources: proc(5), Documentation/admin-guide/cgroup-v1/memory.rst and cgroup-v2.rst. `root` is where
/proc and /sys hang, so that tests can make a machine of files.
"""

import ctypes
import mmap
import os
import resource
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from engine.protocol import PressureLevel

ROOT = Path("/")
PAGE = mmap.PAGESIZE
HUGE_PAGE = 1 << 21  # of x86-64, and of ARM with pages of 4 KB
_MADV_COLLAPSE = 25  # <asm-generic/mman-common.h>


@dataclass(frozen=True, slots=True)
class ControlGroup:
    """A group with a memory controller that this process is in, itself or by an ancestor."""

    folder: Path
    version: int  # 1 or 2

    @property
    def limit_bytes(self) -> int | None:
        """Where the kernel begins to hold the group back; None: unlimited."""
        names = ("memory.max", "memory.high") if self.version == 2 else ("memory.limit_in_bytes",)
        texts = [_read(self.folder / name).strip() for name in names]
        limit = min((int(text) for text in texts if text.isdigit()), default=2**60)
        return limit if limit < 2**60 else None  # version 1 writes no word for "unlimited"

    @property
    def used_bytes(self) -> int:
        """What is charged to the group and cannot be dropped: all but pages of files."""
        name = "memory.current" if self.version == 2 else "memory.usage_in_bytes"
        prefix = "" if self.version == 2 else "total_"
        stat = _fields(_read(self.folder / "memory.stat"))
        files = stat.get(f"{prefix}inactive_file", 0) + stat.get(f"{prefix}active_file", 0)
        return max(0, int(_read(self.folder / name) or 0) - files)


def total_bytes(root: Path = ROOT) -> int:
    """Physical memory, or a control group's limit where that is lower."""
    limits = [limit for group in memory_groups(root) if (limit := group.limit_bytes) is not None]
    return min(_meminfo(root, "MemTotal"), *limits, 2**62)


def available_bytes(root: Path = ROOT) -> int:
    """Memory that could be taken without pushing others out or meeting a limit."""
    rooms = [
        max(0, limit - group.used_bytes)
        for group in memory_groups(root)
        if (limit := group.limit_bytes) is not None
    ]
    return min(_meminfo(root, "MemAvailable"), *rooms, 2**62)


def footprint_bytes(root: Path = ROOT) -> int:
    """The resident memory of this process."""
    return int(_read(root / "proc/self/statm").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def peak_bytes() -> int:
    """The most resident memory this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def compressed_bytes(root: Path = ROOT) -> int:
    """Memory of this process that was swapped out, to a disk or to compressed memory."""
    return _fields(_read(root / "proc/self/status")).get("VmSwap", 0) * 1024


def reported_level() -> PressureLevel | None:
    """Linux has no level to ask for: it tells of stalls (see `engine.memory.stalls`)."""
    return None


def working_set_bytes() -> int | None:
    """No limit but memory itself."""
    return None


def return_freed() -> None:
    """Give pages that the C library keeps for later back to the system."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's; musl has none
    if trim is not None:
        trim(ctypes.c_size_t(0))


def use_huge_pages(memory: memoryview) -> None:
    """Of 2 MB instead of 4 KB: a processor's table of pages covers them all (madvise(2)).

    At once, by one copy, where the kernel can (6.1 and newer). MADV_HUGEPAGE would stay in force
    when the C library uses the addresses again, and small things would take 2 MB.
    """
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    first, end = -(-start // PAGE) * PAGE, (start + memory.nbytes) // PAGE * PAGE
    if end - first < HUGE_PAGE:
        return
    size = ctypes.c_size_t(end - first)
    ctypes.CDLL(None).madvise(ctypes.c_void_p(first), size, _MADV_COLLAPSE)


def memory_groups(root: Path = ROOT) -> list[ControlGroup]:
    """The groups whose limits hold for this process: its own and every ancestor's."""
    return _groups(root, _read(root / "proc/self/cgroup"))


@cache
def _groups(root: Path, own: str) -> list[ControlGroup]:
    """Once for each place that the process is moved to: this is asked between tokens."""
    mounts = _mounts(root)
    groups = []
    for line in own.splitlines():
        _, controllers, path = line.split(":", 2)
        key = "memory" if "memory" in controllers.split(",") else "" if not controllers else None
        if key in mounts:
            groups += _lineage(*mounts[key], path, version=1 if key else 2)
    return [group for group in groups if (group.folder / "memory.stat").exists()]


def pressure_file(root: Path = ROOT) -> Path:
    """Where stalls for want of memory are told: of this process's own group, or of all."""
    mounts = _mounts(root)
    for line in _read(root / "proc/self/cgroup").splitlines():
        if line.startswith("0::") and "" in mounts:
            own = _lineage(*mounts[""], line[3:], version=2)[0].folder / "memory.pressure"
            if own.exists():  # the root group has none
                return own
    return root / "proc/pressure/memory"


def _lineage(mount: Path, inside: str, path: str, version: int) -> list[ControlGroup]:
    """The group at `path`, then its ancestors up to the mount, which shows `inside` and below."""
    if inside != "/" and path.startswith(inside):
        path = path[len(inside) :]
    folder = mount / path.strip("/")
    if not folder.is_dir():
        folder = mount  # seen from inside a container, the path can be another world's
    above = [parent for parent in folder.parents if parent.is_relative_to(mount)]
    return [ControlGroup(place, version) for place in (folder, *above)]


def _mounts(root: Path) -> dict[str, tuple[Path, str]]:
    """By controller ("memory"; "" for version 2): where it is mounted, and which part of it."""
    found: dict[str, tuple[Path, str]] = {}
    for line in _read(root / "proc/self/mountinfo").splitlines():
        mount, _, source = line.partition(" - ")
        inside, point = mount.split()[3:5]
        kind, _, options = source.split(" ", 2)
        if kind == "cgroup2":
            found[""] = (root / point.lstrip("/"), inside)
        elif kind == "cgroup" and "memory" in options.split(","):
            found["memory"] = (root / point.lstrip("/"), inside)
    return found


def _meminfo(root: Path, name: str) -> int:
    return _fields(_read(root / "proc/meminfo"))[name] * 1024


def _fields(text: str) -> dict[str, int]:
    """`Name: 12 kB` and `name 12` lines."""
    return dict(_pairs(text))


def _pairs(text: str) -> Iterator[tuple[str, int]]:
    for line in text.splitlines():
        name, *values = line.split()
        if values and values[0].isdigit():
            yield name.rstrip(":"), int(values[0])


def _read(path: Path) -> str:
    """Empty where there is none: files of the kernel come with its configuration."""
    try:
        return path.read_text()
    except OSError:
        return ""
