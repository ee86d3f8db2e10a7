import contextlib
import json
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import BadContainer, UnsupportedModel
from engine.text.tokenizer import Tokenizer

SAMPLES = [
    "",
    " leading and trailing \n\n",
    "<b>tags</b> & <|almost|> a<b",
    "日本語 שָׁלוֹם e\u0301te\u0301 👩‍👩‍👧 🇩🇪 \r\n\t x\x00y",
    "def f(x):\n    return x  # no\n",
]


@pytest.mark.parametrize("text", SAMPLES)
def test_text_without_control_tokens_encodes_as_the_library_does(
    opened: Tokenizer, library: tokenizers.Tokenizer, text: str
) -> None:
    assert opened.encode(text) == library.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize("text", SAMPLES)
def test_token_bytes_joined_are_the_text(
    opened: Tokenizer, library: tokenizers.Tokenizer, text: str
) -> None:
    normalizer = library.normalizer
    expected = normalizer.normalize_str(text) if normalizer else text
    assert b"".join(map(opened.token_bytes, opened.encode(text))).decode() == expected


def test_typed_control_tokens_stay_text(opened: Tokenizer, library: tokenizers.Tokenizer) -> None:
    added = library.get_added_tokens_decoder()
    text = "".join(token.content for token in added.values()) + "<|im_<|im_end|>end|>"
    ids = opened.encode(text)
    assert not added.keys() & set(ids)
    assert b"".join(map(opened.token_bytes, ids)).decode() == text


def test_rendered_control_tokens_are_real_and_hidden_ones_are_not(
    opened: Tokenizer, library: tokenizers.Tokenizer
) -> None:
    typed = opened.guard.hide("a<|im_end|>b")
    ids = opened.encode_rendered(f"<|im_start|>user\n{typed}<|im_end|>\n")
    assert [library.id_to_token(i) for i in ids if i in opened.hidden_ids] == [
        "<|im_start|>",
        "<|im_end|>",
    ]
    assert b"".join(map(opened.token_bytes, ids)) == b"<|im_start|>user\na<|im_end|>b<|im_end|>\n"


def test_ids_beyond_the_vocabulary_stand_for_nothing(opened: Tokenizer) -> None:
    assert opened.token_bytes(opened.vocab_size + 200) == b""


def test_every_token_has_the_bytes_that_the_library_decodes(
    opened: Tokenizer, library: tokenizers.Tokenizer
) -> None:
    for id in range(0, opened.vocab_size, 97):
        expected = library.decode([id], skip_special_tokens=False)
        assert opened.token_bytes(id).decode("utf-8", "replace") == expected


def test_single_bytes_are_all_in_the_alphabet(small: Tokenizer) -> None:
    singles = {small.token_bytes(id) for id in range(small.vocab_size)}
    assert {bytes([byte]) for byte in range(256)} <= singles


def test_lone_surrogates_become_replacement_characters(small: Tokenizer) -> None:
    assert b"".join(map(small.token_bytes, small.encode("a\ud800b"))) == "a\ufffdb".encode()


def test_end_ids_come_from_both_configs(small: Tokenizer) -> None:
    assert small.eos_ids == {7, small.token_id("<|im_end|>")}


def test_tags_that_the_splitters_read_are_not_hidden(opened: Tokenizer) -> None:
    assert opened.token_id("<think>") not in opened.hidden_ids
    assert opened.token_id("<|endoftext|>") in opened.hidden_ids


def test_an_unknown_control_token_has_no_id(small: Tokenizer) -> None:
    assert small.token_id("<|nothing|>") is None


def test_a_folder_without_tokenizer_says_so_when_asked(tmp_path: Path) -> None:
    with pytest.raises(BadContainer, match=r"has no tokenizer\.json.*token ids"):
        Tokenizer.open(tmp_path)


@pytest.mark.parametrize("content", ["", "{", "{}", "null", '{"model": {"type": "BPE"}}', "\x00"])
def test_a_broken_tokenizer_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(BadContainer, match="cannot be read"):
        Tokenizer.open(tmp_path)


@given(st.data())
@settings(deadline=None, max_examples=50)
def test_a_damaged_tokenizer_is_refused_or_works(
    small_folder: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content = bytearray((small_folder / "tokenizer.json").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    folder = tmp_path_factory.mktemp("damaged")
    (folder / "tokenizer.json").write_bytes(content)
    with contextlib.suppress(BadContainer, UnsupportedModel):
        Tokenizer.open(folder).encode("Hello <|im_end|> there")


def test_a_tokenizer_that_is_not_byte_level_is_refused() -> None:
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0}, unk_token="a"))
    with pytest.raises(UnsupportedModel, match="byte-level"):
        Tokenizer(words)


@pytest.mark.parametrize("name", ["generation_config.json", "tokenizer_config.json"])
def test_a_broken_config_beside_it_is_refused(
    small_folder: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / "tokenizer.json").write_bytes((small_folder / "tokenizer.json").read_bytes())
    for content in ("{", "[]", '"text"'):
        (tmp_path / name).write_text(content)
        with pytest.raises(BadContainer, match=name):
            Tokenizer.open(tmp_path)


def test_the_end_token_may_be_an_object(small_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes((small_folder / "tokenizer.json").read_bytes())
    config = {"eos_token": {"content": "<|endoftext|>", "special": True}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    opened = Tokenizer.open(tmp_path)
    assert opened.eos_ids == {opened.token_id("<|endoftext|>")}
