"""What a terminal shows: answers on standard output, the rest on standard error."""

import os
import sys
import time

DIM, PLAIN = "\x1b[2m", "\x1b[0m"
REDRAW_S = 0.1


def say(text: str = "", end: str = "\n") -> None:
    """To standard output, at once."""
    sys.stdout.write(text + end)
    sys.stdout.flush()


def warn(text: str) -> None:
    """One line to standard error."""
    sys.stderr.write(" ".join(text.split()) + "\n")
    sys.stderr.flush()


def dimmed(text: str) -> str:
    """Text that steps back, where the terminal can show it."""
    return f"{DIM}{text}{PLAIN}" if sys.stdout.isatty() else text


class StatusLine:
    """One line on standard error, written over; silent when that is not a terminal."""

    def __init__(self) -> None:
        self._shown = 0
        self._drawn_at = 0.0

    def show(self, text: str) -> None:
        """Replace the line, a few times a second at most."""
        now = time.monotonic()
        if not sys.stderr.isatty() or now - self._drawn_at < REDRAW_S:
            return
        self._drawn_at = now
        text = fitted(text, os.get_terminal_size(sys.stderr.fileno()).columns)
        sys.stderr.write("\r" + text.ljust(self._shown))
        sys.stderr.flush()
        self._shown = len(text)

    def clear(self) -> None:
        """Leave nothing behind."""
        if self._shown:
            sys.stderr.write("\r" + " " * self._shown + "\r")
            sys.stderr.flush()
        self._shown, self._drawn_at = 0, 0.0


def fitted(text: str, columns: int) -> str:
    """`text`, cut where a line that wraps could not be written over. A width of 0 is not known."""
    most = (columns or 80) - 1
    return text if len(text) <= most else f"{text[: most - 1]}…"
