"""Install: one model, from what a person named to a container that is whole, or to a clear end.

What it does is the same in the process of its own (`engine.install.__main__`) and in a terminal.
"""

import logging
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from engine.container.container import JOURNAL, MANIFEST
from engine.container.durable import disk_faults
from engine.container.files import names_in
from engine.container.hub import Hub
from engine.container.json_file import write_object
from engine.container.origin import Origin, read_origin
from engine.container.remote import Remote
from engine.container.removal import disk_bytes
from engine.container.volume import is_unplugged, place_name, volume_of
from engine.errors import (
    BadContainer,
    BadOption,
    Cancelled,
    DownloadFailed,
    HubRefusal,
    MartletError,
    ModelNotFound,
    NotEnoughDisk,
)
from engine.install.claim import Claim, Taken
from engine.install.crew import Gate, work
from engine.install.direct import DirectInstall
from engine.install.discard import discard_claimed
from engine.install.fetch import Retrier
from engine.install.follow import follow
from engine.install.journal import read_journal
from engine.install.move import bring
from engine.install.patience import Patience
from engine.install.prospect import look
from engine.install.protocol import Discarded, Done, Event, Failed, Notice, Outcome, Paused, Start
from engine.install.pulse import Pulse
from engine.install.raw import look_raw
from engine.install.repair import RoutedRepair
from engine.install.room import free_remedy, full_message, wanted_free
from engine.install.routed import RoutedInstall
from engine.install.site import Site
from engine.install.source import canonical, is_container, open_remote, parse_source
from engine.install.stop import Stop
from engine.install.tally import Tally
from engine.install.target import others_in

log = logging.getLogger(__name__)

TRIES_BEFORE_A_MIRROR = 4
KEPT = "Everything that has arrived is kept."


def run(start: Start, hear: Callable[[Event], None], stop: Stop) -> Outcome:
    """Install until it is whole, stopped or fails; `hear` is called on several threads."""
    folder = Path(os.path.abspath(os.path.expanduser(start.target)))
    site = make_site(folder, start.source, start.patience, hear, stop, anyway=start.anyway)
    try:
        site = replace(site, source=canonical(parse_source(start.source)))
        for place in (folder, Path(start.earlier or folder)):
            if is_unplugged(place):
                return _unplugged(place)
        with Claim(folder) as claim:
            return _run_from_any(site, start, claim)
    except Taken as taken:
        return follow(folder, taken.pid, hear, stop)
    except MartletError as error:
        log.info("%s", error)
        return _outcome(site, error)


def make_site(
    folder: Path,
    source: str,
    patience: Patience,
    hear: Callable[[Event], None],
    stop: Stop,
    *,
    anyway: bool = False,
) -> Site:
    """What all parts of an installation share."""
    retrier = Retrier(patience, stop, hear)
    return Site(folder, source, retrier, stop, Tally(), Gate(), hear, anyway)


def _run_from_any(site: Site, start: Start, claim: Claim) -> Outcome:
    """From the source, or else from the first mirror that does better.

    Raises what the source itself said where none does.
    """
    patience = site.retrier.patience
    brief = replace(patience, tries=min(patience.tries, TRIES_BEFORE_A_MIRROR))
    try:
        return _run(site.afresh(brief if start.mirrors else patience), start, claim)
    except (DownloadFailed, HubRefusal, ModelNotFound) as fault:
        for mirror in start.mirrors:
            site.hear(Notice(f"{fault.message} Going on from {urlsplit(mirror).hostname}."))
            with suppress(DownloadFailed, BadContainer):
                instead = replace(start, source=mirror, revision=None)
                return _run(site.afresh(patience), instead, claim)
        raise


def _run(site: Site, start: Start, claim: Claim) -> Outcome:
    """With the claim. A thread that hangs in the network is left behind, but cannot write."""
    try:
        with Pulse(site, claim):
            work([partial(_build, site, start)], 1, site.stop)
        return Done(str(site.folder), disk_bytes(site.folder))
    except Cancelled:
        site.gate.close()
        if site.stop.wish != "cancel" or start.repair:  # what was whole once is not thrown away
            raise
        return Discarded(discard_claimed(site.folder, site.source))
    finally:
        site.gate.close()


def _build(site: Site, start: Start) -> None:
    _refuse_other(site)
    if start.earlier:
        bring(Path(start.earlier), site)
    origin, names = read_origin(site.folder), names_in(site.folder)
    if MANIFEST in names and JOURNAL not in names and not start.repair:
        return
    remote = _open(site, start, origin)
    repair = start.repair or read_journal(site.folder).get("repair") is True
    if is_container(remote):
        prospect = look(site, remote)
        if repair:
            _demote(site)
        DirectInstall(site, remote, prospect).run()
    elif repair:
        RoutedRepair(site, remote, look_raw(site, remote)).run()
    else:
        RoutedInstall(site, remote, look_raw(site, remote)).run()


def _refuse_other(site: Site) -> None:
    """Raise BadOption where the folder holds anything but this model or its beginnings."""
    origin, others = read_origin(site.folder), others_in(site.folder)
    if origin is not None and origin.source == site.source:
        return
    if origin is not None or others:
        what = f"a model from {origin.source}" if origin else repr(min(others))
        raise BadOption(
            f"{site.folder} holds {what}.", "Choose another folder, or delete this one first."
        )


def _open(site: Site, start: Start, origin: Origin | None) -> Remote:
    """The source at the commit that an earlier run began with, or else as it is now."""
    source = parse_source(start.source)
    hub = Hub(start.token, start.patience.stall_s)
    commit = (origin.commit if origin else "") or start.revision
    return site.retrier.trying(lambda: open_remote(source, hub, commit))


def _demote(site: Site) -> None:
    """Count no file as checked; from here on it is no model."""
    with site.writing():
        write_object(site.folder / JOURNAL, {})
        (site.folder / MANIFEST).unlink(missing_ok=True)


def _outcome(site: Site, error: MartletError) -> Outcome:
    if isinstance(error, Cancelled):
        return Paused("asked", "Paused.", KEPT)
    if is_unplugged(site.folder) or not site.folder.parent.is_dir():
        return _unplugged(site.folder)
    if isinstance(error, NotEnoughDisk):
        return _full(site, error)
    return failed(error)


def failed(error: MartletError) -> Failed:
    """The event of an error."""
    page = error.page if isinstance(error, HubRefusal) else ""
    return Failed(type(error).__name__, error.message, error.remedy, page)


def _full(site: Site, error: NotEnoughDisk) -> Outcome:
    try:
        with disk_faults(site.folder):
            volume = volume_of(site.folder)
    except MartletError as fault:
        return failed(fault)
    progress = site.tally.progress()
    left = progress.total - progress.done if progress.phase != "verifying" else 0
    wanted = wanted_free(left, progress.total, anyway=site.anyway)
    message, remedy = error.message, error.remedy
    if left and wanted > volume.free_bytes:  # otherwise the error knows better: a quota, perhaps
        message, remedy = full_message(volume, left), free_remedy(wanted - volume.free_bytes)
    return Paused("disk", message, remedy, volume.name, wanted)


def _unplugged(folder: Path) -> Paused:
    name = place_name(folder.parent)
    return Paused("volume", f"“{name}” is not connected. Nothing is lost.", "Connect it.", name)
