"""Mends emphasis next to Chinese and Japanese words, where Markdown's rule expects spaces.

CommonMark 0.31, "emphasis": marks that stand between punctuation and a letter neither open nor
close. So `**注意：**文字` would show its stars. The punctuation is moved out of the emphasis, which
keeps the letters and their order.
"""

import re

_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
_CLOSING = re.compile(r"(\*\*|__)(?=\S)([^*_`\n]+?)([^\w\s*_`]+)\1(?=\w)")
_OPENING = re.compile(r"(?<=\w)(\*\*|__)([^\w\s*_`]+)([^*_`\n]+?)(?<=\S)\1")


def mend_emphasis(markdown: str) -> str:
    """Markdown whose strong words are seen as such by a strict parser."""
    if "**" not in markdown and "__" not in markdown:
        return markdown
    mended: list[str] = []
    at = 0
    for code in _CODE.finditer(markdown):
        mended += _mended(markdown[at : code.start()]), code[0]
        at = code.end()
    return "".join(mended) + _mended(markdown[at:])


def _mended(text: str) -> str:
    text = _CLOSING.sub(r"\1\2\1\3", text)
    return _OPENING.sub(r"\2\1\3\1", text)
