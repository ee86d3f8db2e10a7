"""Settings survive a restart; an unreadable file is kept; nothing is half-written."""

import json
from pathlib import Path

import pytest

from app.settings import Preset, Sampling, Settings
from app.settings_store import SettingsStore
from engine.errors import BadOption
from tests.app.conftest import Heard, WaitFor


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "settings.json"


def test_changes_are_told_and_kept(path: Path) -> None:
    store = SettingsStore(path)
    heard = Heard(store.changed)
    preset = Preset("Terse", "Be brief.", Sampling(temperature=0.2))
    store.update(text_size=125, presets=(preset,), model_folders=("/models",), thinking=False)
    store.update(text_size=125)
    assert heard.told == [store.settings]
    again = SettingsStore(path)
    assert again.settings == store.settings
    assert again.settings.presets == (preset,)
    assert again.notice is None


def test_impossible_choices_change_nothing(path: Path) -> None:
    store = SettingsStore(path)
    with pytest.raises(BadOption, match="temperature"):
        store.update(sampling=Sampling(temperature=-1))
    with pytest.raises(TypeError):
        store.update(no_such_setting=1)
    assert store.settings == Settings()
    assert not path.exists()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "\xff",
        '{"text_size": "big"}',
        '{"sampling": {"temperature": -1}}',
        '{"presets": [{"name": "p", "sampling": {"top_p": 7}}]}',
        "[" * 100_000,
    ],
    ids=lambda text: text[:20],
)
def test_an_unreadable_file_is_set_aside(
    path: Path, text: str, qapp: object, wait_for: WaitFor
) -> None:
    path.parent.mkdir()
    path.write_text(text, encoding="latin-1")
    store = SettingsStore(path)
    assert store.settings == Settings()
    failed = Heard(store.failed)
    wait_for(lambda: failed.told)
    assert failed.told == [store.notice]
    assert (path.parent / "settings.unreadable.json").read_text(encoding="latin-1") == text
    store.update(text_size=150)
    assert SettingsStore(path).settings.text_size == 150


def test_settings_of_other_versions_are_left_out(path: Path) -> None:
    path.parent.mkdir()
    path.write_text('{"text_size": 150, "from_the_future": {"a": 1}}')
    store = SettingsStore(path)
    assert store.settings == Settings(text_size=150)
    assert store.notice is None


def test_a_failing_write_is_told_and_keeps_the_old_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SettingsStore(path)
    store.update(text_size=110)
    heard = Heard(store.failed)

    def fail(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    store.update(text_size=125)
    assert "No space left" in heard.last.message
    assert store.settings.text_size == 125
    assert json.loads(path.read_text())["text_size"] == 110
    assert [file.name for file in path.parent.iterdir()] == ["settings.json"]
