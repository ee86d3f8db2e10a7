"""Does the transcript ever keep the window waiting? Gaps of the event loop under heavy answers:

    python tests/bench/bench_transcript.py [SCENARIO ...]

A timer wants to fire every millisecond; a gap is how much later than that it fires. The aim is
99 of 100 gaps under 16 ms (one frame), and none over 50 ms. Beside the gaps stands the time that
the thread itself was computing in them: on a busy machine gaps also hold other programs' turns.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, thread_time

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from PySide6.QtCore import QEventLoop, Qt, QTimer
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication

from app.conversation import Activity
from app.garbage import GarbageTimer
from app.ui.appearance import plain_palette
from app.ui.transcript import TranscriptView
from tests.ui.fake_chat import FakeChat, answer, user

FLUSH_MS = 33
SETTLE_MS = 1500

FORMULA = r"$\frac{a_{%d}}{n!}$"
THOUGHT = (
    "So the term %d is "
    + FORMULA
    + r" and it is at most $x^{%d}$, which I should check once more. "
)
CODE_LINE = "    total[%d] = sum(values[i] * weights[i] for i in range(%d))  # row %d\n"


class Probe:
    """Notes how late a timer of one millisecond fires."""

    def __init__(self) -> None:
        self.gaps_ms: list[float] = []
        self.busy_ms: list[float] = []
        self._last, self._last_busy = perf_counter(), thread_time()
        self._timer = QTimer()
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._tick)
        self._timer.start(1)

    def _tick(self) -> None:
        now, busy = perf_counter(), thread_time()
        self.gaps_ms.append(max((now - self._last) * 1000 - 1, 0))
        self.busy_ms.append((busy - self._last_busy) * 1000)
        self._last, self._last_busy = now, busy

    def result(self) -> str:
        self._timer.stop()
        return f"gaps: {_summary(self.gaps_ms)}   computing: {_summary(self.busy_ms)}"


def _summary(times_ms: list[float]) -> str:
    ordered = sorted(times_ms)
    return f"p99 {ordered[int(len(ordered) * 0.99)]:5.1f} max {ordered[-1]:5.1f} ms"


def wait(milliseconds: int) -> None:
    """Let the event loop run."""
    loop = QEventLoop()
    QTimer.singleShot(milliseconds, loop.quit)
    loop.exec()


def fresh() -> tuple[FakeChat, TranscriptView]:
    """A shown transcript, with the typesetter's process already running."""
    chat = FakeChat()
    view = TranscriptView(chat)
    view.resize(900, 900)
    view.show()
    chat.show([user(0, "Hello"), answer(0, "Warm $x$.\n\n```python\nx = 1\n```\n")])
    wait(SETTLE_MS)
    return chat, view


def stream(chat: FakeChat, pieces: list[str], *, reasoning: bool) -> str:
    """Feed an answer, piece by piece; the probe's result."""
    chat.show([user(1, "Go on"), answer(1, "", status="streaming", stats=None)])
    chat.do(Activity("thinking" if reasoning else "answering", "a1"))
    wait(200)
    probe = Probe()
    for piece in pieces:
        chat.grow("a1", **{"reasoning" if reasoning else "text": piece})
        wait(FLUSH_MS)
    chat.finish("a1")
    wait(SETTLE_MS)
    return probe.result()


def thinking() -> str:
    """60,000 characters of thinking with formulas, unfolded."""
    chat, view = fresh()
    view.set_reasoning_open(True)
    result = stream(chat, _chunks(_thought(), 200), reasoning=True)
    close(view)
    return result


def folded_thinking() -> str:
    """The same, folded."""
    chat, view = fresh()
    result = stream(chat, _chunks(_thought(), 200), reasoning=True)
    close(view)
    return result


def code() -> str:
    """A block of code of 5,000 lines."""
    chat, view = fresh()
    text = "```python\n" + "".join(CODE_LINE % (i, i, i) for i in range(5000)) + "```\n"
    result = stream(chat, _chunks(text, 2000), reasoning=False)
    close(view)
    return result


def opening() -> str:
    """A conversation of 2,000 messages is opened, and read upwards."""
    chat, view = fresh()
    messages = _long_conversation()
    probe = Probe()
    wait(50)
    begun = perf_counter()
    chat.show(messages, "c2")
    while not _screen_is_real(view):
        QApplication.processEvents()
    view.viewport().repaint()
    first = (perf_counter() - begun) * 1000
    wait(SETTLE_MS)
    bar = view.verticalScrollBar()
    for _ in range(60):
        bar.setValue(bar.value() - view.height() // 2)
        wait(FLUSH_MS)
    result = f"{probe.result()}   first picture after {first:.0f} ms"
    close(view)
    return result


def _screen_is_real(view: TranscriptView) -> bool:
    top = view.verticalScrollBar().value()
    return top > 0 and view._column.is_real(top, top + view.viewport().height())


def reopening() -> str:
    """Code of 5,000 lines is there when the conversation is opened, and is scrolled through."""
    chat, view = fresh()
    text = "```python\n" + "".join(CODE_LINE % (i, i, i) for i in range(5000)) + "```\n"
    probe = Probe()
    wait(50)
    chat.show([user(1, "Go on"), answer(1, text)], "c2")
    wait(SETTLE_MS)
    bar = view.verticalScrollBar()
    for _ in range(60):
        bar.setValue(bar.value() - 777)
        wait(FLUSH_MS)
    result = probe.result()
    close(view)
    return result


def resizing() -> str:
    """The window is made narrower and wider over a rich conversation."""
    chat, view = fresh()
    chat.show(_long_conversation()[:200], "c2")
    wait(SETTLE_MS)
    probe = Probe()
    for step in range(40):
        view.resize(900 - 8 * (20 - abs(20 - step)), 900)
        wait(FLUSH_MS)
    result = probe.result()
    close(view)
    return result


def close(view: TranscriptView) -> None:
    """Leave nothing behind."""
    view.close()
    view.typesetter.close()
    view.deleteLater()
    wait(50)


def _thought() -> str:
    sentences = [THOUGHT % (i, i, i % 40) for i in range(700)]
    paragraphs = ["".join(sentences[i : i + 4]) for i in range(0, 700, 4)]
    return "\n\n".join(paragraphs)[:60_000]


def _chunks(text: str, size: int) -> list[str]:
    return [text[i : i + size] for i in range(0, len(text), size)]


def _long_conversation() -> list[object]:
    paragraph = "This is a sentence of an answer with **weight** and `code` in it. " * 5
    rich = f"{paragraph}\n\n- one\n- two\n- three\n\n{paragraph}\n\n```python\n"
    rich += "for i in range(10):\n    print(i)\n" * 4 + f"```\n\n{paragraph}\n\n"
    rich += "| a | b |\n|---|--:|\n| 1 | 2 |\n| 3 | 4 |\n"
    turns: list[object] = []
    for number in range(1000):
        turns += [user(number, f"Question {number}: why?"), answer(number, rich)]
    return turns


SCENARIOS: dict[str, Callable[[], str]] = {
    "thinking": thinking,
    "folded-thinking": folded_thinking,
    "code": code,
    "opening": opening,
    "reopening": reopening,
    "resizing": resizing,
}


def main(names: list[str]) -> None:
    """Run scenarios; all of them, unless named."""
    application = QApplication(sys.argv[:1])
    font = QFont("Inter")
    font.setPixelSize(13)
    application.setFont(font)
    application.setPalette(plain_palette(dark=False))
    GarbageTimer(application)  # as in the application: its collections are among the gaps
    for name in names or SCENARIOS:
        print(f"{name:16s} {SCENARIOS[name]()}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
