"""What import-linter cannot say: single modules of Qt, what a start brings in, a folder's name."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CLIENTS = {"ftplib", "http.client", "smtplib", "urllib.request", "xmlrpc.client"}


def imports(path: Path) -> Iterator[str]:
    """Dotted names that a file imports anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def files(folder: str, without: str | None = None) -> list[Path]:
    found = sorted((ROOT / folder).rglob("*.py"))
    return [p for p in found if without is None or ROOT / without not in p.parents]


@pytest.mark.parametrize("path", files("app", without="app/ui"), ids=str)
def test_the_app_without_a_screen_uses_qtcore(path: Path) -> None:
    """And QtNetwork where one instance speaks to the other, over a local socket."""
    allowed = {"PySide6", "PySide6.QtCore"}
    if path.name == "single_instance.py":
        allowed.add("PySide6.QtNetwork")
    assert {name for name in imports(path) if name.startswith("PySide6")} <= allowed


@pytest.mark.parametrize("path", [*files("engine"), *files("app")], ids=str)
def test_nothing_asks_the_network_past_the_hub(path: Path) -> None:
    """A contract in pyproject.toml says it of libraries; these are Python's own clients."""
    assert not CLIENTS & set(imports(path))


@pytest.mark.parametrize("module", ["app.ui.main", "app.workspace", "engine", "engine.protocol"])
def test_starting_the_app_brings_in_neither_mlx_nor_the_hub(module: str) -> None:
    code = f"import sys, {module}; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert not loaded & {"mlx", "huggingface_hub", "transformers", "numpy"}


def test_packaging_does_not_shadow_the_library_of_that_name() -> None:
    import packaging.version

    assert not (ROOT / "packaging" / "__init__.py").exists()
    assert not (ROOT / "packaging.py").exists()
    assert packaging.version.parse(version("martlet"))
