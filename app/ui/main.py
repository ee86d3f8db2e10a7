"""`python -m app`: start the application on the user's data folder."""

import sys
from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QApplication, QMessageBox

from app import paths
from app.installed_models import DEMO, is_model
from app.ui.application import Application
from app.ui.crash import CrashReporter
from app.ui.single_instance import SingleInstance
from app.workspace import Workspace

translate = QCoreApplication.translate


def main(argv: Sequence[str] | None = None) -> int:
    """Run until the person quits; the process's exit status."""
    qt = QApplication(list(sys.argv if argv is None else argv))
    qt.setApplicationName("Martlet")
    qt.setApplicationDisplayName("Martlet")
    qt.setQuitOnLastWindowClosed(sys.platform != "darwin")
    data = paths.data_folder()
    instance = SingleInstance(data)
    if not instance.claim():
        return _leave_to(instance)
    crashes = CrashReporter()
    crashes.install()
    workspace = Workspace(data)
    _choose_demo(workspace)
    application = Application(workspace, data, crashes)
    instance.raise_wanted.connect(application.raise_front)
    qt.aboutToQuit.connect(application.close)
    application.start()
    status = qt.exec()
    workspace.close()
    instance.release()
    return status


def _leave_to(instance: SingleInstance) -> int:
    """Raise the application that runs already; tell if it does not answer."""
    if instance.raise_first():
        return 0
    QMessageBox.critical(
        None,
        "Martlet",
        translate(
            "main", "Martlet is running already, but does not answer. End it, then try again."
        ),
    )
    return 1


def _choose_demo(workspace: Workspace) -> None:
    """At first, the built-in model answers."""
    if not workspace.settings.settings.model and is_model(DEMO):
        workspace.settings.update(model=str(DEMO))
