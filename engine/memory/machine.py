"""What memory this machine has, and how much of it this process uses: one face of two systems."""

import sys

from engine.memory import linux, macos
from engine.protocol import PressureLevel

GB = 1_000_000_000

if sys.platform == "darwin":
    _system = macos
else:
    _system = linux


def total_bytes() -> int:
    """Physical memory, or the control group's limit where that is lower."""
    return _system.total_bytes()


def available_bytes() -> int:
    """Memory that could be taken without pushing others out."""
    return _system.available_bytes()


def used_bytes() -> int:
    """What this process takes now: on Linux its resident memory, on macOS its footprint."""
    return _system.footprint_bytes()


def peak_bytes() -> int:
    """The most that this process has taken."""
    return _system.peak_bytes()


def compressed_bytes() -> int:
    """Memory of this process that the system has compressed or swapped out."""
    return _system.compressed_bytes()


def reported_level() -> PressureLevel | None:
    """The memory pressure that the system itself names now; None where it names none."""
    return _system.reported_level()


def working_set_bytes() -> int | None:
    """What a GPU lets a process use at most; None without one."""
    return _system.working_set_bytes()


def return_freed() -> None:
    """Give freed memory that the C library keeps for later back to the system."""
    _system.return_freed()


def use_huge_pages(memory: memoryview) -> None:
    """Ask the system to back this memory with few large pages. It may not; nothing else changes."""
    _system.use_huge_pages(memory)


def spare_bytes(total: int) -> int:
    """What a machine with `total` bytes should keep free, so that other programs stay alive."""
    return max(total // 20, min(3 * GB // 2, total * 3 // 16))
