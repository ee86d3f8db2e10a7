"""Rebuild resources/demo.qpack: trained checkpoint (bf16) -> MLX 4 bit -> container.

    uv run python packaging/demo/pack.py CHECKPOINT [--keep DIR]

CHECKPOINT is the Hugging Face folder that the training recipe (README.md beside this file) leaves
behind. mlx-lm converts it with the family's own rule: 4 bit in groups of 64, routers and shared
gates 8 bit. `--keep` leaves the MLX checkpoint in DIR, for comparisons.
"""

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

from mlx_lm import convert

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from engine.container.repack import repack  # noqa: E402 - the root comes first

TARGET = ROOT / "resources" / "demo.qpack"
NAME = "Martlet-Mini"  # recorded in the container as where it came from


def convert_to_mlx(checkpoint: Path, target: Path) -> None:
    """mlx-lm's conversion, which knows this architecture by its multimodal name only."""
    with tempfile.TemporaryDirectory() as folder:
        staged = Path(folder)
        for file in checkpoint.iterdir():
            if file.is_file() and file.name != "config.json":
                (staged / file.name).symlink_to(file.resolve())
        config = json.loads((checkpoint / "config.json").read_text())
        config["model_type"] = "qwen3_5_moe"
        (staged / "config.json").write_text(json.dumps(config))
        convert(str(staged), mlx_path=str(target), quantize=True, q_bits=4, q_group_size=64)


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description="Rebuild resources/demo.qpack.")
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--keep", type=Path, help="leave the MLX checkpoint here")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        converted = Path(folder) / NAME
        convert_to_mlx(arguments.checkpoint, converted)
        if TARGET.exists():
            shutil.rmtree(TARGET)
        repack(converted, TARGET)
        for name in ("CARD.md", "NOTICE"):
            shutil.copy(Path(__file__).with_name(name), TARGET / name)
        if arguments.keep:
            shutil.copytree(converted, arguments.keep)


if __name__ == "__main__":
    main()
