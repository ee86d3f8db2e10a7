"""A hundred kills at random moments of a container's installation, and of a checkpoint's.

    python -m tests.bench kills

Not a matter of speed, but too long for the tests, which do a few.
"""

import tempfile
import time
from pathlib import Path

from tests.engine.conftest import TinyModels
from tests.engine.fake_hub import FakeHub
from tests.engine.install.conftest import CHECKPOINT, MODEL
from tests.engine.install.kills import Mortal, kill_often

KILLS = 100
MEMORY = Path("/dev/shm")  # every file is forced to the disk, again and again


def main() -> None:
    """Print what was survived."""
    memory = MEMORY if MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory, prefix="martlet-kills-") as name, FakeHub() as hub:
        folder = Path(name)
        models = TinyModels(folder / "models")
        hub.add(MODEL, models.container("qwen3_next", bits=4))
        hub.add(CHECKPOINT, models.checkpoint("qwen3_5_moe", bits=4, shards=3))
        for source in (MODEL, CHECKPOINT):
            began = time.perf_counter()
            with Mortal(hub) as mortal:
                kill_often(hub, mortal, source, folder / source.replace("/", "-"), KILLS)
            took = time.perf_counter() - began
            print(
                f"{source}: {KILLS} kills, always whole, nothing checked came again ({took:.0f} s)"
            )


if __name__ == "__main__":
    main()
