"""What went wrong with a download, and which button helps."""

from app.download import Help, Trouble
from engine.install import protocol as wire

TOKEN_PAGE = "https://huggingface.co/settings/tokens"

_HELP: dict[str, Help] = {
    "TokenNeeded": "token",
    "AccessRefused": "token",
    "LicenceNotAccepted": "page",
}

_PAUSE_HELP: dict[str, Help] = {"disk": "room", "volume": "volume"}


def note_of(event: wire.Waiting | wire.Notice) -> str:
    """What a download is held up by, or what has just happened to it."""
    if isinstance(event, wire.Notice):
        return event.message
    return f"{event.message} Trying again in {max(1, round(event.seconds))} s."


def trouble_of(event: wire.Paused | wire.Failed | wire.Bug) -> Trouble:
    """The last event of a process that did not reach its end."""
    match event:
        case wire.Paused():
            help = _PAUSE_HELP.get(event.reason, "retry")
            wanted = event.wanted_free_bytes
            return Trouble(event.message, event.remedy, help, wanted_free_bytes=wanted)
        case wire.Failed():
            return Trouble(event.message, event.remedy, _HELP.get(event.kind, "retry"), event.page)
        case wire.Bug():
            return Trouble(
                "Martlet met a fault of its own. Everything that has arrived is kept.",
                "Try again.",
            )
