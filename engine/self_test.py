"""The engine's part of the self-test: `python -m engine.self_test` tries every part once.

Writes a JSON object a line to standard output as soon as a part has been tried, so that a part that
takes the process down with it still shows by what is missing. `app.self_test` gathers them.
"""

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pkgutil import walk_packages

LIBRARIES = ("huggingface_hub", "jinja2", "numpy", "starlette", "tokenizers", "uvicorn")
ONLY_IN_BUILDS = ("engine.native.build",)
SIDE = 64  # of the matrices of the small computation


@dataclass(frozen=True, slots=True)
class Check:
    """One part and how it did. `fault` is empty where it works."""

    name: str
    detail: str = ""
    fault: str = ""


def attempt(name: str, act: Callable[[], object]) -> Check:
    """Try one part; whatever goes wrong is its fault, and the next part is tried all the same."""
    try:
        return Check(name, detail=str(act() or ""))
    except Exception as error:  # noqa: BLE001 - the outermost frame of a part
        return Check(name, fault=f"{type(error).__name__}: {error}")


def import_all(package: str) -> str:
    """Import every module below `package` but those that run when they are imported."""
    top = import_module(package)
    names = [found.name for found in walk_packages(top.__path__, f"{package}.")]
    wanted = [name for name in names if _is_module(name)]
    for name in wanted:
        import_module(name)
    return f"{len(wanted)} modules"


def _is_module(name: str) -> bool:
    """The native core's library looks like one, but for its name."""
    last = name.rpartition(".")[2]
    return last.isidentifier() and last != "__main__" and name not in ONLY_IN_BUILDS


def tell(checks: Iterator[Check]) -> None:
    """Write each as soon as it is there."""
    for check in checks:
        sys.stdout.write(json.dumps(asdict(check)) + "\n")
        sys.stdout.flush()


def checks() -> Iterator[Check]:
    """Try everything in turn; what others need comes first."""
    for name in LIBRARIES:
        yield attempt(f"library {name}", partial(_import, name))
    yield attempt("engine modules", lambda: import_all("engine"))
    yield attempt("tls", _tls)
    yield attempt("native core", _native_core)
    yield attempt("mlx.metallib", _metal_library)
    yield attempt("mlx device", _compute)
    yield from _shaders()


def _import(name: str) -> str:
    return str(getattr(import_module(name), "__version__", ""))


def _tls() -> str:
    import ssl

    import truststore

    truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return ssl.OPENSSL_VERSION


def _native_core() -> str:
    from engine.native.core import native_core

    core = native_core()
    if core is None:
        raise FileNotFoundError("the native core cannot be loaded")
    return f"{core.path.name}, {core.instruction_set}, {core.threads} threads"


def _metal_library() -> str:
    """MLX's compiled shaders, which it looks for beside its library."""
    if sys.platform != "darwin":
        return "not used on this system"
    from importlib.resources import files

    library = files("mlx").joinpath("lib", "mlx.metallib")
    if not library.is_file():
        raise FileNotFoundError(f"{library} is missing")
    return "beside libmlx"


def _compute() -> str:
    """A small product on MLX's device, which on a Mac loads the Metal library."""
    import mlx.core as mx

    product = mx.ones((SIDE, SIDE)) @ mx.ones((SIDE, SIDE))
    if product.sum().item() != SIDE**3:
        raise ArithmeticError(f"a product of ones sums to {product.sum().item()}")
    return f"{mx.default_device().type.name}, MLX {version('mlx')}"


def _shaders() -> Iterator[Check]:
    from engine.model.metal.kernels import GROUPS
    from engine.model.metal.shader import text

    shaders = [shader for group in GROUPS.values() for shader in group]
    names = {f"{shader.name}.metal" for shader in shaders}
    headers = {f"{name}.h" for shader in shaders for name in shader.headers}
    for name in sorted(names | headers):
        yield attempt(f"shader {name}", partial(_size, text, name))


def _size(text: Callable[[str], str], name: str) -> str:
    return f"{len(text(name))} characters"


if __name__ == "__main__":
    tell(checks())
