"""What memory this machine has, and how much of it this process has used.

Linux: /proc/meminfo and the control group's limit. macOS: the kernel's page counts.
"""

import os
import resource
import sys
from pathlib import Path

_UNLIMITED = 2**60


def total_bytes() -> int:
    """Physical memory, or the control group's limit where that is lower."""
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(physical, _cgroup_limit_bytes())


def available_bytes() -> int:
    """Memory that could be taken without pushing others out."""
    if sys.platform != "linux":
        return total_bytes() // 2
    fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    free = int(fields["MemAvailable"].split()[0]) * 1024
    return min(free, _cgroup_limit_bytes())


def peak_bytes() -> int:
    """The most resident memory this process has had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def used_bytes() -> int:
    """The resident memory of this process now; on macOS the most it has had."""
    if sys.platform != "linux":
        return peak_bytes()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _cgroup_limit_bytes() -> int:
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            text = Path(path).read_text().strip()
        except OSError:
            continue
        if text.isdigit():
            return min(int(text), _UNLIMITED)
    return _UNLIMITED
