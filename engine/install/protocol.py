"""The messages of `python -m engine.install`, for both ends: one JSON object a line.

A process serves one Start, Search or LookUp, and ends with its last event: `Done`, `Paused`,
`Discarded`, `Found`, `Offer`, `Failed` or `Bug`. Pause and Cancel may come in between; the end of
its input means Pause.
"""

import json
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from engine.container.fit import ModelShape
from engine.install.patience import PATIENCE, Patience
from engine.protocol import MAX_LINE_BYTES, BadLine
from engine.records import BadRecord, from_json, to_json

VERSION = 1


@dataclass(frozen=True, slots=True)
class Start:
    """Install `source` (OWNER/NAME, a link, an address, a folder) into the folder `target`.

    `revision`: a branch, tag or commit of the hub's. `anyway`: although the disk seems too small.
    `repair`: look at every byte that is there first. `earlier`: the folder in which this began;
    what it holds is brought into `target`. `mirrors`: addresses that hold the same container, each
    asked when those before it cannot be reached.
    """

    source: str
    target: str
    revision: str | None = None
    token: str | None = field(default=None, repr=False)
    anyway: bool = False
    repair: bool = False
    earlier: str = ""
    mirrors: tuple[str, ...] = ()
    patience: Patience = PATIENCE


@dataclass(frozen=True, slots=True)
class Pause:
    """Stop and keep everything."""


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop and delete what has arrived."""


@dataclass(frozen=True, slots=True)
class Search:
    """Ask the hub for models that this engine can run."""

    query: str
    token: str | None = field(default=None, repr=False)
    limit: int = 20


@dataclass(frozen=True, slots=True)
class LookUp:
    """Ask what `source` is, without taking it."""

    source: str
    revision: str | None = None
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Ready:
    """The process lives and reads commands."""

    pid: int
    engine_version: str
    protocol_version: int = VERSION


@dataclass(frozen=True, slots=True)
class Begun:
    """What is being installed. `commit` and `host` are "" where there are none."""

    target: str
    source: str
    kind: Literal["container", "checkpoint"]
    commit: str
    host: str
    total_bytes: int  # to fetch in all
    done_bytes: int  # of them there already


@dataclass(frozen=True, slots=True)
class Progress:
    """Twice a second. The rate is of the last five seconds; no time is left to tell at rate 0."""

    phase: Literal["moving", "downloading", "repacking", "verifying"]
    done: int
    total: int
    bytes_per_s: float
    seconds_left: float | None


@dataclass(frozen=True, slots=True)
class Waiting:
    """Something failed and will be tried again in `seconds`."""

    message: str
    seconds: float
    failures: int  # in a row
    tries: int  # that may fail


@dataclass(frozen=True, slots=True)
class Notice:
    """Something worth knowing that needs nobody."""

    message: str


@dataclass(frozen=True, slots=True)
class Joined:
    """Another process installs this already; its progress follows."""

    pid: int


@dataclass(frozen=True, slots=True)
class Done:
    """The model is whole and checked."""

    path: str
    total_bytes: int


@dataclass(frozen=True, slots=True)
class Paused:
    """Everything is kept; the same Start goes on.

    `reason` "disk": once `wanted_free_bytes` are free on `volume`; "volume": once that is back.
    """

    reason: Literal["asked", "disk", "volume", "other"]
    message: str
    remedy: str
    volume: str = ""
    wanted_free_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Discarded:
    """Cancelled: nothing is left of it."""

    freed_bytes: int


@dataclass(frozen=True, slots=True)
class Failed:
    """Something a person can act on. What has arrived is kept; `page` helps where it is not ""."""

    kind: str  # name of the error's type in engine.errors
    message: str
    remedy: str
    page: str = ""


@dataclass(frozen=True, slots=True)
class Bug:
    """Our own fault."""

    traceback: str


@dataclass(frozen=True, slots=True)
class Listing:
    """A model on the hub, as the search lists it."""

    id: str
    kind: Literal["container", "checkpoint"]
    downloads: int
    likes: int
    gated: bool
    licence: str


@dataclass(frozen=True, slots=True)
class Found:
    """The answer to Search."""

    query: str
    models: tuple[Listing, ...]


@dataclass(frozen=True, slots=True)
class Offer:
    """The answer to LookUp: a model that this engine can run."""

    source: str
    name: str
    kind: Literal["container", "checkpoint"]
    commit: str
    family: str
    bits: int  # of an expert's weight; 0: not quantized
    download_bytes: int
    context_length: int
    licence: str  # as the hub names it; "": unknown
    shape: ModelShape


Command: TypeAlias = Start | Pause | Cancel | Search | LookUp
Outcome: TypeAlias = Done | Paused | Discarded | Failed
Event: TypeAlias = (
    Ready
    | Begun
    | Progress
    | Waiting
    | Notice
    | Joined
    | Done
    | Paused
    | Discarded
    | Failed
    | Bug
    | Found
    | Offer
)

COMMANDS: dict[str, type[Command]] = {kind.__name__: kind for kind in Command.__args__}
EVENTS: dict[str, type[Event]] = {kind.__name__: kind for kind in Event.__args__}


def encode(message: Command | Event) -> bytes:
    """One line, with its newline."""
    body = {"type": type(message).__name__, **to_json(message)}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def decode_command(line: bytes) -> Command:
    """The command in `line`. Raises BadLine."""
    command: Command = _decode(COMMANDS, line)
    return command


def decode_event(line: bytes) -> Event:
    """The event in `line`. Raises BadLine."""
    event: Event = _decode(EVENTS, line)
    return event


def _decode(kinds: dict[str, type[Any]], line: bytes) -> Any:
    """An error never quotes its line, which may hold a token."""
    if len(line) > MAX_LINE_BYTES:
        raise BadLine(f"A line has {len(line):,} bytes, more than {MAX_LINE_BYTES:,}.")
    try:
        body = json.loads(line.decode())
    except (ValueError, RecursionError) as error:
        raise BadLine("A line is not JSON.") from error
    kind = body.pop("type", None) if isinstance(body, dict) else None
    if not isinstance(kind, str) or kind not in kinds:
        raise BadLine("A line is no known message.")
    try:
        return from_json(kinds[kind], body)
    except BadRecord as error:
        raise BadLine(f"{kind} does not have the fields it should.") from error
