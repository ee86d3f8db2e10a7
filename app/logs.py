"""The log: rotating files without anything personal in them.

What people and models say is never logged. A second net catches what must not be in a file that
is sent along with a report: access tokens, the home folder's name, and addresses' passwords.
"""

import logging
import re
from logging.handlers import RotatingFileHandler
from pathlib import Path

LOG_BYTES = 1_000_000
KEPT_FILES = 3
_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"

_NAMED_SECRET = re.compile(
    r"(?i)(authorization|token|password|secret|api[-_]?key)"
    r"""(["']?\s*[=:]\s*["']?)(?:bearer\s+)?[^\s"'&]+"""
)
_SECRETS = (
    (re.compile(r"\bhf_[A-Za-z0-9]{4,}"), "hf_…"),
    (re.compile(r"\bsk-martlet-[\w-]{4,}"), "sk-martlet-…"),
    (_NAMED_SECRET, r"\1\2…"),
    (re.compile(r"(\w+://)[^/\s:@]+:[^/\s@]+@"), r"\1…@"),
)


class RedactingFormatter(logging.Formatter):
    """Formats a record, tracebacks included, and takes out what is personal."""

    def format(self, record: logging.LogRecord) -> str:
        """The line or lines."""
        return redact(super().format(record))


def redact(text: str) -> str:
    """`text` without secrets and without the user's name in paths."""
    for pattern, instead in _SECRETS:
        text = pattern.sub(instead, text)
    return text.replace(str(Path.home()), "~")


def log_file(folder: Path) -> Path:
    """The file that is written to now."""
    return folder / "martlet.log"


def start_logging(folder: Path) -> logging.Handler:
    """Log to `folder` from now on. Raises OSError where that cannot be."""
    folder.mkdir(parents=True, exist_ok=True)
    handler = RotatingFileHandler(
        log_file(folder), maxBytes=LOG_BYTES, backupCount=KEPT_FILES, encoding="utf-8"
    )
    handler.setFormatter(RedactingFormatter(_FORMAT))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    return handler
