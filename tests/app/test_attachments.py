"""Text files are read as text; everything else is refused in words."""

from pathlib import Path

import pytest

from app.attachment_reader import AttachmentReader
from app.attachments import MOST_BYTES, AttachmentRefused, read_attachment
from app.conversation import Attachment
from tests.app.conftest import Heard, WaitFor


@pytest.mark.parametrize(
    "data",
    [
        "x = 'é'\n".encode(),
        b"\xef\xbb\xbf" + "x = 'é'\n".encode(),
        "x = 'é'\n".encode("utf-16"),
        "x = 'é'\r\n".encode(),
    ],
    ids=["utf-8", "bom", "utf-16", "crlf"],
)
def test_text_in_the_usual_encodings(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(data)
    assert read_attachment(file) == Attachment("a.py", "x = 'é'\n")


def test_what_is_refused(tmp_path: Path) -> None:
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    (tmp_path / "zeros.txt").write_bytes(b"a\0b")
    (tmp_path / "big.txt").write_bytes(b"a" * (MOST_BYTES + 1))
    for name, sentence in (
        ("picture.png", "is not a text file"),
        ("zeros.txt", "is not a text file"),
        ("big.txt", "has more than 2 MB"),
        ("gone.txt", "cannot be read: No such file"),
        ("..", "is a folder"),
    ):
        with pytest.raises(AttachmentRefused, match=sentence):
            read_attachment(tmp_path / name)


def test_files_are_read_off_the_ui_thread_and_faults_are_told(
    tmp_path: Path, qapp: object, wait_for: WaitFor
) -> None:
    for name in "ab":
        (tmp_path / name).write_text(name)
    reader = AttachmentReader()
    read, failed = Heard(reader.read), Heard(reader.failed)
    reader.start([tmp_path / "b", tmp_path / "gone", tmp_path / "a"])
    wait_for(lambda: read.told and failed.told)
    assert [attachment.text for attachment in read.last] == ["b", "a"]
    assert failed.last.kind == "AttachmentRefused"
