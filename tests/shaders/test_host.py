"""The host target finds what it is there to find: faults planted in small kernels."""

from collections.abc import Callable, Iterator

import mlx.core as mx
import pytest

from tests.shaders.host import HostFault, HostTarget, compiler

LANE = "uint i = thread_position_in_grid.x; "
BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup); "
ORDER = "depends on the order of lanes"

Run = Callable[[str], list[float]]


@pytest.fixture(scope="module")
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """Runs a body over 64 lanes: x (64,) float32 holds 0 to 63, y (64,) is its answer."""
    if compiler() is None:
        pytest.skip("no C++ compiler with address and undefined-behaviour sanitizers")
    target = HostTarget(request.config.cache.mkdir("shaders"))

    def launch(body: str) -> list[float]:
        kernel = target(name="planted", input_names=["x"], output_names=["y"], source=LANE + body)
        (y,) = kernel(
            inputs=[mx.arange(64).astype(mx.float32)],
            output_shapes=[(64,)],
            output_dtypes=[mx.float32],
            grid=(64, 1, 1),
            threadgroup=(64, 1, 1),
        )
        return y.tolist()

    yield launch
    target.close()


def test_sound_kernels_run(run: Run) -> None:
    reverse = f"threadgroup float b[64]; b[i] = x[i]; {BARRIER} y[i] = b[63 - i];"
    assert run(reverse) == [63.0 - i for i in range(64)]
    assert run("y[i] = simd_sum(x[i]);") == [496.0] * 32 + [1520.0] * 32
    assert run("y[i] = simd_max(x[i]) - simd_min(x[i]);") == [31.0] * 64


@pytest.mark.parametrize(
    ("body", "finding"),
    [
        ("threadgroup float b[64]; b[i] = x[i]; y[i] = b[63 - i];", ORDER),  # a missing barrier
        (f"threadgroup float b[1]; b[0] = x[i]; {BARRIER} y[i] = b[0];", ORDER),  # a race
        ("y[i / 2] = x[i]; y[32 + i / 2] = x[i];", ORDER),  # a race in device memory
        ("y[i] = simd_sum(x[i]) + y[i ^ 1];", ORDER),  # reads an output
        ("if (i < 60) y[i] = x[i];", "never written"),
        (f"threadgroup float b[64]; if (i < 32) b[i] = 1; {BARRIER} y[i] = b[i];", ORDER),
        ("y[i] = x[i + 1];", "heap-buffer-overflow"),
        ("y[i + 1] = x[i];", "heap-buffer-overflow"),
        (f"threadgroup float b[64]; b[i + 1] = 1; {BARRIER} y[i] = b[i];", "out of bounds"),
        ("y[i] = x[i]; if (i == 3) return; " + BARRIER, "barrier not reached"),
        ("y[i] = 0; if (i < 40) y[i] = simd_sum(x[i]);", "not reached by every lane"),
        ("y[i] = i < 40 ? simd_sum(x[i]) : simd_max(x[i]);", "different simd operations"),
        ("y[i] = 1 << int(x[i]);", "shift exponent"),
    ],
)
def test_planted_faults_are_found(run: Run, body: str, finding: str) -> None:
    with pytest.raises(HostFault, match=finding):
        run(body)


def test_a_fault_does_not_end_the_target(run: Run) -> None:
    with pytest.raises(HostFault):
        run("y[i] = x[i + 1];")
    assert run("y[i] = 2 * x[i];")[:3] == [0.0, 2.0, 4.0]


def test_an_uninitialised_local_does_not_compile(run: Run) -> None:
    with pytest.raises(AssertionError, match="uninitialized"):
        run("float v[4]; for (uint j = 0; j < i % 4; j++) v[j] = 1; y[i] = v[3];")
