"""`martlet pull`, `models` and `remove` as a person and as a script meet them."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.cli import main
from engine.cli.pull import Screen, duration, progress_line
from engine.cli.terminal import fitted
from engine.container.fit import Machine
from engine.container.probe import Probe
from engine.errors import NotEnoughDisk
from engine.install.claim import Claim
from engine.install.protocol import Progress, Waiting
from tests.engine.conftest import TinyModels
from tests.engine.fake_hub import TOKEN, FakeHub

MODEL = "acme/Tiny-qpack"


@pytest.fixture
def container(tiny_models: TinyModels) -> Path:
    return tiny_models.container("qwen3_next", bits=4)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, container: Path) -> Iterator[FakeHub]:
    with FakeHub() as hub:
        monkeypatch.setattr("engine.container.hub.hub_endpoint", lambda: hub.endpoint)
        hub.add(MODEL, container)
        yield hub


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The models folder of these tests."""
    monkeypatch.setenv("MARTLET_MODELS", str(tmp_path / "models"))
    monkeypatch.setattr("engine.container.volume.MARGIN_BYTES", 0)
    monkeypatch.setattr("engine.install.room.LOW_WATER_BYTES", 0)
    return tmp_path / "models"


def test_a_model_is_pulled_and_only_its_place_is_printed(
    hub: FakeHub, models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pull", MODEL]) == 0
    out, err = capsys.readouterr()
    assert out == f"{models / 'Tiny.qpack'}: 1.2 MB, complete.\n"
    assert err == ""


def test_a_catalogue_name_stands_for_its_source(
    hub: FakeHub, container: Path, models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.add("Leonickson/Qwen3.6-35B-A3B-qpack", container)
    assert main(["pull", "qwen3.6-35b"]) == 0
    assert (models / "Qwen3.6-35B-A3B.qpack" / "manifest.json").is_file()


def test_a_gated_model_says_what_to_do_and_where(
    hub: FakeHub, container: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.add("acme/Gated", container, gated=True)
    assert main(["pull", "acme/Gated"]) == 14
    out, err = capsys.readouterr()
    assert out == ""
    assert "give Martlet a token" in err
    assert f"{hub.endpoint}/acme/Gated" in err
    assert err.count("\n") == 1


def test_the_token_is_taken_from_the_environment(
    hub: FakeHub, container: Path, monkeypatch: pytest.MonkeyPatch, models: Path
) -> None:
    hub.add("acme/Gated", container, gated=True)
    hub.members.add("acme/Gated")
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert main(["pull", "acme/Gated", "--to", str(models / "here")]) == 0


@pytest.mark.parametrize(
    ("source", "code"), [("no-such-model", 2), ("acme/Nothing", 3), ("https://x?token=1", 2)]
)
def test_what_is_not_there_has_its_code(hub: FakeHub, source: str, code: int) -> None:
    assert main(["pull", source]) == code


def test_a_full_disk_has_its_code(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("engine.container.volume.MARGIN_BYTES", 10**18)
    assert main(["pull", MODEL]) == 7
    assert "Nothing is lost" in capsys.readouterr().err


def test_ctrl_c_pauses_and_the_same_command_goes_on(
    hub: FakeHub, models: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("engine.install.install.work", interrupt)
        assert main(["pull", MODEL]) == 130
    assert "goes on where it stopped" in capsys.readouterr().err
    assert main(["pull", MODEL]) == 0


def test_what_has_arrived_moves_to_another_folder(
    hub: FakeHub, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: object) -> None:
        raise NotEnoughDisk("Full.", "Free some.")

    with monkeypatch.context() as patch:
        patch.setattr("engine.install.direct.DirectInstall._promote", full)
        assert main(["pull", MODEL]) == NotEnoughDisk.exit_code
    hub.requests.clear()
    began, other = models / "Tiny.qpack", tmp_path / "other" / "Tiny.qpack"
    assert main(["pull", MODEL, "--to", str(other), "--from", str(began)]) == 0
    assert (other / "manifest.json").is_file()
    assert not began.exists()
    assert not hub.asked("layer_")


def test_models_lists_what_is_there_and_what_is_wrong(
    hub: FakeHub, models: Path, container: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["pull", MODEL])
    shutil.copytree(container, models / "bad.qpack")
    (models / "bad.qpack" / "packed_experts" / "layer_00.bin").unlink()
    capsys.readouterr()
    assert main(["models"]) == 0
    bad, good = capsys.readouterr().out.splitlines()
    assert bad.startswith("bad ")
    assert "broken: " in bad
    assert good.split() == ["Tiny", "1.2", "MB", "4-bit"]
    assert main(["models", "--json"]) == 0
    assert [m["state"] for m in json.loads(capsys.readouterr().out)] == ["broken", "ready"]


def test_models_without_a_folder_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models"]) == 0
    out, err = capsys.readouterr()
    assert "No model is installed" in out
    assert "is not there" in err


def test_the_catalogue_says_what_fits_here(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("engine.cli.models.probe_disk", lambda folder: Probe(6_300, 1e-6))
    here = Machine(24 * 10**9, 153e9, 6.3e9, 10**12)
    monkeypatch.setattr("engine.cli.models.Machine", lambda **how: here)
    assert main(["models", "--catalogue"]) == 0
    out = capsys.readouterr().out
    assert "qwen3.6-35b " in out
    assert re.search(r"About 2\d tokens/s · uses 7\.\d GB", out)
    assert main(["models", "--catalogue", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["fit"]["verdict"] == "fits"


def test_remove_asks_for_yes_and_says_what_came_back(
    hub: FakeHub, models: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    main(["pull", MODEL])
    assert main(["remove", "Tiny"]) == 2
    assert (models / "Tiny.qpack").is_dir()
    capsys.readouterr()
    assert main(["remove", "Tiny", "--yes"]) == 0
    assert "MB freed" in capsys.readouterr().out
    assert not (models / "Tiny.qpack").exists()


def test_remove_leaves_a_running_download_and_the_built_in_model_alone(
    models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["remove", "demo", "--yes"]) == 2
    with Claim(models / "Tiny.qpack"):
        assert main(["remove", "Tiny", "--yes"]) == 2
    assert "is downloading" in capsys.readouterr().err


def test_a_line_of_progress() -> None:
    progress = Progress("downloading", 3_100_000_000, 19_500_000_000, 96_400_000, 265.2)
    assert progress_line(progress) == "Downloading 3.1 of 19.5 GB · 96.4 MB/s · 4 min 25 s left"
    stalled = Progress("downloading", 3_100_000_000, 19_500_000_000, 0.0, None)
    assert progress_line(stalled) == "Downloading 3.1 of 19.5 GB · 0.0 MB/s"
    assert progress_line(Progress("verifying", 41, 100, 9.0, 1.0)) == "Verifying 41%"
    small = Progress("downloading", 3_140_000, 27_600_000, 9e6, 0.2)
    assert progress_line(small) == "Downloading 3.1 of 27.6 MB · 9.0 MB/s · 1 s left"
    assert progress_line(Progress("downloading", 0, 0, 0.0, None)) == "Asking what is to be fetched"


@pytest.mark.parametrize(("columns", "shown"), [(80, "abcdef"), (7, "abcdef"), (5, "abc…")])
def test_a_line_never_wraps(columns: int, shown: str) -> None:
    assert fitted("abcdef", columns) == shown


def test_trouble_stays_in_the_line_until_it_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(
        "engine.cli.terminal.StatusLine.show", lambda line, text: shown.append(text)
    )
    screen = Screen()
    screen.hear(Waiting("The hub has trouble (503).", 5.0, 1, 10))
    for done in (0, 0, 7):
        screen.hear(Progress("downloading", done, 10**9, 5e6, None))
    for line in shown[:2]:
        assert line.endswith(" · The hub has trouble (503). Trying again in 5 s.")
    assert "trouble" not in shown[2]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (59.6, "1 min 0 s"), (265, "4 min 25 s"), (7800, "2 h 10 min")],
)
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words
