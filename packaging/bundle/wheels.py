"""The wheels of uv.lock, byte for byte, then pruned to what runs.

The deployment target decides which of several macOS wheels uv takes; without it the wheel would
depend on the machine that builds. MLX's for a newer system does not load on an older one.
"""

import shutil
import tempfile
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

from bundle.command import run
from bundle.target import MACOS_FLOOR, PYTHON, Bundle

NOT_RUN = (
    *("*.pyi", "*.pyx", "*.pxd", "*.h", "*.hpp", "*.c", "*.a", "*.cmake", "py.typed"),
    *("tests", "test", "__pycache__", "sboms"),
    *("RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json"),
)
NOT_NEEDED = (
    "bin",
    *("mlx/include", "mlx/share", "mlx/lib/cmake", "mlx/lib/libjaccl.*"),  # other machines' MLX
    *("numpy/f2py", "numpy/_core/include", "numpy/_core/lib", "numpy/_core/*_tests.*"),
    *("huggingface_hub/cli", "hf_xet*"),  # bytes are fetched by code of ours
)

QT_BINDINGS = ("QtCore", "QtGui", "QtNetwork", "QtSvg", "QtWidgets")
QT_LIBRARIES = (*QT_BINDINGS, "QtDBus")  # QtGui links it
QT_LINUX_LIBRARIES = ("libQt6XcbQpa", "libQt6OpenGL", "libicudata", "libicui18n", "libicuuc")
QT_PLUGINS = (
    *("platforms/*cocoa*", "platforms/*offscreen*", "platforms/*xcb*", "xcbglintegrations/*"),
    *("platforminputcontexts/libcomposep*", "platforminputcontexts/libibus*", "styles/*"),
    "iconengines/*svgicon*",
    *(f"imageformats/*q{name}.*" for name in ("gif", "icns", "ico", "jpeg", "svg", "webp")),
)


def install_wheels(root: Path, bundle: Bundle) -> None:
    """From the lock file of the tree at `root`; only wheels whose hashes it names."""
    with tempfile.TemporaryDirectory() as scratch:
        wanted = Path(scratch) / "wheels.txt"
        lock = ("--frozen", "--no-dev", "--all-extras", "--no-emit-project")
        run(["uv", "export", "--quiet", *lock, "--output-file", wanted], cwd=root)
        into = ("uv", "pip", "install", "--target", bundle.site_packages, "-r", wanted)
        where = ("--python-platform", bundle.target.platform, "--python-version", PYTHON)
        exact = ("--no-deps", "--require-hashes", "--only-binary", ":all:", "--link-mode", "copy")
        run([*into, *where, *exact], cwd=root, env={"MACOSX_DEPLOYMENT_TARGET": MACOS_FLOOR})


def prune(bundle: Bundle) -> None:
    """Delete what does not run."""
    site = bundle.site_packages
    doomed = [path for pattern in NOT_NEEDED for path in site.glob(pattern)]
    doomed += [path for path in site.rglob("*") if _matches(path.name, NOT_RUN)]
    doomed += _unused_qt(site / "PySide6", _languages(bundle))
    for path in doomed:
        _delete(path)
    for folder in sorted(site.rglob("*"), reverse=True):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def repair_frameworks(bundle: Bundle) -> None:
    """Give Qt's frameworks the symlinks that wheels cannot hold; without, none can be signed."""
    for framework in sorted(bundle.site_packages.glob("PySide6/Qt/lib/*.framework")):
        _delete(framework / "Resources")
        (framework / "Versions" / "Current").symlink_to("A")
        for name in (framework.stem, "Resources"):
            (framework / name).symlink_to(f"Versions/Current/{name}")


def _languages(bundle: Bundle) -> set[str]:
    """Those that we speak: Qt's own buttons must not speak another."""
    files = (bundle.source / "resources" / "translations").glob("martlet_*.qm")
    return {file.stem.removeprefix("martlet_") for file in files}


def _unused_qt(qt: Path, languages: set[str]) -> Iterator[Path]:
    bindings = {f"{name}.abi3.so" for name in QT_BINDINGS}
    for path in qt.iterdir():
        is_base = path.suffix == ".py" or path.name.startswith("libpyside6.") or path.name == "Qt"
        if not is_base and path.name not in bindings:
            yield path
    for path in (qt / "Qt").iterdir():
        if path.name not in ("lib", "plugins", "translations"):
            yield path
    for path in (qt / "Qt" / "translations").iterdir():
        if path.name not in {f"qtbase_{language}.qm" for language in languages}:
            yield path
    for path in (qt / "Qt" / "lib").iterdir():
        if not _is_qt_library(path.name):
            yield path
    plugins = qt / "Qt" / "plugins"
    for path in plugins.glob("*/*"):
        if not _matches(str(path.relative_to(plugins)), QT_PLUGINS):
            yield path


def _is_qt_library(name: str) -> bool:
    """`QtCore.framework`, or `libQt6Core.so.6`."""
    stem = name.partition(".")[0]
    return stem.replace("libQt6", "Qt") in QT_LIBRARIES or stem in QT_LINUX_LIBRARIES


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
