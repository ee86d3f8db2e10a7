"""Site: a folder in which a model is being installed, and all that its builders share."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from engine.container.durable import disk_faults
from engine.container.origin import Origin, write_origin
from engine.container.remote import Remote
from engine.install.crew import Gate
from engine.install.fetch import Fetcher, Retrier
from engine.install.patience import Patience
from engine.install.protocol import Begun, Event
from engine.install.room import check_room
from engine.install.stop import Stop
from engine.install.tally import Phase, Tally

HANDS = 4  # connections at once: one alone seldom fills a line


@dataclass(frozen=True, slots=True)
class Site:
    """Where, and with whom."""

    folder: Path
    source: str  # by its one name
    retrier: Retrier
    stop: Stop
    tally: Tally
    gate: Gate
    hear: Callable[[Event], None]
    anyway: bool = False

    def afresh(self, patience: Patience) -> "Site":
        """For another attempt: what an earlier one left behind hears no more and cannot write."""
        stop = self.stop.branch()
        return replace(self, stop=stop, gate=Gate(), retrier=Retrier(patience, stop, self.hear))

    def fetcher(self, remote: Remote) -> Fetcher:
        """A reader of `remote` whose bytes count."""
        return Fetcher(remote, self.retrier, self.tally.moved)

    def check_room(self, total_bytes: int, there_bytes: int) -> None:
        """Raise NotEnoughDisk, unless the person wants it anyway. The tally knows what is left."""
        self.tally.begin("downloading", total_bytes, there_bytes)
        if not self.anyway:
            check_room(self.folder, total_bytes, there_bytes)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Leave to write to the folder. Raises NotEnoughDisk where it is full."""
        with self.gate, disk_faults(self.folder):
            yield

    def keep(self, origin: Origin) -> None:
        """Note where it comes from, before anything else stands in the folder."""
        with self.writing():
            write_origin(self.folder, origin)

    def begin(self, origin: Origin, host: str, done_bytes: int) -> None:
        """Say what is coming."""
        phase: Phase = "downloading" if host else "repacking"
        self.tally.begin(phase, origin.total_bytes, done_bytes)
        where, total = str(self.folder), origin.total_bytes
        self.hear(Begun(where, origin.source, origin.kind, origin.commit, host, total, done_bytes))
