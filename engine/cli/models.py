"""`martlet models` and `martlet remove`: what is installed, what there is, and what goes."""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.cli.terminal import StatusLine, say, warn
from engine.container.catalogue import load_catalogue
from engine.container.fit import Machine, fits_here, memory_bandwidth
from engine.container.installed import InstalledModel, installed_models
from engine.container.library import BUILT_IN, find_model, models_folders
from engine.container.probe import probe_disk
from engine.container.removal import remove_model
from engine.container.volume import volume_of
from engine.errors import BadOption
from engine.install.claim import holder
from engine.install.room import gigabytes
from engine.memory import machine


def add_commands(commands: Any) -> None:
    """Register both."""
    listing = commands.add_parser("models", help="what is installed, and what there is")
    listing.add_argument("--catalogue", action="store_true", help="what there is, and if it fits")
    listing.add_argument("--json", action="store_true", help="print one object instead of text")
    listing.set_defaults(run=run_models)

    removing = commands.add_parser("remove", help="delete a model")
    removing.add_argument("model", metavar="MODEL")
    removing.add_argument("--yes", action="store_true", help="do not ask")
    removing.set_defaults(run=run_remove)


def run_models(parsed: argparse.Namespace) -> int:
    """One line a model."""
    if parsed.catalogue:
        return _run_catalogue(as_json=parsed.json)
    models = installed_models(models_folders())
    if parsed.json:
        records = [asdict(model) | {"path": str(model.path)} for model in models]
        say(json.dumps(records, indent=1))
        return 0
    for folder in models_folders():
        if not folder.is_dir():
            warn(f"{folder} is not there.")
    for model in models:
        say(_model_line(model))
    if not models:
        say("No model is installed. `martlet models --catalogue` lists what there is.")
    return 0


def _model_line(model: InstalledModel) -> str:
    bits = f"{model.bits}-bit" if model.bits else ""
    state = bits if model.state == "ready" else f"{model.state}: {model.message}"
    return f"{model.name:32} {gigabytes(model.disk_bytes):>9}  {state}"


def _run_catalogue(*, as_json: bool) -> int:
    folder = models_folders()[0]
    status = StatusLine()
    status.show("Measuring the disk")
    probe = probe_disk(folder)
    status.clear()
    here = Machine(
        memory_bytes=machine.total_bytes(),
        memory_bytes_per_s=memory_bandwidth(),
        read_bytes_per_s=probe.bytes_per_s if probe else None,
        free_bytes=volume_of(folder).free_bytes,
    )
    fits = {entry.id: fits_here(entry.shape, here) for entry in load_catalogue().models}
    if as_json:
        records = [
            asdict(entry) | {"fit": asdict(fits[entry.id])} for entry in load_catalogue().models
        ]
        say(json.dumps(records, indent=1))
        return 0
    for entry in load_catalogue().models:
        fit = fits[entry.id]
        size = gigabytes(entry.download_bytes)
        say(f"{entry.id:28} {entry.name}, {entry.variant}")
        say(f"{'':28} {size} · {entry.licence} · {', '.join(entry.good_at)}")
        say(f"{'':28} {fit.words}{f' · {fit.reason}' if fit.reason else ''}")
    return 0


def run_remove(parsed: argparse.Namespace) -> int:
    """Delete after asking."""
    if parsed.model == BUILT_IN:
        raise BadOption(f"{BUILT_IN} is part of Martlet.", "It takes 14 MB.")
    path = find_model(parsed.model)
    if (pid := holder(path)) is not None:
        raise BadOption(f"Process {pid} is downloading {path}.", "Stop it first.")
    if not parsed.yes and not _agreed(path):
        warn("Nothing was deleted.")
        return 1
    removal = remove_model(path)
    say(f"{gigabytes(removal.freed_bytes)} freed.")
    if removal.kept:
        warn(f"{path} stays: it also holds {', '.join(removal.kept[:5])}.")
    return 0


def _agreed(path: Path) -> bool:
    if not sys.stdin.isatty():
        raise BadOption(f"{path} would be deleted.", "Say --yes if it should be.")
    sys.stderr.write(f"Delete {path}? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
