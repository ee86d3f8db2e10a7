"""Builds Martlet as a bundle that needs nothing else:

    python packaging/build_app.py [--target macos|linux] [--python DIR] [--output DIR]

A Mac builds Martlet.app, and signs it for itself alone (`sign.sh`). Linux builds its own bundle,
and assembles a whole Martlet.app from the real macOS wheels, given the prefix of a macOS CPython.
The result is audited, and put in place only when it has passed. Needs uv and git. Two builds of one
commit with one interpreter are equal but for signatures.
"""

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

import audit
from bundle import macho
from bundle.command import run
from bundle.compiler import compile_launcher, compile_native_core
from bundle.finish import compile_bytecode, settle, write_facts, write_file_list
from bundle.interpreter import copy_interpreter, find_interpreter, interpreter_of_host
from bundle.licences import gather_licences
from bundle.sources import copy_sources, read_revision
from bundle.target import BuildFailed, Bundle, Target, target_named
from bundle.wheels import install_wheels, prune, repair_frameworks

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Build one bundle; the exit status."""
    options = _parser().parse_args()
    target = target_named(options.target)
    os.environ["PATH"] = f"{ROOT / '.tools' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    try:
        prefix = options.python or find_interpreter(target)
        bundle = build(target, prefix.resolve(), options.output.resolve())
    except (BuildFailed, macho.BadImage) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    print(bundle)
    return 0


def build(target: Target, prefix: Path, output: Path) -> Path:
    """The bundle's folder in `output`. Raises BuildFailed, also for what the audit finds."""
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output, prefix=".building-") as scratch:
        bundle = Bundle(Path(scratch) / target.bundle, target)
        _assemble(bundle, prefix)
        findings = audit.audit(bundle, foreign_paths=(str(ROOT), str(prefix), scratch))
        if findings:
            raise BuildFailed("The audit found:\n" + "\n".join(map(str, findings)))
        place = output / target.bundle
        if place.exists():
            shutil.rmtree(place)
        bundle.root.rename(place)
    return place


def _assemble(bundle: Bundle, prefix: Path) -> None:
    revision = read_revision(ROOT)
    _say("interpreter")
    copy_interpreter(prefix, bundle)
    _say("wheels")
    copy_sources(ROOT, bundle)
    install_wheels(ROOT, bundle)
    prune(bundle)
    repair_frameworks(bundle)
    _say("native code")
    compile_native_core(ROOT, bundle)
    compile_launcher(prefix, bundle)
    if bundle.target.is_macos:
        macho.adopt(bundle.contents)
    gather_licences(ROOT, bundle)
    write_facts(revision, bundle, ROOT)
    _say("bytecode")
    compile_bytecode(interpreter_of_host(bundle.target, prefix), bundle)
    write_file_list(bundle)
    settle(bundle, revision.time)
    if bundle.target.is_macos and bundle.target.is_host:
        _say("signature")
        run([ROOT / "packaging" / "sign.sh", bundle.root])
    _say("audit")


def _say(step: str) -> None:
    sys.stderr.write(f"{step}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    host = "macos" if sys.platform == "darwin" else "linux"
    parser.add_argument("--target", choices=("macos", "linux"), default=host)
    parser.add_argument(
        "--python", type=Path, metavar="DIR", help="the prefix of a CPython for the target"
    )
    parser.add_argument("--output", type=Path, metavar="DIR", default=ROOT / "dist")
    return parser


if __name__ == "__main__":
    sys.exit(main())
