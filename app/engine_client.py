"""EngineClient: stands in the application for the engine process.

Threading: lives on the UI thread, and so do its signals. A worker thread starts the process and
writes commands from a queue, a second one reads events; a process that dies is an event like
any other. Events of a generation that is over are dropped.
"""

from PySide6.QtCore import QObject, Signal

from app.engine_state import EngineState


class EngineClient(QObject):
    """The engine process: start, load, resize, unload, restart; its state as facts.

    Signals: see the comment of each. Answers are asked for through `ChatController`.
    """

    # EngineState: after every change of it
    state_changed = Signal(object)
    # EngineStats: a sample for the plots, about one a second while the engine works
    stats_sampled = Signal(object)
    # MemoryNote: the engine changed its memory; one calm line
    memory_changed = Signal(object)
    # EngineDeath: the process ended by itself; banner with Restart
    died = Signal(object)
    # str: traceback of a fault of our own in the engine, for the crash sheet
    bug_found = Signal(str)

    @property
    def state(self) -> EngineState:
        """The state as it was last told."""
        raise NotImplementedError

    def load(self, path: str) -> None:
        """Load a model, in a fresh process when another one is loaded."""

    def unload(self) -> None:
        """End the process: the only proof that its memory is back. State follows the fact."""

    def resize(self, memory_bytes: int) -> None:
        """Keep within this budget from now on."""

    def restart(self) -> None:
        """Try again after deaths; waiting answers go on."""
