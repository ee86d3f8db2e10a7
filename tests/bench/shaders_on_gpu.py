"""Run recorded shader launches on an NVIDIA GPU. Needs nvcc, compute-sanitizer and numpy there.

    python3 -m tests.bench.record_shaders FOLDER     # on a machine with MLX and a C++ compiler
    python3 tests/bench/shaders_on_gpu.py FOLDER     # on the machine with the GPU

Prints what disagrees with the host target, what compute-sanitizer's tools find (and that they find
the planted faults), and for every timed launch the bytes it moves over its time, as a fraction of
what a copy kernel reaches in the same run: on 4 GiB, and on as many bytes as the launch moves.
"""

import base64
import json
import shutil
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

PRELUDES = Path(__file__).resolve().parents[1] / "shaders"
NVCC = ["nvcc", "-std=c++17", "-O3", "-arch=sm_90", "-diag-suppress=1097", f"-I{PRELUDES}"]
SANITIZER = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
KINDS = ("checked", "planted", "timed")
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
WIDTHS = {"float32": np.float32, "float16": np.float16, "bfloat16": np.uint16}
# Of the outputs' size: float32 sums in another order; one rounding of the narrow ones.
TOLERANCES = {"float32": 2e-5, "float16": 2e-3, "bfloat16": 2e-2}


def main(folder: Path) -> int:
    """The exit status: how many things are wrong."""
    launches = json.loads((folder / "launches.json").read_text())
    with tempfile.TemporaryDirectory() as build, ThreadPoolExecutor(12) as pool:
        units = sorted({launch["unit"] for launch in launches})
        list(pool.map(lambda name: compile_unit(folder, Path(build), name), units))
        for launch in launches:
            launch["program"] = Path(build, launch["unit"])
            launch["request"] = request(launch)
        kinds = {kind: [x for x in launches if x["kind"] == kind] for kind in KINDS}
        sound, planted = kinds["checked"], kinds["planted"]
        wrong = report("outputs", sound, pool.map(compare, sound))
        for tool in TOOLS:
            found = pool.map(lambda x, tool=tool: sanitize(x, tool), sound)
            wrong += report(tool, sound, found)
        wrong += report("planted", planted, pool.map(missed, planted))
        for launch in kinds["timed"]:  # one at a time: nothing else may use the memory
            print(timed(launch), flush=True)
    return wrong


def compile_unit(folder: Path, build: Path, name: str) -> None:
    """Raises where nvcc does not take it."""
    command = [*NVCC, str(folder / f"{name}.cu"), "-o", str(build / name)]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise SystemExit(f"{name}: {result.stdout}{result.stderr}")


def request(launch: dict[str, Any]) -> bytes:
    """As cuda_main.h reads it."""
    counts = (1, len(launch["inputs"]), len(launch["outputs"]))
    parts = [struct.pack("=9i", *launch["grid"], *launch["threadgroup"], *counts)]
    for entry in launch["inputs"]:
        data = random_bytes(entry) if "random" in entry else base64.b64decode(entry["data"])
        parts += [struct.pack("=q", len(data)), data]
    parts += [struct.pack("=q", entry["bytes"]) for entry in launch["outputs"]]
    return b"".join(parts)


def random_bytes(entry: dict[str, Any]) -> bytes:
    """Small normal numbers for floats, any bits for words."""
    rng, count = np.random.default_rng(0), entry["bytes"]
    if "float" not in entry["type"]:
        return rng.bytes(count)
    if entry["type"] == "float":
        return rng.standard_normal(count // 4, np.float32).tobytes()
    numbers = rng.standard_normal(count // 2, np.float32) * 0.05
    if entry["type"] == "float16_t":
        return numbers.astype(np.float16).tobytes()
    return (numbers.view(np.uint32) >> 16).astype(np.uint16).tobytes()


def compare(launch: dict[str, Any]) -> str:
    """What differs from the host target's outputs; empty where nothing does."""
    result = run(launch, "run")
    if result.returncode:
        return result.stderr.decode()
    start = 0
    for entry in launch["outputs"]:
        got = result.stdout[start : start + entry["bytes"]]
        start += entry["bytes"]
        wanted = base64.b64decode(entry["data"])
        if entry["type"] not in WIDTHS:
            if got != wanted:
                return f"another {entry['type']}"
            continue
        a, b = numbers(got, entry["type"]), numbers(wanted, entry["type"])
        off = np.abs(a - b).max() / np.sqrt(np.mean(b * b))
        if not off < TOLERANCES[entry["type"]]:
            return f"{entry['type']} off by {off:.2g} of the size"
    return ""


def run(launch: dict[str, Any], mode: str) -> subprocess.CompletedProcess[bytes]:
    """The launch's program in a mode of cuda_main.h."""
    command, data = [launch["program"], mode], launch["request"]
    return subprocess.run(command, input=data, capture_output=True, timeout=120)


def numbers(data: bytes, kind: str) -> Any:
    """float64 from the bytes of a float array."""
    raw = np.frombuffer(data, WIDTHS[kind])
    if kind == "bfloat16":
        raw = (raw.astype(np.uint32) << 16).view(np.float32)
    return raw.astype(np.float64)


def sanitize(launch: dict[str, Any], tool: str) -> str:
    """The tool's findings; empty where there are none."""
    mode = "bare" if tool == "initcheck" else "run"
    command = [SANITIZER, "--tool", tool, str(launch["program"]), mode]
    result = subprocess.run(command, input=launch["request"], capture_output=True, timeout=120)
    text = (result.stdout[-20_000:] + result.stderr[-20_000:]).decode(errors="replace")
    clean = "ERROR SUMMARY: 0 errors" in text or "(0 errors, 0 warnings)" in text
    lines = [line for line in text.splitlines() if line.startswith("=========")]
    return "" if clean else "\n".join(lines[:12]) or text[-500:]


def missed(launch: dict[str, Any]) -> str:
    """Empty where the tool named by the label finds the planted fault."""
    return "" if sanitize(launch, launch["label"]) else "not seen"


def report(what: str, launches: list[dict[str, Any]], findings: Any) -> int:
    """Print every finding and the sum; return how many there are."""
    bad = [(x, text) for x, text in zip(launches, findings, strict=True) if text]
    for launch, text in bad:
        print(f"{what}: {launch['kernel']} ({launch['label']}): {text}")
    print(f"{what}: {len(launches)} launches, {len(bad)} findings", flush=True)
    return len(bad)


def timed(launch: dict[str, Any]) -> str:
    """One line of the table."""
    result = run(launch, "time")
    name = f"{launch['kernel']:20} {launch['label']:24}"
    if result.returncode:
        return f"{name} {result.stderr.decode()}"
    t = json.loads(result.stdout)
    rate = t["bytes"] / t["us"] / 1e6
    return (
        f"{name} {t['bytes'] / 1e6:8.2f} MB {t['us']:8.2f} us {rate:6.2f} TB/s  "
        f"{rate / t['copy_tb_s']:4.0%} of a large copy ({t['copy_tb_s']:.2f} TB/s), "
        f"{t['same_size_copy_us'] / t['us']:4.0%} of a copy of its size"
    )


if __name__ == "__main__":
    sys.exit(min(main(Path(sys.argv[1])), 100))
