"""doctor: the machine and every installed model, also when some are damaged or too large."""

import json
import shutil
from pathlib import Path

import mlx.core as mx
import pytest

from engine import doctor
from engine.cli import main
from engine.container.library import VARIABLE, built_in_model
from engine.doctor import disk_speed, examine, examine_model
from engine.memory import machine
from engine.model.metal.kernels import GROUPS, MetalKernels
from tests.engine.conftest import TinyModels


@pytest.fixture
def models(tmp_path: Path, tiny_models: TinyModels, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A models folder with a good and a damaged model."""
    good = tiny_models.container("qwen3_next", bits=4)
    shutil.copytree(good, tmp_path / "good.qpack")
    shutil.copytree(good, tmp_path / "half.qpack")
    (tmp_path / "half.qpack" / "manifest.json").unlink()
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    return tmp_path


def test_every_installed_model_has_a_plan_or_a_fault(models: Path) -> None:
    report = examine()
    demo, good, half = report.models
    assert demo.path == str(built_in_model())
    assert good.fault == ""
    assert good.plan["dense"] > 0
    assert good.slots_per_layer == good.expert_count == 16
    assert good.disk_bytes_per_s
    assert good.disk_bytes_per_s > 0
    assert "manifest.json is missing" in half.fault
    assert half.plan == {}


def test_a_model_that_cannot_fit_says_so(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "available_bytes", lambda: 10_000_000)
    report = examine_model(models / "good.qpack", probe_disk=False)
    assert "10 MB are free" in report.fault
    assert "Close other apps" in report.fault
    assert report.disk_bytes_per_s is None


def test_a_disk_that_fails_has_no_speed(models: Path) -> None:
    from engine.container.container import open_container

    container = open_container(models / "good.qpack")
    container.layer_path(0).unlink()
    assert disk_speed(container) is None


def test_the_command_tells_it_in_text_and_json(
    models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    for word in ("memory", "pressure normal", "heat", "backend", "plan", "disk", "fault"):
        assert word in text
    assert main(["doctor", "--json", "--no-disk"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert tree["machine"]["total_bytes"] > 0
    assert [model["disk_bytes_per_s"] for model in tree["models"]] == [None] * 3


def test_shaders_that_do_not_run_are_told_with_the_reason(
    models: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Here no shader does: there is no Metal."""
    monkeypatch.setattr(doctor, "default_kernels", lambda: MetalKernels(mx.float32))
    report = examine_model(models / "good.qpack", probe_disk=False)
    assert [state.group for state in report.shaders] == list(GROUPS)
    assert not any(state.on for state in report.shaders)
    assert "No Metal back-end" in report.shaders[0].reason
    assert main(["doctor", "--no-disk"]) == 0
    assert "router is off: [metal_kernel] No Metal back-end" in capsys.readouterr().out
