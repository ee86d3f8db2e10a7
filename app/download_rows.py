"""The queue of downloads in the database: functions of a connection, for `ChatStore`."""

import json
import sqlite3
from typing import Any

from app.download import Download, Progress, State, Trouble
from engine.records import from_json, to_json

_COLUMNS = "id, name, variant, source, target, earlier, state, repair, anyway, done, total, trouble"
_MARKS = ", ".join("?" * len(_COLUMNS.split(", ")))


def all_downloads(db: sqlite3.Connection) -> tuple[Download, ...]:
    """In the order in which they were asked for."""
    return tuple(map(_download, db.execute(f"SELECT {_COLUMNS} FROM download ORDER BY number")))


def keep(db: sqlite3.Connection, download: Download) -> None:
    """Add it at the end, or change it where it stands."""
    values = _values(download)
    changes = ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS.split(", ")[1:])
    db.execute(
        f"INSERT INTO download ({_COLUMNS}) VALUES ({_MARKS})"
        f" ON CONFLICT (id) DO UPDATE SET {changes}",
        values,
    )


def forget(db: sqlite3.Connection, download_id: str) -> None:
    """It is finished or cancelled."""
    db.execute("DELETE FROM download WHERE id = ?", (download_id,))


def kept_state(state: State) -> State:
    """What a state means to the next start: what ran goes on, what was to pause is paused."""
    if state == "running":
        return "queued"
    return "paused" if state == "pausing" else state


def _values(download: Download) -> tuple[object, ...]:
    d, trouble = download, download.trouble
    return (
        *(d.id, d.name, d.variant, d.source, d.target, d.earlier),
        *(kept_state(d.state), d.repair, d.anyway, d.progress.done, d.progress.total),
        json.dumps(to_json(trouble)) if trouble else None,
    )


def _download(row: tuple[Any, ...]) -> Download:
    """STRICT columns, written by `_values` alone: the types are right."""
    id, name, variant, source, target, earlier, state, repair, anyway, done, total, trouble = row
    return Download(
        id=id,
        name=name,
        variant=variant,
        source=source,
        target=target,
        earlier=earlier,
        state=state,
        repair=bool(repair),
        anyway=bool(anyway),
        progress=Progress(done=done, total=total),
        trouble=from_json(Trouble, json.loads(trouble)) if trouble else None,
    )
