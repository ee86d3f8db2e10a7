"""A download from loopback against curl writing the same files: rate and memory.

    python -m tests.bench pull

A 2 GB container of true layer shapes is served by another process. Ours hashes every byte and
forces every file to the disk, which curl does not; what it takes to force curl's files is told
beside. Five rounds, either of the two first in turn: the medians, and that of each round's ratio.
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
FORCED: list[float] = []  # seconds, of curl and of forcing its files to the disk


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


def with_curl(address: str, names: list[str], target: Path) -> float:
    """Seconds."""
    command = ["curl", "-s", "-S", "--create-dirs"]
    for name in names:
        command += ["-o", str(target / name), f"{address}/{name}"]
    began = time.perf_counter()
    subprocess.run(command, check=True)
    took = time.perf_counter() - began
    for name in names:
        sync_path(target / name)
    FORCED.append(time.perf_counter() - began)
    return took


def with_ours(address: str, target: Path) -> float:
    """Seconds from the moment that the process reads commands."""
    process = subprocess.Popen(
        [sys.executable, "-m", "engine.install"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
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
            rounds = [
                _round(address, names, Path(folder), ours_first=bool(number % 2))
                for number in range(ROUNDS)
            ]
        finally:
            server.kill()
            server.wait()
    curl, ours = (size / median(times) / 1e6 for times in zip(*rounds, strict=True))
    ratio = median(theirs / mine for theirs, mine in rounds)
    print(f"{size / 1e9:.2f} GB: curl {curl:.0f} MB/s, ours {ours:.0f} MB/s")
    print(f"ours to curl in one round: {ratio:.0%}")
    print(f"curl with its files forced to the disk: {size / median(FORCED) / 1e6:.0f} MB/s")
    print(f"peak memory {max(PEAKS) / 1e6:.0f} MB, processor time {max(CPU):.1f} s")


_SERVE = "import sys; from tests.bench.bench_pull import serve; serve(sys.argv[1])"


def _round(
    address: str, names: list[str], folder: Path, *, ours_first: bool
) -> tuple[float, float]:
    """Seconds of curl and of ours."""
    with_each = {
        "curl": lambda to: with_curl(address, names, to),
        "ours": lambda to: with_ours(address, to),
    }
    order = ("ours", "curl") if ours_first else ("curl", "ours")
    took = {name: _timed(with_each[name], folder) for name in order}
    return took["curl"], took["ours"]


def _timed(download: Callable[[Path], float], folder: Path) -> float:
    """Seconds that a download into a new folder takes; nothing of it waits for the disk after."""
    target = folder / "target"
    took = download(target)
    shutil.rmtree(target)
    os.sync()
    return took


if __name__ == "__main__":
    socket.setdefaulttimeout(60)
    main()
