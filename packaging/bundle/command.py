"""Commands that the build runs. One that fails ends the build, with what it said."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from bundle.target import BuildFailed


def run(
    command: Sequence[str | Path], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> str:
    """Its standard output. `env`: variables on top of ours."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words, cwd=cwd, env=os.environ | (env or {}), capture_output=True, text=True
        )
    except FileNotFoundError as error:
        raise BuildFailed(f"{words[0]} is not installed") from error
    if done.returncode:
        raise BuildFailed(f"{' '.join(words)} failed:\n{done.stderr or done.stdout}")
    return done.stdout
