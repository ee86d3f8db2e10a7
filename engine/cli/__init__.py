"""The command line: `martlet chat|generate|serve|bench|pull|models|remove|repack|verify|info|...`.

Answers go to standard output, everything else to standard error. Exit codes: 0 done; 1 failed;
2 a wrong option; 3 no such model; 4 a damaged or incomplete one; 5 one that cannot be run; 6 not
enough memory; 7 not enough disk; 8 experts could not be read; 9 the context is full; 10 the chat
template failed; 13 a download failed; 14 the hub refused; 130 interrupted. An error is one line
with its remedy.
"""

import argparse
import logging
import sys
from collections.abc import Sequence

from engine import __version__
from engine.cli import bench, chat, containers, doctor, generate, models, pull, serve
from engine.cli.terminal import warn
from engine.errors import MartletError

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(message)s")
    try:
        parsed = parser().parse_args(arguments)
        code: int = parsed.run(parsed)
    except MartletError as error:
        warn(f"martlet: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # whoever read our output has gone
        sys.stderr.close()
        return 1
    return code


def parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    top = argparse.ArgumentParser(
        prog="martlet", description="Large mixture-of-experts models on small machines."
    )
    top.add_argument("--version", action="version", version=f"martlet {__version__}")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    for module in (chat, generate, serve, bench, pull, models, containers, doctor):
        module.add_commands(commands)
    return top
