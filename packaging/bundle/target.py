"""Target: a platform that a bundle is for. Bundle: where its parts lie, on all platforms alike."""

import platform
import sys
from dataclasses import dataclass
from pathlib import Path

PYTHON = "3.13"
MACOS_FLOOR = "14.0"  # of the launcher, of the MLX wheels, and of Info.plist


class BuildFailed(Exception):
    """The bundle cannot be built; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Target:
    """`platform` is uv's name for the wheels, `zig` the compiler's for native code."""

    name: str
    platform: str
    zig: str
    bundle: str  # the folder's name
    contents: str  # within it
    programs: str  # within the contents
    libpython: str
    suffix: str  # of a shared library

    @property
    def is_macos(self) -> bool:
        """Whether the code is Mach-O."""
        return self.name == "macos"

    @property
    def is_host(self) -> bool:
        """Whether this machine can run it."""
        return self.is_macos == (sys.platform == "darwin")


def target_named(name: str) -> Target:
    """`macos` (arm64) or `linux` (this machine's processor)."""
    if name == "macos":
        return Target(
            name,
            platform="aarch64-apple-darwin",
            zig=f"aarch64-macos.{MACOS_FLOOR}",
            bundle="Martlet.app",
            contents="Contents",
            programs="MacOS",
            libpython=f"libpython{PYTHON}.dylib",
            suffix=".dylib",
        )
    machine = platform.machine() if sys.platform == "linux" else "x86_64"
    return Target(
        name,
        platform=f"{machine}-manylinux_2_35",
        zig=f"{machine}-linux-gnu.2.28",
        bundle="Martlet",
        contents=".",
        programs="bin",
        libpython=f"libpython{PYTHON}.so.1.0",
        suffix=".so",
    )


@dataclass(frozen=True, slots=True)
class Bundle:
    """The parts of the bundle in the folder `root`."""

    root: Path
    target: Target

    @property
    def contents(self) -> Path:
        """What the parts below lie in."""
        return self.root / self.target.contents

    @property
    def program(self) -> Path:
        """The launcher."""
        return self.contents / self.target.programs / "Martlet"

    @property
    def libpython(self) -> Path:
        """The interpreter's library."""
        return self.contents / "Frameworks" / self.target.libpython

    @property
    def resources(self) -> Path:
        """Everything else."""
        return self.contents / "Resources"

    @property
    def stdlib(self) -> Path:
        """The interpreter's modules."""
        return self.resources / "python" / "lib" / f"python{PYTHON}"

    @property
    def site_packages(self) -> Path:
        """The wheels."""
        return self.resources / "site-packages"

    @property
    def source(self) -> Path:
        """Our own tree, laid out as in the repository."""
        return self.resources / "src"

    @property
    def licences(self) -> Path:
        """The licence texts of all parts."""
        return self.resources / "Licences"
