"""EngineProcess: one life of the engine process, and the three threads that serve its pipes.

A worker starts the process and writes commands from a queue (a long conversation does not fit
into a pipe at once, and starting takes time); a reader hands out events; a third follows what the
process logs. `deliver` is called on the reader's thread: events as they come, and at the very end
exactly one `ProcessEnded`, after the process has been waited for: no zombie, no guess.
"""

import logging
import queue
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from engine import protocol as wire

LOG_TAIL_LINES = 40
END_WITHIN_S = 3.0  # after its input closed; the host itself gives up after 1.5 s

log = logging.getLogger(__name__)
engine_log = logging.getLogger("engine")


@dataclass(frozen=True, slots=True)
class ProcessEnded:
    """The process is gone. `code`: its exit status, negative for a signal; None: never started."""

    code: int | None
    asked: bool  # it was told to end
    log_tail: str  # its last words


Deliver = Callable[["EngineProcess", wire.Event | ProcessEnded], None]


class EngineProcess:
    """Starts at once; used from one thread, but for what its docstrings say."""

    def __init__(self, command: Sequence[str], deliver: Deliver) -> None:
        self._command = command
        self._deliver = deliver
        self._commands: queue.SimpleQueue[wire.Command | None] = queue.SimpleQueue()
        self._process: subprocess.Popen[bytes] | None = None
        self._asked = False
        self._killed = threading.Event()
        self._tail: deque[str] = deque(maxlen=LOG_TAIL_LINES)
        self._worker = threading.Thread(target=self._work, name="engine-commands", daemon=True)
        self._worker.start()

    def send(self, command: wire.Command) -> None:
        """Queue a command; lost without a word if the process is gone."""
        self._commands.put(command)

    def end(self) -> None:
        """Close the process's input; it ends by itself, or is killed after `END_WITHIN_S`."""
        self._asked = True
        self._commands.put(None)

    def kill(self) -> None:
        """End it now, in whatever it is stuck."""
        self._asked = True
        self._killed.set()
        if (process := self._process) is not None:
            process.kill()
        self._commands.put(None)

    def join(self) -> None:
        """Wait until the process is gone and every thread has ended. After end() or kill()."""
        self._worker.join(END_WITHIN_S + 1)
        if self._worker.is_alive():  # it is stopped, or deaf in the middle of a long command
            self.kill()
            self._worker.join()

    def _work(self) -> None:
        """The worker's thread; lives as long as the process."""
        try:
            process = self._start()
        except OSError as error:
            self._deliver(self, ProcessEnded(None, self._asked, str(error)))
            return
        reader = _start_thread(self._read, process, "engine-events")
        self._write_commands(process)
        reader.join()

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # an interrupt typed into our terminal is not meant for it
        )
        self._process = process
        if self._killed.is_set():
            process.kill()
        return process

    def _write_commands(self, process: subprocess.Popen[bytes]) -> None:
        pipe = _pipe(process.stdin)
        try:
            while (command := self._commands.get()) is not None:
                pipe.write(wire.encode(command))
                pipe.flush()
        except OSError:
            log.info("the engine does not read any more")
        _close(pipe)
        if self._asked:
            _wait_or_kill(process)

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        """The reader's thread."""
        follower = _start_thread(self._follow_log, process, "engine-log")
        pipe = _pipe(process.stdout)
        for line in wire.lines(pipe):
            try:
                self._deliver(self, wire.decode_event(line))
            except wire.BadLine as error:
                log.error("an event was not understood: %s", error)
        pipe.close()
        _wait_or_kill(process)
        follower.join()
        self._commands.put(None)  # lets the worker go
        self._deliver(self, ProcessEnded(process.returncode, self._asked, "\n".join(self._tail)))

    def _follow_log(self, process: subprocess.Popen[bytes]) -> None:
        """The third thread."""
        pipe = _pipe(process.stderr)
        for line in pipe:
            text = line.decode(errors="replace").rstrip()
            self._tail.append(text)
            engine_log.info("%s", text)
        pipe.close()


def _start_thread(
    target: Callable[[subprocess.Popen[bytes]], None], process: subprocess.Popen[bytes], name: str
) -> threading.Thread:
    thread = threading.Thread(target=target, args=(process,), name=name, daemon=True)
    thread.start()
    return thread


def _pipe(pipe: object) -> BinaryIO:
    assert pipe is not None, "Popen was asked for pipes"
    return pipe  # type: ignore[return-value]


def _close(pipe: BinaryIO) -> None:
    try:
        pipe.close()
    except OSError:
        log.debug("the engine's input was gone before it was closed")


def _wait_or_kill(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(END_WITHIN_S)
    except subprocess.TimeoutExpired:
        log.warning("the engine did not end by itself within %.0f s", END_WITHIN_S)
        process.kill()
        process.wait()
