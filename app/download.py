"""What the application tells about models on their way: downloads, what was found, what is here.

Threading: every class is frozen. Nothing here knows Qt, SQLite or the download process.
"""

from dataclasses import dataclass
from typing import Literal

# Where a download stands:
#   queued      waits for its turn
#   running     a process works on it
#   pausing     was asked to stop; everything will be kept
#   paused      stands still because a person asked
#   failed      stands still until somebody helps; `trouble` says how
#   cancelling  what has arrived is being deleted
State = Literal["queued", "running", "pausing", "paused", "failed", "cancelling"]
Phase = Literal["moving", "downloading", "repacking", "verifying"]

# What a model on the disk is: "incomplete" ones can go on, "away" ones are on a disk that is not
# connected.
InstalledState = Literal["ready", "incomplete", "broken", "away"]

# What helps:
#   retry    try again            token    enter a token
#   room     room on the disk, or another folder; it goes on by itself when there is room
#   volume   connecting the disk, or another folder; it goes on by itself when that is back
#   page     open a page in the browser
Help = Literal["retry", "token", "room", "volume", "page"]


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a download stands still. What has arrived is kept.

    `wanted_free_bytes`: once so much is free on the disk, it goes on ("room").
    """

    message: str
    remedy: str = ""
    help: Help = "retry"
    page: str = ""
    wanted_free_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is. `bytes_per_s`, of the last five seconds: None before there is a figure."""

    phase: Phase = "downloading"
    done: int = 0
    total: int = 0
    bytes_per_s: float | None = None
    seconds_left: float | None = None


@dataclass(frozen=True, slots=True)
class Download:
    """A model on its way into the folder `target`.

    `earlier`: the folder in which it began; what has arrived there is still to be moved.
    """

    id: str
    name: str  # "Qwen3.6 35B-A3B"
    variant: str  # "4-bit"; "" where it is not known
    source: str
    target: str
    state: State = "queued"
    repair: bool = False
    anyway: bool = False
    earlier: str = ""
    progress: Progress = Progress()
    note: str = ""  # what it waits for while running
    trouble: Trouble | None = None


@dataclass(frozen=True, slots=True)
class Freed:
    """A download was cancelled; so much came back on the disk."""

    name: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Fits:
    """How a model would do on this machine. `speed` and `reason` are "" where nothing is known."""

    speed: str  # "About 12 tokens/s"
    memory: str  # "uses 4.3 GB"
    reason: str
    verdict: Literal["fits", "slow", "memory", "disk"]


@dataclass(frozen=True, slots=True)
class Offer:
    """A model that can be downloaded."""

    source: str
    name: str
    variant: str
    download_bytes: int
    licence: str
    context_length: int
    good_at: tuple[str, ...]
    fits: Fits


@dataclass(frozen=True, slots=True)
class Hit:
    """A model on the hub, as a search lists it."""

    source: str
    downloads: int
    gated: bool
    licence: str


@dataclass(frozen=True, slots=True)
class Installed:
    """A model on a disk of this machine. `message` says what is wrong with one not "ready"."""

    name: str
    path: str
    state: InstalledState = "ready"
    message: str = ""
    bytes: int = 0
    bits: int = 0  # of an expert's weight; 0: unknown
    is_demo: bool = False
    source: str = ""  # where it can be fetched anew; "": unknown
    fits: Fits | None = None
