"""An engine process that plays a script: the real host and protocol, without a model.

    python tests/app/fake_engine.py SCRIPT.json

The script is one JSON object; every key is optional:

    load: {delay_s, steps, error: {kind, message, remedy}, crash}
    plan: {error: {kind, message, remedy}, free_mb}
    answers: a list; the n-th generation plays the n-th, the last one repeats. Each has
        match        play this answer only when the last message contains this text
        prefill      [tokens, steps, delay_s a step]
        reasoning    list of deltas, or a text that is cut at blanks
        text         the same; in both "{echo}" stands for the last message
        delay_s      before every delta
        crash_at     die (SIGABRT) before delta n;  exit_at: leave quietly with code 3
        stall_at     stop speaking before delta n, deaf to Cancel
        error_at     n, with error: {kind, message, remedy}
        bug_at       raise a bug before delta n
        reason       "stop", "length" or "context"
    words_log: a file which gets a line "time<TAB>characters of text so far" for every delta
    memory: list of {level, message}: told one by one between tokens
    storage: list of [usable, message]: the same, after memory
    paused: a text: answers wait after their first event until Continue
"""

import json
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from engine import errors, events, host
from engine import protocol as wire
from engine.options import GenerationOptions
from engine.server.served import ServedModel

MB = 1_000_000


class ScriptedEngine:
    """Plays `script` to whoever asks."""

    def __init__(self, script: dict[str, Any], path: str, *, plain: bool = False) -> None:
        self._answers = list(script.get("answers", [{"text": "Hello."}]))
        self._memory = list(script.get("memory", []))
        self._storage = list(script.get("storage", []))
        self._words_log = script.get("words_log")
        self.facts = wire.ModelFacts(
            name=Path(path).name,
            path=path,
            family="fake",
            context_length=script.get("context_length", 4096),
            layer_count=4,
            expert_count=8,
            experts_per_token=2,
            can_think=True,
        )
        self._paused: str = script.get("paused", "")
        self.kernels = wire.KernelReport("plain" if plain else "native", "cpu", "float32")
        self.plan = wire.MemoryPlan(100 * MB, 40 * MB, 40 * MB, 10 * MB, 10 * MB, 4)

    @property
    def served(self) -> ServedModel:
        """Plays the same script to other programs."""
        return ServedModel(self.facts.name, self.facts.context_length, _Session(self), _encode)

    def stream(
        self,
        messages: Sequence[wire.ChatMessage],
        options: GenerationOptions,
        cancel: threading.Event,
        conversation: str,
    ) -> Iterator[events.Event]:
        """Play the next answer."""
        answer = self._next_answer(messages[-1].content)
        yield from self._prefill(answer.get("prefill", [8, 1, 0]), cancel)
        deltas = list(_deltas(answer, messages[-1].content))
        text, count = "", 0
        for count, delta in enumerate(deltas):
            if cancel.wait(answer.get("delay_s", 0)):
                break
            self._misbehave(answer, count)
            text += delta.text if isinstance(delta, events.TextDelta) else ""
            self._log_words(len(text))
            yield delta
        self._misbehave(answer, len(deltas))
        reason = "cancelled" if cancel.is_set() else answer.get("reason", "stop")
        yield events.Finished(reason, text, (), _stats(count + 1))

    def count_tokens(self, messages: Sequence[wire.ChatMessage]) -> int:
        """A token a word."""
        return sum(len(message.content.split()) for message in messages)

    def forget(self, conversations: Sequence[str]) -> None:
        """Keeps nothing."""

    def resize(self, memory_bytes: int) -> wire.MemoryChanged:
        """Nothing but new numbers."""
        self.plan = wire.MemoryPlan(
            memory_bytes, 40 * MB, memory_bytes - 60 * MB, 10 * MB, 10 * MB, 2
        )
        return wire.MemoryChanged("normal", "Resized.", self.plan)

    def tend(self) -> Sequence[wire.MemoryChanged | wire.StorageChanged]:
        """The next memory or storage event of the script."""
        if self._memory:
            event = self._memory.pop(0)
            return (wire.MemoryChanged(event["level"], event["message"], self.plan),)
        if self._storage:
            return (wire.StorageChanged(*self._storage.pop(0)),)
        return ()

    @property
    def paused(self) -> str:
        """Never, but for a script that says so, until it is told to go on."""
        return self._paused

    def go_on(self) -> None:
        """As a person wants it."""
        self._paused = ""

    def stats(self) -> wire.EngineStats:
        """Constant figures."""
        return wire.EngineStats(90 * MB, 0.71, 2.9e9, 85.0, 30.0, paused=self._paused)

    def close(self) -> None:
        """Nothing is held."""

    def _next_answer(self, prompt: str) -> dict[str, Any]:
        fitting = [a for a in self._answers if re.search(a.get("match", ""), prompt)]
        answer: dict[str, Any] = fitting[0]
        if len(fitting) > 1:
            self._answers.remove(answer)
        return answer

    def _prefill(
        self, plan: Sequence[float], cancel: threading.Event
    ) -> Iterator[events.PrefillProgress]:
        tokens, steps, delay_s = plan
        for step in range(1, int(steps) + 1):
            if cancel.wait(delay_s):
                return
            yield events.PrefillProgress(int(tokens * step / steps), int(tokens), 0)

    def _misbehave(self, answer: dict[str, Any], count: int) -> None:
        if answer.get("crash_at") == count:
            os.kill(os.getpid(), signal.SIGABRT)
        if answer.get("exit_at") == count:
            os._exit(3)
        if answer.get("stall_at") == count:
            time.sleep(3600)
        if answer.get("error_at") == count:
            raise _error(answer["error"])
        if answer.get("bug_at") == count:
            raise RuntimeError("a scripted bug")

    def _log_words(self, characters: int) -> None:
        if self._words_log:
            with open(self._words_log, "a", encoding="ascii") as log:
                log.write(f"{time.time()}\t{characters}\n")


