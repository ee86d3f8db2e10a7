"""What went wrong with a download, and which button helps."""

from app.download import Help, Trouble
from engine.install import protocol as wire

TOKEN_PAGE = "https://huggingface.co/settings/tokens"

_HELP: dict[str, Help] = {
    "TokenNeeded": "token",
    "AccessRefused": "token",
    "LicenceNotAccepted": "page",
}


def trouble_of(event: wire.Paused | wire.Failed | wire.Bug) -> Trouble:
    """The last event of a process that did not reach its end."""
    match event:
        case wire.Paused():
            help: Help = "anyway" if event.reason == "disk" else "retry"
            return Trouble(event.message, event.remedy, help)
        case wire.Failed():
            return Trouble(event.message, event.remedy, _HELP.get(event.kind, "retry"), event.page)
        case wire.Bug():
            return Trouble(
                "Martlet met a fault of its own. Everything that has arrived is kept.",
                "Try again.",
            )
