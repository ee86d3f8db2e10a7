"""A crash of our own code: the report that a person can read, copy and send.

Catches what nobody caught, on every thread, writes it to the log and tells the application, which
shows it. The report holds versions, the traceback and the end of the log, and nothing said.
"""

import logging
import platform
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from PySide6 import __version__ as pyside_version

from app.logs import log_file, redact
from engine import __version__

LOG_LINES = 60

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CrashReport:
    """What the sheet shows."""

    headline: str  # one line: what went wrong
    text: str  # all of it, to be copied


def make_report(trace: str, log_folder: Path) -> CrashReport:
    """The report of a traceback."""
    last = trace.strip().splitlines()[-1] if trace.strip() else "Unknown fault"
    parts = [
        f"Martlet {__version__}",
        f"{platform.platform()}, {platform.machine()}",
        f"Python {platform.python_version()}, PySide {pyside_version}",
        "",
        trace.strip(),
        "",
        "End of the log:",
        *_log_end(log_folder),
    ]
    return CrashReport(redact(last), redact("\n".join(parts)) + "\n")


def watch(tell: Callable[[str], None]) -> None:
    """From now on, hand the traceback of every uncaught exception to `tell`, from its thread."""

    def caught(
        kind: type[BaseException], error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error or kind(), trace)
            return
        text = "".join(traceback.format_exception(kind, error, trace))
        log.critical("uncaught:\n%s", text)
        tell(text)

    def caught_in_thread(args: threading.ExceptHookArgs) -> None:
        caught(args.exc_type, args.exc_value, args.exc_traceback)

    sys.excepthook = caught
    threading.excepthook = caught_in_thread


def _log_end(folder: Path) -> list[str]:
    try:
        text = log_file(folder).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ["(there is no log)"]
    return text.splitlines()[-LOG_LINES:]
