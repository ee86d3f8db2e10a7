"""Which files make a container, from what strangers say."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.container.container import CONFIG, DENSE, LAYOUT, layer_name
from engine.container.layout import ExpertLayout
from engine.container.manifest import Manifest, check_key
from engine.container.remote import RemoteFile
from engine.errors import BadContainer
from engine.install.wanted import check_names, wanted_files

LAYOUT_OF_TWO = ExpertLayout(2, 2, 16384, (), (True, False))
LAYERS = [layer_name(0), layer_name(1)]
SIZES = {DENSE: 100, **dict.fromkeys(LAYERS, 32768)}
MANIFEST_OF_TWO = Manifest("tiny", "acme/Tiny", 4, 64, SIZES)
LISTED = {name: RemoteFile(SIZES.get(name, 10)) for name in (CONFIG, LAYOUT, DENSE, *LAYERS)}


def names(**how: Any) -> list[str]:
    asked: dict[str, Any] = {
        "manifest": MANIFEST_OF_TWO, "layout": LAYOUT_OF_TWO, "listed": LISTED, "hashes": {},
        "where": "acme/Tiny",
    }  # fmt: skip
    return [wanted.name for wanted in wanted_files(**asked | how)]


def test_small_files_come_first_and_experts_last() -> None:
    assert names() == [CONFIG, LAYOUT, DENSE, *LAYERS]


def test_what_the_hub_has_beside_them_comes_too_but_not_everything() -> None:
    more = LISTED | {"tokenizer.json": RemoteFile(5), "README.md": RemoteFile(7)}
    assert set(names(listed=more)) - set(names()) == {"tokenizer.json"}


def test_of_a_mirror_that_lists_nothing_all_small_files_are_tried() -> None:
    tried = names(listed=None)
    assert {"tokenizer.json", "chat_template.jinja", "hashes.json"} < set(tried)


def test_hashes_come_from_either_place_and_must_agree() -> None:
    hashed = LISTED | {DENSE: RemoteFile(100, "a" * 64)}
    [dense] = [
        wanted
        for wanted in wanted_files(MANIFEST_OF_TWO, LAYOUT_OF_TWO, hashed, {CONFIG: "b" * 64}, "x")
        if wanted.name == DENSE
    ]
    assert (dense.sha256, dense.size, dense.optional) == ("a" * 64, 100, False)
    with pytest.raises(BadContainer, match="in one place"):
        names(listed=hashed, hashes={DENSE: "c" * 64})


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"listed": {k: v for k, v in LISTED.items() if k != LAYERS[1]}}, "lacks"),
        ({"listed": LISTED | {DENSE: RemoteFile(99)}}, "the size of model.safetensors is 99"),
        ({"manifest": replace(MANIFEST_OF_TWO, files=SIZES | {LAYERS[0]: 1})}, "layer_00.bin is 1"),
        ({"listed": None, "manifest": replace(MANIFEST_OF_TWO, files={})}, "does not list"),
        ({"manifest": replace(MANIFEST_OF_TWO, files=SIZES | {".ssh/config": 1})}, "hidden"),
        ({"manifest": replace(MANIFEST_OF_TWO, files=SIZES | {".install-lock": 1})}, "hidden"),
        ({"manifest": replace(MANIFEST_OF_TWO, files=SIZES | {"Config.json": 1})}, "both"),
        ({"manifest": replace(MANIFEST_OF_TWO, files=SIZES | {"config.json/x": 1})}, "below"),
    ],
)
def test_what_contradicts_or_cannot_stand_in_a_folder_is_refused(
    how: dict[str, Any], words: str
) -> None:
    if "manifest" in how and "listed" not in how:
        more = {name: RemoteFile(size) for name, size in how["manifest"].files.items()}
        how = how | {"listed": {CONFIG: RemoteFile(10), LAYOUT: RemoteFile(10), **more}}
    with pytest.raises(BadContainer, match=words):
        names(**how)


def test_ten_thousand_files_are_enough() -> None:
    with pytest.raises(BadContainer, match="10001 files"):
        check_names(dict.fromkeys(map(str, range(10_001))), "acme/Tiny")


def test_names_are_compared_as_the_mac_does() -> None:
    with pytest.raises(BadContainer, match="both"):
        check_names({"caf\u00e9.bin": 1, "cafe\u0301.bin": 1}, "acme/Tiny")


@given(st.dictionaries(st.text(max_size=20), st.integers(0, 100), max_size=5))
@settings(deadline=None)
def test_any_names_are_refused_or_stay_inside(files: dict[str, int]) -> None:
    try:
        for name in files:
            check_key(name, "x")
        check_names(files, "x")
    except BadContainer:
        return
    for name in files:
        assert not name.startswith("/")
        assert not any(part.startswith(".") for part in name.split("/"))
