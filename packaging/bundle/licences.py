"""The licence texts of every part of a bundle: ours, the interpreter's, every wheel's.

A few wheels name a licence without bringing its text; those texts lie in `packaging/licences`.
"""

import shutil
from collections.abc import Iterator
from email.parser import HeaderParser
from pathlib import Path

from bundle.target import BuildFailed, Bundle

TEXTS = Path(__file__).parents[1] / "licences"
PATTERNS = ("LICEN[SC]E*", "COPYING*", "NOTICE*", "AUTHORS*")
QT = ("LGPL-3.0.txt", "GPL-3.0.txt")
WITHOUT_TEXT = {
    "latex2mathml": ("MIT.txt",),
    "pyside6_essentials": QT,
    "shiboken6": QT,
    "tokenizers": ("Apache-2.0.txt",),
}
FOREWORD = """\
Martlet is licensed under the Apache License 2.0 (martlet/LICENSE). It comes with the parts below;
each keeps its own licence, whose text lies in the folder of its name.

Qt, PySide6 and Shiboken6 are used under the LGPL 3. They are the libraries of the wheels that the
Qt project publishes (on a Mac their arm64 half), loaded at run time, and can be replaced where
they lie, in Resources/site-packages. Sources: https://code.qt.io and https://download.qt.io.
"""


def gather_licences(root: Path, bundle: Bundle) -> None:
    """Copy all texts, and list the parts. Raises BuildFailed where a text is missing."""
    _copy(root / "LICENSE", bundle.licences / "martlet" / "LICENSE")
    _copy(bundle.stdlib / "LICENSE.txt", bundle.licences / "python" / "LICENSE.txt")
    lines = [FOREWORD]
    for info in sorted(bundle.site_packages.glob("*.dist-info")):
        name = info.name.partition("-")[0]
        for text in _texts(root, info, name):
            _copy(text, bundle.licences / name / text.name)
        lines.append(_entry(info, name))
    (bundle.licences / "PARTS.txt").write_text("\n".join(lines) + "\n")


def _texts(root: Path, info: Path, name: str) -> list[Path]:
    own = [path for pattern in PATTERNS for path in info.rglob(pattern) if path.is_file()]
    texts = sorted(own) or list(_supplied(root, name))
    if not texts:
        raise BuildFailed(f"{name} brings no licence text: name one in {Path(__file__).name}.")
    return texts


def _supplied(root: Path, name: str) -> Iterator[Path]:
    for text in WITHOUT_TEXT.get(name, ()):
        yield root / "LICENSE" if text == "Apache-2.0.txt" else TEXTS / text


def _entry(info: Path, name: str) -> str:
    about = HeaderParser().parsestr((info / "METADATA").read_text())
    licence = about["License-Expression"] or (about["License"] or "").partition("\n")[0]
    author = about["Author"] or about["Author-email"] or ""
    return f"{name} {about['Version']}: {licence or 'see its text'}. {author}".rstrip()


def _copy(text: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(text, to)
