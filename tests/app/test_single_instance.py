"""One process a data folder; a second start is heard by the first."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication
from PySide6.QtNetwork import QLocalSocket

from app.single_instance import InstanceLock, parse_files
from tests.app.conftest import Heard, WaitFor

OTHER = """
import sys
from pathlib import Path
from PySide6.QtCore import QCoreApplication
from app.single_instance import InstanceLock
app = QCoreApplication([])
lock = InstanceLock(Path(sys.argv[1]))
print(lock.acquire(), flush=True)
if sys.argv[2:]:
    print(lock.summon_other(sys.argv[2:]), flush=True)
else:
    sys.stdin.read()
"""


@pytest.fixture
def lock(tmp_path: Path, qapp: QCoreApplication) -> Iterator[InstanceLock]:
    lock = InstanceLock(tmp_path / "data")
    yield lock
    lock.release()


def other(tmp_path: Path, *files: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", OTHER, str(tmp_path / "data"), *files]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_a_second_start_is_heard(lock: InstanceLock, tmp_path: Path, wait_for: WaitFor) -> None:
    assert lock.acquire()
    summoned = Heard(lock.summoned)
    with other(tmp_path, "/a/ä b.json", "/c") as second:
        wait_for(lambda: summoned.told)
        output, _ = second.communicate(timeout=30)
    assert output.split() == ["False", "True"]
    assert summoned.told == [("/a/ä b.json", "/c")]


def test_a_killed_process_leaves_the_folder_free(lock: InstanceLock, tmp_path: Path) -> None:
    with other(tmp_path) as first:
        assert first.stdout
        assert first.stdout.readline() == "True\n"
        assert not lock.acquire()
        os.kill(first.pid, signal.SIGKILL)
        first.wait(30)
        assert lock.acquire()


def test_nobody_answers_where_nobody_is(lock: InstanceLock) -> None:
    assert not lock.summon_other()


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path, qapp: QCoreApplication) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        InstanceLock(tmp_path / "file" / "data").acquire()


def test_nonsense_over_the_socket_only_raises_the_window(
    lock: InstanceLock, wait_for: WaitFor
) -> None:
    assert lock.acquire()
    summoned = Heard(lock.summoned)
    for line in (b"\xff\n", b"{}\n", b'[1, "/x"]\n'):
        socket = QLocalSocket()
        socket.connectToServer(lock.name)
        assert socket.waitForConnected(5000)
        socket.write(line)
        socket.flush()
        count = len(summoned)
        wait_for(lambda count=count: len(summoned) > count)
        socket.abort()
    assert summoned.told == [(), (), ("/x",)]


@pytest.mark.parametrize("line", [b"", b"[" * 100_000, b"null", b"\x00"])
def test_malformed_lines_name_no_files(line: bytes) -> None:
    assert parse_files(line) == ()
