"""The steps of the build that need neither a network nor a compiler."""

import os
import plistlib
import re
from pathlib import Path

import build_app
import pytest
from bundle import finish, interpreter, licences, sources, target, wheels
from bundle.target import BuildFailed, Bundle, target_named

import engine
from tests.packaging.sound_bundle import ROOT, image, write

LAUNCHER = (ROOT / "packaging" / "launcher.c").read_text()
STUB = (ROOT / "packaging" / "libpython.tbd").read_text()


@pytest.fixture
def empty(tmp_path: Path) -> Bundle:
    return Bundle(tmp_path / "Martlet.app", target_named("macos"))


def test_the_stub_names_every_function_that_the_launcher_calls() -> None:
    called = set(re.findall(r"\b(Py\w+)\(", LAUNCHER))
    exported = set(re.findall(r"\b_(Py\w+)", STUB))
    assert called == exported


def test_the_stub_names_the_library_where_the_bundle_has_it(empty: Bundle) -> None:
    (place,) = re.findall(r"install-name: '@executable_path/(.*)'", STUB)
    assert (empty.program.parent / place).resolve() == empty.libpython.resolve()


def test_the_floors_of_launcher_core_and_wheels_agree() -> None:
    library = (ROOT / "engine" / "native" / "library.py").read_text()
    assert f'"{target_named("macos").zig}"' in library


def test_the_version_stands_in_one_place() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    revision = sources.read_revision(ROOT)
    assert revision.version == engine.__version__
    assert re.fullmatch(r"[0-9a-f]{7,}\+?", revision.commit)
    plist = finish.info_plist(revision)
    assert plist["CFBundleShortVersionString"] == engine.__version__
    assert plistlib.loads(plistlib.dumps(plist)) == plist


def test_sources_carry_what_runs_and_no_more(empty: Bundle) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    sources.copy_sources(ROOT, empty)
    there = {str(path.relative_to(empty.source)) for path in empty.source.rglob("*")}
    assert {"app/__main__.py", "engine/shaders/router.metal", "resources/demo.qpack"} < there
    assert not [name for name in there if name.endswith((".c", ".h")) and "shaders" not in name]
    assert not {"engine/native/build.py", "tests", "packaging"} & there


def test_the_interpreter_forgets_where_it_was(tmp_path: Path, empty: Bundle) -> None:
    prefix = tmp_path / "python" / "3.13.0"
    stdlib = prefix / "lib" / f"python{target.PYTHON}"
    path = f"{prefix}/lib".encode()
    write(prefix / "lib" / empty.target.libpython, b"\0" + path + b"\0" + b"3.13.0 (main)\0")
    for name in ("os.py", "LICENSE.txt", "test/test_os.py", "_sysconfigdata__darwin.py"):
        write(stdlib / name, path)
    interpreter.copy_interpreter(prefix, empty)
    data = empty.libpython.read_bytes()
    assert bytes(prefix) not in data
    assert data.endswith(b"/3.13.0/lib\0" + b"3.13.0 (main)\0")
    assert len(data) == (prefix / "lib" / empty.target.libpython).stat().st_size
    assert bytes(prefix) not in (empty.stdlib / "_sysconfigdata__darwin.py").read_bytes()
    assert not (empty.stdlib / "test").exists()


def test_a_folder_that_is_no_interpreter_is_refused(tmp_path: Path, empty: Bundle) -> None:
    with pytest.raises(BuildFailed, match="no CPython"):
        interpreter.copy_interpreter(tmp_path, empty)


KEPT = (
    *("PySide6/__init__.py", "PySide6/QtCore.abi3.so", "PySide6/libpyside6.abi3.6.12.dylib"),
    *(f"PySide6/Qt/lib/Qt{name}.framework/Versions/A/Qt{name}" for name in ("Core", "DBus")),
    *("PySide6/Qt/lib/libQt6XcbQpa.so.6", "PySide6/Qt/translations/qtbase_en.qm"),
    *(f"PySide6/Qt/plugins/platforms/libq{name}.dylib" for name in ("cocoa", "offscreen")),
    *("PySide6/Qt/plugins/imageformats/libqsvg.dylib", "mlx/lib/mlx.metallib", "mlx/core.so"),
    *("keyring-1.dist-info/METADATA", "keyring-1.dist-info/entry_points.txt"),
)
DROPPED = (
    *("PySide6/QtQml.abi3.so", "PySide6/QtCore.pyi", "PySide6/Designer.app/x", "PySide6/lupdate"),
    *("PySide6/Qt/lib/QtQml.framework/Versions/A/QtQml", "PySide6/Qt/qml/x.qml"),
    *("PySide6/Qt/plugins/imageformats/libqpdf.dylib", "PySide6/Qt/plugins/sqldrivers/a.dylib"),
    *("PySide6/Qt/translations/qtbase_de.qm", "PySide6/Qt/translations/designer_en.qm"),
    *("mlx/include/mlx.h", "mlx/lib/libjaccl.dylib", "numpy/tests/test_x.py", "numpy/f2py/x.py"),
    *("keyring-1.dist-info/RECORD", "keyring-1.dist-info/INSTALLER", "bin/keyring"),
)


