"""Help for models that are handed out to known people only: a token, or the page of the licence."""

from collections.abc import Callable

from PySide6.QtCore import QCoreApplication, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QWidget

from app.download import Trouble
from app.keychain import Keychain
from app.ui.models_window.row import Act
from app.ui.models_window.token_sheet import TokenSheet

translate = QCoreApplication.translate

Say = Callable[[str], object]


def access_acts(
    trouble: Trouble, parent: QWidget, keychain: Keychain, say: Say, again: Callable[[], object]
) -> list[Act]:
    """What lets a person in, and trying `again`; "token" and "page" have a button of their own."""
    retry = Act(translate("models", "Try Again"), again)
    if trouble.help == "token":
        return [token_act(parent, keychain, say, again), retry]
    if trouble.help == "page":
        return [Act(translate("models", "Open Page…"), lambda: _browse(trouble.page)), retry]
    return [retry]


def token_act(parent: QWidget, keychain: Keychain, say: Say, then: Callable[[], object]) -> Act:
    """Ask for the token, keep it, and go on."""

    def entered(token: str) -> None:
        if not keychain.save(token):
            no_keychain = "There is no keychain here: the token is kept until you quit."
            say(translate("models", no_keychain))
        then()

    return Act(translate("models", "Enter Token…"), lambda: TokenSheet(entered, parent).open())


def _browse(page: str) -> None:
    if page.startswith("https://"):
        QDesktopServices.openUrl(QUrl(page))
