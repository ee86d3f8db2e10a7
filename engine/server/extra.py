"""What the server needs beyond the engine: an extra, so that a library user need not install it."""

import importlib.util

from engine.errors import MartletError

PACKAGES = ("starlette", "uvicorn")


def missing() -> str:
    """The first package that is not installed; empty where nothing is missing."""
    return next((name for name in PACKAGES if importlib.util.find_spec(name) is None), "")


def check_extra() -> None:
    """Raises MartletError where something is missing. Imports nothing."""
    if name := missing():
        raise MartletError(
            f"The server needs {name}, which is not installed.", "Install martlet[server]."
        )
