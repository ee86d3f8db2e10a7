"""ChatSession: conversations with one model, streamed.

Where a conversation was left, its next turn, an edited or a regenerated one goes on; switching
conversations re-reads nothing that is still known. One answer at a time: asking for a second one
while the first streams is SessionBusy. Used on the thread that loaded the model.
"""

import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import mlx.core as mx

from engine.answer import AnswerText
from engine.errors import BadOption, Cancelled, ContextFull, SessionBusy
from engine.events import AnswerStats, Event, Finished, FinishReason, PrefillProgress
from engine.experts.stats import ExpertStats
from engine.generation import generate
from engine.live_state import LiveState
from engine.memory import machine
from engine.model.hybrid import Model
from engine.model_text import ModelText, Prompt
from engine.options import GenerationOptions
from engine.sampling import check_bias, resolve
from engine.snapshot_shelf import SnapshotShelf
from engine.text.messages import Message

Cancel = Callable[[], bool]
DEFAULTS = GenerationOptions()


class ChatSession:
    """See the module's docstring. `snapshots_bytes` bounds what kept conversations may take.

    `shelf` keeps them on the disk, beyond this process (`snapshot_shelf.open_shelf`); what is in
    memory alone goes there with `live.shelve`. A `conversation` named with a prompt is one that
    `live.forget` can erase. `text` is the model's, where it is being opened already.
    `between` is called between tokens and between chunks of a prompt: there memory may change.
    """

    def __init__(
        self,
        model: Model,
        snapshots_bytes: int | None = None,
        *,
        shelf: SnapshotShelf | None = None,
        text: ModelText | None = None,
        between: Callable[[], object] = lambda: None,
    ) -> None:
        self.model = model
        self.between = between
        self.text = text or ModelText(model.container.path)
        planned = model.plan.snapshots_bytes if snapshots_bytes is None else snapshots_bytes
        self.live = LiveState(model, planned, shelf)
        self._busy = threading.Lock()

    def stream(
        self,
        messages: Sequence[Message],
        options: GenerationOptions = DEFAULTS,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        cancelled: Cancel = lambda: False,
        conversation: str = "",
    ) -> Iterator[Event]:
        """Answer a conversation (OpenAI's messages). A last message of the assistant is continued.

        Raises TemplateFailed, BadOption, ContextFull at once, on any thread; ReadFailed and
        SessionBusy with the events, which the thread that owns the model asks for.
        """
        prompt = self.text.prompt(messages, tools=tools, thinking=options.thinking)
        text = AnswerText(self.text.tokenizer, options.stop, prompt.opens_thinking)
        return self._stream(prompt, options, text, cancelled, conversation)

    def complete(
        self,
        ids: Sequence[int],
        options: GenerationOptions = DEFAULTS,
        *,
        text: bool = True,
        cancelled: Cancel = lambda: False,
        conversation: str = "",
    ) -> Iterator[Event]:
        """Go on after raw token ids. Without `text`, no tokenizer is needed and none is told.

        Raises as `stream` does.
        """
        answer = (
            AnswerText(self.text.tokenizer, options.stop, opens_thinking=False) if text else None
        )
        prompt = Prompt(tuple(ids), len(ids), False)
        return self._stream(prompt, options, answer, cancelled, conversation)

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Tokens that a conversation takes as a prompt."""
        return len(self.text.prompt(messages).ids)

    def _stream(
        self,
        prompt: Prompt,
        options: GenerationOptions,
        text: AnswerText | None,
        cancelled: Cancel,
        conversation: str,
    ) -> Iterator[Event]:
        self._check(prompt)
        check_bias(options.logit_bias, self.model.config.vocab_size)
        return self._events(_Answer(self, prompt, options, text, cancelled, conversation))

    def _events(self, answer: "_Answer") -> Iterator[Event]:
        with self._claim():
            yield from answer.events()

    def _check(self, prompt: Prompt) -> None:
        limit, vocabulary = self.model.config.context_length, self.model.config.vocab_size
        if not prompt.ids:
            raise BadOption("The prompt is empty.", "Give at least one token.")
        if wrong := [i for i in prompt.ids if not 0 <= i < vocabulary]:
            raise BadOption(
                f"Token id {wrong[0]} is not in the vocabulary.",
                f"Ids go from 0 to {vocabulary - 1}.",
            )
        if len(prompt.ids) >= limit:
            raise ContextFull(
                f"The prompt has {len(prompt.ids):,} tokens; this model's context holds {limit:,}.",
                "Shorten the conversation or start a new one.",
            )

    @contextmanager
    def _claim(self) -> Iterator[None]:
        if not self._busy.acquire(blocking=False):
            raise SessionBusy("This session is already answering.", "Wait for it, or cancel it.")
        try:
            yield
        finally:
            self._busy.release()


class _Answer:
    """One answer on its way."""

    def __init__(
        self,
        session: ChatSession,
        prompt: Prompt,
        options: GenerationOptions,
        text: AnswerText | None,
        cancelled: Cancel,
        conversation: str,
    ) -> None:
        self.conversation = conversation
        self.live = session.live
        self.between = session.between
        self.model = session.model
        self.prompt = prompt
        self.text = text
        self.cancelled = cancelled
        self.options = resolve(options, session.text.sampling_defaults)
        self.eos_ids = self.model.container.eos_token_ids
        self.tokens: list[int] = []
        self.cached = 0

    def events(self) -> Iterator[Event]:
        self.started = time.perf_counter()
        self.answer_began = self.started  # when the first token was there
        self.counts_before = self.counts_at_answer = self.model.cache.stats
        try:
            logits = yield from self._read_prompt()
            reason = yield from self._write(logits)
        except Cancelled:
            reason = "cancelled"
        self.live.keep()
        if self.text:
            yield from self.text.finish()
            if self.text.stopped and reason != "cancelled":
                reason = "stop"
        yield Finished(
            reason, self.text.text if self.text else "", tuple(self.tokens), self._stats()
        )

    def _read_prompt(self) -> Generator[Event, None, mx.array]:
        """Up to the turn's end, where a snapshot serves the next turns, and then the rest."""
        ids, turn_end = self.prompt.ids, self.prompt.turn_end
        self.cached = self.live.resume(ids, self.conversation)
        yield PrefillProgress(self.cached, len(ids), self.cached)
        if self.cached < turn_end < len(ids):
            yield from self._read(self.cached, turn_end)
            self.live.keep()
        return (yield from self._read(len(self.live.ids), len(ids)))

    def _read(self, start: int, end: int) -> Generator[Event, None, mx.array]:
        steps, kept = self.live.read(self.prompt.ids[start:end], self.cancelled), 0
        while True:
            try:
                step = next(steps)
            except StopIteration as last:
                logits: mx.array = last.value
                return logits
            if step.kept > kept:  # never within a chunk: its layers hold slots
                self.between()
            kept = step.kept
            yield PrefillProgress(start + step.passed, len(self.prompt.ids), self.cached)

    def _write(self, logits: mx.array) -> Generator[Event, None, FinishReason]:
        model = self.model
        sampler = model.kernels.sampler(self.options, model.config.vocab_size, self.prompt.ids)
        tokens = generate(
            logits,
            sampler,
            self._feed,
            eos_ids=self.eos_ids,
            max_tokens=self.options.max_tokens,
            room=model.config.context_length - len(self.prompt.ids),
        )
        while True:
            try:
                token = next(tokens)
            except StopIteration as end:
                reason: FinishReason = end.value
                return reason
            if not self.tokens:
                self.answer_began = time.perf_counter()
                self.counts_at_answer = self.model.cache.stats
            self.tokens.append(token)
            if self.text:
                yield from self.text.add(token)
                if self.text.stopped:
                    return "stop"

    def _feed(self, token: int) -> mx.array:
        self.between()
        return self.live.decode(token, self.cancelled)

    def _stats(self) -> AnswerStats:
        now = time.perf_counter()
        written, read = self.model.cache.stats - self.counts_at_answer, self._read_since_start()
        prefilled, writing_s = len(self.prompt.ids) - self.cached, now - self.answer_began
        reading_s = self.answer_began - self.started
        return AnswerStats(
            prompt_tokens=len(self.prompt.ids),
            cached_tokens=self.cached,
            generated_tokens=len(self.tokens),
            ttft_s=reading_s if self.tokens else 0.0,
            tokens_per_s=max(0, len(self.tokens) - 1) / writing_s if writing_s > 0 else 0.0,
            prefill_tokens_per_s=prefilled / reading_s if reading_s > 0 else 0.0,
            hit_rate=written.hit_rate,
            bytes_read=read.bytes_read,
            read_s=read.wait_s,
            peak_memory_bytes=machine.peak_bytes(),
        )

    def _read_since_start(self) -> ExpertStats:
        return self.model.cache.stats - self.counts_before
