"""Tokenizer: text to ids and ids to bytes, for byte-level BPE (the Qwen families).

The rules come from the model's tokenizer.json and are run by the `tokenizers` library. Typed text
never becomes a control token; what a template writes does (see `engine.text.guard`). Ids turn back
into bytes, not text: one character may be spread over several tokens.
"""

import re
from pathlib import Path
from typing import Any

import tokenizers

from engine.config import token_ids
from engine.errors import BadContainer, UnsupportedModel
from engine.text.files import read_json, token_content
from engine.text.guard import Guard, opens_control, well_formed

# Shown although some tokenizers call them special: the splitters of reasoning and calls read them.
_TAGS = {"<think>", "</think>", "<tool_call>", "</tool_call>"}

_REMEDY = "Download the model again, or give token ids instead of text."


class Tokenizer:
    """The tokenizer of one model folder. Immutable; any thread may use it."""

    def __init__(self, full: tokenizers.Tokenizer, eos_ids: frozenset[int] = frozenset()) -> None:
        if b"ByteLevel" not in _state(full.decoder):
            raise UnsupportedModel("The tokenizer is not byte-level BPE.", "Choose a Qwen model.")
        self._full = full
        self._plain = _without_added_tokens(full)
        self._added = {id: token.content for id, token in full.get_added_tokens_decoder().items()}
        self._ids = {content: id for id, content in self._added.items() if content}
        longest_first = sorted(self._ids, key=len, reverse=True)
        self._control = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")
        self.guard = Guard(filter(opens_control, self._ids))
        self.eos_ids = eos_ids
        self.vocab_size: int = full.get_vocab_size()
        self.hidden_ids = frozenset(
            id
            for id, token in full.get_added_tokens_decoder().items()
            if token.special and token.content not in _TAGS
        )

    @classmethod
    def open(cls, folder: Path) -> "Tokenizer":
        """Read a model folder's tokenizer. Raises BadContainer, UnsupportedModel."""
        path = folder / "tokenizer.json"
        if not path.is_file():
            raise BadContainer(f"{folder} has no tokenizer.json.", _REMEDY)
        try:
            full = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises nothing narrower
            raise BadContainer(f"{path} cannot be read: {error}.", _REMEDY) from error
        return cls(full, _eos_ids(folder, full))

    def encode(self, text: str) -> list[int]:
        """Ids of typed text: what looks like a control token in it stays text."""
        ids: list[int] = self._plain.encode(well_formed(text), add_special_tokens=False).ids
        return ids

    def encode_rendered(self, rendered: str) -> list[int]:
        """Ids of a rendered template, whose typed parts `guard` has hidden."""
        ids: list[int] = []
        start = 0
        for control in self._control.finditer(rendered):
            ids += self.encode(self.guard.show(rendered[start : control.start()]))
            ids.append(self._ids[control.group()])
            start = control.end()
        return ids + self.encode(self.guard.show(rendered[start:]))

    def token_id(self, content: str) -> int | None:
        """The id of an added token such as `<|im_end|>`."""
        return self._ids.get(content)

    def token_bytes(self, id: int) -> bytes:
        """The bytes that a token stands for; none for ids beyond the vocabulary (padding rows)."""
        if id in self._added:
            return self._added[id].encode()
        token: str = self._full.id_to_token(id) or ""
        if all(character in _BYTE_OF for character in token):
            return bytes(_BYTE_OF[character] for character in token)
        return token.encode()


def _without_added_tokens(full: tokenizers.Tokenizer) -> tokenizers.Tokenizer:
    """A tokenizer over the same vocabulary (shared, not copied) that knows no added token."""
    plain = tokenizers.Tokenizer(full.model)
    if full.normalizer is not None:
        plain.normalizer = full.normalizer
    if full.pre_tokenizer is not None:
        plain.pre_tokenizer = full.pre_tokenizer
    return plain


def _state(part: Any) -> bytes:
    return bytes(part.__getstate__()) if part is not None else b""


def _eos_ids(folder: Path, full: tokenizers.Tokenizer) -> frozenset[int]:
    """End-of-sequence ids of generation_config.json and tokenizer_config.json, where they exist."""
    found = token_ids(read_json(folder / "generation_config.json").get("eos_token_id"))
    content = token_content(read_json(folder / "tokenizer_config.json").get("eos_token"))
    named = full.token_to_id(content) if content else None
    return frozenset(found if named is None else found | {named})


def _byte_alphabet() -> dict[str, int]:
    """The printable stand-in of each byte in byte-level vocabularies (GPT-2's `bytes_to_unicode`):
    printable Latin-1 stands for itself, the other bytes follow in order from U+0100."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in printable]
    alphabet = {chr(byte): byte for byte in printable}
    return alphabet | {chr(0x100 + i): byte for i, byte in enumerate(others)}


_BYTE_OF = _byte_alphabet()
