"""Martlet's inference engine: mixture-of-experts models whose experts stream from the SSD.

A library that any Python program can embed. It knows no Qt, no app and no network (but for
`engine.container.hub`).

    model = engine.load_model(Path("model.qpack"), memory_bytes=4_000_000_000)
    session = engine.ChatSession(model)
    for event in session.stream([{"role": "user", "content": "Hello"}]):
        ...
"""

from typing import TYPE_CHECKING, Any

from engine.options import GenerationOptions

if TYPE_CHECKING:
    from engine.container.library import find_model
    from engine.loading import load_model
    from engine.model.hybrid import Model
    from engine.session import ChatSession

__version__ = "0.1.0"
__all__ = ["ChatSession", "GenerationOptions", "Model", "find_model", "load_model"]

_HOMES = {
    "ChatSession": "engine.session",
    "Model": "engine.model.hybrid",
    "find_model": "engine.container.library",
    "load_model": "engine.loading",
}


def __getattr__(name: str) -> Any:
    """Import what brings in MLX when it is asked for: the app speaks of the engine without it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'engine' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
