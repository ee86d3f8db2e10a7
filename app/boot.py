"""This run of the computer: its name, and whether the one before ended in a crash."""

import ctypes
import ctypes.util
import sys
from pathlib import Path

REPORTS = Path("/Library/Logs/DiagnosticReports")  # of macOS; elsewhere there is none
_PANICS = ("*.panic", "panic-*.ips")
_LINUX = Path("/proc/sys/kernel/random/boot_id")


def boot_id() -> str:
    """A name that changes whenever the computer starts; "" where the system has none."""
    if sys.platform == "darwin":
        return _sysctl(b"kern.bootsessionuuid")
    try:
        return _LINUX.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def panicked_since(moment: float, reports: Path = REPORTS) -> bool:
    """Whether the system has reported a crash of its own after `moment` (as of time.time())."""
    try:
        found = [path for pattern in _PANICS for path in reports.glob(pattern)]
        return any(path.stat().st_mtime > moment for path in found)
    except OSError:
        return False


def _sysctl(name: bytes) -> str:
    library = ctypes.CDLL(ctypes.util.find_library("c"))
    value = ctypes.create_string_buffer(64)
    size = ctypes.c_size_t(len(value))
    failed = library.sysctlbyname(name, value, ctypes.byref(size), None, ctypes.c_size_t(0))
    return "" if failed else value.value.decode("ascii", "replace")
