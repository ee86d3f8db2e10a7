"""Ways to cut a text: what a splitter returns must not depend on them."""

import codecs
import itertools
from collections.abc import Iterator


def cuts(text: str) -> Iterator[list[str]]:
    """The whole text, all its bytes one by one, and every cut in two, made between bytes."""
    data = text.encode()
    yield [text]
    yield _decoded([data[i : i + 1] for i in range(len(data))])
    for place in range(len(data) + 1):
        yield _decoded([data[:place], data[place:]])


def cut_at(text: str, places: list[int]) -> list[str]:
    """The text cut at some characters."""
    bounds = [0, *sorted(min(place, len(text)) for place in places), len(text)]
    return [text[a:b] for a, b in itertools.pairwise(bounds)]


def _decoded(pieces: list[bytes]) -> list[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    return [decoder.decode(piece) for piece in pieces] + [decoder.decode(b"", final=True)]
