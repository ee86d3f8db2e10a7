"""fio: what a disk gives where nobody computes, with a program that we did not write."""

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class DiskRate:
    """Bytes a second; shares of a core, fio's own and the system's."""

    bytes_per_s: float
    own: float
    system: float


def fio_installed() -> bool:
    """Whether it can be asked."""
    return shutil.which("fio") is not None


def fio(path: Path, block: int, count: int, in_flight: int, *, direct: bool = False) -> DiskRate:
    """The first `count` blocks, each read once at random, by threads that share the file evenly.

    Through the page cache, unless `direct`: evict the file before.
    """
    command = ["fio", "--name=t", f"--filename={path}", "--readonly", "--rw=randread", "--thread"]
    command += [
        f"--direct={int(direct)}",
        f"--bs={block}",
        f"--numjobs={in_flight}",
        "--ioengine=psync",
        "--invalidate=0",
    ]
    command += [f"--size={count // in_flight * block}", "--group_reporting"]
    command += [f"--offset_increment={count // in_flight * block}", "--output-format=json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    job = json.loads(done.stdout)["jobs"][0]
    own, system = (job[name] / 100 * in_flight for name in ("usr_cpu", "sys_cpu"))  # of a thread
    return DiskRate(job["read"]["bw_bytes"], own, system)
