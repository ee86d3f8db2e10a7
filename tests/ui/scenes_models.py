"""Scenes of the Models window: each state of a row, the catalogue, a search, a look-up."""

from dataclasses import replace
from pathlib import Path

from PySide6.QtWidgets import QWidget

from app.download import Download, Fits, Hit, Installed, Offer, Progress, Trouble
from app.ui.models_window.token_sheet import TokenSheet
from app.ui.models_window.window import ModelsWindow
from tests.ui.fakes import GB, MODEL, FakeWorkspace

FITS = Fits("About 12 tokens/s", "uses 2.6 GB", "", "fits")
SLOW = Fits("Slow here: 1 token/s", "uses 12.0 GB", "The disk is slow.", "slow")
TIGHT = Fits("", "uses 19.2 GB", "Needs 19.2 GB for itself; this machine has 16.0 GB.", "memory")

OFFERS = (
    Offer(
        "acme/Qwen3.6-qpack",
        "Qwen3.6 35B-A3B",
        "4-bit",
        int(19.5 * GB),
        "Apache-2.0",
        262_144,
        ("chat", "code", "thinking"),
        FITS,
    ),
    Offer(
        "acme/Qwen3-Next-qpack",
        "Qwen3-Next 80B-A3B",
        "4-bit, from MLX",
        int(44.8 * GB),
        "Apache-2.0",
        262_144,
        ("chat", "writing", "knowledge"),
        SLOW,
    ),
    Offer("acme/Large", "Large 900B", "8-bit", 900 * GB, "MIT", 131_072, ("reasoning",), TIGHT),
    Offer(
        "acme/Whole",
        "Whole 40B",
        "4-bit",
        24 * GB,
        "",
        32_768,
        (),
        Fits("", "uses 4.3 GB", "", "fits"),
    ),
)

HALF = Progress("downloading", int(19.3 * GB), int(44.8 * GB), 96.4e6, 265)
RUNNING = Download(
    "run", "Qwen3-Next 80B-A3B", "4-bit", "acme/Next", "/m/Next.qpack", "running", progress=HALF
)
FULL = Trouble(
    "“Samsung T7” has 3.1 GB free, 34.2 GB still to come. Nothing is lost.",
    "Free 31.1 GB, or choose a folder on another disk.",
    "room",
    wanted_free_bytes=38 * GB,
)
AWAY = Trouble("“Archive” is not connected. Nothing is lost.", "Connect it.", "volume")
LICENCE = "https://huggingface.co/acme/Gated"


def download(id: str, state: str, **changes: object) -> Download:
    """One like RUNNING."""
    named = {"id": id, "name": id, "source": id, "target": f"/m/{id}", "state": state}
    return replace(RUNNING, **(named | changes))  # type: ignore[arg-type]


def failed(id: str, trouble: Trouble) -> Download:
    """One that stands still."""
    return download(id, "failed", trouble=trouble)


DOWNLOADS = (
    RUNNING,
    download(
        "Repacking", "running", progress=replace(HALF, phase="repacking", seconds_left=7500.0)
    ),
    download("Verifying", "running", progress=replace(HALF, phase="verifying")),
    download("Moving", "running", progress=replace(HALF, phase="moving")),
    download("Beginning", "running", progress=Progress()),
    download(
        "Stalled",
        "running",
        progress=replace(HALF, bytes_per_s=0.0, seconds_left=None),
        note="huggingface.co has stopped sending. Trying again in 4 s.",
    ),
    download("Waiting", "queued", progress=Progress()),
    download("Pausing", "pausing"),
    download("Paused", "paused"),
    download("Cancelling", "cancelling"),
    failed("Full", FULL),
    failed("Away", AWAY),
    failed("No token", Trouble("Its owners want to know who downloads it.", "", "token")),
    failed(
        "No licence",
        Trouble("Its licence is not accepted yet.", "Accept it on its page.", "page", LICENCE),
    ),
    failed("Broken off", Trouble("The hub cannot be reached.", "Check the network.", "retry")),
)

INSTALLED = (
    Installed("Martlet Mini", "/app/demo.qpack", bytes=14_000_000, is_demo=True, bits=4),
    Installed("Qwen3.6-35B-A3B-4bit", MODEL, "ready", "", int(19.5 * GB), 4, fits=FITS),
    Installed(
        "Qwen3.6-35B-A3B-8bit",
        "/m/8",
        "broken",
        "36.1 of 36.8 GB here. packed_experts/layer_07.bin is too short.",
        36 * GB,
        source="acme/8bit",
    ),
    Installed("Half", "/m/half", "incomplete", "3.1 GB of 19.5 GB here.", 3 * GB, source="a/h"),
    Installed("Qwen3.6-DWQ", "/m/dwq", "away", "On “Archive”, which is not connected."),
)


def window(
    workspace: FakeWorkspace | None = None, offers: tuple[Offer, ...] = OFFERS
) -> ModelsWindow:
    """The window with a catalogue of its own."""
    workspace = workspace or FakeWorkspace()
    workspace.settings.update(model=MODEL)
    made = ModelsWindow(workspace.real, Path("/models"))
    made.kept = workspace  # type: ignore[attr-defined]
    made._catalogue = lambda: offers  # type: ignore[method-assign]
    made._show_offers()
    return made


def models() -> QWidget:
    """As it is most of the time."""
    workspace = FakeWorkspace()
    made = window(workspace)
    workspace.probe.become(2.9e9)
    workspace.downloads.become(RUNNING, failed("Qwen3.6 35B-A3B", FULL))
    workspace.installed.changed.emit(INSTALLED)
    return made


def empty() -> QWidget:
    """At first: the catalogue alone, and the built-in model."""
    workspace = FakeWorkspace()
    made = window(workspace)
    workspace.installed.changed.emit(INSTALLED[:1])
    return made


def states() -> QWidget:
    """Every state of a download."""
    workspace = FakeWorkspace()
    made = window(workspace, ())
    workspace.downloads.become(*DOWNLOADS)
    return made


def found() -> QWidget:
    """What a search found."""
    workspace = FakeWorkspace()
    made = window(workspace)
    made.search.setText("qwen")
    hits = (
        Hit("mlx-community/Qwen3.6-35B-A3B-4bit", 12_300, False, "apache-2.0"),
        Hit("acme/Gated-35B", 12, True, ""),
    )
    workspace.hub.found.emit("qwen", hits)
    return made


def looked_up() -> QWidget:
    """A question without an answer, and a cancelled download."""
    workspace = FakeWorkspace()
    made = window(workspace)
    made.search.setText("acme/Nothing")
    trouble = Trouble("The hub has no model “acme/Nothing”.", "Check how it is spelt.")
    workspace.hub.failed.emit("acme/Nothing", trouble)
    return made


def gated() -> QWidget:
    """A model that is handed out to known people only: among hits, and asked for by name."""
    workspace = FakeWorkspace()
    made = window(workspace)
    made.search.setText("gated")
    hits = (Hit("acme/Gated-35B", 12, True, ""), Hit("acme/Gated-80B", 7, True, ""))
    workspace.hub.found.emit("gated", hits)
    trouble = Trouble("Its licence is not accepted yet.", "Accept it on its page.", "page", LICENCE)
    workspace.hub.failed.emit("acme/Gated-80B", trouble)
    return made


def token() -> QWidget:
    """The token sheet."""
    return TokenSheet(lambda token: None)


SCENES = {
    "models": models,
    "models-empty": empty,
    "models-states": states,
    "models-found": found,
    "models-not-found": looked_up,
    "models-gated": gated,
}
