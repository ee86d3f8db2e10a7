"""StopStrings: ends a streamed answer before the first of some texts, and never shows a part of it.

The first is the one that begins first in the text, whether or not another one ends before it. What
is shown does not depend on how the text was split.
"""

from collections.abc import Sequence

from engine.text.holdback import held_length


class StopStrings:
    """The stop strings of one answer, none of them empty."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(stops)
        self._held = ""
        self.stopped = False

    def feed(self, text: str) -> str:
        """Text that can be shown: nothing in it begins a stop string."""
        if self.stopped:
            return ""
        self._held += text
        found = self._first_match()
        possible = len(self._held) - held_length(self._held, self._stops)
        if found is not None and found <= possible:
            return self._stop_at(found)
        shown, self._held = self._held[:possible], self._held[possible:]
        return shown

    def finish(self) -> str:
        """What was held back, when the answer ends here."""
        found = self._first_match()
        if found is not None:
            return self._stop_at(found)
        shown, self._held = self._held, ""
        return shown

    def _first_match(self) -> int | None:
        places = (self._held.find(stop) for stop in self._stops)
        return min((place for place in places if place >= 0), default=None)

    def _stop_at(self, place: int) -> str:
        self.stopped = True
        shown, self._held = self._held[:place], ""
        return shown
