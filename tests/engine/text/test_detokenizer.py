"""Whatever cuts the text, what arrives is the text: checked on bytes, so a stand-in tokenizer whose
tokens are arbitrary byte strings does for most of it."""

import itertools
import random

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.text.detokenizer import Detokenizer
from engine.text.tokenizer import Tokenizer

TEXTS = {
    "family emoji": "👨‍👩‍👧‍👦 and 🏳️‍🌈",
    "skin tone": "👍🏽👍🏿",
    "flags": "🇩🇪🇯🇵🏴󠁧󠁢󠁥󠁮󠁧󠁿",
    "combining marks": "e\u0301 o\u0308\u0323 Z\u0351\u036b\u0343",
    "CJK": "日本語、中文𠮷한국어",
    "Hebrew points": "בְּרֵאשִׁית בָּרָא",
    "Indic": "क्षत्रिय ஸ்ரீ",
    "line ends": "a\r\nb\n\r\x00",
}


class Pieces:
    """A tokenizer whose token i stands for the i-th of some byte strings."""

    hidden_ids: frozenset[int] = frozenset()

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces

    def token_bytes(self, id: int) -> bytes:
        return self.pieces[id]


def detokenize(pieces: list[bytes]) -> list[str]:
    detokenizer = Detokenizer(Pieces(pieces))  # type: ignore[arg-type]
    return [detokenizer.add(id) for id in range(len(pieces))] + [detokenizer.finish()]


def cut(data: bytes, places: list[int]) -> list[bytes]:
    bounds = [0, *sorted(places), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(bounds)]


def random_text(source: random.Random) -> str:
    ranges = [(0, 0x7F), (0x80, 0x7FF), (0x590, 0x5FF), (0x800, 0xD7FF), (0x1F1E6, 0x1FAFF)]
    ranges += [
        (0x300, 0x36F),
        (0x200D, 0x200D),
        (0xFE0F, 0xFE0F),
        (0xE000, 0xFFFF),
        (0x10000, 0x10FFFF),
    ]
    return "".join(
        chr(source.randint(*source.choice(ranges))) for _ in range(source.randint(0, 12))
    )


def test_ten_thousand_random_texts_split_at_random_bytes_arrive_unchanged() -> None:
    source = random.Random(7)
    for _ in range(10_000):
        text = random_text(source)
        data = text.encode()
        places = [source.randint(0, len(data)) for _ in range(source.randint(0, 8))]
        assert "".join(detokenize(cut(data, places))) == text


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_text_split_at_every_byte_arrives_whole(text: str) -> None:
    data = text.encode()
    assert "".join(detokenize([data[i : i + 1] for i in range(len(data))])) == text
    for place in range(len(data) + 1):
        assert "".join(detokenize(cut(data, [place]))) == text


def test_characters_arrive_as_soon_as_they_are_complete() -> None:
    assert detokenize([b"a\xf0\x9f", b"\x98", b"\x80b"]) == ["a", "", "😀b", ""]


@given(st.binary(max_size=40), st.lists(st.integers(0, 40), max_size=8))
@settings(deadline=None, max_examples=200)
def test_any_bytes_decode_as_the_whole_would(data: bytes, places: list[int]) -> None:
    assert "".join(detokenize(cut(data, places))) == data.decode("utf-8", "replace")


@given(
    st.lists(st.sampled_from([0x41, 0x80, 0xA0, 0xC2, 0xE0, 0xED, 0xF0, 0xF4, 0x9F]), max_size=9)
)
@settings(deadline=None, max_examples=200)
def test_invalid_bytes_one_by_one_decode_as_the_whole_would(values: list[int]) -> None:
    data = bytes(values)
    pieces = [bytes([value]) for value in values]
    assert "".join(detokenize(pieces)) == data.decode("utf-8", "replace")


def test_an_answer_cut_inside_a_character_ends_in_a_replacement() -> None:
    assert detokenize([b"ok\xe6\x97"]) == ["ok", "\ufffd"]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_tokens_of_a_model_give_what_the_library_decodes(
    opened: Tokenizer, library: tokenizers.Tokenizer, text: str
) -> None:
    rendered = f"<|im_start|>{text}<think>{text}<|im_end|>"
    ids = opened.encode_rendered(rendered)
    detokenizer = Detokenizer(opened)
    streamed = "".join(map(detokenizer.add, ids)) + detokenizer.finish()
    normal = library.normalizer.normalize_str(text) if library.normalizer else text
    assert streamed == f"{normal}<think>{normal}"
