"""`python -m app`: start the application on the user's data folder."""

import logging
import sys
from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication, QLocale
from PySide6.QtWidgets import QApplication, QMessageBox

from app import crash, logs, paths
from app.garbage import GarbageTimer
from app.installed_models import DEMO, is_model
from app.single_instance import InstanceLock
from app.ui import theme
from app.ui.application import Application
from app.ui.translation import install_translations
from app.ui.unix_signals import QuitOnSignal
from app.workspace import Workspace

translate = QCoreApplication.translate
log = logging.getLogger(__name__)


def main(argv: Sequence[str] | None = None) -> int:
    """Run until the person quits; the process's exit status. Arguments are files to attach."""
    qt = QApplication(list(sys.argv if argv is None else argv))
    qt.setApplicationName("Martlet")
    qt.setDesktopFileName("martlet")
    qt.setWindowIcon(theme.application_icon())
    QuitOnSignal(qt)
    install_translations(qt, QLocale.system())
    qt.setQuitOnLastWindowClosed(sys.platform != "darwin")
    files = qt.arguments()[1:]
    lock = InstanceLock(paths.data_folder())
    try:
        is_first = lock.acquire()
        logging_handler = logs.start_logging(paths.log_folder())
    except OSError as error:
        return _refuse(translate("main", "Martlet cannot keep its files."), str(error))
    if not is_first:
        return 0 if lock.summon_other(files) else _refuse_second()
    status = _run(qt, lock, files)
    lock.release()
    logging_handler.close()
    return status


def _run(qt: QApplication, lock: InstanceLock, files: Sequence[str]) -> int:
    GarbageTimer(qt)  # first, for starting makes many objects and no garbage
    data = paths.data_folder()
    workspace = Workspace(data)
    _choose_demo(workspace)
    application = Application(workspace, data)
    crash.watch(application.fault.emit)
    lock.summoned.connect(application.summon)
    qt.aboutToQuit.connect(application.close)
    application.start()
    if files:
        application.summon(files)
    status = qt.exec()
    workspace.close()
    return status


def _choose_demo(workspace: Workspace) -> None:
    """At first, the built-in model answers."""
    if not workspace.settings.settings.model and is_model(DEMO):
        workspace.settings.update(model=str(DEMO))


def _refuse_second() -> int:
    return _refuse(
        translate("main", "Martlet is running already, but does not answer."),
        translate("main", "End that process, then start Martlet again."),
    )


def _refuse(message: str, remedy: str) -> int:
    box = QMessageBox(QMessageBox.Icon.Critical, "Martlet", message)
    box.setInformativeText(remedy)
    box.exec()
    return 1
