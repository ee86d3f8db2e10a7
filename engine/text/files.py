"""The small JSON files that lie beside a tokenizer in a model folder. Each of them is optional."""

import json
from pathlib import Path
from typing import Any

from engine.errors import BadContainer


def token_content(value: object) -> str | None:
    """A `*_token` entry of tokenizer_config.json: text, an object with `content`, or nothing."""
    content = value.get("content") if isinstance(value, dict) else value
    return content if isinstance(content, str) else None


def read_json(path: Path) -> dict[str, Any]:
    """An optional JSON object; empty where there is no file. Raises BadContainer if malformed."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise BadContainer(
            f"{path} cannot be read as JSON: {error}.", "Download the model again."
        ) from error
    if not isinstance(value, dict):
        raise BadContainer(f"{path} is not a JSON object.", "Download the model again.")
    return value