class _Session:
    """The engine as a server's session."""

    def __init__(self, engine: ScriptedEngine) -> None:
        self._engine = engine

    def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        options: GenerationOptions,
        *,
        tools: Sequence[Mapping[str, Any]] | None,
        cancelled: Callable[[], bool],
    ) -> Iterator[events.Event]:
        """Answer a conversation."""
        turns = [wire.ChatMessage(m["role"], m["content"]) for m in messages]
        return self._engine.stream(turns, options, _Flag(cancelled), "")

    def complete(
        self, ids: Sequence[int], options: GenerationOptions, *, cancelled: Callable[[], bool]
    ) -> Iterator[events.Event]:
        """Go on after token ids."""
        turns = [wire.ChatMessage("user", " ".join(map(str, ids)))]
        return self._engine.stream(turns, options, _Flag(cancelled), "")


class _Flag(threading.Event):
    """A function that is asked, as an event that can be waited for."""

    def __init__(self, asked: Callable[[], bool]) -> None:
        super().__init__()
        self._asked = asked

    def is_set(self) -> bool:
        return self._asked()

    def wait(self, timeout: float | None = None) -> bool:
        end = time.monotonic() + (timeout or 0)
        while not self._asked() and time.monotonic() < end:
            time.sleep(min(0.005, max(0.0, end - time.monotonic())))
        return self._asked()


def _encode(text: str) -> Sequence[int]:
    return list(map(ord, text))


def _deltas(answer: dict[str, Any], prompt: str) -> Iterator[events.Event]:
    for text in _pieces(answer.get("reasoning", []), prompt):
        yield events.ReasoningDelta(text)
    for text in _pieces(answer.get("text", []), prompt):
        yield events.TextDelta(text)


def _pieces(texts: str | list[str], prompt: str) -> list[str]:
    if isinstance(texts, list):
        return [text.replace("{echo}", prompt) for text in texts]
    return re.findall(r"\S*\s*", texts.replace("{echo}", prompt))[:-1]


def _stats(tokens: int) -> events.AnswerStats:
    return events.AnswerStats(
        prompt_tokens=8,
        cached_tokens=0,
        generated_tokens=tokens,
        ttft_s=0.9,
        tokens_per_s=11.8,
        prefill_tokens_per_s=210.0,
        hit_rate=0.71,
        bytes_read=1_200_000_000,
        read_s=2.5,
        peak_memory_bytes=90 * MB,
    )


def _error(fields: dict[str, str]) -> errors.MartletError:
    kind: type[errors.MartletError] = getattr(errors, fields["kind"])
    return kind(fields["message"], fields.get("remedy", ""))


def _planned(
    command: wire.Plan, error: dict[str, str] | None = None, free_mb: int = 500
) -> wire.Planned:
    """Slots of 10 MB, 60 MB beside them."""
    pool = (command.memory_bytes or 100 * MB) - 60 * MB
    ledger = wire.Ledger(
        core_bytes=40 * MB,
        state_bytes=10 * MB,
        expert_bytes=pool,
        staging_bytes=4 * MB,
        scratch_bytes=3 * MB,
        runtime_bytes=3 * MB,
        slots_per_layer=pool // (10 * MB),
        expert_count=8,
    )
    words = _error(error) if error else errors.MartletError("")
    return wire.Planned(
        command.path,
        command.memory_bytes,
        ledger,
        free_mb * MB,
        80 * MB,
        140 * MB,
        words.message,
        words.remedy,
    )


def main() -> None:
    """Serve the script named on the command line."""
    script = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))

    def load(command: wire.Load, progress: host.Progress) -> host.Engine:
        plan = script.get("load", {})
        steps = plan.get("steps", 1)
        for step in range(steps):
            progress("dense", step / steps)
            time.sleep(plan.get("delay_s", 0) / steps)
        if "error" in plan:
            raise _error(plan["error"])
        if plan.get("crash"):
            os.kill(os.getpid(), signal.SIGABRT)
        return ScriptedEngine(script, command.path, plain=command.plain)

    def plan(command: wire.Plan) -> wire.Planned:
        return _planned(command, **script.get("plan", {}))

    host.serve(load, plan)


if __name__ == "__main__":
    main()
