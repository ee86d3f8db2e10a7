"""One engine reads a prompt of given tokens and then decodes given tokens, in a process of its own.

    python -m tests.bench.peer_runs martlet|mlx-lm|llama.cpp MODEL PROMPT DECODE [BYTES]

Every engine gets the same tokens. Prints one line of JSON: seconds of the prompt, milliseconds of
each token, megabytes read from storage a token. BYTES is Martlet's budget; without it, all experts
are resident. llama.cpp is the prebuilt `xllamacpp` on two threads, from a map of
the file and without repacking, which would need the model's size in memory once more.
"""

import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

VOCABULARY = 32_000
Decode = Callable[[int], object]


def tokens(count: int) -> list[int]:
    """Words as unevenly used as a text's: the n-th most frequent is drawn as 1 / n."""
    draw = random.Random(0)
    ranks = draw.sample(range(VOCABULARY), VOCABULARY)
    weights = [1 / (rank + 1) for rank in range(VOCABULARY)]
    return draw.choices(ranks, weights, k=count)


def timed(read: Callable[[], object], step: Decode, rest: Sequence[int]) -> str:
    """Both runs, as JSON."""
    begun = time.perf_counter()
    read()
    prompt_s, times_ms, before = time.perf_counter() - begun, [], bytes_read()
    for token in rest:
        begun = time.perf_counter()
        step(token)
        times_ms.append((time.perf_counter() - begun) * 1e3)
    read_mb = (bytes_read() - before) / len(rest) / 1e6
    return json.dumps({"prompt_s": prompt_s, "times_ms": times_ms, "mb_per_token": read_mb})


def bytes_read() -> int:
    """What this process had read from storage; pages of a mapped file count."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("read_bytes"))


def martlet(path: Path, prompt: Sequence[int], rest: Sequence[int], memory: int | None) -> str:
    """Our engine."""
    import mlx.core as mx

    from engine import load_model
    from engine.container.container import open_container

    slots = None if memory else open_container(path).config.expert_count
    model = load_model(
        path,
        memory_bytes=memory,
        slots=slots,
        context_tokens=len(prompt) + len(rest),
        chunk_tokens=len(prompt),
        snapshots_bytes=0,
    )
    if slots:
        for layer in range(model.config.layer_count):
            model.cache.warm(layer, range(slots))
    state = model.new_state()
    told = timed(
        lambda: mx.eval(model.read(prompt, state)),
        lambda token: mx.eval(model.decode(token, state)),
        rest,
    )
    model.close()
    return told


def mlx_lm(path: Path, prompt: Sequence[int], rest: Sequence[int], _: int | None) -> str:
    """mlx-lm, everything resident; in float32, which MLX's CPU computes ten times as fast."""
    import mlx.core as mx
    from mlx_lm.models.cache import make_prompt_cache
    from mlx_lm.utils import load_model

    mx.set_default_device(mx.cpu)
    model, _ = load_model(path)
    model.set_dtype(mx.float32)
    mx.eval(model.parameters())
    cache = make_prompt_cache(model)
    return timed(
        lambda: mx.eval(model(mx.array([prompt]), cache=cache)[0, -1]),
        lambda token: mx.eval(model(mx.array([[token]]), cache=cache)[0, -1]),
        rest,
    )


def llama_cpp(path: Path, prompt: Sequence[int], rest: Sequence[int], _: int | None) -> str:
    """llama.cpp: what is new in a longer and longer prompt is one token."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.load_mode = xllamacpp.llama_load_mode.LLAMA_LOAD_MODE_MMAP
    params.no_extra_bufts = True  # no repacking
    params.n_ctx, params.n_parallel, params.n_ctx_checkpoints = 4096, 1, 0
    params.cache_ram_mib, params.warmup, params.fit_params = 0, False, False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 2
    server, given = xllamacpp.Server(params), list(prompt)

    def ask() -> None:
        answer = server.handle_completions(
            {"prompt": given, "n_predict": 1, "cache_prompt": True, "temperature": 0}
        )
        assert "timings" in answer, answer

    def step(token: int) -> None:
        given.append(token)
        ask()

    return timed(ask, step, rest)


RUNS = {"martlet": martlet, "mlx-lm": mlx_lm, "llama.cpp": llama_cpp}


def main() -> None:
    """Run one."""
    engine, path, prompt, decode, *memory = sys.argv[1:]
    given = tokens(int(prompt) + int(decode))
    budget = int(memory[0]) if memory else None
    print(RUNS[engine](Path(path), given[: int(prompt)], given[int(prompt) :], budget))


if __name__ == "__main__":
    main()
