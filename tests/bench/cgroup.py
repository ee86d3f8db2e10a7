"""A memory control group of one's own, in which page cache counts too; version 1 or 2.

Made beside the caller's own group, removed at the end. On version 1 a group of the hybrid mount's
version 2 tree is made as well: there the kernel tells the group's own stalls (PSI).
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

V1 = Path("/sys/fs/cgroup/memory")
V1_READS = Path("/sys/fs/cgroup/blkio")
V2_MOUNTS = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))


class NoController(Exception):
    """This machine does not let us limit memory."""


class MemoryGroup:
    """Processes that share a limit."""

    def __init__(self, folder: Path, version: int, stalls: Path | None) -> None:
        self.folder = folder
        self.version = version
        self._stalls = stalls  # a group of version 2 for PSI alone

    @property
    def used_bytes(self) -> int:
        """With page cache."""
        name = "memory.current" if self.version == 2 else "memory.usage_in_bytes"
        return int((self.folder / name).read_text())

    @property
    def cache_bytes(self) -> int:
        """Pages of files, which the kernel drops when others need the room."""
        prefix = "" if self.version == 2 else "total_"
        stat = (self.folder / "memory.stat").read_text().splitlines()
        wanted = {f"{prefix}inactive_file", f"{prefix}active_file"}
        return sum(int(line.split()[1]) for line in stat if line.split()[0] in wanted)

    @property
    def pressure(self) -> str:
        """The kernel's words on stalls in this group; empty where it has none."""
        file = (self._stalls or self.folder) / "memory.pressure"
        return file.read_text() if file.exists() else ""

    def limit(self, count: int) -> None:
        """Allow so many bytes. Raises OSError where the group cannot be squeezed into them."""
        name = "memory.max" if self.version == 2 else "memory.limit_in_bytes"
        (self.folder / name).write_text(str(count))

    def enter(self, pid: int) -> None:
        """Put a process in."""
        for folder in filter(None, (self.folder, self._stalls)):
            (folder / "cgroup.procs").write_text(str(pid))

    def kills(self) -> int:
        """How many processes the kernel has ended here for want of memory."""
        name = "memory.events" if self.version == 2 else "memory.oom_control"
        for line in (self.folder / name).read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
        return 0


@contextmanager
def memory_group(name: str) -> Iterator[MemoryGroup]:
    """A new group. Raises NoController."""
    group = _made(f"{name}-{os.getpid()}")
    try:
        yield group
    finally:
        for folder in filter(None, (group.folder, group._stalls)):
            _remove(folder)


@contextmanager
def reads_held(path: Path, bytes_per_s: int) -> Iterator[None]:
    """Hold this process's reads of the device under `path`, its children's too, to a rate.

    Raises NoController.
    """
    if not (V1_READS / "cgroup.procs").exists():
        raise NoController("this machine has no controller of reads")
    groups = _text(Path("/proc/self/cgroup")).splitlines()
    before = next(line.split(":")[2] for line in groups if "blkio" in line.split(":")[1].split(","))
    device = path.stat().st_dev
    folder = V1_READS / f"martlet-reads-{os.getpid()}"
    try:
        folder.mkdir()
        limit = f"{os.major(device)}:{os.minor(device)} {bytes_per_s}"
        (folder / "blkio.throttle.read_bps_device").write_text(limit)
        (folder / "cgroup.procs").write_text(str(os.getpid()))
    except OSError as error:
        raise NoController(f"reads cannot be limited: {error}") from error
    try:
        yield
    finally:
        (V1_READS / before.lstrip("/") / "cgroup.procs").write_text(str(os.getpid()))
        _remove(folder)


def _made(name: str) -> MemoryGroup:
    try:
        for mount in V2_MOUNTS:
            if "memory" in _text(mount / "cgroup.controllers").split():
                _switch_on(mount)
                return MemoryGroup(_folder(mount / name), 2, None)
        if (V1 / "memory.limit_in_bytes").exists():
            stalls = _folder(V2_MOUNTS[1] / name) if V2_MOUNTS[1].is_dir() else None
            return MemoryGroup(_folder(V1 / name), 1, stalls)
    except OSError as error:
        raise NoController(f"no memory control group can be made: {error}") from error
    raise NoController("this machine has no memory controller")


def _switch_on(mount: Path) -> None:
    if "memory" not in _text(mount / "cgroup.subtree_control").split():
        (mount / "cgroup.subtree_control").write_text("+memory")


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


def _remove(folder: Path) -> None:
    """A group can be removed when its last process is gone, which takes the kernel a moment."""
    for _ in range(100):
        try:
            folder.rmdir()
        except OSError:
            time.sleep(0.1)
        else:
            return


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""
