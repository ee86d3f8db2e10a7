"""The whole application in one process of its own, for tests that watch it from outside:

    python tests/ui/whole_app.py DATA [--offline] [ENGINE COMMAND ...]

Starts it on the folder DATA, opens Settings, asks a question, waits for the answer, searches,
exports, closes a window and ends. With --offline, whoever asks for an internet socket is killed.
Exit status 0: all of that happened.
"""

import os
import sys
from pathlib import Path

os.environ["QT_QPA_PLATFORM"] = "offscreen"
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from PySide6.QtCore import QEventLoop, QTimer, SignalInstance
from PySide6.QtWidgets import QApplication

from app.engine_client import ENGINE_COMMAND
from app.installed_models import DEMO
from app.ui.application import Application
from app.workspace import Workspace
from tests.ui.offline import forbid_network

WAIT_MS = 120_000


def main(arguments: list[str]) -> int:
    """Do it; the exit status."""
    data = Path(arguments.pop(0))
    if arguments[:1] == ["--offline"]:
        arguments.pop(0)
        forbid_network()
    qt = QApplication(["martlet"])
    data.mkdir(parents=True, exist_ok=True)
    workspace = Workspace(data, arguments or ENGINE_COMMAND)
    workspace.settings.update(model=str(DEMO), titles_by_model=False)
    application = Application(workspace, data)
    application.start()
    try:
        _live(application, workspace, data)
    except AssertionError:
        sys.stderr.write(f"{workspace.engine.state}\n")
        raise
    application.close()
    workspace.close()
    del qt
    return 0


def _live(application: Application, workspace: Workspace, data: Path) -> None:
    window = application.windows[0]
    application.run("show_settings")
    _after(window.chat.answer_ended, lambda: window.chat.send("Hello, who are you?"))
    while not window.chat.messages[-1].settled:  # it is read again from the disk
        QApplication.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
    answer = window.chat.messages[-1]
    assert (answer.status, answer.error) == ("complete", None), answer
    assert answer.text
    _after(workspace.library.search_finished, lambda: workspace.library.search("hello"))
    target = data / "chat.md"
    shown = window.chat.conversation
    assert shown is not None
    export = workspace.library.export
    _after(workspace.library.exported, lambda: export([shown.id], target, "markdown"))
    assert target.exists()
    application.run("new_window")
    application.windows[0].close()


def _after(signal: SignalInstance, act: object) -> None:
    """Do something and wait until it is told to be done."""
    loop = QEventLoop()
    signal.connect(lambda *_: loop.exit(0))
    QTimer.singleShot(WAIT_MS, lambda: loop.exit(1))
    QTimer.singleShot(0, act)  # type: ignore[call-overload]
    assert loop.exec() == 0, f"{signal} was not emitted"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
