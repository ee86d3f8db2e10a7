"""Attachments: text and code files read for a turn.

A file is read whole, at most `MOST_BYTES` of it; what is not text is refused in words.
"""

from pathlib import Path

from app.conversation import Attachment
from engine.errors import MartletError

MOST_BYTES = 2_000_000  # some 500,000 tokens: more than any context


class AttachmentRefused(MartletError):
    """A file cannot go with a turn."""


def read_attachment(path: Path) -> Attachment:
    """The text of a file. Raises AttachmentRefused."""
    try:
        if path.is_dir():
            raise AttachmentRefused(f"{path.name} is a folder.", "Choose single files.")
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise AttachmentRefused(
            f"{path.name} cannot be read: {error.strerror}.", "Check that it is still there."
        ) from error
    if len(data) > MOST_BYTES:
        raise AttachmentRefused(
            f"{path.name} has more than {MOST_BYTES // 1_000_000} MB.", "Attach a part of it."
        )
    return Attachment(path.name, _decoded(path.name, data))


def _decoded(name: str, data: bytes) -> str:
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise AttachmentRefused(f"{name} is not a text file.", "Attach text or code.")
    return text.replace("\r\n", "\n")
