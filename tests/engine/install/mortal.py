"""`python -m tests.engine.install.mortal ENDPOINT`: installations that kill themselves on demand.

Each line of JSON asks for one, in a forked child: {"source", "target", "earlier", "die_at"}. The
child dies by SIGKILL before its `die_at`-th call of the system that opens, renames, removes,
connects or locks.
The answer is "killed", or "ended KIND CALLS".
"""

import json
import os
import signal
import sys
from typing import Any

from engine.container import hub
from engine.install.install import run
from engine.install.protocol import Start
from engine.install.stop import Stop
from tests.engine.install.conftest import QUICK

COUNTED = ("open", "os.", "socket.connect", "fcntl.", "shutil.")


def main() -> None:
    endpoint = sys.argv[1]
    hub.hub_endpoint = lambda: endpoint
    for line in sys.stdin:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            _install(json.loads(line), write)
        os.close(write)
        with os.fdopen(read) as answer:
            said = answer.read()
        os.waitpid(child, 0)
        sys.stdout.write(f"{said or 'killed'}\n")
        sys.stdout.flush()


def _install(ask: dict[str, Any], write: int) -> None:
    calls = 0

    def count(event: str, arguments: object) -> None:
        nonlocal calls
        if event.startswith(COUNTED):
            calls += 1
            if calls == ask["die_at"]:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    source, target, earlier = ask["source"], ask["target"], ask["earlier"]
    start = Start(source, target, anyway=True, earlier=earlier, patience=QUICK)
    outcome = run(start, lambda event: None, Stop())
    ask["die_at"] = 0
    os.write(write, f"ended {type(outcome).__name__} {calls}".encode())
    os._exit(0)


if __name__ == "__main__":
    main()
