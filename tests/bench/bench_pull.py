"""A download from loopback against curl writing the same files: rate and memory.

    python -m tests.bench pull

A 2 GB container of true layer shapes is served by another process. Ours hashes every byte and
forces every file to the disk, which curl does not. So both are timed both ways: curl until its
files are written and until they are forced, ours as it is and with nothing forced. Like is compared
with like inside a round; five rounds, in turning order, medians.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from urllib.parse import unquote

from engine.container.durable import sync_path
from engine.install.protocol import Done, Start, decode_event, encode

ROUNDS = 5
PEAKS: list[int] = []  # bytes, of our processes
CPU: list[float] = []  # seconds


class Handler(BaseHTTPRequestHandler):
    """Files with ranges, sent by the kernel."""

    protocol_version = "HTTP/1.1"
    folder: Path

    def do_GET(self) -> None:
        path = self.folder / unquote(self.path).lstrip("/")
        if not path.is_file():
            self.send_response(404)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        size = path.stat().st_size
        first, _, last = self.headers.get("range", "bytes=0-").removeprefix("bytes=").partition("-")
        start, stop = int(first), int(last or size - 1) + 1
        self.send_response(206 if "range" in self.headers else 200)
        self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{size}")
        self.send_header("Content-Length", str(stop - start))
        self.end_headers()
        self.wfile.flush()
        with path.open("rb") as file:
            self.connection.sendfile(file, start, stop - start)
        return None

    def log_message(self, format: str, *arguments: object) -> None:
        """Quiet."""


def serve(folder: str) -> None:
    """Be the server; its port goes to standard output."""
    handler = type("Served", (Handler,), {"folder": Path(folder)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


def with_curl(address: str, names: list[str], target: Path) -> tuple[float, float]:
    """Seconds until its files are written, and until they are on the disk."""
    command = ["curl", "-s", "-S", "--create-dirs"]
    for name in names:
        command += ["-o", str(target / name), f"{address}/{name}"]
    began = time.perf_counter()
    subprocess.run(command, check=True)
    took = time.perf_counter() - began
    for name in names:
        sync_path(target / name)
    return took, time.perf_counter() - began


def with_ours(address: str, target: Path, *, forced: bool) -> float:
    """Seconds from the moment that the process reads commands."""
    program = ["-m", "engine.install"] if forced else ["-c", _UNFORCED]
    process = subprocess.Popen(
        [sys.executable, *program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin
    assert process.stdout
    process.stdout.readline()
    began = time.perf_counter()
    process.stdin.write(encode(Start(address, str(target))))
    process.stdin.flush()
    events = [decode_event(line) for line in process.stdout]
    took = time.perf_counter() - began
    used = os.wait4(process.pid, 0)[2]
    PEAKS.append(used.ru_maxrss * (1 if sys.platform == "darwin" else 1024))
    CPU.append(used.ru_utime + used.ru_stime)
    if not isinstance(events[-1], Done):
        sys.exit(f"it ended with {events[-1]}")
    return took


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("MARTLET_BENCH")) as folder:
        # by another process: a child's peak is at least its parent's memory
        made = [sys.executable, "-m", "tests.bench.synthetic", folder, "--layers", "4"]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
        container = Path(folder) / "model.qpack"
        shutil.rmtree(Path(folder) / "mlx", ignore_errors=True)
        names = [*json.loads((container / "manifest.json").read_text())["files"], "hashes.json"]
        size = sum((container / name).stat().st_size for name in names)
        server = subprocess.Popen(
            [sys.executable, "-c", _SERVE, str(container)], stdout=subprocess.PIPE, text=True
        )
        try:
            assert server.stdout
            address = f"http://127.0.0.1:{server.stdout.readline().strip()}"
            rounds = [_round(address, names, Path(folder), n) for n in range(ROUNDS)]
        finally:
            server.kill()
            server.wait()
    for way, curl, ours in (("as it is", 0, 2), ("forced", 1, 2), ("not forced", 0, 3)):
        rates = [size / median(each[column] for each in rounds) / 1e6 for column in (curl, ours)]
        ratio = median(each[curl] / each[ours] for each in rounds)
        print(f"{way:12} curl {rates[0]:4.0f} MB/s, ours {rates[1]:4.0f} MB/s: {ratio:.0%}")
    print(f"peak memory {max(PEAKS) / 1e6:.0f} MB, processor time {max(CPU):.1f} s")


_SERVE = "import sys; from tests.bench.bench_pull import serve; serve(sys.argv[1])"
# The same program, to which a file counts as on the disk when it is written.
_UNFORCED = """
import runpy
from engine.install import direct, writeback
direct.sync_path = lambda path: None
writeback.STRETCH_BYTES = 1 << 60
runpy.run_module("engine.install", run_name="__main__")
"""


def _round(address: str, names: list[str], folder: Path, number: int) -> list[float]:
    """Seconds: curl until written, curl until forced, ours forced, ours not forced."""
    downloads: list[Callable[[Path], tuple[float, ...]]] = [
        lambda to: with_curl(address, names, to),
        lambda to: (with_ours(address, to, forced=True),),
        lambda to: (with_ours(address, to, forced=False),),
    ]
    took: list[tuple[float, ...]] = [()] * 3
    for which in range(3):
        turn = (which + number) % 3
        took[turn] = _timed(downloads[turn], folder)
    return [seconds for each in took for seconds in each]


def _timed(download: Callable[[Path], tuple[float, ...]], folder: Path) -> tuple[float, ...]:
    """Seconds of a download into a new folder; nothing of it waits for the disk after."""
    target = folder / "target"
    took = download(target)
    shutil.rmtree(target)
    os.sync()
    return took


if __name__ == "__main__":
    socket.setdefaulttimeout(60)
    main()