def test_prune_keeps_what_runs(empty: Bundle) -> None:
    for name in KEPT + DROPPED:
        write(empty.site_packages / name)
    write(empty.source / "resources" / "translations" / "martlet_en.qm")
    wheels.prune(empty)
    there = {p.relative_to(empty.site_packages) for p in empty.site_packages.rglob("*")}
    assert {str(path) for path in there if (empty.site_packages / path).is_file()} == set(KEPT)
    folders = [path for path in empty.site_packages.rglob("*") if path.is_dir()]
    assert all(any(folder.iterdir()) for folder in folders)


def test_frameworks_get_their_links(empty: Bundle) -> None:
    framework = empty.site_packages / "PySide6" / "Qt" / "lib" / "QtCore.framework"
    write(framework / "Versions" / "A" / "QtCore", b"code")
    for folder in (framework, framework / "Versions" / "A"):
        write(folder / "Resources" / "Info.plist", b"plist")
    wheels.repair_frameworks(empty)
    assert os.readlink(framework / "QtCore") == "Versions/Current/QtCore"
    assert (framework / "QtCore").read_bytes() == b"code"
    assert (framework / "Resources" / "Info.plist").read_bytes() == b"plist"


@pytest.mark.parametrize("name", licences.WITHOUT_TEXT)
def test_texts_that_wheels_do_not_bring_are_here(name: str) -> None:
    texts = list(licences._supplied(ROOT, name))
    assert texts
    assert all(len(text.read_text()) > 1000 for text in texts)


def test_a_part_without_a_licence_is_refused(tmp_path: Path, empty: Bundle) -> None:
    write(tmp_path / "LICENSE")
    write(empty.stdlib / "LICENSE.txt")
    write(empty.site_packages / "left_pad-1.0.dist-info" / "METADATA", "Name: left-pad\n")
    with pytest.raises(BuildFailed, match="left_pad brings no licence"):
        licences.gather_licences(tmp_path, empty)


def test_licences_are_listed_with_their_parts(tmp_path: Path, empty: Bundle) -> None:
    write(tmp_path / "LICENSE", "ours")
    write(empty.stdlib / "LICENSE.txt", "python's")
    info = empty.site_packages / "jinja2-3.1.dist-info"
    write(info / "METADATA", "Name: jinja2\nVersion: 3.1\nLicense-Expression: BSD-3-Clause\n")
    write(info / "licenses" / "LICENSE.txt", "theirs")
    licences.gather_licences(tmp_path, empty)
    assert "jinja2 3.1: BSD-3-Clause" in (empty.licences / "PARTS.txt").read_text()
    assert (empty.licences / "jinja2" / "LICENSE.txt").read_text() == "theirs"
    assert (empty.licences / "martlet" / "LICENSE").read_text() == "ours"


def test_modes_and_times_do_not_depend_on_the_machine(empty: Bundle) -> None:
    write(empty.program).chmod(0o711)
    data = write(empty.resources / "data")
    data.chmod(0o600)
    finish.settle(empty, 1_700_000_000)
    assert oct(empty.program.stat().st_mode & 0o777) == "0o755"
    assert oct(data.stat().st_mode & 0o777) == "0o644"
    assert {p.stat().st_mtime for p in (data, data.parent, empty.root)} == {1_700_000_000}


def test_what_the_audit_finds_is_not_put_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        build_app, "_assemble", lambda bundle, prefix: write(bundle.program, image())
    )
    with pytest.raises(BuildFailed, match=r"The audit found:\n(.*\n)*Info.plist: is missing"):
        build_app.build(target_named("macos"), tmp_path, tmp_path / "dist")
    assert list((tmp_path / "dist").iterdir()) == []


def test_a_cross_build_names_the_interpreter_that_it_needs() -> None:
    foreign = target_named("linux" if target_named("macos").is_host else "macos")
    with pytest.raises(BuildFailed, match="--python DIR"):
        interpreter.find_interpreter(foreign)
