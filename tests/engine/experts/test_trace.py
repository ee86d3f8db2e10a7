import errno
from pathlib import Path

import numpy as np
import pytest

from engine.errors import BadOption
from engine.experts.trace import TraceRecorder, load_trace
from tests.engine.experts.routing import generated_trace


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "routes.trace"


def record(path: Path, routes: np.ndarray, experts: int, **limits: int) -> None:
    _, layers, top_k = routes.shape
    with TraceRecorder(path, layers, experts, top_k, **limits) as recorder:
        for start in range(0, len(routes), 7):  # as prefill chunks and single tokens come
            for layer in range(layers):
                recorder.add(layer, routes[start : start + 7, layer].astype(np.uint32))


def test_a_trace_comes_back_as_it_was_recorded(path: Path) -> None:
    trace = generated_trace(50, 3, 300, 8)
    record(path, trace.routes, 300)
    loaded = load_trace(path)
    assert loaded.expert_count == 300
    assert np.array_equal(loaded.routes, trace.routes)


def test_recording_ends_at_its_limit(path: Path) -> None:
    trace = generated_trace(50, 3, 32, 4)
    record(path, trace.routes, 32, max_tokens=16)
    assert np.array_equal(load_trace(path).routes, trace.routes[:16])
    assert path.stat().st_size == 16 + 16 * 3 * 4 * 2


def test_a_step_given_up_half_way_leaves_nothing(path: Path) -> None:
    with TraceRecorder(path, 3, 32, 4) as recorder:
        recorder.add(0, np.full((1, 4), 9, np.uint32))
        recorder.add(1, np.full((1, 4), 9, np.uint32))
        for layer in range(3):
            recorder.add(layer, np.arange(4, dtype=np.uint32)[None])
    assert load_trace(path).routes.tolist() == [[[0, 1, 2, 3]] * 3]


def test_a_torn_file_loses_its_last_token_only(path: Path) -> None:
    trace = generated_trace(10, 3, 32, 4)
    record(path, trace.routes, 32)
    path.write_bytes(path.read_bytes()[:-1])
    assert np.array_equal(load_trace(path).routes, trace.routes[:9])


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"MRTLROUT",
        b"\x89PNG" + bytes(60),
        b"MRTLROUT" + bytes([2, 0, 1, 0, 8, 0, 4, 0]),  # another version
        b"MRTLROUT" + bytes([1, 0, 0, 0, 8, 0, 4, 0]),  # no layers
        b"MRTLROUT" + bytes([1, 0, 1, 0, 8, 0, 9, 0]),  # more experts a token than experts
        b"MRTLROUT" + bytes([1, 0, 1, 0, 8, 0, 1, 0]) + bytes([8, 0]),  # expert 8 of 8
    ],
)
def test_what_is_no_trace_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(BadOption, match=r"routes\.trace"):
        load_trace(path)


def test_a_full_disk_ends_the_recording_and_nothing_else() -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no device that is always full")
    routes = np.zeros((4000, 4), np.uint32)
    recorder = TraceRecorder(full, 1, 32, 4)
    for _ in range(3):
        recorder.add(0, routes)
    recorder.close()
    assert recorder.fault is not None
    assert recorder.fault.errno == errno.ENOSPC
