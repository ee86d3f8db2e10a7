"""The catalogue as the screen shows it: what can be downloaded, and how it would do here."""

import shutil
from functools import cache
from pathlib import Path

from app.download import Fits, Offer
from app.memory_outlook import machine_bytes
from engine.container.catalogue import Entry, load_catalogue
from engine.container.fit import Machine, ModelShape, fits_here, memory_bandwidth
from engine.container.volume import nearest
from engine.install import protocol as wire


def catalogue(folder: Path, read_bytes_per_s: float | None = None) -> tuple[Offer, ...]:
    """Every entry, as it would do with `folder` as its place.

    `read_bytes_per_s`: of its disk; None where that was not measured.
    """
    here = machine(folder, read_bytes_per_s)
    return tuple(_offer_of_entry(entry, here) for entry in load_catalogue().models)


def offer_of(found: wire.Offer, folder: Path, read_bytes_per_s: float | None) -> Offer:
    """What a look-up told."""
    variant = f"{found.bits}-bit" if found.bits else ""
    fits = _fits(found.shape, machine(folder, read_bytes_per_s))
    return Offer(
        found.source,
        found.name.rpartition("/")[2],
        variant,
        found.download_bytes,
        found.licence,
        found.context_length,
        (),
        fits,
    )


def machine(folder: Path, read_bytes_per_s: float | None) -> Machine:
    """This one, with the disk on which `folder` is or would be."""
    return Machine(machine_bytes(), _bandwidth(), read_bytes_per_s, free_bytes(folder))


def free_bytes(folder: Path) -> int:
    """What is free on the disk on which `folder` is or would be."""
    return shutil.disk_usage(nearest(folder)).free


@cache
def _bandwidth() -> float:
    return memory_bandwidth()


def _offer_of_entry(entry: Entry, here: Machine) -> Offer:
    return Offer(
        entry.source,
        entry.name,
        entry.variant,
        entry.download_bytes,
        entry.licence,
        entry.context_length,
        entry.good_at,
        _fits(entry.shape, here),
    )


def fits_of(shape: ModelShape | None, here: Machine, *, installed: bool = False) -> Fits | None:
    """How a model does on a machine; None where its shape is not known."""
    return None if shape is None else _fits(shape, here, installed=installed)


def _fits(shape: ModelShape, here: Machine, *, installed: bool = False) -> Fits:
    fit = fits_here(shape, here, installed=installed)
    speed, _, memory = fit.words.rpartition(" · ")
    return Fits(speed, memory, fit.reason, fit.verdict)
