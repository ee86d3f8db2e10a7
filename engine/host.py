"""The engine process: `python -m engine.host`. Commands in by lines, events out by lines.

MLX lives on the main thread: it loads, answers, resizes and unloads. A second thread reads
commands; what must arrive at any time (cancel, the end of the input) it turns into flags, and the
main thread looks after quick commands between tokens. When the input closes the process ends, at
the latest after `GRACE_S`, so a killed application leaves no engine behind. Standard output
carries the protocol alone; whatever prints goes to standard error, and so does the log.
"""

import faulthandler
import logging
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO, Protocol

from engine import __version__, events
from engine import protocol as wire
from engine.errors import MartletError
from engine.mailbox import Mailbox
from engine.options import GenerationOptions

GRACE_S = 1.5  # after the input closed, until the process ends whatever it is doing
STATS_EVERY_S = 1.0
PAUSE_LOOK_S = 0.25  # while an answer waits; a cancel ends the wait at once

log = logging.getLogger(__name__)


class Engine(Protocol):
    """A loaded model, as the host needs it. Called on the main thread only."""

    @property
    def facts(self) -> wire.ModelFacts:
        """What it is."""

    @property
    def plan(self) -> wire.MemoryPlan:
        """Its memory, as in force now."""

    def stream(
        self,
        messages: Sequence[wire.ChatMessage],
        options: GenerationOptions,
        cancel: threading.Event,
    ) -> Iterator[events.Event]:
        """The events of one answer; ends soon after `cancel` is set."""

    def count_tokens(self, messages: Sequence[wire.ChatMessage]) -> int:
        """Tokens of the prompt made of `messages`."""

    def resize(self, memory_bytes: int) -> wire.MemoryChanged:
        """Keep within a new budget."""

    def tend(self) -> Sequence[wire.MemoryChanged | wire.StorageChanged]:
        """Look after memory and files; called between tokens and once a second while idle."""

    @property
    def paused(self) -> str:
        """Why an answer should wait now, for a person; empty where it need not."""

    def go_on(self) -> None:
        """Do not wait for memory."""

    def stats(self) -> wire.EngineStats:
        """Figures since the last call."""

    def close(self) -> None:
        """Let go of everything."""


Progress = Callable[[str, float], None]  # what is done now, and the share of all that is done
Loader = Callable[[wire.Load, Progress], Engine]


