"""The folder that a model goes into, the same for whoever asks."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.container.origin import Origin, write_origin
from engine.install.claim import LOCK
from engine.install.target import model_name, target_for


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("Leonickson/Qwen3.6-35B-A3B-qpack", "Qwen3.6-35B-A3B.qpack"),
        ("mlx-community/Qwen3.6-35B-A3B-4bit", "Qwen3.6-35B-A3B-4bit.qpack"),
        ("acme/Tiny@v2", "Tiny.qpack"),
        ("acme/Tiny@refs/pr/1", "Tiny.qpack"),
        ("acme/Tiny/four-bit.qpack", "four-bit.qpack"),
        ("https://example.org/models/tiny-qpack", "tiny.qpack"),
        ("https://example.org", "model.qpack"),
        ("https://example.org/a%2F..%2Fb", "a-2F..-2Fb.qpack"),
        ("/models/.hidden", "hidden.qpack"),
        ("/models/me@home", "me-home.qpack"),
        ("acme/..", "model.qpack"),
    ],
)
def test_a_model_has_a_name_that_is_one_folder(source: str, name: str) -> None:
    assert model_name(source) == name


@given(st.text(st.characters(exclude_categories=["Cs"])))
@example("ü" * 500)
@settings(deadline=None)
def test_no_name_leaves_its_folder(last: str) -> None:
    name = model_name(f"acme/{last}")
    assert Path(name).name == name
    assert name.endswith(".qpack")
    assert not name.startswith((".", "-"))
    assert len(name.encode()) < 220


def test_a_model_goes_on_where_it_began(tmp_path: Path) -> None:
    begun = target_for(tmp_path, "acme/Tiny@v2")
    begun.mkdir()
    write_origin(begun, Origin("acme/Tiny", "container"))
    assert target_for(tmp_path, "acme/Tiny") == begun
    assert target_for(tmp_path, "acme/Tiny@v3") == begun


def test_another_model_of_that_name_gets_a_number(tmp_path: Path) -> None:
    (tmp_path / "Tiny.qpack").mkdir()
    (tmp_path / "Tiny.qpack" / "manifest.json").touch()
    second = target_for(tmp_path, "acme/Tiny")
    assert second == tmp_path / "Tiny 2.qpack"
    assert target_for(tmp_path, "acme/Tiny", [str(second).upper()]).name == "Tiny 3.qpack"


def test_a_kill_at_the_very_start_leaves_no_other_model(tmp_path: Path) -> None:
    begun = target_for(tmp_path, "acme/Tiny")
    begun.mkdir()
    (begun / LOCK).touch()
    assert target_for(tmp_path, "acme/Tiny") == begun
