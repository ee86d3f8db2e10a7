"""Memory as macOS tells it: Mach's host and task figures, sysctl, and MLX's limit for a GPU.

Sources: <mach/vm_statistics.h>, <mach/task_info.h>, <sys/sysctl.h>, <malloc/malloc.h>.
`library` is libSystem, or a stand-in that exports the same functions.
"""

import ctypes
import resource
from ctypes import byref, c_int, c_int64, c_size_t, c_uint32, c_uint64, sizeof
from functools import cache

from engine.protocol import PressureLevel

LIBRARY = "/usr/lib/libSystem.B.dylib"
HOST_VM_INFO64 = 4
TASK_VM_INFO = 22
LEVELS: dict[int, PressureLevel] = {1: "normal", 2: "warning", 4: "critical"}


class HostMemory(ctypes.Structure):
    """vm_statistics64, as long as the oldest system that MLX runs on knows it. In pages."""

    _fields_ = (
        *((n, c_uint32) for n in ("free", "active", "inactive", "wired")),
        *((n, c_uint64) for n in ("zero_fill", "reactivations", "pageins", "pageouts")),
        *((n, c_uint64) for n in ("faults", "cow_faults", "lookups", "hits", "purges")),
        *((n, c_uint32) for n in ("purgeable", "speculative")),
        *((n, c_uint64) for n in ("decompressions", "compressions", "swapins", "swapouts")),
        *((n, c_uint32) for n in ("compressor", "throttled", "external", "internal")),
        ("uncompressed_in_compressor", c_uint64),
    )


class TaskMemory(ctypes.Structure):
    """task_vm_info up to its third revision, in bytes."""

    _fields_ = (
        ("virtual", c_uint64),
        ("region_count", c_int),
        ("page_size", c_int),
        *((n, c_uint64) for n in ("resident", "resident_peak", "device", "device_peak")),
        *((n, c_uint64) for n in ("internal", "internal_peak", "external", "external_peak")),
        *((n, c_uint64) for n in ("reusable", "reusable_peak")),
        *((f"purgeable_volatile_{n}", c_uint64) for n in ("pmap", "resident", "virtual")),
        *((n, c_uint64) for n in ("compressed", "compressed_peak", "compressed_lifetime")),
        *((n, c_uint64) for n in ("footprint", "min_address", "max_address")),
        ("footprint_peak", c_int64),
        (
            "ledgers",
            c_int64 * 20,
        ),  # the rest of the third revision, which comes whole or not at all
    )


@cache
def system() -> ctypes.CDLL:
    """libSystem."""
    return ctypes.CDLL(LIBRARY)


def total_bytes(library: ctypes.CDLL | None = None) -> int:
    """Physical memory."""
    return _sysctl(library or system(), b"hw.memsize", c_uint64())


def available_bytes(library: ctypes.CDLL | None = None) -> int:
    """Memory that could be taken without compressing or swapping anything.

    The free count includes speculative pages, and so does the count of file-backed ones.
    Inactive pages are left out: macOS compresses them, it does not drop them.
    """
    library = library or system()
    host, count = HostMemory(), c_uint32(sizeof(HostMemory) // 4)
    _check(library.host_statistics64(_host(library), HOST_VM_INFO64, byref(host), byref(count)))
    pages: int = host.free - host.speculative + host.purgeable + host.external
    return pages * _sysctl(library, b"hw.pagesize", c_int64())


def footprint_bytes(library: ctypes.CDLL | None = None) -> int:
    """What the system charges this process: dirty, compressed and GPU memory."""
    return int(_task(library or system()).footprint)


def peak_bytes(library: ctypes.CDLL | None = None) -> int:
    """The largest footprint this process has had."""
    peak = int(_task(library or system()).footprint_peak)
    return peak or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def compressed_bytes(library: ctypes.CDLL | None = None) -> int:
    """Memory of this process that the system has compressed: it grows where a pool is too large."""
    return int(_task(library or system()).compressed)


def reported_level(library: ctypes.CDLL | None = None) -> PressureLevel | None:
    """The system's memory pressure now."""
    value = _sysctl(library or system(), b"kern.memorystatus_vm_pressure_level", c_int())
    return LEVELS.get(value)


def working_set_bytes() -> int | None:
    """What Metal lets a process use at most; beyond it command buffers fail."""
    import mlx.core as mx

    value = mx.device_info().get("max_recommended_working_set_size")
    return int(value) if value else None


def return_freed(library: ctypes.CDLL | None = None) -> None:
    """Give pages that malloc keeps for later back to the system."""
    (library or system()).malloc_zone_pressure_relief(None, c_size_t(0))


def use_huge_pages(memory: memoryview) -> None:
    """Nothing to ask for: pages have 16 KB, and the system joins them by itself."""


@cache
def _host(library: ctypes.CDLL) -> c_uint32:
    """Once: every call adds a reference to a port."""
    library.mach_host_self.restype = c_uint32
    return c_uint32(library.mach_host_self())


def _task(library: ctypes.CDLL) -> TaskMemory:
    task, count = TaskMemory(), c_uint32(sizeof(TaskMemory) // 4)
    port = c_uint32.in_dll(library, "mach_task_self_")
    _check(library.task_info(port, TASK_VM_INFO, byref(task), byref(count)))
    return task


def _sysctl(library: ctypes.CDLL, name: bytes, value: c_int | c_int64 | c_uint64) -> int:
    size = c_size_t(sizeof(value))
    if library.sysctlbyname(name, byref(value), byref(size), None, c_size_t(0)):
        raise OSError(f"sysctl {name.decode()} failed")
    return value.value


def _check(result: int) -> None:
    if result:
        raise OSError(f"the kernel refused its memory figures: {result}")
