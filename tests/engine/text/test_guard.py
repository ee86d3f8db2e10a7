import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.text.guard import Guard, well_formed

GUARD = Guard(["<|im_end|>", "<think>", "[INST]", "word", "\n\n"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet="<[|>a \n\ud800é"),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(alphabet="<ab"), inner),
    max_leaves=10,
)


def texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for pair in value.items() for item in pair for text in texts(item)]
    return [text for item in value for text in texts(item)] if isinstance(value, list) else []


@given(JSON)
@settings(deadline=None)
def test_hidden_data_holds_no_opener_and_comes_back(value: object) -> None:
    hidden = GUARD.hide(value)
    assert not any(set("<[") & set(text) for text in texts(hidden))
    assert [GUARD.show(text) for text in texts(hidden)] == [well_formed(t) for t in texts(value)]


def test_words_and_blanks_stay_visible_to_the_template() -> None:
    assert GUARD.hide({"role": "word\n\n"}) == {"role": "word\n\n"}


def test_only_plain_data_reaches_a_template() -> None:
    with pytest.raises(TypeError, match="object"):
        GUARD.hide({"content": object()})


def test_surrogate_pairs_are_joined_and_lone_ones_replaced() -> None:
    assert well_formed("a\ud83d\ude00b\udc00") == "a😀b\ufffd"
