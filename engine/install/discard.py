"""Discard: what an installation has written so far is deleted, and nothing else.

Knows no network, so that an application can do it by itself.
"""

from pathlib import Path

from engine.container.origin import read_origin
from engine.container.removal import empty
from engine.install.claim import LOCK, Claim, Taken
from engine.install.target import bare


def discard(folder: Path, source: str) -> int:
    """Delete what an installation of `source` left in `folder`; bytes that came back.

    0 where another process is at it. Raises MartletError where the disk does not let go of it.
    """
    if not folder.is_dir():
        return 0
    try:
        with Claim(folder):
            return discard_claimed(folder, source)
    except Taken:
        return 0


def discard_claimed(folder: Path, source: str) -> int:
    """The same with the claim held. A folder without our note was never written to."""
    origin = read_origin(folder)
    if origin is None or origin.source != bare(source):
        return 0
    return empty(folder, frozenset({LOCK})).freed_bytes
