"""Benchmark: a fixed protocol over one loaded model, and what it measured.

Three prompts (a question, code, a long text), each answered greedily to its end; an answer
before them is thrown away. Cold: no expert in a slot, and the container's files out of the system's
cache where the system can be told so, file by file. Warm: the same again, at once.
A model without a tokenizer is given fixed ids.
"""

import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mlx.core as mx
import numpy as np

from engine.anatomy import Anatomy, dissect
from engine.container.files import opened
from engine.errors import BadContainer, TemplateFailed
from engine.memory import machine
from engine.model.hybrid import Model
from engine.model_text import ModelText

TURNS = (
    "Explain in a few sentences why the sky is blue at noon and red in the evening.",
    "Write a Python function that merges overlapping intervals, with a docstring and two examples.",
)
PASSAGE = (
    "The keeper of the lighthouse wrote down the weather every morning: the wind, the height of "
    "the waves, the ships that passed and the birds that rested on the rail. "
)
PASSAGES = 24
LONG_TURN = PASSAGE * PASSAGES + "Summarise these notes in three sentences."
FALLBACK_LENGTHS = (24, 32, 768)  # in tokens, of prompts for a model without text

Prompt = tuple[int, ...]
Told = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Answered:
    """One prompt and its answer."""

    prompt_tokens: int
    generated_tokens: int
    natural: bool  # it ended by itself
    prefill_tokens_per_s: float
    decode_tokens_per_s: float
    hit_rate: float  # of expert look-ups while decoding
    bytes_read: int
    bytes_per_s: float  # read from the files, over the whole answer


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Everything that was measured of one model."""

    cold: tuple[Answered, ...]
    warm: tuple[Answered, ...]
    files_dropped: bool  # whether "cold" went to the disk
    anatomy: Anatomy
    peak_bytes: int


def benchmark(model: Model, most: int, told: Told = lambda what: None) -> Benchmark:
    """Run the protocol. `most`: tokens of an endless answer; `told` hears of each step."""
    prompts = prompts_for(model)
    told("warming up")
    answer(model, prompts[0][:16], 8)
    cold, warm, dropped = [], [], True
    for number, prompt in enumerate(prompts, 1):
        told(f"prompt {number} of {len(prompts)}, cold")
        dropped = chill(model) and dropped
        cold.append(answer(model, prompt, most))
        told(f"prompt {number} of {len(prompts)}, warm")
        warm.append(answer(model, prompt, most))
    told("looking into a token")
    state = model.new_state()
    last = int(mx.argmax(model.read(prompts[1], state)))
    anatomy = dissect(model, last, state)
    return Benchmark(tuple(cold), tuple(warm), dropped, anatomy, machine.peak_bytes())


def prompts_for(model: Model) -> tuple[Prompt, ...]:
    """The three prompts in the model's own tokens."""
    text = ModelText(model.container.path)
    try:
        return tuple(
            text.prompt([{"role": "user", "content": turn}], thinking=False).ids
            for turn in (*TURNS, LONG_TURN)
        )
    except (BadContainer, TemplateFailed):  # it knows ids alone
        draw = np.random.RandomState(0)
        vocabulary = model.config.vocab_size
        return tuple(
            tuple(draw.randint(0, vocabulary, length).tolist()) for length in FALLBACK_LENGTHS
        )


def answer(model: Model, prompt: Sequence[int], most: int) -> Answered:
    """Read the prompt, then write the likeliest token until the end."""
    state, ends = model.new_state(), model.container.eos_token_ids
    before, started = model.cache.stats, time.perf_counter()
    token = int(mx.argmax(model.read(prompt, state)))
    read_s, at_answer, count = time.perf_counter() - started, model.cache.stats, 0
    started = time.perf_counter()
    while token not in ends and count < most:
        token = int(mx.argmax(model.decode(token, state)))
        count += 1
    write_s = time.perf_counter() - started
    read = model.cache.stats - before
    return Answered(
        prompt_tokens=len(prompt),
        generated_tokens=count,
        natural=token in ends,
        prefill_tokens_per_s=len(prompt) / read_s,
        decode_tokens_per_s=count / write_s if count else 0.0,
        hit_rate=(model.cache.stats - at_answer).hit_rate,
        bytes_read=read.bytes_read,
        bytes_per_s=read.bytes_read / (read_s + write_s),
    )


def chill(model: Model) -> bool:
    """Empty the slots, and the system's cache of the experts' files; whether that could be done."""
    model.cache.invalidate()
    if not hasattr(os, "posix_fadvise"):
        return False
    for layer in range(model.config.layer_count):
        with opened(model.container.layer_path(layer)) as descriptor:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    return True


def middle(answers: Sequence[Answered], figure: Callable[[Answered], float]) -> float:
    """The median of a figure."""
    return statistics.median(map(figure, answers))
