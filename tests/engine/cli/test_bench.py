"""`martlet bench`: what it measures, prints and refuses."""

import importlib.util
import json
from pathlib import Path

import mlx.core as mx
import pytest

from engine.anatomy import dissect, pending
from engine.benchmark import chill, prompts_for
from engine.cli import main
from engine.loading import load_model
from engine.rival import run_rival
from tests.engine.conftest import TinyModels


def arguments(models: TinyModels, *more: str) -> list[str]:
    path = models.container("qwen3_next", bits=4)
    return ["bench", str(path), "--slots", "6", "--max-tokens", "4", *more]


@pytest.fixture(autouse=True)
def _short_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.benchmark.FALLBACK_LENGTHS", (16, 20, 70))


def test_everything_is_in_the_record(
    tiny_models: TinyModels, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = str(tiny_models.checkpoint("qwen3_next", bits=4))
    against = ("--against", "mlx-lm", "--checkpoint", checkpoint)
    assert main(arguments(tiny_models, "--json", *against)) == 0
    record = json.loads(capsys.readouterr().out)
    assert [len(record[name]) for name in ("cold", "warm")] == [3, 3]
    assert record["files_dropped"]
    assert record["plan"]["slots_per_layer"] == 6
    assert record["disk_bytes_per_s"] > 0
    for each in (*record["cold"], *record["warm"]):
        assert each["prefill_tokens_per_s"] > 0
        assert each["generated_tokens"] == 4 or each["natural"]
    assert all(each["bytes_read"] > 0 for each in record["cold"])
    anatomy = record["anatomy"]
    assert anatomy["readbacks"] == 4  # a layer
    assert anatomy["operations"] > 20
    assert anatomy["compute_ms"] > 0
    assert [a["prefill_tokens_per_s"] > 0 for a in record["mlx_lm"]["answers"]] == [True] * 3
    assert record["machine"]["cores"] >= 1
    assert record["peak_bytes"] > 0


def test_mlx_lm_tells_of_every_prompt_and_token(tiny_models: TinyModels) -> None:
    said: list[str] = []
    rival = run_rival(
        tiny_models.checkpoint("qwen3_next", bits=4), [[1, 2, 3], [4, 5]], [2, 0], said.append
    )
    assert len(rival.answers) == 2
    assert said[-4:] == [
        "mlx-lm: prompt 1 of 2, reading 3 tokens",
        "mlx-lm: prompt 1 of 2, token 1 of 2",
        "mlx-lm: prompt 1 of 2, token 2 of 2",
        "mlx-lm: prompt 2 of 2, reading 2 tokens",
    ]


def test_the_text_names_every_figure(
    tiny_models: TinyModels, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(tiny_models)) == 0
    out = capsys.readouterr().out
    for word in ("machine", "disk", "plan", "cold", "warm", "Python", "readbacks", "peak", "hits"):
        assert word in out


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        (["--max-tokens", "0"], 2, "--max-tokens is 0"),
        (["--against", "mlx-lm"], 2, "--checkpoint"),
        (["--against", "mlx-lm", "--checkpoint", "nowhere"], 2, "nowhere is not a checkpoint"),
    ],
)
def test_what_cannot_be_measured_is_refused_first(
    more: list[str],
    code: int,
    words: str,
    tiny_models: TinyModels,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(arguments(tiny_models, *more)) == code
    assert words in capsys.readouterr().err


def test_another_checkpoint_is_refused(
    tiny_models: TinyModels, capsys: pytest.CaptureFixture[str]
) -> None:
    other = str(tiny_models.checkpoint("qwen3_5_moe", bits=4))
    assert main(arguments(tiny_models, "--against", "mlx-lm", "--checkpoint", other)) == 2
    assert "family qwen3_5_moe" in capsys.readouterr().err


def test_without_mlx_lm_that_is_said(
    tiny_models: TinyModels, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert main(arguments(tiny_models, "--against", "mlx-lm")) == 2
    assert "mlx-lm is not installed" in capsys.readouterr().err


def test_a_dissected_model_answers_as_before(tiny_models: TinyModels) -> None:
    model = load_model(tiny_models.container("qwen3_next", bits=4), slots=16)
    state = model.new_state()
    expected = model.read([1, 2, 3], state)
    dissect(model, 5, state)
    again = model.read([1, 2, 3], model.new_state())
    assert mx.array_equal(again, expected).item()
    assert "linear" not in vars(model.kernels)
    assert chill(model)
    assert mx.array_equal(model.read([1, 2, 3], model.new_state()), expected).item()
    assert len(prompts_for(model)) == 3
    model.close()


def test_pending_operations_are_counted() -> None:
    product = mx.ones((2, 2)) @ mx.ones((2, 2))
    assert pending([product, (product,)]) > 1
    mx.eval(product)
    assert pending(product) == 0
    assert pending([Path(), 3]) == 0
