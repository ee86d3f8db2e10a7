"""BlockReader: any pieces give the blocks of the whole, and nothing changes once it is settled."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.blocks.block import Block, Kind
from app.blocks.reader import PROSE_LIMIT, TABLE_LIMIT, BlockReader, blocks_of

PIECES = st.sampled_from(
    [
        *("$$", "\\[", "\\]", "\\begin{align}", "\\end{align}", "```", "```py\n", "~~~", "`"),
        *("| a | b |\n", "|---|---|\n", "| 1 | 2 |\n", "|", "- ", "1. ", "> ", "# h\n", "---\n"),
        *("text ", "x", "*", "\n", "\n\n", "  ", "    ", "é", "\u2028", "א"),
    ]
)


@settings(deadline=None, max_examples=150)
@given(st.lists(PIECES, max_size=40).map("".join), st.randoms(use_true_random=False))
def test_any_pieces_give_the_blocks_of_the_whole(text: str, random: Random) -> None:
    reader = BlockReader()
    settled: list[Block] = []
    at = 0
    while at < len(text):
        step = random.randint(1, 6)
        reader.feed(text[at : at + step])
        at += step
        assert reader.blocks[: len(settled)] == settled
        settled = reader.blocks[: reader.settled]
    reader.finish()
    assert reader.blocks == blocks_of(text)


@settings(deadline=None, max_examples=150)
@given(st.text(alphabet="ab $`~|#-*>\\[]()\n{}", max_size=200))
def test_no_letter_is_lost(text: str) -> None:
    read = "".join(block.text + block.language for block in blocks_of(text))
    for letter in "ab":
        assert read.count(letter) == text.count(letter)


def test_kinds() -> None:
    text = "One.\n\n```python\nx = 1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n$$x^2$$\n\nTwo."
    assert [(block.kind, block.text.strip()) for block in blocks_of(text)] == [
        (Kind.PROSE, "One."),
        (Kind.CODE, "x = 1"),
        (Kind.TABLE, "| a | b |\n|---|---|\n| 1 | 2 |"),
        (Kind.MATH, "x^2"),
        (Kind.PROSE, "Two."),
    ]
    assert blocks_of(text)[1].language == "python"


def test_fed_letter_by_letter_a_kind_never_goes_back() -> None:
    text = "Look:\n\n```py\na | b\n```\n\n| a | b |\n|:--|--:|\n| `x` | 2 |\n\nEnd `code` here."
    reader = BlockReader()
    seen: list[Kind] = []
    for letter in text:
        reader.feed(letter)
        kinds = [block.kind for block in reader.blocks]
        assert kinds[: len(seen)] == seen
        seen = kinds
        shown = reader.blocks[-1] if reader.blocks else None
        if shown is not None and shown.kind is Kind.PROSE:
            assert not shown.text.rstrip("\n").endswith(("``", "|"))


def test_an_open_fence_is_code_to_the_end() -> None:
    assert blocks_of("```c\nint x;\n\nint y;") == [Block(Kind.CODE, "int x;\n\nint y;", "c")]


def test_code_in_a_list_loses_the_spaces_before_its_fence() -> None:
    blocks = blocks_of("1. First:\n\n   ```sh\n   ls\n     -l\n   ```\n2. Second\n")
    assert blocks[1] == Block(Kind.CODE, "ls\n  -l", "sh", indent=1)
    assert blocks[2].text.startswith("2. Second")


def test_numbers_go_on_after_a_block_that_cuts_a_list() -> None:
    blocks = blocks_of("1. a\n\n   ```\n   x\n   ```\n1. b\n1. c\n")
    assert blocks[-1].text == "2. b\n3. c\n"


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("$$\nx\n$$", "x"),
        ("\\[ y \\]", "y"),
        ("\\begin{align}a&=b\\end{align}", "\\begin{align}a&=b\\end{align}"),
        ("$$z$$.", "z."),
    ],
)
def test_displayed_formulas(text: str, latex: str) -> None:
    (block,) = blocks_of(text)
    assert (block.kind, block.text.strip()) == (Kind.MATH, latex)


def test_a_bracket_that_is_never_closed_was_prose() -> None:
    assert [block.kind for block in blocks_of("$$ is a sign\n\nand more")] == [Kind.PROSE]


def test_a_fence_ends_what_looked_like_a_formula() -> None:
    blocks = blocks_of("$$ costs\n```py\nx = 1\n```\n")
    assert [block.kind for block in blocks] == [Kind.PROSE, Kind.CODE]


def test_long_prose_is_cut_between_paragraphs() -> None:
    paragraph = "word " * 100 + "\n\n"
    blocks = blocks_of(paragraph * 20)
    assert len(blocks) > 3
    assert all(len(block.text) < PROSE_LIMIT + 2 * len(paragraph) for block in blocks)


def test_a_line_without_end_is_cut() -> None:
    blocks = blocks_of("word " * 20_000)
    assert max(len(block.text) for block in blocks) < 10_000
    assert "".join(block.text for block in blocks) == "word " * 20_000


def test_a_long_table_goes_on_under_its_head_again() -> None:
    head = "| a | b |\n|---|---|\n"
    rows = [f"| {n} | x |\n" for n in range(3 * TABLE_LIMIT)]
    blocks = blocks_of(head + "".join(rows) + "\nAfter.")
    tables = [block.text for block in blocks if block.kind is Kind.TABLE]
    assert all(table.startswith(head) for table in tables)
    assert [row for table in tables for row in table.splitlines(True)[2:]] == rows
    assert max(table.count("\n") for table in tables) <= TABLE_LIMIT + 2
    assert blocks[-1].text == "After."


def test_pipes_in_prose_are_no_table() -> None:
    assert [block.kind for block in blocks_of("a | b\nc | d\n")] == [Kind.PROSE]