class Host:
    """Serves one peer until its commands end. `events_out` is unbuffered."""

    def __init__(self, commands_in: BinaryIO, events_out: BinaryIO, load: Loader) -> None:
        self._in = commands_in
        self._out = events_out
        self._load = load
        self._mailbox = Mailbox()
        self._engine: Engine | None = None
        self._writing = threading.Lock()
        self._stats_at = 0.0

    def run(self) -> None:
        """Answer commands until Quit or the end of the input."""
        threading.Thread(target=self._read, name="commands", daemon=True).start()
        self._send(wire.Ready(os.getpid(), __version__))
        while not isinstance(command := self._mailbox.take(timeout=STATS_EVERY_S), wire.Quit):
            if command is None:
                self._tend()
            else:
                self._guard(command)
        self._unload()

    def _read(self) -> None:
        """The second thread."""
        try:
            for line in wire.lines(self._in):
                self._receive(line)
        finally:
            self._mailbox.put(wire.Quit())
            _end_after(GRACE_S)

    def _receive(self, line: bytes) -> None:
        try:
            self._mailbox.put(wire.decode_command(line))
        except MartletError as error:
            self._send(_failed(None, error))
        except wire.BadLine as error:
            self._send(wire.Bug(None, f"A command was not understood. {error}"))

    def _guard(self, command: wire.Command) -> None:
        """Do one command; what goes wrong is told, and the process goes on."""
        ends = command.id if isinstance(command, wire.Generate) else None
        try:
            self._do(command)
        except MartletError as error:
            log.warning("%s", error)
            self._send(_failed(ends, error))
        except BrokenPipeError:
            raise
        except Exception:  # the outermost frame of a command
            log.exception("a command failed")
            self._send(wire.Bug(ends, traceback.format_exc()))

    def _do(self, command: wire.Command) -> None:
        match command:
            case wire.Load():
                self._load_model(command)
            case wire.Unload():
                self._unload()
                self._send(wire.Unloaded())
            case wire.Generate():
                self._generate(command)
            case wire.Resize() if self._engine:
                self._send(self._engine.resize(command.memory_bytes))
            case wire.Continue() if self._engine:
                self._engine.go_on()
            case wire.Stats() if self._engine:
                self._send(self._engine.stats())
            case wire.CountTokens():
                self._count_tokens(command)

    def _load_model(self, command: wire.Load) -> None:
        self._unload()
        self._engine = self._load(command, self._progressed)
        self._send(wire.Loaded(self._engine.facts, self._engine.plan))

    def _progressed(self, phase: str, share: float) -> None:
        self._send(wire.Loading(phase, share))

    def _unload(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def _generate(self, command: wire.Generate) -> None:
        engine = self._loaded()
        with self._mailbox.generation(command.id) as cancel:
            for event in engine.stream(command.messages, command.options, cancel):
                self._send(_tagged(command.id, event))
                self._between_tokens()
                while engine.paused and not cancel.wait(PAUSE_LOOK_S):
                    self._between_tokens()

    def _between_tokens(self) -> None:
        while command := self._mailbox.take_quick():
            self._guard(command)
        self._tend()

    def _tend(self) -> None:
        if self._engine is None:
            return
        for change in self._engine.tend():
            self._send(change)
        now = time.monotonic()
        if now - self._stats_at >= STATS_EVERY_S:
            self._stats_at = now
            self._send(self._engine.stats())

    def _count_tokens(self, command: wire.CountTokens) -> None:
        try:
            count = self._engine.count_tokens(command.messages) if self._engine else None
        except MartletError as error:
            log.info("a draft could not be counted: %s", error)
            count = None
        self._send(wire.TokensCounted(command.id, count))

    def _loaded(self) -> Engine:
        if self._engine is None:
            raise MartletError("No model is loaded.", "Load one first.")
        return self._engine

    def _send(self, event: wire.Event) -> None:
        with self._writing:
            self._out.write(wire.encode(event))
            self._out.flush()


def _tagged(id: str, event: events.Event) -> wire.Event:
    match event:
        case events.PrefillProgress():
            return wire.Prefill(id, event.done, event.total, event.cached)
        case events.ReasoningDelta():
            return wire.Reasoning(id, event.text)
        case events.TextDelta():
            return wire.Text(id, event.text)
        case events.Finished():
            return wire.Finished(id, event.reason, event.stats)


def _failed(id: str | None, error: MartletError) -> wire.Failed:
    return wire.Failed(id, type(error).__name__, error.message, error.remedy)


def _end_after(seconds: float) -> None:
    """End the process even if the main thread is stuck in a read or a kernel."""
    timer = threading.Timer(seconds, os._exit, (0,))
    timer.daemon = True
    timer.start()


def _claim_stdout() -> BinaryIO:
    """The protocol's own copy of standard output; from now on prints go to standard error."""
    protocol_out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return protocol_out


def serve(load: Loader) -> None:
    """Be the engine process with this way of loading models, until the input closes."""
    faulthandler.enable()
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(name)s: %(message)s"
    )
    try:
        Host(sys.stdin.buffer, _claim_stdout(), load).run()
    except BrokenPipeError:
        log.info("the application is gone")
    os._exit(0)  # nothing is worth the wait for reader threads; memory goes back now


def _load_model(command: wire.Load, progress: Progress) -> Engine:
    from engine.hosted_model import load_hosted  # brings in MLX, which tests of the host do without

    return load_hosted(command, progress)


if __name__ == "__main__":
    serve(_load_model)
