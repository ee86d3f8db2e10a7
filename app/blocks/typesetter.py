"""Typesetter: what is known of the colours of code and the drawings of formulas, and asks for more.

Threading: UI thread. The work is done in a process (`typesetter_process`), started when first
needed and let go after a minute without work. If that process keeps dying, code stays plain and
formulas are shown as they were written: nothing waits for it.
"""

import json
import sys
from collections import OrderedDict
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QProcess, QTimer, Signal

from app.blocks.drawing import Formula, Span

IDLE_MS = 60_000
MOST_DEATHS = 3  # in a row
KEPT_FORMULAS = 2000
KEPT_CODES = 40
TELL_MS = 80
REPLIES = 8  # read at once; the window has other things to do

_ROOT = Path(__file__).parents[2]  # where `-m app` finds the package


class InkedCode:
    """The colours of a piece of code, line by line; grows while it is worked at."""

    def __init__(self) -> None:
        self.lines: list[list[Span]] = []
        self.complete = False


class Typesetter(QObject):
    """Colours for code and drawings for formulas.

    Signals:
        ink_grew (InkedCode): more of its lines have colours, or it is complete.
        formulas_changed: formulas that were asked for are known now.
    """

    ink_grew = Signal(object)
    formulas_changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._formulas: OrderedDict[tuple[str, bool], Formula | None] = OrderedDict()
        self._codes: OrderedDict[tuple[str, str], InkedCode] = OrderedDict()
        self._asked: dict[int, tuple[str, bool] | InkedCode] = {}
        self._number = 0
        self._deaths = 0
        self._process: QProcess | None = None
        self._idle = QTimer(self)
        self._idle.setSingleShot(True)
        self._idle.setInterval(IDLE_MS)
        self._idle.timeout.connect(self.close)
        self._telling = QTimer(self)  # of formulas: every telling lays text out anew
        self._telling.setSingleShot(True)
        self._telling.setInterval(TELL_MS)
        self._telling.timeout.connect(self.formulas_changed)

    def formula(self, latex: str, *, display: bool) -> Formula | None:
        """The drawing of a formula; None while it is not known, and where it cannot be drawn."""
        key = (latex, display)
        if key in self._formulas:
            self._formulas.move_to_end(key)
            return self._formulas[key]
        if not self.waits_for(latex, display=display):
            self._ask({"latex": latex, "display": display}, key)
        return None

    def waits_for(self, latex: str, *, display: bool) -> bool:
        """Whether a drawing is being made."""
        return (latex, display) in self._asked.values()

    @property
    def is_busy(self) -> bool:
        """Whether something is being worked at, or known but not told yet."""
        return bool(self._asked) or self._telling.isActive()

    def ink(self, code: str, language: str) -> InkedCode:
        """The colours of a piece of code, as far as they are known; `ink_grew` tells of more."""
        key = (code, language)
        if key not in self._codes:
            self._codes[key] = InkedCode()
            self._ask({"code": code, "language": language}, self._codes[key])
            while len(self._codes) > KEPT_CODES:
                self._codes.popitem(last=False)
        self._codes.move_to_end(key)
        return self._codes[key]

    def close(self) -> None:
        """Let the process go; it comes back when it is needed."""
        process, self._process = self._process, None
        self._idle.stop()
        if process is None:
            return
        process.finished.disconnect(self._died)
        process.errorOccurred.disconnect(self._failed)
        process.finished.connect(process.deleteLater)
        process.kill()
        process.waitForFinished(1000)
        self._give_up_on_asked()

    def _ask(self, request: dict[str, Any], about: tuple[str, bool] | InkedCode) -> None:
        if self._deaths >= MOST_DEATHS:
            self._settle(about)
            return
        if self._process is None:
            self._start()
        assert self._process is not None
        self._number += 1
        self._asked[self._number] = about
        self._idle.stop()
        line = json.dumps({"id": self._number, **request}) + "\n"
        self._process.write(line.encode())

    def _start(self) -> None:
        self._process = QProcess(self)
        self._process.setWorkingDirectory(str(_ROOT))
        self._process.setProcessChannelMode(QProcess.ProcessChannelMode.ForwardedErrorChannel)
        self._process.readyReadStandardOutput.connect(self._read)
        self._process.finished.connect(self._died)
        self._process.errorOccurred.connect(self._failed)
        self._process.start(sys.executable, ["-m", "app.blocks.typesetter_process"])

    def _read(self) -> None:
        formulas = False
        for _ in range(REPLIES):
            if self._process is None or not self._process.canReadLine():
                break
            formulas |= self._take(json.loads(bytes(self._process.readLine().data())))
        else:
            QTimer.singleShot(0, self._read)
        self._deaths = 0
        if formulas and not self._telling.isActive():
            self._telling.start()
        if not self._asked:
            self._idle.start()

    def _take(self, reply: dict[str, Any]) -> bool:
        """Note one reply; whether it was about a formula."""
        about = self._asked.get(reply["id"])
        if isinstance(about, InkedCode):
            about.lines += reply.get("lines", [])
        elif about is not None and "formula" in reply:
            self._keep(about, Formula(*reply["formula"]))
        is_last = "lines" not in reply
        if is_last and about is not None:
            del self._asked[reply["id"]]
            self._settle(about)
        if isinstance(about, InkedCode):
            self.ink_grew.emit(about)
        return is_last and not isinstance(about, InkedCode)

    def _settle(self, about: tuple[str, bool] | InkedCode) -> None:
        """There will be no more about this."""
        if isinstance(about, InkedCode):
            about.complete = True
        elif about not in self._formulas:
            self._keep(about, None)

    def _keep(self, key: tuple[str, bool], formula: Formula | None) -> None:
        self._formulas[key] = formula
        while len(self._formulas) > KEPT_FORMULAS:
            self._formulas.popitem(last=False)

    def _failed(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart:
            self._died()

    def _died(self) -> None:
        self._deaths += 1
        if self._process is not None:
            self._process.deleteLater()
            self._process = None
        self._give_up_on_asked()

    def _give_up_on_asked(self) -> None:
        asked, self._asked = self._asked, {}
        for about in asked.values():
            self._settle(about)
        if asked:
            self.formulas_changed.emit()
