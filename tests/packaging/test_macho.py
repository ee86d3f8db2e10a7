"""Mach-O files: what is read from them, and what is made of them."""

from contextlib import suppress
from pathlib import Path

import pytest
from bundle import macho
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.packaging.sound_bundle import X86_64, fat, image, write

LIBRARY = image(
    id="/opt/python/lib/libpython3.13.dylib",
    loads=["@rpath/a.dylib", "/usr/lib/b.dylib"],
    rpaths=["@loader_path/Qt/lib"],
    floor="14.4",
)


def test_an_image_says_what_it_loads(tmp_path: Path) -> None:
    (found,) = macho.read_images(write(tmp_path / "a.dylib", LIBRARY))
    assert found == macho.Image(
        "arm64",
        "/opt/python/lib/libpython3.13.dylib",
        ("@rpath/a.dylib", "/usr/lib/b.dylib"),
        ("@loader_path/Qt/lib",),
        "14.4",
        False,
    )


def test_thin_keeps_arm64(tmp_path: Path) -> None:
    file = write(tmp_path / "a.dylib", fat(image(processor=X86_64), LIBRARY))
    assert [found.processor for found in macho.read_images(file)] == ["x86_64", "arm64"]
    macho.thin(file)
    assert file.read_bytes() == LIBRARY


def test_thin_refuses_code_without_arm64(tmp_path: Path) -> None:
    file = write(tmp_path / "a.dylib", fat(image(processor=X86_64)))
    with pytest.raises(macho.BadImage, match="no arm64"):
        macho.thin(file)


def test_adopt_thins_and_takes_far_names_away(tmp_path: Path) -> None:
    write(tmp_path / "deep" / "b.dylib", fat(image(processor=X86_64), LIBRARY))
    write(tmp_path / "text.txt", "text")
    macho.adopt(tmp_path)
    (found,) = macho.read_images(tmp_path / "deep" / "b.dylib")
    assert (found.processor, found.id) == ("arm64", "@rpath/b.dylib")


def test_a_name_needs_room(tmp_path: Path) -> None:
    file = write(tmp_path / "a.dylib", image(id="/a"))
    with pytest.raises(macho.BadImage, match="no room"):
        macho.set_id(file, "@rpath/" + "long" * 10)


def test_classes_of_java_are_no_code(tmp_path: Path) -> None:
    assert not macho.is_macho(write(tmp_path / "A.class", macho.FAT + b"\0\0\0\x34"))
    assert not macho.is_macho(write(tmp_path / "empty", b""))


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damaged") / "image"


@settings(deadline=None)
@given(st.integers(0, len(LIBRARY) - 1), st.integers(0, 255), st.integers(0, len(LIBRARY)))
def test_a_damaged_image_is_refused_or_read(scratch: Path, at: int, value: int, end: int) -> None:
    data = bytearray(LIBRARY)
    data[at] = value
    scratch.write_bytes(data[:end])
    with suppress(macho.BadImage):
        macho.read_images(scratch)
