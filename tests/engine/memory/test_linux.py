"""Linux's figures, read from trees of files as kernels of both control group versions lay them."""

import mmap
from ctypes import addressof, c_char
from pathlib import Path

import pytest

from engine.memory import linux, machine

MB = 2**20
MEMINFO = "MemTotal:       16777216 kB\nMemFree:  1000 kB\nMemAvailable:    8388608 kB\n"
HYBRID = """31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
35 31 0:32 {inside} /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
"""
UNIFIED = "31 23 0:28 {inside} /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw\n"


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def version1(group: str, limit: int, usage: int, files: int) -> dict[str, str]:
    folder = f"sys/fs/cgroup/memory{group}"
    return {
        f"{folder}/memory.limit_in_bytes": f"{limit}\n",
        f"{folder}/memory.usage_in_bytes": f"{usage}\n",
        f"{folder}/memory.stat": f"cache 1\ntotal_active_file {files}\ntotal_inactive_file 0\n",
    }


def version2(group: str, limit: str, current: int, files: int) -> dict[str, str]:
    folder = f"sys/fs/cgroup{group}"
    return {
        f"{folder}/memory.max": f"{limit}\n",
        f"{folder}/memory.current": f"{current}\n",
        f"{folder}/memory.stat": f"anon 5\ninactive_file {files}\nactive_file 0\n",
        f"{folder}/memory.pressure": "some avg10=0.00\n",
    }


def process(mounts: str, groups: str, inside: str = "/") -> dict[str, str]:
    return {
        "proc/meminfo": MEMINFO,
        "proc/self/mountinfo": mounts.format(inside=inside),
        "proc/self/cgroup": groups,
    }


def test_without_limits_the_machine_counts(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        process(HYBRID, "4:memory:/\n0::/\n") | version1("", 9223372036854771712, 500 * MB, 0),
    )
    assert linux.total_bytes(root) == 16 * 2**30
    assert linux.available_bytes(root) == 8 * 2**30
    assert linux.pressure_file(root) == root / "proc/pressure/memory"


def test_version_1_counts_the_own_group_and_those_above_it(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        process(HYBRID, "5:cpu:/x\n4:memory:/a/b\n0::/\n")
        | version1("", 9223372036854771712, 900 * MB, 0)
        | version1("/a", 1000 * MB, 900 * MB, 100 * MB)
        | version1("/a/b", 2000 * MB, 600 * MB, 500 * MB),
    )
    assert linux.total_bytes(root) == 1000 * MB
    assert linux.available_bytes(root) == 200 * MB  # pages of files can be dropped


def test_version_2_counts_the_own_group_and_its_pressure(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        process(UNIFIED, "0::/app.slice/run\n")
        | version2("/app.slice", "max", 3000 * MB, 0)
        | version2("/app.slice/run", str(2000 * MB), 1500 * MB, 300 * MB),
    )
    assert linux.total_bytes(root) == 2000 * MB
    assert linux.available_bytes(root) == 800 * MB
    own = root / "sys/fs/cgroup/app.slice/run/memory.pressure"
    assert linux.pressure_file(root) == own


def test_where_a_group_is_slowed_down_counts_as_its_limit(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        process(UNIFIED, "0::/app.slice\n")
        | version2("/app.slice", "max", 600 * MB, 100 * MB)
        | {"sys/fs/cgroup/app.slice/memory.high": f"{900 * MB}\n"},
    )
    assert linux.total_bytes(root) == 900 * MB
    assert linux.available_bytes(root) == 400 * MB


@pytest.mark.parametrize(
    ("inside", "path"),
    [("/docker/abc", "/docker/abc"), ("/", "/docker/abc"), ("/../..", "/../../docker/abc")],
)
def test_a_container_finds_its_own_group_at_the_mount(
    tmp_path: Path, inside: str, path: str
) -> None:
    root = write(
        tmp_path,
        process(UNIFIED, f"0::{path}\n", inside) | version2("", str(700 * MB), 200 * MB, 0),
    )
    assert linux.total_bytes(root) == 700 * MB
    assert linux.available_bytes(root) == 500 * MB


def test_a_group_beyond_its_limit_leaves_nothing(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        process(UNIFIED, "0::/g\n") | version2("/g", str(100 * MB), 150 * MB, 20 * MB),
    )
    assert linux.available_bytes(root) == 0


def test_a_kernel_without_groups_has_its_memory_all_the_same(tmp_path: Path) -> None:
    root = write(tmp_path, {"proc/meminfo": MEMINFO})
    assert linux.total_bytes(root) == 16 * 2**30
    assert linux.available_bytes(root) == 8 * 2**30
    assert linux.compressed_bytes(root) == 0


def test_swapped_memory_of_this_process(tmp_path: Path) -> None:
    status = "Name:\tmartlet\nVmRSS:\t  5000 kB\nVmSwap:\t  2048 kB\n"
    root = write(tmp_path, {"proc/self/status": status})
    assert linux.compressed_bytes(root) == 2048 * 1024


def test_this_machine_has_memory_and_this_process_uses_some() -> None:
    assert 0 < machine.available_bytes() <= machine.total_bytes()
    assert 10_000_000 < machine.used_bytes() <= machine.peak_bytes() + 10_000_000
    assert machine.compressed_bytes() >= 0


def test_what_is_kept_free_grows_with_the_machine() -> None:
    gb = 1_000_000_000
    assert machine.spare_bytes(8 * gb) == 1.5 * gb
    assert machine.spare_bytes(64 * gb) == 3.2 * gb
    assert machine.spare_bytes(gb) == 0.1875 * gb


def huge_bytes(memory: memoryview) -> int:
    """Of the mapping in which the memory lies: what huge pages back. From /proc/self/smaps."""
    at, inside = addressof(c_char.from_buffer(memory)), False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        name, *rest = line.split()
        if "-" in name and not name.endswith(":"):
            first, end = (int(part, 16) for part in name.split("-"))
            inside = first <= at < end
        elif inside and name == "AnonHugePages:":
            return int(rest[0]) * 1024
    raise AssertionError("that memory is mapped")


def test_huge_pages_back_what_is_large_and_change_nothing() -> None:
    with mmap.mmap(-1, 16 * MB, mmap.MAP_PRIVATE) as mapped, memoryview(mapped) as memory:
        content = bytes(range(256)) * (len(memory) // 256)
        memory[:] = content
        linux.use_huge_pages(memory[linux.PAGE :])  # as slots lie: not where a huge page begins
        assert memory.tobytes() == content
        if not (huge := huge_bytes(memory[linux.PAGE :])):
            pytest.skip("this kernel gives no huge pages when asked")
        assert 12 * MB <= huge <= 16 * MB


def test_small_memory_is_left_alone() -> None:
    memory = memoryview(bytearray(b"small" * 100))
    linux.use_huge_pages(memory)
    machine.use_huge_pages(memory)
    assert memory.tobytes() == b"small" * 100
