"""The last steps: facts about the build, bytecode, and times and modes that never differ."""

import json
import os
import plistlib
import shutil
from pathlib import Path

from bundle.command import run
from bundle.sources import Revision
from bundle.target import MACOS_FLOOR, Bundle

IDENTIFIER = "dev.martlet.Martlet"


def write_facts(revision: Revision, bundle: Bundle, root: Path) -> None:
    """`build.json`, which the self-test reads; on macOS also Info.plist and the icon."""
    facts = {"version": revision.version, "commit": revision.commit, "target": bundle.target.name}
    (bundle.resources / "build.json").write_text(json.dumps(facts) + "\n")
    if bundle.target.is_macos:
        shutil.copyfile(root / "resources" / "martlet.icns", bundle.resources / "Martlet.icns")
        (bundle.contents / "PkgInfo").write_text("APPL????")
        with (bundle.contents / "Info.plist").open("wb") as file:
            plistlib.dump(info_plist(revision), file)


def write_file_list(bundle: Bundle) -> None:
    """`files.txt`: all files by their paths, so that the self-test can name one that is gone."""
    files = (path for path in bundle.contents.rglob("*") if path.is_file())
    names = sorted(str(path.relative_to(bundle.contents)) for path in files)
    (bundle.resources / "files.txt").write_text("".join(f"{name}\n" for name in names))


def info_plist(revision: Revision) -> dict[str, object]:
    """No key that asks for a permission: Martlet uses no camera, microphone or contacts.

    LSMultipleInstancesProhibited is left out: it would shut out the other users of the Mac. That a
    person's second start raises the first window is the work of the data folder's lock.
    """
    return {
        "CFBundleDevelopmentRegion": "en",
        "CFBundleDisplayName": "Martlet",
        "CFBundleExecutable": "Martlet",
        "CFBundleIconFile": "Martlet.icns",
        "CFBundleIdentifier": IDENTIFIER,
        "CFBundleInfoDictionaryVersion": "6.0",
        "CFBundleName": "Martlet",
        "CFBundlePackageType": "APPL",
        "CFBundleShortVersionString": revision.version,
        "CFBundleVersion": revision.version,
        "LSApplicationCategoryType": "public.app-category.productivity",
        "LSArchitecturePriority": ["arm64"],
        "LSMinimumSystemVersion": MACOS_FLOOR,
        "LSRequiresNativeExecution": True,
        "MartletCommit": revision.commit,
        "NSHighResolutionCapable": True,
        "NSHumanReadableCopyright": "Apache License 2.0. Its parts: Contents/Resources/Licences.",
        "NSPrincipalClass": "NSApplication",
        "NSSupportsAutomaticGraphicsSwitching": True,
    }


def compile_bytecode(interpreter: Path, bundle: Bundle) -> None:
    """Of every module, never checked against its source: a signed bundle must not change.

    Of the wheels the bytecode alone stays, for the size. Names of files are kept relative, and the
    hash seed is fixed: the bytes depend on neither the place nor the run.
    """
    _compile(interpreter, bundle, bundle.resources / "python", bundle.source)
    _compile(interpreter, bundle, "-b", bundle.site_packages)
    for source in bundle.site_packages.rglob("*.py"):
        source.unlink()


def _compile(interpreter: Path, bundle: Bundle, *arguments: str | Path) -> None:
    modes = ("-q", "-j", "1", "--invalidation-mode", "unchecked-hash", "-s", bundle.contents)
    run(
        [interpreter, "-s", "-m", "compileall", *modes, *arguments],
        env={"PYTHONHASHSEED": "0"},
    )


def settle(bundle: Bundle, time: int) -> None:
    """One mode for programs and folders, one for files, one time for all."""
    for path in sorted(bundle.root.rglob("*"), reverse=True):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path == bundle.program else 0o644)
        os.utime(path, (time, time), follow_symlinks=False)
    os.utime(bundle.root, (time, time))
