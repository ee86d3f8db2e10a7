"""`Martlet --self-test`: tries every part of the program once, and says which one fails.

One JSON object on standard output, and exit status 0 where all parts work:

    {"ok": true, "version": "...", "commit": "...", "checks": [{"name", "detail", "fault"}, ...]}

The engine and the screen are tried in processes of their own, started as the application starts its
processes: a missing platform plugin, for one, ends the process in which Qt looks for it. Opens no
window, touches no data of the person's, and makes no connection.
"""

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Any

from app import __version__
from app.engine_client import ENGINE_COMMAND
from app.installed_models import DEMO
from engine import protocol as wire
from engine.options import GenerationOptions
from engine.self_test import Check as Check
from engine.self_test import attempt as attempt
from engine.self_test import import_all as import_all
from engine.self_test import tell as tell

PARTS = ("engine.self_test", "app.ui.self_test")
PATIENCE_S = 300  # for one process; a first start from a disk image is slow
RESOURCES = Path(__file__).parents[2]  # of a bundle; a source tree has no such files
FACTS, FILES = RESOURCES / "build.json", RESOURCES / "files.txt"
NAMED = 20  # missing files, at most
QUESTION = "What is a lighthouse?"
FORMULA = r"\frac{1}{2}"


def main() -> int:
    """Try everything and tell; the exit status."""
    report = make_report()
    sys.stdout.write(json.dumps(report, indent=1) + "\n")
    return 0 if report["ok"] else 1


def make_report() -> dict[str, Any]:
    """See the module's text."""
    checks = list(_checks())
    return {
        "ok": not any(check.fault for check in checks),
        "version": __version__,
        "commit": _commit(),
        "python": sys.version.split()[0],
        "executable": sys.executable,
        "checks": [asdict(check) for check in checks],
    }


def run_part(module: str) -> list[Check]:
    """What a process of its own finds; where it dies, that is the last entry."""
    command = [sys.executable, "-X", "faulthandler", "-m", module]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        return [Check(module, fault=f"did not end within {PATIENCE_S} s")]
    checks = [Check(**json.loads(line)) for line in done.stdout.splitlines()]
    if done.returncode:
        after = f" after {checks[-1].name}" if checks else ""
        said = done.stderr.strip()[-1500:]
        checks.append(Check(module, fault=f"ended with {done.returncode}{after}: {said}"))
    return checks


def _checks() -> Iterator[Check]:
    yield attempt("files", _files)
    yield attempt("plain python", _plain_python)
    yield attempt("database", _database)
    yield attempt("keyring", _keyring)
    yield attempt("typesetter", _typesetter)
    for module in PARTS:
        yield from run_part(module)
    yield attempt("demo model", _demo_model)


def _files() -> str:
    """Every file that the bundle was built with, by its path from the contents."""
    if not FILES.exists():
        return "a source tree"
    names = FILES.read_text().splitlines()
    missing = [name for name in names if not (RESOURCES.parent / name).exists()]
    if missing:
        raise FileNotFoundError(f"{len(missing)} missing: {', '.join(missing[:NAMED])}")
    return f"{len(names)} files"


def _plain_python() -> str:
    """multiprocessing's helpers, too, start the program with an option of one dash."""
    code = "import multiprocessing.resource_tracker; print(6 * 7)"
    done = subprocess.run(
        [sys.executable, "-B", "-I", "-c", code],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    if done.stdout != "42\n":
        raise ChildProcessError(done.stderr or done.stdout)
    return ""


def _database() -> str:
    """Made, migrated and searched, in a folder that is thrown away."""
    import sqlite3

    from app.chat_search import search
    from app.database import open_database

    with tempfile.TemporaryDirectory() as folder:
        opened = open_database(Path(folder) / "conversations.db", Path(folder) / "backups")
        with closing(opened.connection) as connection:
            search(connection, "lighthouse")
    return f"SQLite {sqlite3.sqlite_version}"


def _keyring() -> str:
    """The backend's name; nothing is read."""
    import keyring

    backend = type(keyring.get_keyring())
    return f"{backend.__module__}.{backend.__name__}"


def _typesetter() -> str:
    """Colours of code, and the drawing of a formula with the fonts that come along."""
    from app.blocks.formula import typeset
    from app.blocks.highlight import highlight

    if not any(highlight("return 1", "python")):
        raise ValueError("code has no colours")
    if typeset(FORMULA, display=False) is None:
        raise ValueError("a formula is not drawn")
    return ""


def _demo_model() -> str:
    """A short answer by the built-in model, from an engine process like the application's."""
    options = GenerationOptions(temperature=0, max_tokens=12, thinking=False)
    question = (wire.ChatMessage("user", QUESTION),)
    commands = (wire.Load(str(DEMO)), wire.Generate("1", question, options))
    with subprocess.Popen(ENGINE_COMMAND, stdin=PIPE, stdout=PIPE, stderr=DEVNULL) as engine:
        assert engine.stdin is not None
        assert engine.stdout is not None
        impatience = threading.Timer(PATIENCE_S, engine.kill)
        impatience.start()
        try:
            engine.stdin.writelines(wire.encode(command) for command in commands)
            engine.stdin.flush()
            return _heard(map(wire.decode_event, engine.stdout))
        finally:
            impatience.cancel()
            engine.kill()


def _heard(events: Iterator[wire.Event]) -> str:
    """The answer, and what computed it. Raises where the engine fails or ends before."""
    computing, answer = "", ""
    for event in events:
        match event:
            case wire.Loaded(kernels=wire.KernelReport() as kernels):
                off = [shader.group for shader in kernels.shaders if not shader.on]
                computing = f"{kernels.kind} on the {kernels.device}, shaders off: {off}"
            case wire.Text():
                answer += event.text
            case wire.Failed() | wire.Bug():
                raise RuntimeError(str(event))
            case wire.Finished() if answer.strip():
                return f"{answer} ({computing})"
    raise EOFError(f"the engine ended; it had answered {answer!r}")


def _commit() -> str:
    """Of a bundle; empty in a source tree."""
    return str(json.loads(FACTS.read_text())["commit"]) if FACTS.exists() else ""
