"""The hub's module without a hub: what links mean, what lists may say, who gets a token."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.container import hub
from engine.container.listing import LARGEST_FILE, licence, listed_files
from engine.container.refusals import Answer, refusal
from engine.container.remote import Absent, Interrupted, PastTheEnd
from engine.errors import BadContainer, BadOption, MartletError


@pytest.mark.parametrize(
    ("link", "meaning"),
    [
        ("https://huggingface.co/acme/Tiny", ("acme/Tiny", None, "")),
        ("https://huggingface.co/acme/Tiny/tree/v2/four-bit", ("acme/Tiny", "v2", "four-bit")),
        ("https://hf.co/acme/Tiny", ("acme/Tiny", None, "")),
        ("hf://acme/Tiny@v2", ("acme/Tiny", "v2", "")),
        ("https://example.org/acme/Tiny", None),
        ("http://huggingface.co/acme/Tiny", None),  # not the hub's own origin
        ("https://huggingface.co.evil.org/acme/Tiny", None),
    ],
)
def test_links_to_the_hub_are_known(link: str, meaning: object) -> None:
    assert hub.parse_link(link) == meaning


@pytest.mark.parametrize(
    "link",
    [
        "https://huggingface.co/datasets/acme/words",
        "https://huggingface.co/acme/Tiny/discussions/3",
        "https://huggingface.co/",
        "hf://nothing",
        "https://huggingface.co:port/acme/Tiny",
    ],
)
def test_pages_that_are_no_model_are_refused(link: str) -> None:
    with pytest.raises(BadOption):
        hub.parse_link(link)


@pytest.mark.parametrize(
    "id",
    ["Tiny", "acme/", "/Tiny", "acme/Tiny/more", "acme/../Tiny", "datasets/acme/x", "a b/c", ""],
)
def test_names_that_are_no_model_are_refused(id: str) -> None:
    with pytest.raises(BadOption):
        hub.check_id(id)


@pytest.mark.parametrize(
    ("url", "is_sent"),
    [
        ("https://huggingface.co/api/models/acme/Tiny", True),
        ("https://hf.co/acme/Tiny", True),
        ("https://hub.example.org:8443/acme/Tiny", True),
        ("http://huggingface.co/acme/Tiny", False),
        ("https://huggingface.co:8443/acme/Tiny", False),
        ("https://cdn-lfs.huggingface.co/blob", False),
        ("https://huggingface.co@evil.org/x", False),
        ("https://hub.example.org/acme/Tiny", False),
    ],
)
def test_the_token_is_for_the_hubs_own_origins(url: str, is_sent: bool) -> None:
    asked = hub.Hub("secret", endpoint="https://hub.example.org:8443/")
    assert (asked._token_for(url) is not None) is is_sent


def sibling(name: object, size: object = 1, blob: object = None, lfs: object = None) -> Any:
    return SimpleNamespace(rfilename=name, size=size, blob_id=blob, lfs=lfs)


def test_a_list_of_files_is_read() -> None:
    lfs = SimpleNamespace(size=7, sha256="a" * 64)
    files = listed_files(
        [sibling("config.json", 3, "b" * 40), sibling("packed_experts/l.bin", 130, "c" * 40, lfs)],
        "acme/Tiny",
    )
    small, large = files.values()
    assert (small.size, small.sha256, small.git_sha1) == (3, None, "b" * 40)
    assert (large.size, large.sha256, large.git_sha1) == (7, "a" * 64, None)


@pytest.mark.parametrize(
    "bad",
    [
        sibling("../outside"),
        sibling("/etc/passwd"),
        sibling("a/../../b"),
        sibling("a\\b"),
        sibling("line\nbreak"),
        sibling(None),
        sibling("a", -1),
        sibling("a", LARGEST_FILE + 1),
        sibling("a", True),
        sibling("a", "7"),
        sibling("x" * 2000),
    ],
)
def test_a_list_that_lies_is_refused(bad: Any) -> None:
    with pytest.raises(BadContainer):
        listed_files([bad], "acme/Tiny")


@given(st.text(), st.one_of(st.none(), st.integers(), st.text()), st.one_of(st.none(), st.text()))
@settings(deadline=None)
def test_no_list_of_files_does_anything_but_name_or_be_refused(
    name: str, size: object, blob: object
) -> None:
    try:
        files = listed_files([sibling(name, size, blob)], "acme/Tiny")
    except BadContainer:
        return
    assert not name.startswith("/")
    assert ".." not in name.split("/")
    assert list(files) == [name]


@pytest.mark.parametrize("tags", [None, 3, [], ["mlx"], [None, 4], "license:mit"])
def test_a_licence_that_is_not_told(tags: object) -> None:
    assert licence(tags) == ""


STATUSES = [
    (408, Interrupted), (416, PastTheEnd), (425, Interrupted), (429, Interrupted),
    (500, Interrupted), (503, Interrupted), (521, Interrupted), (404, Absent), (410, Absent),
    (400, MartletError), (401, MartletError), (451, MartletError),
]  # fmt: skip


@pytest.mark.parametrize(("status", "kind"), STATUSES)
@pytest.mark.parametrize("page", ["", "https://huggingface.co/acme/Tiny"])
def test_every_answer_has_its_behaviour(status: int, kind: type, page: str) -> None:
    found = refusal(Answer(status, "example.org", "layer_00.bin", page, wait_s=3.0))
    assert isinstance(found, kind)
    if isinstance(found, Interrupted):
        assert (found.wait_s, str(status) in found.message) == (3.0, True)


def test_an_expired_link_of_a_storage_host_is_asked_for_anew() -> None:
    assert isinstance(refusal(Answer(403, "cdn.example.org", "layer_00.bin")), Interrupted)


def test_what_a_server_says_is_cut_before_it_is_shown() -> None:
    answer = Answer(403, "h", "acme/Tiny", "page", message="x" * 10_000, with_token=True)
    assert len(str(refusal(answer))) < 400
