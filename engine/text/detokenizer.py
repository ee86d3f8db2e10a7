"""Detokenizer: generated ids to text, one at a time, byte for byte.

What has been returned, joined, is what decoding all bytes at once would give, wherever the tokens
cut the characters: incomplete UTF-8 waits for its rest, invalid UTF-8 becomes U+FFFD.
"""

import codecs

from engine.text.tokenizer import Tokenizer


class Detokenizer:
    """The text of one answer. Costs the same for each token, however long the answer is."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def add(self, id: int) -> str:
        """The text that this token completes, often empty. Hidden control tokens add none."""
        if id in self._tokenizer.hidden_ids:
            return ""
        return self._decoder.decode(self._tokenizer.token_bytes(id))

    def finish(self) -> str:
        """What is left when the answer ends inside a character: U+FFFD, or nothing."""
        return self._decoder.decode(b"", final=True)
