"""EngineClient: stands in the application for the engine process.

Threading: lives on the UI thread, and so do its signals. `EngineProcess` owns the threads: one
starts the process and writes commands from a queue, one reads events. A process that dies is an
event like any other. Events of a process or a generation that is over are dropped.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from app.conversation import Failure
from app.engine_process import EngineProcess, ProcessEnded
from app.engine_state import (
    MOST_DEATHS,
    EngineState,
    MemoryNote,
    StorageNote,
    after_end,
    after_event,
    failure_of,
)
from app.event_inbox import EventInbox
from engine import protocol as wire
from engine import snapshot_folder
from engine.options import GenerationOptions

REVIVE_MS = 200  # until a process that only serves is started again; its end is seen before

ENGINE_COMMAND = (sys.executable, "-X", "faulthandler", "-m", "engine.host")


class EngineClient(QObject):
    """The engine process: start, load, resize, unload, restart; its state as facts.

    One generation at a time; `AnswerQueue` keeps the line. Signals: see the comment of each.
    """

    # EngineState: after every change of it
    state_changed = Signal(object)
    # EngineStats: a sample for the plots, about one a second while a model is loaded
    stats_sampled = Signal(object)
    # MemoryNote: the engine changed its memory; one calm line
    memory_changed = Signal(object)
    # StorageNote: the model's files came back, or are other ones now
    storage_changed = Signal(object)
    # EngineDeath: the process ended by itself; banner with Restart
    died = Signal(object)
    # str: traceback of a fault of our own in the engine, for the crash sheet
    bug_found = Signal(str)
    # str, protocol event: Prefill, Reasoning, Text or Finished of this generation
    generation_event = Signal(str, object)
    # str, Failure, bool: this generation ended without Finished; True: because the process ended
    generation_failed = Signal(str, object, bool)
    # Failure: the model could not be loaded
    load_failed = Signal(object)
    # Failure: something else was refused, such as a budget that is too small
    failed = Signal(object)
    # Planned: the answer to plan()
    planned = Signal(object)
    # another program asks the local server, and no model is loaded; it will ask again
    model_wanted = Signal()
    # str, int: the answer to count_tokens(); never for an ask that could not be answered
    tokens_counted = Signal(str, int)

    def __init__(
        self, command: Sequence[str] = ENGINE_COMMAND, snapshots: Path | None = None
    ) -> None:
        """`snapshots`: where the engine keeps conversations beyond its life; None: nowhere."""
        super().__init__()
        self._command = command
        self._snapshots = snapshots
        self._state = EngineState()
        self._process: EngineProcess | None = None
        self._wanted: wire.Load | None = None  # to be loaded once the old process is gone
        self._serve: wire.Serve | None = None  # what every process is told at its start
        self._expect = wire.Expect("")  # the same
        self._revive = QTimer(self, interval=REVIVE_MS, singleShot=True)
        self._revive.timeout.connect(self._start_to_serve)
        self._deaths = 0
        self._plain = self._checks = False  # how models are loaded
        self._inbox = EventInbox(self)
        self._inbox.arrived.connect(self._take)

    @property
    def state(self) -> EngineState:
        """The state as it was last told."""
        return self._state

    @property
    def gave_up(self) -> bool:
        """It died too often; nothing starts until restart()."""
        return self._deaths >= MOST_DEATHS

    def load(self, path: str, memory_bytes: int | None = None) -> None:
        """Load a model; in place of another one only once that one's memory is back."""
        if self.gave_up or self._is_here(path):
            return
        self._wanted = wire.Load(
            path,
            memory_bytes,
            check_reads=self._checks,
            plain=self._plain,
            snapshots_folder=str(self._snapshots) if self._snapshots else None,
        )
        if self._process is None:
            self._start()
        elif self._state.model == "none" and self._state.process != "ending":
            self._send_load()
        else:
            self._end()

    def choose(self, *, plain: bool, check_reads: bool) -> None:
        """How models are loaded from now on: without kernels of our own; checking what is read."""
        self._plain, self._checks = plain, check_reads

    def plan(self, path: str, memory_bytes: int | None = None) -> None:
        """Ask what a model would take; `planned` follows. A process is started if none lives."""
        if self._process is None and not self.gave_up:
            self._start()
        self._send(wire.Plan(path, memory_bytes))

    def unload(self) -> None:
        """End the process: the only proof that its memory is back. State follows the fact."""
        self._wanted = None
        if self._process is not None:
            self._end()

    def serve(self, host: str, port: int, api_key: str | None) -> None:
        """Have other programs answered at this address until stop_serving(), by any process."""
        self._serve = wire.Serve(host, port, api_key)
        if self._process is None:
            self._start_to_serve()
        else:
            self._send(self._serve)

    def expect(self, model: str) -> None:
        """The name of the model that is loaded when `model_wanted` is told; "" for none."""
        self._expect = wire.Expect(model)
        self._send(self._expect)

    def stop_serving(self) -> None:
        """Have no other programs answered."""
        self._serve = None
        self._revive.stop()
        self._send(wire.StopServing())

    def resize(self, memory_bytes: int) -> None:
        """Keep within this budget from now on."""
        if self._state.model == "loaded":
            self._send(wire.Resize(memory_bytes))

    def go_on(self) -> None:
        """Go on with an answer that stands still (`state.stats.paused` says why)."""
        self._send(wire.Continue())

    def restart(self) -> None:
        """Try again after deaths; waiting answers go on."""
        self._deaths = 0
        self._set_state(replace(self._state, death=None))
        if self._process is None:
            self._start()

    def forget_load_failure(self) -> None:
        """What kept a model from being loaded is over."""
        self._set_state(replace(self._state, load_failure=None, load_failure_path=""))

    def generate(
        self,
        id: str,
        messages: Sequence[wire.ChatMessage],
        options: GenerationOptions,
        conversation: str = "",
    ) -> None:
        """Begin a generation. Precondition: a model is loaded and nothing is being generated."""
        self._send(wire.Generate(id, tuple(messages), options, conversation))
        self._set_state(replace(self._state, answering=id))

    def cancel(self, id: str) -> None:
        """Ask the generation to end; Finished follows, unless the process hangs."""
        if self._state.answering == id:
            self._send(wire.Cancel(id))

    def forget(self, conversations: Sequence[str]) -> None:
        """Erase what the engine keeps of these, whether it runs or not."""
        if self._snapshots is not None:
            snapshot_folder.forget(self._snapshots, conversations)
        if self._process is not None:
            self._send(wire.Forget(tuple(conversations)))

    def kill(self) -> None:
        """The last resort, for a process that does not listen. Counts as asked for."""
        if self._process is not None:
            self._process.kill()

    def count_tokens(self, id: str, messages: Sequence[wire.ChatMessage]) -> None:
        """Ask how long a prompt is; without a loaded model there is no answer."""
        if self._state.model == "loaded":
            self._send(wire.CountTokens(id, tuple(messages)))

    def close(self) -> None:
        """End the process and its threads; nothing is told any more."""
        self._serve = None
        self._revive.stop()
        process, self._process = self._process, None  # so that its events are dropped
        if process is not None:
            process.end()
            process.join()

    def _is_here(self, path: str) -> bool:
        """Whether `path` is loaded, or on the way already."""
        if self._wanted is not None:
            return self._wanted.path == path
        alive = self._state.process != "ending" and self._state.model != "none"
        return alive and self._state.model_path == path

    def _start(self) -> None:
        self._process = EngineProcess(self._command, self._inbox.put)
        self._set_state(replace(self._state, process="starting"))  # why the last one ended stays
        self._send(self._expect)
        if self._serve is not None:
            self._send(self._serve)
        if self._wanted is not None:
            self._send_load()

    def _start_to_serve(self) -> None:
        if self._serve is not None and self._process is None and not self.gave_up:
            self._start()

    def _send_load(self) -> None:
        wanted, self._wanted = self._wanted, None
        assert wanted is not None, "called only with a model to load"
        self._send(wanted)
        self._set_state(
            replace(
                self._state,
                model="loading",
                model_path=wanted.path,
                plain=wanted.plain,
                check_reads=wanted.check_reads,
                load_failure=None,
                load_failure_path="",
            )
        )

    def _end(self) -> None:
        assert self._process is not None, "called only while a process lives"
        self._process.end()
        self._set_state(replace(self._state, process="ending"))

    def _send(self, command: wire.Command) -> None:
        if self._process is not None:
            self._process.send(command)

    def _take(self, items: list[tuple[EngineProcess, wire.Event | ProcessEnded]]) -> None:
        for process, event in items:
            if process is not self._process:
                continue  # of a former life
            if isinstance(event, ProcessEnded):
                self._process_ended(event)
            else:
                self._heard(event)

    def _heard(self, event: wire.Event) -> None:
        loading = self._state.model == "loading"
        self._set_state(after_event(self._state, event))
        match event:
            case wire.Prefill() | wire.Reasoning() | wire.Text():
                if event.id == self._state.answering:
                    self.generation_event.emit(event.id, event)
            case wire.Finished():
                self._deaths = 0
                if self._stop_answering(event.id):
                    self.generation_event.emit(event.id, event)
            case wire.TokensCounted() if event.count is not None:
                self.tokens_counted.emit(event.id, event.count)
            case wire.Planned():
                self.planned.emit(event)
            case wire.EngineStats():
                self.stats_sampled.emit(event)
            case wire.MemoryChanged():
                self.memory_changed.emit(MemoryNote(event.level, event.message, event.plan))
            case wire.Served(answering=False):
                self._deaths = 0  # it lives after an answer, if there was one
            case wire.ModelWanted():
                self.model_wanted.emit()
            case wire.StorageChanged():
                self._files_changed(event)
            case wire.Failed() | wire.Bug():
                self._failed(event, loading)

    def _failed(self, event: wire.Failed | wire.Bug, loading: bool) -> None:
        if isinstance(event, wire.Bug):
            self.bug_found.emit(event.traceback)
        if event.id is not None:
            if self._stop_answering(event.id):
                self.generation_failed.emit(event.id, failure_of(event), False)
        elif loading:
            self.load_failed.emit(failure_of(event))
        elif isinstance(event, wire.Failed):
            self.failed.emit(failure_of(event))

    def _files_changed(self, event: wire.StorageChanged) -> None:
        """A model whose files are other ones is of no use: the next answer loads it anew."""
        if not event.usable:
            self.unload()
        self.storage_changed.emit(StorageNote(event.usable, event.message))

    def _process_ended(self, ended: ProcessEnded) -> None:
        answering = self._state.answering
        self._process = None
        self._deaths += not ended.asked
        self._set_state(after_end(self._state, ended, self._deaths))
        death = self._state.death
        if answering is not None:
            cause = death.message if death else "The engine was stopped."
            self.generation_failed.emit(answering, Failure("EngineDied", cause), True)
        if death is not None:
            self.died.emit(death)
        if self._wanted is not None and self._process is None and not self.gave_up:
            self._start()
        elif self._serve is not None:
            self._revive.start()

    def _stop_answering(self, id: str) -> bool:
        """Note the end of a generation. Whether it was the one that ran."""
        if self._state.answering != id:
            return False
        self._set_state(replace(self._state, answering=None))
        return True

    def _set_state(self, state: EngineState) -> None:
        if state != self._state:
            self._state = state
            self.state_changed.emit(state)
