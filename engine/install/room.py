"""Room: whether the target volume can hold what is to come, before and while it comes."""

from pathlib import Path

from engine.container.installation import SPARE_BYTES
from engine.container.volume import Volume, volume_of, wanted_room
from engine.errors import NotEnoughDisk

LOW_WATER_BYTES = 200_000_000  # below it an installation stops before the disk does


def wanted_free(left_bytes: int, total_bytes: int, *, anyway: bool = False) -> int:
    """What should be free where `left_bytes` of `total_bytes` are still to come.

    `anyway`: no more than they need.
    """
    return left_bytes + (SPARE_BYTES if anyway else wanted_room(total_bytes) - total_bytes)


def check_room(target: Path, total_bytes: int, there_bytes: int = 0) -> None:
    """Raise NotEnoughDisk where `total_bytes`, of which some are there, will not fit well."""
    volume, left = volume_of(target), total_bytes - there_bytes
    missing = wanted_free(left, total_bytes) - volume.free_bytes
    if missing > 0:
        raise NotEnoughDisk(full_message(volume, left), free_remedy(missing))


def check_low_water(target: Path, left_bytes: int) -> None:
    """Raise NotEnoughDisk where the volume runs full while `left_bytes` are still to come."""
    volume = volume_of(target)
    if volume.free_bytes < min(LOW_WATER_BYTES, left_bytes):
        missing = left_bytes + LOW_WATER_BYTES - volume.free_bytes
        raise NotEnoughDisk(full_message(volume, left_bytes), free_remedy(missing))


def full_message(volume: Volume, left_bytes: int) -> str:
    """The sentence for a person."""
    free, left = gigabytes(volume.free_bytes), gigabytes(left_bytes)
    return f"“{volume.name}” has {free} free, {left} still to come. Nothing is lost."


def free_remedy(missing_bytes: int) -> str:
    """What to do."""
    return f"Free {gigabytes(missing_bytes)}, or choose a folder on another disk."


def gigabytes(count: int) -> str:
    """`19.5 GB`, or `2.1 MB` below a tenth of one."""
    return f"{count / 1e9:.1f} GB" if count >= 10**8 else f"{count / 1e6:.1f} MB"
