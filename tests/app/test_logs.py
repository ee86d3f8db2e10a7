"""What must not be in a log that is sent along is not in it."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from app import logs


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    before = logging.getLogger().level
    handler = logs.start_logging(tmp_path / "logs")
    yield tmp_path / "logs"
    logging.getLogger().removeHandler(handler)
    logging.getLogger().setLevel(before)
    handler.close()


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("token hf_abcdEFGH1234 used", "token hf_… used"),
        ("key sk-martlet-aB3_x-Y used", "key sk-martlet-… used"),
        ("Authorization: Bearer abc.def", "Authorization: …"),
        ("?token=abc&x=1", "?token=…&x=1"),
        ("password: 'secret'", "password: '…'"),
        ("api_key=1234", "api_key=…"),
        ('{"token": "abc"}', '{"token": "…"}'),
        ("proxy http://user:pass@host:80/x", "proxy http://…@host:80/x"),
        (f"{Path.home()}/models/m", "~/models/m"),
        ("loaded 12 tokens in 3 s", "loaded 12 tokens in 3 s"),
    ],
)
def test_secrets_are_taken_out(text: str, redacted: str) -> None:
    assert logs.redact(text) == redacted


def test_tracebacks_are_redacted_too(folder: Path) -> None:
    try:
        raise ValueError("hf_abcdEFGH1234")
    except ValueError:
        logging.getLogger("test").exception("it failed for %s", "hf_zyxw9876")
    text = logs.log_file(folder).read_text()
    assert "ValueError: hf_…" in text
    assert "9876" not in text
    assert "1234" not in text


def test_the_files_stay_small(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.handlers.RotatingFileHandler):
            handler.maxBytes = 1000
    for number in range(200):
        logging.getLogger("test").info("line %d of the log", number)
    files = list(folder.iterdir())
    assert len(files) == 1 + logs.KEPT_FILES
    assert sum(file.stat().st_size for file in files) <= 4000
