"""Words are looked for in what is read, not in what Markdown hides."""

from app.blocks.readable import count_of, count_readable, places_of, readable


def test_targets_of_links_are_not_read() -> None:
    text = 'See [the sieve](https://example.org/sieve) and ![a sieve](sieve.png "A sieve").'
    assert readable(text) == "See [the sieve] and ![a sieve]."


def test_what_only_looks_like_a_target_stays() -> None:
    assert readable("f[i](x y) and (sieve)") == "f[i](x y) and (sieve)"


def test_fences_are_not_read_but_code_is() -> None:
    assert readable("```python\npython = 1\n```") == "\npython = 1\n"


def test_places_in_letters_of_either_case() -> None:
    assert list(places_of("aB", "AB ab xaBx")) == [(0, 2), (3, 5), (7, 9)]
    assert list(places_of("a.", "ab a.")) == [(3, 5)]


def test_nothing_is_nowhere() -> None:
    assert count_of("", "abc") == 0


def test_letters_that_grow_shift_nothing() -> None:
    assert list(places_of("b", "\u0130\u0130B b")) == [(2, 3), (4, 5)]
    assert list(places_of("", "\u0130")) == []


def test_what_is_hidden_is_not_counted() -> None:
    assert count_readable("sieve", "A sieve, see [it](https://example.org/sieve).") == 1
    assert count_readable("python", "```python\nx\n```") == 0
