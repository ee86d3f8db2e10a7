"""Pulse: twice a second, say how far an installation is, and look at the room on the disk."""

import threading
from typing import Self

from engine.container.durable import disk_faults
from engine.errors import MartletError
from engine.install.claim import Claim
from engine.install.room import check_low_water
from engine.install.site import Site
from engine.records import to_json

BEAT_S = 0.5


class Pulse:
    """Beats on its own thread while the context lasts."""

    def __init__(self, site: Site, claim: Claim) -> None:
        self._site = site
        self._claim = claim
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pulse", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._end.wait(BEAT_S):
            try:
                self._beat()
            except MartletError as fault:
                self._site.stop.give_up(fault)
                return

    def _beat(self) -> None:
        progress = self._site.tally.progress()
        self._site.hear(progress)
        self._claim.tell(to_json(progress))
        if progress.phase == "downloading" and not self._site.anyway:
            with disk_faults(self._site.folder):
                check_low_water(self._site.folder, progress.total - progress.done)
