"""Sentences about downloads and models, in the words and figures of the system's language."""

from PySide6.QtCore import QCoreApplication

from app.download import Download, Fits, Hit, Installed, Offer, Progress, Trouble
from app.ui import figures
from app.ui.theme import Role

translate = QCoreApplication.translate
DOT = " · "


def download_line(download: Download) -> tuple[str, Role]:
    """One line on where a download stands, and its colour."""
    trouble, progress = download.trouble, download.progress
    if download.state == "failed" and trouble is not None:
        return trouble_line(trouble), Role.WARNING
    if download.state == "queued":
        return _with_bytes(translate("models", "Waits for its turn"), progress), Role.SECONDARY
    if download.state == "pausing":
        return translate("models", "Pausing…"), Role.SECONDARY
    if download.state == "paused":
        return _with_bytes(translate("models", "Paused"), progress), Role.SECONDARY
    if download.state == "cancelling":
        return translate("models", "Deleting what has arrived…"), Role.SECONDARY
    if download.note:
        return f"{figures.disk_rate(0)}{DOT}{download.note}", Role.WARNING
    return _running(progress), Role.SECONDARY


def trouble_line(trouble: Trouble) -> str:
    """What happened, and what to do. What waits for its disk says first that it does."""
    if trouble.help not in ("room", "volume"):
        return f"{trouble.message} {trouble.remedy}".strip()
    paused = translate("models", "Paused: %1").replace("%1", trouble.message)
    then = translate("models", "It then goes on by itself.")
    return f"{paused}\n{trouble.remedy} {then}"


def _running(progress: Progress) -> str:
    if not progress.total:
        return translate("models", "Asking what is to be fetched…")
    if progress.phase in ("moving", "verifying"):
        moving = translate("models", "Moving what has arrived: %1")
        verifying = translate("models", "Verifying: %1")
        words = moving if progress.phase == "moving" else verifying
        return words.replace("%1", figures.share(progress.done / progress.total))
    parts = [figures.memory_of(progress.done, progress.total)]
    if progress.phase == "repacking":
        parts.insert(0, translate("models", "Repacking"))
    if progress.bytes_per_s is not None:
        parts.append(figures.disk_rate(progress.bytes_per_s))
    if progress.seconds_left is not None:
        parts.append(time_left(progress.seconds_left))
    return DOT.join(parts)


def _with_bytes(state: str, progress: Progress) -> str:
    if not progress.total:
        return state
    return f"{state}{DOT}{figures.memory_of(progress.done, progress.total)}"


def time_left(seconds: float) -> str:
    """`4 min 25 s left`, `2 h 5 min left`."""
    whole = max(1, round(seconds))
    if whole < 60:
        return translate("models", "%1 s left").replace("%1", str(whole))
    if whole < 3600:
        words = translate("models", "%1 min %2 s left")
        return words.replace("%1", str(whole // 60)).replace("%2", str(whole % 60))
    words = translate("models", "%1 h %2 min left")
    return words.replace("%1", str(whole // 3600)).replace("%2", str(whole % 3600 // 60))


def offer_line(offer: Offer) -> str:
    """`19.5 GB download · Apache-2.0 · 262k context · chat, code, thinking`."""
    size = translate("models", "%1 download").replace("%1", figures.memory(offer.download_bytes))
    context = translate("models", "%1k context").replace("%1", str(offer.context_length // 1000))
    parts = (size, offer.licence, context, ", ".join(map(_strength, offer.good_at)))
    return DOT.join(part for part in parts if part)


def fit_lines(fits: Fits | None) -> tuple[str, str, Role]:
    """What a person wants to know first, the line below it, and the colour of the first."""
    if fits is None:
        return "", "", Role.SECONDARY
    if fits.verdict in ("memory", "disk"):
        return fits.reason, fits.memory, Role.WARNING
    role = Role.WARNING if fits.verdict == "slow" else Role.SECONDARY
    return (fits.speed, fits.memory, role) if fits.speed else (fits.memory, "", role)


def hit_line(hit: Hit) -> str:
    """`12,300 downloads · apache-2.0 · asks for a licence`."""
    count = translate("models", "%1 downloads").replace("%1", figures.count(hit.downloads))
    gated = translate("models", "its owners ask for a licence") if hit.gated else ""
    return DOT.join(part for part in (count, hit.licence, gated) if part)


def installed_line(model: Installed, *, in_use: bool) -> tuple[str, Role]:
    """`19.5 GB · in use`, or what is wrong."""
    if model.state == "broken":
        return model.message, Role.WARNING
    if model.state == "away":
        return model.message, Role.TERTIARY
    if model.state == "incomplete":
        words = translate("models", "Not complete: %1").replace("%1", model.message)
        return words, Role.WARNING
    parts = [figures.memory(model.bytes)]
    if model.is_demo:
        parts.append(translate("models", "a toy that shows how Martlet works"))
    if in_use:
        parts.append(translate("models", "in use"))
    return DOT.join(parts), Role.SECONDARY


def variant_of(model: Installed) -> str:
    """What follows an installed model's name."""
    if model.is_demo:
        return translate("models", "built in")
    return translate("models", "%1-bit").replace("%1", str(model.bits)) if model.bits else ""


def _strength(name: str) -> str:
    known = {
        "chat": translate("models", "chat"),
        "code": translate("models", "code"),
        "knowledge": translate("models", "knowledge"),
        "mathematics": translate("models", "mathematics"),
        "reasoning": translate("models", "reasoning"),
        "thinking": translate("models", "thinking"),
        "tools": translate("models", "tools"),
        "writing": translate("models", "writing"),
    }
    return known.get(name, name)
