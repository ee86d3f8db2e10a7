"""The command line as a person and as a script meet it."""

import io
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine.cli import main
from engine.cli.options import parse_bytes
from engine.errors import BadOption
from tests.engine.conftest import TinyModels

FIELDS = {
    "text",
    "tokens",
    "finish_reason",
    "prompt_tokens",
    "cached_tokens",
    "ttft_s",
    "tokens_per_s",
    "hit_rate",
    "bytes_read",
    "peak_memory_bytes",
}


def test_chat_prints_the_answer_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(
        ["chat", "demo", "What is", "a lighthouse?", "--temperature", "0", "--max-tokens", "9"]
    )
    out, err = capsys.readouterr()
    assert code == 0
    assert "lighthouse" in out
    assert err == ""


def test_json_is_one_object_with_the_promised_fields(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chat", "demo", "Hello", "--json", "--seed", "4", "--max-tokens", "5"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record.keys() == FIELDS
    assert record["finish_reason"] in ("stop", "length")


def test_with_a_folder_the_next_run_reads_only_what_is_new(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["chat", "demo", "What is a lighthouse?", "--json", "--temperature", "0"]
    command += ["--max-tokens", "5", "--snapshots", str(tmp_path / "kept")]
    records = []
    for _ in range(2):
        assert main(command) == 0
        records.append(json.loads(capsys.readouterr().out))
    assert records[0]["cached_tokens"] == 0
    assert records[1]["cached_tokens"] > records[1]["prompt_tokens"] - 8
    assert records[1]["tokens"] == records[0]["tokens"]


def test_ids_need_no_tokenizer(tiny_models: TinyModels, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tiny_models.container("qwen3_next", bits=4))
    assert (
        main(["generate", path, "--ids", "1,2,3", "--max-tokens", "4", "--temperature", "0"]) == 0
    )
    ids = capsys.readouterr().out.strip().split(",")
    assert len(ids) == 4
    assert all(0 <= int(i) < 256 for i in ids)


def test_generate_goes_on_after_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prompt = tmp_path / "prompt.txt"
    prompt.write_text("What is a lighthouse?")
    arguments = ["--chat", "--json", "--temperature", "0", "--max-tokens", "6"]
    assert main(["generate", "demo", "--prompt-file", str(prompt), *arguments]) == 0
    assert "lighthouse" in json.loads(capsys.readouterr().out)["text"]


FAULTS = [
    (["chat", "no-such-model", "hi"], 3, "no-such-model"),
    (["chat", "demo", "hi", "--temperature", "nan"], 2, "temperature is nan"),
    (["chat", "demo", "hi", "--temperature", "warm"], 2, "--temperature is 'warm'"),
    (["chat", "demo", "hi", "--top-p", "0"], 2, "top_p is 0"),
    (["chat", "demo", "hi", "--slots", "1"], 2, "at least 4"),
    (["chat", "demo", "hi", "--memory", "1MB"], 6, "Allow at least"),
    (["chat", "demo", "hi", "--memory", "lots"], 2, "'lots' is not a size"),
    (["chat", "demo", "hi", "--threads", "0"], 2, "--threads is 0"),
    (["chat", "demo", "hi", "--snapshots-size", "1GB"], 2, "--snapshots-size has no folder"),
    (["generate", "demo", "--ids", "1,x"], 2, "'x'"),
    (["generate", "demo", "--ids", "99999"], 2, "99999"),
    (["generate", "demo", "--prompt", ""], 2, "empty"),
    (["generate", "demo", "--prompt-file", "/no/such/file"], 2, "/no/such/file"),
    (["verify", "no-such-model"], 3, "no-such-model"),
    (["info", "no-such-model"], 3, "no-such-model"),
]


@pytest.mark.parametrize(("arguments", "code", "words"), FAULTS)
def test_faults_are_one_line_with_a_remedy_and_a_code(
    arguments: list[str], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert err.startswith("martlet: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [([], None), (["--direct-reads"], True), (["--no-direct-reads"], False)],
)
def test_whether_reads_go_past_the_page_cache_is_the_users_choice(
    arguments: list[str], expected: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def load(path: Path, **how: object) -> None:
        asked.append(how["direct_reads"])
        raise BadOption("Enough.", "Look at what was asked.")

    monkeypatch.setattr("engine.cli.streaming.load_model", load)
    assert main(["generate", "demo", "--prompt", "hi", *arguments]) == 2
    assert asked == [expected]


def test_repack_verify_and_info_fit_together(
    tiny_models: TinyModels, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, dest = str(tiny_models.checkpoint("qwen3_5_moe", bits=4)), str(tmp_path / "new.qpack")
    assert main(["repack", source, dest]) == 0
    assert main(["verify", dest, "--source", source]) == 0
    capsys.readouterr()
    assert main(["info", dest, "--json"]) == 0
    info = json.loads(capsys.readouterr().out)
    assert (info["expert_count"], info["expert_bits"]) == (16, 4)
    layer = tmp_path / "new.qpack" / "packed_experts" / "layer_02.bin"
    damaged = bytearray(layer.read_bytes())
    damaged[100] ^= 1
    layer.write_bytes(damaged)
    assert main(["verify", dest]) == 4
    assert "layer_02.bin" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "count"),
    [("2GB", 2 * 10**9), ("1.5 GiB", 3 * 2**29), ("800mb", 8 * 10**8), ("7", 7), ("0.5kb", 500)],
)
def test_sizes(text: str, count: int) -> None:
    assert parse_bytes(text) == count


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "1e9", "2 parsecs", "nan"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(BadOption, match="Write it like 2GB"):
        parse_bytes(text)


def test_a_conversation_goes_on_over_turns_and_faults(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.stdin", io.StringIO("What is a lighthouse?\n/retry\n\n/new\nHi\n"))
    assert main(["chat", "demo", "--temperature", "0", "--max-tokens", "8"]) == 0
    out = capsys.readouterr().out
    assert out.count("A lighthouse is a tall") == 2
    assert out.count("tokens ·") == 3


def test_ctrl_c_stops_the_answer_not_the_program(tmp_path: Path) -> None:
    """In a real terminal: an answer is interrupted, and the next question is answered."""
    with Terminal(["chat", "demo", "--temperature", "0"], tmp_path) as terminal:
        terminal.read_until("> ")
        terminal.type("Tell me a story about a brave mouse.\n")
        terminal.read_until("mouse named")
        terminal.process.send_signal(signal.SIGINT)
        terminal.read_until("stopped")
        terminal.read_until("> ")
        terminal.type("What is a lighthouse?\n")
        terminal.read_until("tall building")
        terminal.read_until("> ")
        terminal.type("/quit\n")
        assert terminal.process.wait(timeout=60) == 0


class Terminal:
    """A `martlet` command in a pseudo-terminal."""

    def __init__(self, arguments: list[str], home: Path) -> None:
        self._master, slave = pty.openpty()
        self._unread = b""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "engine.cli", *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=os.environ | {"XDG_STATE_HOME": str(home), "TERM": "dumb"},
            start_new_session=True,
        )
        os.close(slave)

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def read_until(self, words: str, timeout_s: float = 120) -> None:
        """Take everything up to and with `words`."""
        wanted, end = words.encode(), time.monotonic() + timeout_s
        while wanted not in self._unread:
            ready, _, _ = select.select([self._master], [], [], max(0, end - time.monotonic()))
            assert ready, f"waited for {words!r}, saw {self._unread!r}"
            self._unread += os.read(self._master, 4096)
        self._unread = self._unread.split(wanted, 1)[1]
