"""Audits a bundle, on any machine:

    python packaging/audit.py Martlet.app

Prints what is wrong, a line each, and the oldest macOS that its parts ask for; the exit status says
whether anything is. It reads files alone, so it can say that a bundle is whole and could be loaded,
not that it starts: that is what `Martlet --self-test` is for.
"""

import argparse
import os
import plistlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bundle import macho
from bundle.finish import IDENTIFIER
from bundle.target import MACOS_FLOOR, Bundle, target_named

MOST_BYTES = {"macos": 350_000_000, "linux": 400_000_000}  # a Linux CPython may carry debug info
WHEEL_TAG = f"macosx_{MACOS_FLOOR.replace('.', '_')}_arm64"
SYSTEM = ("/usr/lib/", "/System/Library/")
FLOOR_TOO_HIGH = ("PySide6", "shiboken6")  # stamped far above what they use: see the checklist
LEFT_OVER = {
    *("test", "tests", ".git", ".DS_Store", ".venv", "node_modules"),
    *(".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis"),
}
PLIST = {
    "CFBundleExecutable": "Martlet",
    "CFBundleIconFile": "Martlet.icns",
    "CFBundleIdentifier": IDENTIFIER,
    "CFBundlePackageType": "APPL",
    "LSMinimumSystemVersion": MACOS_FLOOR,
    "LSRequiresNativeExecution": True,
    "NSHighResolutionCapable": True,
    "NSPrincipalClass": "NSApplication",
}
STAMPS = ("CFBundleShortVersionString", "CFBundleVersion", "MartletCommit")
ENTITLEMENTS = {"com.apple.security.cs.disable-library-validation"}

