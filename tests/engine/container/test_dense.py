"""Dense weights: the values, and the memory that loading takes."""

import os
import subprocess
import sys
from pathlib import Path

import mlx.core as mx
import pytest

from engine.container.container import DENSE, open_container
from engine.container.dense import load_dense
from engine.container.inventory import required_tensors
from engine.container.repack import repack
from engine.errors import BadContainer
from tests.engine.tiny import FAMILIES, make_checkpoint


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("how", [{"bits": None}, {"bits": 4, "dtype": mx.bfloat16}], ids=str)
def test_tensors_are_the_sources(family, how, tiny_models):
    source = mx.load(str(tiny_models.checkpoint(family, **how) / "model.safetensors"))
    source = {name.removeprefix("language_model."): tensor for name, tensor in source.items()}
    container = open_container(tiny_models.container(family, **how))
    dense = load_dense(container)
    assert set(dense) == {name for name in source if "switch_mlp" not in name}
    assert set(required_tensors(container.config)) <= set(dense)
    for name, tensor in dense.items():
        assert tensor.dtype == source[name].dtype
        assert mx.array_equal(tensor, source[name]).item()


def test_short_reads_are_continued(tiny_models, monkeypatch):
    container = open_container(tiny_models.container("qwen3_next"))
    whole = load_dense(container)
    real = os.preadv
    monkeypatch.setattr(os, "preadv", lambda fd, views, at: real(fd, [views[0][:1000]], at))
    again = load_dense(container)
    assert all(mx.array_equal(whole[name], again[name]).item() for name in whole)


def test_a_file_cut_after_opening_is_named(tiny_models, tmp_path):
    container = repack(tiny_models.checkpoint("qwen3_next"), tmp_path / "packed")
    os.truncate(container.dense_path, 50_000)
    with pytest.raises(BadContainer, match=f"{DENSE} ends before byte 50001"):
        load_dense(container)


def test_a_disk_that_fails_is_named(tiny_models, monkeypatch):
    container = open_container(tiny_models.container("qwen3_next"))

    def broken(fd, views, at):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "preadv", broken)
    with pytest.raises(BadContainer, match="Input/output error"):
        load_dense(container)


# The peak of this process before and after: what loading added, and what it should have.
_PEAK = """
import resource, sys
from pathlib import Path
import mlx.core as mx
from engine.container.container import open_container
from engine.container.dense import load_dense

mx.set_default_device(mx.cpu)
mx.eval(mx.zeros(1))
container = open_container(Path(sys.argv[1]))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
dense = load_dense(container)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
print(container.dense_bytes)
print(mx.get_peak_memory())
"""


def test_loading_takes_no_second_copy(tmp_path):
    source = make_checkpoint(tmp_path / "source", bits=None, vocab_size=131072, hidden_size=128)
    folder = repack(source, tmp_path / "packed").path
    done = subprocess.run(
        [sys.executable, "-c", _PEAK, str(folder)],
        capture_output=True, text=True, timeout=200, check=True, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    grown, needed, allocated = map(int, done.stdout.split())
    assert needed > 130_000_000
    assert grown < needed + 8_000_000
    assert allocated < needed + 1_000_000
