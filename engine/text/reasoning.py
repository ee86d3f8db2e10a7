"""ReasoningSplitter: parts a streamed answer into the model's reasoning and what it says.

Reasoning is one block at the very start, `<think>…</think>`, as the Qwen families write it, or
without its opening tag where the prompt ends in it. Tags anywhere else are text. The line breaks
that pad the tags belong to neither side; everything else arrives unchanged, however it was split.
"""

from enum import Enum, auto

from engine.text.holdback import held_length

_OPEN, _CLOSE = "<think>", "</think>"


class _Place(Enum):
    START = auto()  # nothing but blanks and a part of the opening tag so far
    REASONING_START = auto()  # nothing but line breaks after the opening tag
    REASONING = auto()
    ANSWER_START = auto()  # nothing but line breaks after the closing tag
    ANSWER = auto()


class ReasoningSplitter:
    """The split of one answer. `opened`: the prompt already ends inside `<think>`."""

    def __init__(self, opened: bool) -> None:
        self._place = _Place.REASONING_START if opened else _Place.START
        self._held = ""

    def feed(self, text: str) -> tuple[str, str]:
        """More reasoning and more answer, each often empty, once more of the text is known."""
        self._held += text
        if self._place is _Place.START:
            self._look_for_opening()
        reasoning = self._take_reasoning()
        return reasoning, self._take_answer()

    def finish(self) -> tuple[str, str]:
        """What was held back, when the answer ends here. Unclosed reasoning stays reasoning."""
        held, self._held = self._held, ""
        if self._place is _Place.START:
            return "", held
        return held.rstrip("\n"), ""

    def _look_for_opening(self) -> None:
        beginning = self._held.lstrip()
        if beginning.startswith(_OPEN):
            self._held = beginning.removeprefix(_OPEN)
            self._place = _Place.REASONING_START
        elif not _OPEN.startswith(beginning):
            self._place = _Place.ANSWER

    def _take_reasoning(self) -> str:
        if self._place is _Place.REASONING_START:
            self._held = self._held.lstrip("\n")
            self._place = _Place.REASONING if self._held else _Place.REASONING_START
        if self._place is not _Place.REASONING:
            return ""
        reasoning, closed, rest = self._held.partition(_CLOSE)
        if closed:
            self._place, self._held = _Place.ANSWER_START, rest
            return reasoning.rstrip("\n")
        safe = reasoning[: len(reasoning) - held_length(reasoning, [_CLOSE])].rstrip("\n")
        self._held = reasoning[len(safe) :]
        return safe

    def _take_answer(self) -> str:
        if self._place is _Place.ANSWER_START:
            self._held = self._held.lstrip("\n")
            self._place = _Place.ANSWER if self._held else _Place.ANSWER_START
        if self._place is not _Place.ANSWER:
            return ""
        answer, self._held = self._held, ""
        return answer