SHADERS = (
    *("attention_gate", "attention_heads", "delta_net", "moe_hidden", "moe_output", "router"),
    *("sampler_candidates", "sampler_draw"),
)
PARTS = (
    "Resources/build.json",
    "Resources/files.txt",
    "Resources/Licences/PARTS.txt",
    "Resources/src/app/__main__.py",
    "Resources/src/resources/demo.qpack/manifest.json",
    "Resources/src/resources/demo.qpack/model.safetensors",
    "Resources/src/resources/catalogue.json",
    "Resources/src/resources/martlet.svg",
    *(f"Resources/src/engine/shaders/{name}.metal" for name in SHADERS),
)
PLUGINS = "Resources/site-packages/PySide6/Qt/plugins"
MACOS_PARTS = (
    "Info.plist",
    "Resources/Martlet.icns",
    *(f"{PLUGINS}/platforms/libq{name}.dylib" for name in ("cocoa", "offscreen")),
    f"{PLUGINS}/styles/libqmacstyle.dylib",
    f"{PLUGINS}/iconengines/libqsvgicon.dylib",
    f"{PLUGINS}/imageformats/libqsvg.dylib",
    "Resources/site-packages/mlx/lib/libmlx.dylib",
    "Resources/site-packages/mlx/lib/mlx.metallib",  # MLX looks for it beside its library
)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong with one part; `part` is a path within the bundle."""

    part: str
    fault: str

    def __str__(self) -> str:
        return f"{self.part}: {self.fault}"


def audit(bundle: Bundle, foreign_paths: Sequence[str] = ()) -> list[Finding]:
    """Everything that is wrong. `foreign_paths`: of the machine that builds; none may be inside."""
    checks = [_parts, _size, _left_overs, _links, _bytecode, _licences]
    if bundle.target.is_macos:
        checks += [_native_code, _floors, _frameworks, _wheel_tags, _plist, _entitlements]
    findings = [finding for check in checks for finding in check(bundle)]
    return findings + list(_foreign(bundle, foreign_paths))


def floors(bundle: Bundle) -> dict[str, list[str]]:
    """The parts by the oldest macOS that they ask for."""
    found: dict[str, list[str]] = {}
    for path, image in _images(bundle.root):
        found.setdefault(image.floor, []).append(_name(bundle, path))
    return found


def _parts(bundle: Bundle) -> Iterator[Finding]:
    named = PARTS + (MACOS_PARTS if bundle.target.is_macos else ())
    wanted = [bundle.program, bundle.libpython, *(bundle.contents / name for name in named)]
    for path in dict.fromkeys([*wanted, *_listed(bundle)]):
        if not path.is_file():
            yield Finding(_name(bundle, path), "is missing")
    if not list((bundle.source / "engine" / "native").glob(f"martlet-*{bundle.target.suffix}")):
        yield Finding("Resources/src/engine/native", "the native core is missing")


def _listed(bundle: Bundle) -> list[Path]:
    """What the bundle was built with."""
    file = bundle.resources / "files.txt"
    names = file.read_text().splitlines() if file.is_file() else []
    return [bundle.contents / name for name in names]


def _size(bundle: Bundle) -> Iterator[Finding]:
    total = sum(path.lstat().st_size for path in _files(bundle.root))
    most = MOST_BYTES[bundle.target.name]
    if total > most:
        yield Finding(".", f"{total / 1e6:.0f} MB, more than {most / 1e6:.0f}")


def _left_overs(bundle: Bundle) -> Iterator[Finding]:
    for path in bundle.root.rglob("*"):
        if path.name in LEFT_OVER:
            yield Finding(_name(bundle, path), "has no place in a bundle")


def _links(bundle: Bundle) -> Iterator[Finding]:
    root = bundle.root.resolve()
    for path in bundle.root.rglob("*"):
        if path.is_symlink() and not (path.exists() and path.resolve().is_relative_to(root)):
            yield Finding(_name(bundle, path), f"points to {os.readlink(path)}")


def _bytecode(bundle: Bundle) -> Iterator[Finding]:
    """There is some of every module, and none is ever checked against its source (PEP 552)."""
    for path in bundle.resources.rglob("*.pyc"):
        if path.read_bytes()[4:8] != b"\1\0\0\0":
            yield Finding(_name(bundle, path), "bytecode that would be written anew")
    for path in bundle.resources.rglob("*.py"):
        if not list(path.parent.glob(f"__pycache__/{path.stem}.*.pyc")):
            yield Finding(_name(bundle, path), "has no bytecode")


def _licences(bundle: Bundle) -> Iterator[Finding]:
    for name in ("martlet", "python", *_wheel_names(bundle)):
        folder = bundle.licences / name
        if not (folder.is_dir() and any(folder.iterdir())):
            yield Finding(_name(bundle, folder), "the licence is missing")


def _native_code(bundle: Bundle) -> Iterator[Finding]:
    for path, image in _images(bundle.root):
        name = _name(bundle, path)
        if image.processor != "arm64":
            yield Finding(name, f"code for {image.processor}")
        if image.id.startswith("/"):
            yield Finding(name, f"is called {image.id}")
        for rpath in image.rpaths:
            if not _is_inside(bundle, _expanded(bundle, path, rpath)):
                yield Finding(name, f"the rpath {rpath} leads out of the bundle")
        for load in image.loads:
            if not _is_found(bundle, path, load, image.rpaths):
                yield Finding(name, f"{load} is not found")


def _floors(bundle: Bundle) -> Iterator[Finding]:
    most = _numbers(MACOS_FLOOR)
    for path, image in _images(bundle.root):
        is_known = set(FLOOR_TOO_HIGH) & set(path.parts)
        if not image.floor or (_numbers(image.floor) > most and not is_known):
            yield Finding(_name(bundle, path), f"asks for macOS {image.floor or 'of any version'}")


def _frameworks(bundle: Bundle) -> Iterator[Finding]:
    """A framework that has files where links belong is ambiguous to whoever signs it."""
    for framework in bundle.root.rglob("*.framework"):
        for link in (framework.stem, "Resources", "Versions/Current"):
            if not (framework / link).is_symlink():
                yield Finding(_name(bundle, framework), f"{link} is not a link")


def _wheel_tags(bundle: Bundle) -> Iterator[Finding]:
    for name in ("mlx", "mlx_metal"):
        files = list(bundle.site_packages.glob(f"{name}-*.dist-info/WHEEL"))
        if not files:
            yield Finding(name, "the wheel is missing")
        for file in files:
            if f"{WHEEL_TAG}\n" not in file.read_text():
                yield Finding(_name(bundle, file), f"is not the wheel for {WHEEL_TAG}")


def _plist(bundle: Bundle) -> Iterator[Finding]:
    try:
        plist = plistlib.loads((bundle.contents / "Info.plist").read_bytes())
    except (OSError, plistlib.InvalidFileException, ValueError):
        yield Finding("Info.plist", "cannot be read")
        return
    for key, value in PLIST.items():
        if plist.get(key) != value:
            yield Finding("Info.plist", f"{key} is {plist.get(key)!r}, not {value!r}")
    for key in STAMPS:
        if not plist.get(key):
            yield Finding("Info.plist", f"{key} is missing")
    for key in plist:
        if key.endswith("UsageDescription"):
            yield Finding("Info.plist", f"{key} asks for a permission")


def _entitlements(bundle: Bundle) -> Iterator[Finding]:
    if not bundle.program.is_file():
        return
    for key in macho.entitlements(bundle.program):
        if key not in ENTITLEMENTS:
            yield Finding(_name(bundle, bundle.program), f"has the entitlement {key}")


def _foreign(bundle: Bundle, foreign_paths: Sequence[str]) -> Iterator[Finding]:
    needles = [path.encode() for path in foreign_paths]
    for path in _files(bundle.root) if needles else ():
        data = b"" if path.is_symlink() else path.read_bytes()
        for needle in needles:
            if needle in data:
                yield Finding(_name(bundle, path), f"holds the path {needle.decode()}")


def _is_found(bundle: Bundle, path: Path, load: str, rpaths: Sequence[str]) -> bool:
    if load.startswith(SYSTEM):
        return True
    if not load.startswith("@"):
        return False
    if not load.startswith("@rpath/"):
        candidates = [_expanded(bundle, path, load)]
    else:
        rest = load.removeprefix("@rpath/")
        candidates = [_expanded(bundle, path, rpath) / rest for rpath in rpaths]
    return any(_is_inside(bundle, file) and file.is_file() for file in candidates)


def _expanded(bundle: Bundle, path: Path, name: str) -> Path:
    for word, folder in (
        ("@loader_path", path.parent),
        ("@executable_path", bundle.program.parent),
    ):
        if name == word or name.startswith(f"{word}/"):
            return Path(os.path.normpath(folder / name.removeprefix(word).lstrip("/")))
    return Path(name)


def _is_inside(bundle: Bundle, path: Path) -> bool:
    return path.is_relative_to(bundle.root)


@cache
def _images(root: Path) -> tuple[tuple[Path, macho.Image], ...]:
    code = macho.find_code(root)
    return tuple((path, image) for path in code for image in macho.read_images(path))


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_symlink() or path.is_file())


def _wheel_names(bundle: Bundle) -> Iterator[str]:
    for info in bundle.site_packages.glob("*.dist-info"):
        yield info.name.partition("-")[0]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _name(bundle: Bundle, path: Path) -> str:
    return str(path.relative_to(bundle.contents))


def main() -> int:
    """Audit the bundle that the command line names; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("bundle", type=Path)
    root = parser.parse_args().bundle.absolute()
    bundle = Bundle(root, target_named("macos" if root.suffix == ".app" else "linux"))
    findings = audit(bundle)
    for finding in findings:
        print(finding)
    for floor, names in sorted(floors(bundle).items()):
        print(f"macOS {floor}: {len(names)} files, such as {names[0]}")
    print(f"{len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
