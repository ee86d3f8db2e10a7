"""The audit: silent about a sound bundle, and it names every fault that is planted into one."""

import os
import plistlib
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import audit
import pytest
from bundle import macho
from bundle.target import Bundle

from tests.packaging.sound_bundle import ROOT, UNCHECKED, X86_64, image, write

Plant = Callable[[Bundle], object]


def faults(bundle: Bundle, *foreign: str) -> list[str]:
    audit._images.cache_clear()
    return [str(finding) for finding in audit.audit(bundle, foreign)]


def test_a_sound_bundle_has_no_fault(bundle: Bundle) -> None:
    assert faults(bundle) == []


def test_shaders_are_all_asked_for() -> None:
    there = {path.stem for path in (ROOT / "engine" / "shaders").glob("*.metal")}
    assert set(audit.SHADERS) == there


@pytest.mark.parametrize("name", [*audit.PARTS, *audit.MACOS_PARTS])
def test_a_missing_part_is_named(bundle: Bundle, name: str) -> None:
    (bundle.contents / name).unlink()
    assert any(fault.startswith(f"{name}: ") for fault in faults(bundle))


def test_a_missing_launcher_and_core_are_named(bundle: Bundle) -> None:
    bundle.program.unlink()
    next((bundle.source / "engine" / "native").glob("*.dylib")).unlink()
    assert {"MacOS/Martlet: is missing"} < set(faults(bundle))
    assert "Resources/src/engine/native: the native core is missing" in faults(bundle)


def test_a_file_that_is_listed_must_be_there(bundle: Bundle) -> None:
    write(bundle.resources / "files.txt", "Resources/other.txt\n")
    assert faults(bundle) == ["Resources/other.txt: is missing"]


def change_plist(bundle: Bundle, **keys: object) -> None:
    path = bundle.contents / "Info.plist"
    path.write_bytes(plistlib.dumps(plistlib.loads(path.read_bytes()) | keys))


def core(bundle: Bundle) -> Path:
    return bundle.site_packages / "mlx" / "core.so"


def entitled(bundle: Bundle, *keys: str) -> None:
    text = plistlib.dumps(dict.fromkeys(keys, True))
    blob = struct.pack(">II", macho.ENTITLEMENTS, 8 + len(text)) + text
    start = struct.pack(">5I", 0xFADE0CC0, 20 + len(blob), 1, 5, 20)
    write(bundle.program, image(signature=start + blob))


