"""User data lies where no system clears up, and tests can move all of it."""

from pathlib import Path

import pytest

from app import paths


def test_one_variable_moves_everything(martlet_home: Path) -> None:
    assert paths.data_folder() == martlet_home / "data"
    assert paths.log_folder() == martlet_home / "logs"


def test_user_data_is_in_no_cache_and_not_with_the_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(paths.HOME_VARIABLE)
    data = paths.data_folder()
    program = Path(paths.__file__).parents[1]
    for place in (paths.database_file(data), paths.models_folder(data), paths.settings_file(data)):
        assert place.is_absolute()
        assert "cache" not in str(place).lower()
        assert program not in place.parents


def test_nothing_is_created(martlet_home: Path) -> None:
    data = paths.data_folder()
    paths.window_file(data)
    paths.backups_folder(data)
    assert not martlet_home.exists()
