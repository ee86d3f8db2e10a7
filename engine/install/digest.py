"""Digest: is a file what its source says it is?"""

import hashlib

from engine.install.wanted import Wanted


class Digest:
    """Takes a file's bytes in order. Large files have a SHA-256; small ones on the hub git's SHA-1.

    Without either, a file counts as right by its size.
    """

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._sha256 = hashlib.sha256()
        self._git = hashlib.sha1(usedforsecurity=False) if wanted.git_sha1 else None
        if self._git:
            self._git.update(b"blob %d\0" % (wanted.size or 0))

    def update(self, data: bytes | memoryview) -> None:
        """More of the file."""
        self._sha256.update(data)
        if self._git:
            self._git.update(data)

    @property
    def sha256(self) -> str:
        """Of what came so far, lower-case hex."""
        return self._sha256.hexdigest()

    @property
    def is_right(self) -> bool:
        """Whether every hash that the source names agrees."""
        wanted = self._wanted
        return (wanted.sha256 in (None, self.sha256)) and (
            self._git is None or self._git.hexdigest() == wanted.git_sha1
        )
