"""mlx-lm on the same prompts: the engine that keeps the whole checkpoint in memory.

It is no dependency of ours: where it is not installed, that is said. On a CPU it runs in float32,
which is its fastest there, and without compiled functions, which would need a C++ compiler.
"""

import importlib.util
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import mlx.core as mx

from engine.benchmark import Prompt, Told
from engine.config import ModelConfig, load_config
from engine.errors import BadOption, NotEnoughMemory
from engine.memory import machine

NAME = "mlx-lm"


@dataclass(frozen=True, slots=True)
class RivalAnswer:
    """One prompt, and as many tokens after it as ours wrote."""

    prefill_tokens_per_s: float
    decode_tokens_per_s: float


@dataclass(frozen=True, slots=True)
class Rival:
    """What mlx-lm did."""

    version: str
    answers: tuple[RivalAnswer, ...]


def check_rival(checkpoint: Path | None, config: ModelConfig) -> Path:
    """The checkpoint, if mlx-lm can run it here. Raises BadOption, NotEnoughMemory."""
    if importlib.util.find_spec("mlx_lm") is None:
        raise BadOption(f"{NAME} is not installed.", f"Run `pip install {NAME}`.")
    if checkpoint is None:
        raise BadOption(
            f"{NAME} runs MLX checkpoints, not containers.",
            "Give the folder that the model was packed from with --checkpoint.",
        )
    if not (checkpoint / "config.json").is_file():
        raise BadOption(f"{checkpoint} is not a checkpoint.", "Name a folder with a config.json.")
    _check_same(checkpoint, config)
    _check_room(checkpoint)
    return checkpoint


def run_rival(
    checkpoint: Path, prompts: Sequence[Prompt], counts: Sequence[int], told: Told
) -> Rival:
    """Answer each prompt with so many tokens. The first answer of all is thrown away."""
    told(f"loading {checkpoint.name} in {NAME}")
    model = _load(checkpoint)
    _answer(model, prompts[0][:16], 8, told, f"{NAME}: warming up")
    answers = []
    for number, (prompt, count) in enumerate(zip(prompts, counts, strict=True), 1):
        where = f"{NAME}: prompt {number} of {len(prompts)}"
        answers.append(_answer(model, prompt, count, told, where))
    return Rival(version("mlx-lm"), tuple(answers))


def _load(checkpoint: Path) -> Any:
    on_cpu = mx.default_device().type == mx.DeviceType.cpu
    if on_cpu:
        mx.disable_compile()
    from mlx_lm.utils import load_model

    model, _ = load_model(checkpoint)
    if on_cpu:
        model.set_dtype(mx.float32)
        mx.eval(model.parameters())
    return model


def _answer(model: Any, prompt: Prompt, count: int, told: Told, where: str) -> RivalAnswer:
    """Said token by token: on a CPU one of them can take a second, and a prompt minutes."""
    cache = model.make_cache()

    def step(ids: Sequence[int]) -> int:
        return int(mx.argmax(model(mx.array([list(ids)]), cache=cache)[0, -1]))

    told(f"{where}, reading {len(prompt)} tokens")
    started = time.perf_counter()
    token = step(prompt)
    read_s, started = time.perf_counter() - started, time.perf_counter()
    for number in range(count):
        told(f"{where}, token {number + 1} of {count}")
        token = step([token])
    write_s = time.perf_counter() - started
    return RivalAnswer(len(prompt) / read_s, count / write_s if count else 0.0)


def _check_same(checkpoint: Path, config: ModelConfig) -> None:
    found = load_config(checkpoint / "config.json")
    for field in ("family", "hidden_size", "layer_count", "expert_count", "vocab_size"):
        ours, theirs = getattr(config, field), getattr(found, field)
        if ours != theirs:
            raise BadOption(
                f"{checkpoint} has {field} {theirs}, the model {ours}.",
                "Give the checkpoint that the model was packed from.",
            )


def _check_room(checkpoint: Path) -> None:
    size = sum(file.stat().st_size for file in checkpoint.glob("*.safetensors"))
    free = machine.available_bytes()
    if size > free:
        raise NotEnoughMemory(
            f"{NAME} keeps all of {checkpoint.name} in memory: {size / 1e9:.1f} GB, and "
            f"{free / 1e9:.1f} GB are free.",
            "Close other programs, or leave --against out.",
        )