PLANTS: dict[str, tuple[Plant, str]] = {
    "another processor": (
        lambda b: write(core(b), image(processor=X86_64)),
        "Resources/site-packages/mlx/core.so: code for x86_64",
    ),
    "a library that is not there": (
        lambda b: write(core(b), image(loads=["@rpath/no.dylib"], rpaths=["@loader_path"])),
        "Resources/site-packages/mlx/core.so: @rpath/no.dylib is not found",
    ),
    "a library of the machine that built": (
        lambda b: write(core(b), image(loads=["/opt/homebrew/lib/libssl.dylib"])),
        "Resources/site-packages/mlx/core.so: /opt/homebrew/lib/libssl.dylib is not found",
    ),
    "an absolute rpath": (
        lambda b: write(core(b), image(rpaths=["/usr/local/lib"])),
        "Resources/site-packages/mlx/core.so: the rpath /usr/local/lib leads out of the bundle",
    ),
    "an rpath that climbs out": (
        lambda b: write(core(b), image(rpaths=["@loader_path/../../../../../lib"])),
        "Resources/site-packages/mlx/core.so: the rpath @loader_path/../../../../../lib leads"
        " out of the bundle",
    ),
    "a far name": (
        lambda b: write(b.libpython, image(id="/Library/Python")),
        "Frameworks/libpython3.13.dylib: is called /Library/Python",
    ),
    "code for a newer system": (
        lambda b: write(core(b), image(floor="15.0")),
        "Resources/site-packages/mlx/core.so: asks for macOS 15.0",
    ),
    "an ambiguous framework": (
        lambda b: ambiguous(b.site_packages / "PySide6" / "Qt" / "lib" / "QtCore.framework"),
        "Resources/site-packages/PySide6/Qt/lib/QtCore.framework: Resources is not a link",
    ),
    "the wheel of a newer system": (
        lambda b: write(
            b.site_packages / "mlx_metal-0.1.dist-info" / "WHEEL",
            "Tag: py3-none-macosx_26_0_arm64\n",
        ),
        "Resources/site-packages/mlx_metal-0.1.dist-info/WHEEL: is not the wheel for"
        " macosx_14_0_arm64",
    ),
    "another floor": (
        lambda b: change_plist(b, LSMinimumSystemVersion="15.0"),
        "Info.plist: LSMinimumSystemVersion is '15.0', not '14.0'",
    ),
    "no commit": (
        lambda b: change_plist(b, MartletCommit=""),
        "Info.plist: MartletCommit is missing",
    ),
    "a permission": (
        lambda b: change_plist(b, NSCameraUsageDescription="smile"),
        "Info.plist: NSCameraUsageDescription asks for a permission",
    ),
    "no property list": (
        lambda b: write(b.contents / "Info.plist", "not one"),
        "Info.plist: cannot be read",
    ),
    "an entitlement": (
        lambda b: entitled(b, "com.apple.security.cs.allow-jit"),
        "MacOS/Martlet: has the entitlement com.apple.security.cs.allow-jit",
    ),
    "tests": (
        lambda b: write(b.site_packages / "mlx" / "tests" / "data.txt"),
        "Resources/site-packages/mlx/tests: has no place in a bundle",
    ),
    "a cache": (
        lambda b: write(b.source / ".mypy_cache" / "x.json"),
        "Resources/src/.mypy_cache: has no place in a bundle",
    ),
    "bytecode that is checked": (
        lambda b: write(b.site_packages / "mlx" / "nn.pyc", b"code\3\0\0\0" + bytes(8)),
        "Resources/site-packages/mlx/nn.pyc: bytecode that would be written anew",
    ),
    "a module without bytecode": (
        lambda b: write(b.source / "app" / "paths.py"),
        "Resources/src/app/paths.py: has no bytecode",
    ),
    "a part without a licence": (
        lambda b: write(b.site_packages / "left_pad-1.0.dist-info" / "METADATA"),
        "Resources/Licences/left_pad: the licence is missing",
    ),
    "a link out of the bundle": (
        lambda b: (b.resources / "out").symlink_to("/etc/hosts"),
        "Resources/out: points to /etc/hosts",
    ),
}


def ambiguous(framework: Path) -> None:
    (framework / "Resources").unlink()
    write(framework / "Resources" / "Info.plist")


@pytest.mark.parametrize(("plant", "fault"), PLANTS.values(), ids=PLANTS.keys())
def test_a_planted_fault_is_the_only_one(bundle: Bundle, plant: Plant, fault: str) -> None:
    plant(bundle)
    assert faults(bundle) == [fault]


def test_the_entitlement_that_is_asked_for_is_no_fault(bundle: Bundle) -> None:
    file = plistlib.loads((ROOT / "packaging" / "entitlements.plist").read_bytes())
    entitled(bundle, *file)
    assert faults(bundle) == []


def test_a_path_of_the_machine_that_built_is_found(bundle: Bundle) -> None:
    write(bundle.site_packages / "mlx" / "nn.pyc", UNCHECKED + b"/home/me/martlet/x.py")
    assert faults(bundle, "/home/me/martlet") == [
        "Resources/site-packages/mlx/nn.pyc: holds the path /home/me/martlet"
    ]


def test_a_bundle_above_its_budget_is_refused(bundle: Bundle) -> None:
    big = bundle.resources / "big"
    big.touch()
    os.truncate(big, audit.MOST_BYTES["macos"])  # a file of holes
    assert faults(bundle)[0].startswith(".: 350 MB")


def test_the_command_prints_findings_and_floors(bundle: Bundle) -> None:
    write(bundle.source / "app" / "paths.py")
    command = [sys.executable, ROOT / "packaging" / "audit.py", bundle.root]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert "Resources/src/app/paths.py: has no bytecode" in done.stdout
    assert "macOS 14.4: 1 files" in done.stdout
    assert done.stdout.endswith("1 findings\n")
