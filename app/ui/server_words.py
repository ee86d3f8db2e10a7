"""What the local server is at, in true words and one light: for its page and the status bar."""

from PySide6.QtCore import QCoreApplication

from app.engine_state import ServingState
from app.local_server import ServerStatus
from app.ui.engine_words import Condition
from app.ui.theme import Role

translate = QCoreApplication.translate


def condition(status: ServerStatus) -> Condition:
    """What is true of it, and what to do where it does not serve."""
    serving = status.serving
    match status.condition:
        case "off":
            return Condition(translate("server", "Off: no other program can ask."), Role.TERTIARY)
        case "missing":
            words = translate(
                "server",
                "The server needs %1, which is not installed. Install martlet[server], then start"
                " Martlet again.",
            )
            return Condition(words.replace("%1", status.package), Role.WARNING)
        case "no_key":
            words = translate(
                "server", "Off: the key is not in the keychain any more. Generate a new one."
            )
            return Condition(words, Role.WARNING)
        case "stopped":
            words = translate(
                "server", "Off: the engine stopped too often. Restart it in the main window."
            )
            return Condition(words, Role.ERROR)
        case "starting":
            return Condition(translate("server", "Starting"), Role.ACCENT)
        case "failed":
            failure = serving.failure
            words = f"{failure.message} {failure.remedy}" if failure else ""
            return Condition(words, Role.WARNING)
        case "listening":
            words = translate("server", "Listening at %1").replace("%1", serving.url)
            return Condition(f"{words}{_load(serving)}", Role.READY)


def _load(serving: ServingState) -> str:
    words = [translate("server", "answering a program")] if serving.answering else []
    if serving.waiting:
        words.append(translate("server", "%1 waiting").replace("%1", str(serving.waiting)))
    return f" · {', '.join(words)}" if words else ""


def light(serving: ServingState) -> Condition | None:
    """For the status bar; nothing while there is nothing to know."""
    if serving.failure is not None:
        words = f"{serving.failure.message} {serving.failure.remedy}"
        return Condition(words, Role.WARNING)
    if not serving.url:
        return None
    if serving.answering:
        return Condition(translate("server", "The local server answers a program."), Role.READY)
    words = translate("server", "Programs are listened to at %1").replace("%1", serving.url)
    return Condition(words, Role.TERTIARY)
