"""DownloadController: models on their way: a queue that survives everything, two at a time.

One process a download (`app.install_process`), so that one can be stopped without the others. The
queue is in the database: what ran when the application ended, in whatever way, goes on at the
next start. Threading: lives on the UI thread, and so do its signals.
"""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from app import download_rows
from app.chat_store import ChatStore
from app.download import Download, Freed, Progress, Trouble
from app.download_rows import kept_state
from app.install_process import INSTALL_COMMAND, InstallProcess
from app.install_words import note_of, trouble_of
from app.installed_models import is_model
from app.keychain import Keychain
from app.room_watch import RoomWatch, held_up
from app.settings_store import SettingsStore
from app.task import Task
from engine.container.catalogue import mirrors_of
from engine.errors import MartletError
from engine.install import protocol as wire
from engine.install.discard import discard
from engine.install.target import target_for

AT_A_TIME = 2


class DownloadController(QObject):
    """Asks for models, and says how far they are.

    Signals: see the comment of each.
    """

    # tuple[Download, ...]: after every change, in the order in which they were asked for
    changed = Signal(object)
    # str: a model is whole; its path
    installed = Signal(str)
    # Freed: a download was cancelled, and what had arrived is deleted
    cancelled = Signal(object)
    # str: traceback of a fault of our own in a process
    bug_found = Signal(str)

    def __init__(
        self,
        store: ChatStore,
        settings: SettingsStore,
        keychain: Keychain,
        folder: Path,
        command: Sequence[str] = INSTALL_COMMAND,
    ) -> None:
        """`folder`: where new models go."""
        super().__init__()
        self._store = store
        self._settings = settings
        self._keychain = keychain
        self._folder = folder
        self._command = command
        self._downloads: dict[str, Download] = {}
        self._entered: set[str] = set()  # in this life, whatever became of them
        self._processes: dict[str, InstallProcess] = {}
        self._removals: dict[str, Task] = {}
        self._watch = RoomWatch(self)
        self._watch.ready.connect(self.resume)
        self._store.read(download_rows.all_downloads, self._take_up)

    @property
    def downloads(self) -> tuple[Download, ...]:
        """All of them, in the order in which they were asked for."""
        return tuple(self._downloads.values())

    @property
    def at_work(self) -> int:
        """How many run or wait for their turn: what the next start goes on with."""
        return sum(kept_state(d.state) == "queued" for d in self.downloads)

    def add(self, source: str, name: str, variant: str = "") -> None:
        """Ask for a model; one that is on its way already is not asked for twice."""
        if any(d.source == source and not d.repair for d in self.downloads):
            return
        target = target_for(self._folder, source, {d.target for d in self.downloads})
        if is_model(target):
            self.installed.emit(str(target))
            return
        self._enter(Download(uuid.uuid4().hex, name, variant, source, str(target)))

    def go_on(self, path: str, source: str, name: str) -> None:
        """Complete what an earlier download left, where it is."""
        if not any(d.target == path for d in self.downloads):
            self._enter(Download(uuid.uuid4().hex, name, "", source, path))

    def repair(self, path: str, source: str, name: str) -> None:
        """Fetch anew what is bad of an installed model, from where it came."""
        if not any(d.target == path for d in self.downloads):
            self._enter(Download(uuid.uuid4().hex, name, "", source, path, repair=True))

    def pause(self, download_id: str) -> None:
        """Stop it and keep everything. One that waits for room waits no longer."""
        download = self._downloads[download_id]
        if download.state == "running":
            self._set(download, state="pausing")
            self._processes[download_id].pause()
        elif download.state in ("queued", "failed"):
            self._set(download, state="paused", trouble=None)

    def resume(self, download_id: str, *, anyway: bool = False) -> None:
        """Go on, or try again. `anyway`: although the disk seems too small."""
        download = self._downloads[download_id]
        if download.state in ("paused", "failed"):
            self._queue(download, anyway=anyway or download.anyway)

    def move(self, download_id: str, folder: Path) -> None:
        """Go on in another folder, where models are looked for from now on.

        What has arrived is brought there.
        """
        download = self._downloads[download_id]
        if download.state not in ("paused", "failed"):
            return
        began = download.earlier or download.target
        taken = {d.target for d in self.downloads if d.id != download_id}
        target = str(target_for(folder, download.source, taken))
        earlier = began if began != target and Path(began).exists() else ""
        self._look_for_models_in(folder)
        self._queue(download, target=target, earlier=earlier, anyway=False)

    def cancel(self, download_id: str) -> None:
        """Stop it at once and delete what has arrived; `cancelled` says how much that was."""
        download = self._downloads[download_id]
        if download.state == "cancelling":
            return
        download = self._set(download, state="cancelling", trouble=None, note="")
        if (process := self._processes.get(download_id)) is not None:
            process.kill()  # _ended() follows
        else:
            self._remove(download)

    def close(self) -> None:
        """End all processes; what they worked on goes on at the next start."""
        self._watch.close()
        processes, self._processes = self._processes, {}
        for process in processes.values():
            process.hang_up()
        for process in processes.values():
            process.join()
        for removal in self._removals.values():
            removal.close()

    # The queue

    def _take_up(self, kept: tuple[Download, ...]) -> None:
        """What an earlier life left, before what was asked for since."""
        kept = tuple(d for d in kept if d.id not in self._entered)  # or over by now
        self._downloads = {d.id: d for d in kept} | self._downloads
        self._watch.expect(d.id for d in kept)
        for download in kept:
            if download.state == "cancelling":
                self._remove(download)
        self._start_next()
        self._tell()

    def _enter(self, download: Download) -> None:
        self._downloads[download.id] = download
        self._entered.add(download.id)
        self._write(partial(download_rows.keep, download=download))
        self._start_next()
        self._tell()

    def _queue(self, download: Download, **changes: Any) -> None:
        progress = replace(download.progress, bytes_per_s=None, seconds_left=None)
        self._set(download, state="queued", trouble=None, note="", progress=progress, **changes)
        self._start_next()

    def _look_for_models_in(self, folder: Path) -> None:
        known = self._settings.settings.model_folders
        if not any(folder.is_relative_to(place) for place in (str(self._folder), *known)):
            self._settings.update(model_folders=(*known, str(folder)))

    def _start_next(self) -> None:
        for download in self.downloads:
            busy = sum(d.state in ("running", "pausing") for d in self.downloads)
            is_free = download.id not in self._processes  # its last one may still be going
            if download.state == "queued" and is_free and busy < AT_A_TIME:
                self._start(self._set(download, state="running"))

    def _start(self, download: Download) -> None:
        start = wire.Start(
            download.source,
            download.target,
            token=self._keychain.token,
            anyway=download.anyway,
            repair=download.repair,
            earlier=download.earlier,
            mirrors=mirrors_of(download.source),
        )
        endpoint = self._settings.settings.endpoint
        process = InstallProcess(self._command, endpoint, start, self)
        process.heard.connect(partial(self._heard, download.id))
        process.ended.connect(partial(self._ended, download.id))
        self._processes[download.id] = process

    # The end of a cancelled one

    def _remove(self, download: Download) -> None:
        """Delete what has arrived, but never what is a whole model: a repair may not have begun."""
        work, then = partial(_delete, download), partial(self._removed, download)
        self._removals[download.id] = Task(work, then, "removal", self)

    def _removed(self, download: Download, result: int | MartletError) -> None:
        del self._removals[download.id]
        if isinstance(result, MartletError):
            self._set(download, state="failed", trouble=Trouble(result.message, result.remedy))
            return
        self._drop(download)
        self.cancelled.emit(Freed(download.name, result))

    # What a process says

    def _heard(self, download_id: str, event: wire.Event) -> None:
        download = self._downloads.get(download_id)
        if download is None or download.state == "cancelling":
            return  # it has had its last event, or what it says is of no interest any more
        match event:
            case wire.Begun():
                progress = Progress(done=event.done_bytes, total=event.total_bytes)
                self._set(download, progress=progress, earlier="")  # what was there has come
            case wire.Progress():
                rate, left = event.bytes_per_s, event.seconds_left
                progress = Progress(event.phase, event.done, event.total, rate, left)
                note = download.note if event.done == download.progress.done else ""
                self._show(replace(download, progress=progress, note=note))
            case wire.Waiting() | wire.Notice():
                self._show(replace(download, note=note_of(event)))
            case wire.Done():
                self._drop(download)
                self.installed.emit(event.path)
            case wire.Paused(reason="asked"):
                self._set(download, state="paused", note="")
            case wire.Paused() | wire.Failed() | wire.Bug():
                self._set(download, state="failed", note="", trouble=trouble_of(event))
        if isinstance(event, wire.Bug):
            self.bug_found.emit(event.traceback)

    def _ended(self, download_id: str) -> None:
        process = self._processes.pop(download_id)
        process.deleteLater()
        download = self._downloads.get(download_id)
        if download is not None and download.state == "cancelling":
            self._remove(download)
        elif download is not None and download.state in ("running", "pausing"):
            self._died(download)
        self._start_next()

    def _died(self, download: Download) -> None:
        """The process went without a last word."""
        if download.state == "pausing":
            self._set(download, state="paused")
        else:
            words = "The download ended by itself. Everything that has arrived is kept."
            self._set(download, state="failed", trouble=Trouble(words, "Try again."))

    # Keeping and telling

    def _set(self, download: Download, **changes: Any) -> Download:
        """Change something that outlives the application."""
        changed = replace(download, **changes)
        self._write(partial(download_rows.keep, download=changed))
        self._show(changed)
        return changed

    def _show(self, download: Download) -> None:
        self._downloads[download.id] = download
        self._tell()

    def _drop(self, download: Download) -> None:
        del self._downloads[download.id]
        self._write(partial(download_rows.forget, download_id=download.id))
        self._tell()

    def _write(self, operation: Callable[..., None]) -> None:
        self._store.write(operation, durable=True)

    def _tell(self) -> None:
        self._watch.watch(held_up(self.downloads))
        self.changed.emit(self.downloads)


def _delete(download: Download) -> int | MartletError:
    """Bytes that came back. On a thread."""
    if is_model(Path(download.target)):
        return 0
    try:
        places = (download.target, download.earlier)
        return sum(discard(Path(place), download.source) for place in places if place)
    except MartletError as error:
        return error
