"""Conversations at full size: 40,000 messages searched, a conversation of 2,000 opened.

    python -m tests.bench.bench_chats

Each operation goes through the controllers, as from the window. A timer wants to fire every
millisecond meanwhile; a gap is how much later than that it fires, with what the other threads take
of the interpreter.
"""

import os
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEventLoop, Qt, QTimer, SignalInstance

from app import conversation_rows, message_rows, paths, turns
from app.chat_controller import ChatController
from app.conversation import Conversation, Message
from app.conversation_rows import new_id
from app.database import close_database, open_database, transaction
from app.message_tree import StoredMessage
from app.workspace import Workspace

CONVERSATIONS = 400
MESSAGES = 100  # a conversation: 40,000 in all
LONG = 2_000  # messages of the conversation that is opened
WORDS_A_MESSAGE = 150  # about 1,000 characters
ROUNDS = 15


def words(chance: random.Random) -> list[str]:
    """A vocabulary whose words are as often used as those of a language: Zipf's law."""
    syllables = ["ka", "lo", "mi", "nu", "pe", "ra", "si", "to", "va", "ze"]
    made = ["".join(chance.choices(syllables, k=chance.randint(1, 4))) for _ in range(20_000)]
    return chance.choices(made, [1 / n for n in range(1, 20_001)], k=1_000_000)


def fill(data: Path) -> str:
    """Make the library; return the long conversation's id."""
    chance = random.Random(1)
    text = words(chance)
    opened = open_database(paths.database_file(data), paths.backups_folder(data))
    with transaction(opened.connection):
        for number in range(CONVERSATIONS):
            add(opened.connection, chance, text, f"Conversation {number}", MESSAGES)
        long = add(opened.connection, chance, text, "Long", LONG)
    opened.connection.execute("PRAGMA wal_checkpoint (TRUNCATE)").fetchall()
    close_database(paths.database_file(data), opened.connection)
    return long


def add(
    db: sqlite3.Connection, chance: random.Random, text: list[str], title: str, count: int
) -> str:
    id, parent = new_id(), None
    conversation_rows.keep(db, Conversation(id, "", created_at=1.0, updated_at=1.0))
    conversation_rows.rename(db, id, title)
    for number in range(count):
        start = chance.randrange(len(text) - WORDS_A_MESSAGE)
        body = " ".join(text[start : start + WORDS_A_MESSAGE])
        if number % 50 == 7:
            body += " 東京の天気はとても良いです"
        role = "assistant" if number % 2 else "user"
        message = Message(new_id(), id, parent, role, body, created_at=1.0)
        message_rows.restore_message(db, StoredMessage(message, number))
        parent = message.id
    return id


class Gaps:
    """How late a timer of one millisecond fires."""

    def __init__(self) -> None:
        self.ms: list[float] = []
        self._last = time.perf_counter()
        self._timer = QTimer(timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._tick)
        self._timer.start(1)

    def _tick(self) -> None:
        now = time.perf_counter()
        self.ms.append(max((now - self._last) * 1000 - 1, 0.0))
        self._last = now

    def shown(self) -> str:
        self._timer.stop()
        ordered = sorted(self.ms)
        return f"gaps p99 {ordered[int(len(ordered) * 0.99)]:5.1f}  max {ordered[-1]:5.1f} ms"


def measure(name: str, ask: Callable[[], object], told: SignalInstance) -> None:
    """How long from asking to being told, and the gaps of the event loop."""
    times = []
    gaps = Gaps()
    for _ in range(ROUNDS):
        loop = QEventLoop()
        told.connect(loop.quit)
        began = time.perf_counter()
        ask()
        loop.exec()
        times.append((time.perf_counter() - began) * 1000)
        told.disconnect(loop.quit)
    median, worst = statistics.median(times), max(times)
    print(f"{name:34} {median:7.1f} ms (worst {worst:6.1f})   {gaps.shown()}")


def main() -> None:
    QCoreApplication(sys.argv)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        long = fill(data)
        size = os.stat(paths.database_file(data)).st_size / 1e6
        print(f"{CONVERSATIONS * MESSAGES + LONG:,} messages, {size:.0f} MB")
        workspace = Workspace(data)
        chat, library = workspace.new_chat(), workspace.library
        measure("list of conversations", library.refresh, library.changed)
        measure("open 2,000 messages", lambda: reopen(chat, long), chat.messages_reset)
        for name, query in (
            ("search a rare word", "zezezeze"),
            ("search a common word", "ka"),
            ("search two words", "kalo minu"),
            ("search Chinese (scan)", "天気"),
            ("search nothing there (scan)", "xyzzy"),
        ):
            measure(name, lambda query=query: library.search(query), library.search_finished)
        database(data, long)
        workspace.close()


def reopen(chat: ChatController, id: str) -> None:
    chat.open_new()
    chat.open(id)


def database(data: Path, long: str) -> None:
    """What the writer's thread does, without the application."""
    opened = open_database(paths.database_file(data), paths.backups_folder(data))
    db = opened.connection
    conversation = conversation_rows.read_conversation(db, long)
    assert conversation is not None
    time_it("commit a turn, durably (2,000)", lambda: commit(db, conversation))
    answer = Message(new_id(), long, None, "assistant", "x" * 60_000, status="streaming")
    with transaction(db):
        message_rows.restore_message(db, StoredMessage(answer, 0))
    time_it("write a growing answer (60,000)", lambda: flush(db, answer))
    db.close()


def commit(db: sqlite3.Connection, conversation: Conversation) -> None:
    with transaction(db, durable=True):
        turns.add_turn(db, conversation, "hello", (), 1.0)


def flush(db: sqlite3.Connection, answer: Message) -> None:
    with transaction(db):
        message_rows.save_growth(db, answer)


def time_it(name: str, job: Callable[[], object]) -> None:
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        job()
        times.append((time.perf_counter() - began) * 1000)
    print(f"{name:34} {statistics.median(times):7.1f} ms (worst {max(times):6.1f})")


if __name__ == "__main__":
    main()
