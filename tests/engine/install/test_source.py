"""What a person names, and what it is taken for."""

from pathlib import Path

import pytest

from engine.errors import BadOption
from engine.install.source import (
    FolderSource,
    HubSource,
    MirrorSource,
    Source,
    canonical,
    exact,
    parse_source,
)
from engine.install.target import bare


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("acme/Tiny", HubSource("acme/Tiny", None, "")),
        ("acme/Tiny@v2", HubSource("acme/Tiny", "v2", "")),
        ("acme/Tiny/four.qpack", HubSource("acme/Tiny", None, "four.qpack")),
        ("https://huggingface.co/acme/Tiny/tree/main", HubSource("acme/Tiny", "main", "")),
        ("https://example.org/models/tiny/", MirrorSource("https://example.org/models/tiny")),
        ("/models/tiny", FolderSource(Path("/models/tiny"))),
        ("./tiny", FolderSource(Path.cwd() / "tiny")),
    ],
)
def test_names_are_understood(text: str, source: Source) -> None:
    assert parse_source(text) == source


def test_a_folder_that_is_there_goes_before_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "acme" / "Tiny").mkdir(parents=True)
    assert parse_source("acme/Tiny") == FolderSource(tmp_path / "acme" / "Tiny")


@pytest.mark.parametrize(
    "text",
    [
        "", "Tiny", "acme/..", "acme/Ti ny", "-rf/x", "acme//x",
        "https://user:password@example.org/tiny", "https://example.org/tiny?key=1", "http://",
        "https://example.org:port/",
    ],
)  # fmt: skip
def test_names_that_are_none_are_refused_without_their_secrets(text: str) -> None:
    with pytest.raises(BadOption) as error:
        parse_source(text)
    assert "password" not in error.value.message


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("https://huggingface.co/acme/Tiny", "acme/Tiny"),
        ("hf://acme/Tiny@v2", "acme/Tiny@v2"),
        ("https://huggingface.co/acme/Tiny/tree/v2/four-bit", "acme/Tiny/four-bit@v2"),
        ("acme/Tiny@refs/pr/1", "acme/Tiny@refs/pr/1"),
        ("https://example.org/models/tiny/", "https://example.org/models/tiny"),
    ],
)
def test_one_name_for_one_model_that_is_understood_again(text: str, name: str) -> None:
    source = parse_source(text)
    assert exact(source) == name
    assert parse_source(name) == source
    assert bare(name) == canonical(source)
