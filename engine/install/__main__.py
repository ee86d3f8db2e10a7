"""The download process: `python -m engine.install`. One command in, events out, by lines.

One process a download: a kill is a sure end, costs nothing that has arrived, and leaves the others
alone. Standard output carries the protocol alone; whatever prints goes to standard error, and so
does the log, which never holds a token or an address's query.
"""

import faulthandler
import logging
import os
import sys
import threading
import traceback
from pathlib import Path
from queue import SimpleQueue
from typing import BinaryIO

from engine import __version__
from engine.container.remote import Interrupted
from engine.errors import MartletError
from engine.install import protocol as wire
from engine.install.install import failed, make_site, run
from engine.install.offer import look_up, search
from engine.install.patience import PATIENCE
from engine.install.stop import Stop
from engine.protocol import BadLine, lines

GRACE_S = 1.5  # after the input closed, until the process ends whatever it is doing

log = logging.getLogger(__name__)


class Server:
    """Serves one command of one peer. `events_out` is unbuffered."""

    def __init__(self, commands_in: BinaryIO, events_out: BinaryIO) -> None:
        self._in = commands_in
        self._out = events_out
        self._writing = threading.Lock()
        self._asked: SimpleQueue[wire.Start | wire.Search | wire.LookUp | None] = SimpleQueue()
        self._stop = Stop()

    def serve(self) -> None:
        """Until the command has had its last event, or the input closes."""
        threading.Thread(target=self._read, name="commands", daemon=True).start()
        self.send(wire.Ready(os.getpid(), __version__))
        command = self._asked.get()
        if command is not None:
            self.send(self._answer(command))

    def send(self, event: wire.Event) -> None:
        """From any thread."""
        with self._writing:
            self._out.write(wire.encode(event))
            self._out.flush()

    def _answer(self, command: wire.Start | wire.Search | wire.LookUp) -> wire.Event:
        try:
            match command:
                case wire.Start():
                    return run(command, self.send, self._stop)
                case wire.Search():
                    return search(command)
                case wire.LookUp():
                    nowhere = Path(os.devnull)
                    site = make_site(nowhere, command.source, PATIENCE, self.send, self._stop)
                    return look_up(command, site)
        except MartletError as error:
            return failed(error)
        except Interrupted as fault:
            return wire.Failed("DownloadFailed", fault.message, "Try again.")
        except BrokenPipeError:
            raise
        except Exception:  # noqa: BLE001  # the outermost frame of the process
            return wire.Bug(traceback.format_exc())

    def _read(self) -> None:
        """The second thread."""
        for line in lines(self._in):
            try:
                self._receive(wire.decode_command(line))
            except BadLine as error:
                self.send(wire.Bug(f"A command was not understood. {error}"))
        self._stop.ask("pause")
        self._asked.put(None)
        timer = threading.Timer(GRACE_S, os._exit, (0,))
        timer.daemon = True
        timer.start()

    def _receive(self, command: wire.Command) -> None:
        match command:
            case wire.Pause():
                self._stop.ask("pause")
            case wire.Cancel():
                self._stop.ask("cancel")
            case _:
                self._asked.put(command)


def main() -> None:
    """Be the process."""
    faulthandler.enable()
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    events_out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    try:
        Server(sys.stdin.buffer, events_out).serve()
    except BrokenPipeError:
        log.info("the application is gone")
    os._exit(0)  # threads that hang in the network are not waited for


if __name__ == "__main__":
    main()
