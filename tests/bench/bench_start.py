"""From the start of the process to a window that takes keys.

    python -m tests.bench start

Medians of whole processes: each is started, shows its window, puts a letter into the composer and
ends. Bytecode is cached, as in an installed application. Beside it stands the time of a process
that only imports Qt's widgets: what no Qt application in Python can do without.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 9

LIVE = """
import sys
from PySide6.QtCore import QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from app.ui.application import Application
from app.ui.main import main

start = Application.start

def started(application):
    start(application)
    text = application.windows[0].pane.composer.text
    QApplication.processEvents()
    QTest.keyClicks(text, "x")
    assert text.toPlainText().endswith("x")
    text.clear()
    print(len(application.windows), flush=True)
    QTimer.singleShot(0, QApplication.quit)

Application.start = started
sys.exit(main(["martlet"]))
"""


def milliseconds(words: str, home: Path) -> float:
    """Until the process printed its line."""
    environment = {
        **os.environ,
        "MARTLET_HOME": str(home),
        "QT_QPA_PLATFORM": "offscreen",
        "PYTHONPYCACHEPREFIX": str(home / "bytecode"),
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    begun = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", words],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None, "a pipe was asked for"
    line = process.stdout.readline()
    passed = (time.perf_counter() - begun) * 1000
    if process.wait() != 0 or not line.strip():
        raise RuntimeError(f"The process ended with {process.returncode}.")
    process.stdout.close()
    return passed


def main() -> None:
    """Print the table."""
    plain = "import PySide6.QtWidgets; print('imported', flush=True)"
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        milliseconds(LIVE, home)  # makes the data folder and the bytecode
        measured = [(milliseconds(LIVE, home), milliseconds(plain, home)) for _ in range(ROUNDS)]
    window, qt = (statistics.median(times) for times in zip(*measured, strict=True))
    print(f"window takes keys after   {window:6.0f} ms (of {ROUNDS} starts)")
    print(f"Qt alone is imported after {qt:5.0f} ms")


if __name__ == "__main__":
    main()
