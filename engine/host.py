"""The engine process: `python -m engine.host`. Commands in by lines, events out by lines.

MLX lives on the main thread: it loads, answers, resizes and unloads. A second thread reads
commands; what must arrive at any time (cancel, the end of the input) it turns into flags, and the
main thread looks after quick commands between tokens. Other programs, which `engine.serving`
listens to where that is asked for, take turns with the application. When the input closes the
process ends, at the latest after `GRACE_S`, so a killed application leaves no engine behind.
Standard output carries the protocol alone; whatever prints goes to standard error, and so does the
log.
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
from engine.server.served import ServedModel
from engine.serving import Serving

GRACE_S = 1.5  # after the input closed, until the process ends whatever it is doing
STATS_EVERY_S = 1.0
PAUSE_LOOK_S = 0.25  # while an answer waits; a cancel ends the wait at once
NO_STATS = events.AnswerStats(0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0, 0.0, 0)

log = logging.getLogger(__name__)


class Engine(Protocol):
    """A loaded model, as the host needs it. Called on the main thread only."""

    @property
    def facts(self) -> wire.ModelFacts:
        """What it is."""

    @property
    def kernels(self) -> wire.KernelReport:
        """What computes it."""

    @property
    def plan(self) -> wire.MemoryPlan:
        """Its memory, as in force now."""

    @property
    def served(self) -> ServedModel:
        """The same for other programs."""

    def stream(
        self,
        messages: Sequence[wire.ChatMessage],
        options: GenerationOptions,
        cancel: threading.Event,
        conversation: str,
    ) -> Iterator[events.Event]:
        """The events of one answer; ends soon after `cancel` is set."""

    def count_tokens(self, messages: Sequence[wire.ChatMessage]) -> int:
        """Tokens of the prompt made of `messages`."""

    def forget(self, conversations: Sequence[str]) -> None:
        """Erase what is kept of these conversations."""

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
Planner = Callable[[wire.Plan], wire.Planned]


class Host:
    """Serves one peer until its commands end. `events_out` is unbuffered."""

    def __init__(
        self, commands_in: BinaryIO, events_out: BinaryIO, load: Loader, plan: Planner
    ) -> None:
        self._in = commands_in
        self._out = events_out
        self._load = load
        self._plan = plan
        self._mailbox = Mailbox()
        self._serving = Serving(self._send, self._mailbox.nudge)
        self._engine: Engine | None = None
        self._writing = threading.Lock()
        self._stats_at = 0.0

    def run(self) -> None:
        """Answer commands until Quit or the end of the input."""
        threading.Thread(target=self._read, name="commands", daemon=True).start()
        self._send(wire.Ready(os.getpid(), __version__))
        served = False
        while not isinstance(command := self._next(at_once=served), wire.Quit):
            if command is None:
                self._tend()
            else:
                self._guard(command)
            served = self._serving.answer_one(self._mailbox.program, self._between)
        self._serving.close()
        self._unload()

    def _next(self, *, at_once: bool) -> wire.Command | None:
        """The application's next command. Its turn comes after each answer for a program."""
        return self._mailbox.take(timeout=0 if at_once else STATS_EVERY_S)

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
            dropped = self._mailbox.put(wire.decode_command(line))
        except MartletError as error:
            self._send(_failed(None, error))
        except wire.BadLine as error:
            self._send(wire.Bug(None, f"A command was not understood. {error}"))
        else:
            if dropped is not None:
                self._send(wire.Finished(dropped.id, "cancelled", NO_STATS))

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
            case wire.Plan():
                self._send(self._plan(command))
            case wire.Unload():
                self._unload()
                self._send(wire.Unloaded())
            case wire.Generate():
                self._generate(command)
            case wire.Forget() if self._engine:
                self._engine.forget(command.conversations)
            case wire.Resize() if self._engine:
                self._send(self._engine.resize(command.memory_bytes))
            case wire.Continue() if self._engine:
                self._engine.go_on()
            case wire.Stats() if self._engine:
                self._send(self._engine.stats())
            case wire.CountTokens():
                self._count_tokens(command)
            case wire.Serve():
                self._serving.start(command)
            case wire.Expect():
                self._serving.expect(command.model)
            case wire.StopServing():
                self._serving.stop()

    def _load_model(self, command: wire.Load) -> None:
        self._unload()
        self._engine = self._load(command, self._progressed)
        self._serving.offer(self._engine.served)
        self._send(wire.Loaded(self._engine.facts, self._engine.plan, self._engine.kernels))

    def _progressed(self, phase: str, share: float) -> None:
        self._send(wire.Loading(phase, share))

    def _unload(self) -> None:
        engine, self._engine = self._engine, None
        self._serving.offer(None)
        if engine is not None:
            engine.close()

    def _generate(self, command: wire.Generate) -> None:
        with self._mailbox.generation() as cancel, self._serving.engaged():
            for event in self._loaded().stream(
                command.messages, command.options, cancel, command.conversation
            ):
                self._send(_tagged(command.id, event))
                if not isinstance(event, events.Finished):
                    self._between(cancel)

    def _between(self, cancel: threading.Event) -> None:
        """Between two tokens: what is quick, and waiting while the answer should wait."""
        self._look_around()
        while self._loaded().paused and not cancel.wait(PAUSE_LOOK_S):
            self._look_around()

    def _look_around(self) -> None:
        while command := self._mailbox.take_quick():
            self._guard(command)
        self._serving.look()
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


def _plan_model(command: wire.Plan) -> wire.Planned:
    from engine.memory.forecast import forecast  # brings in MLX

    return forecast(command)


def serve(load: Loader, plan: Planner = _plan_model) -> None:
    """Be the engine process with these ways of loading and planning, until the input closes."""
    faulthandler.enable()
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(name)s: %(message)s"
    )
    try:
        Host(sys.stdin.buffer, _claim_stdout(), load, plan).run()
    except BrokenPipeError:
        log.info("the application is gone")
    os._exit(0)  # nothing is worth the wait for reader threads; memory goes back now


def _load_model(command: wire.Load, progress: Progress) -> Engine:
    from engine.hosted_model import load_hosted  # brings in MLX, which tests of the host do without

    return load_hosted(command, progress)


if __name__ == "__main__":
    serve(_load_model)
