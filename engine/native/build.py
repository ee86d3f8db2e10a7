"""The build hook: compiles the native core beside its sources, and puts it into the wheel."""

import runpy
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import (  # type: ignore[import-not-found]
    BuildHookInterface,
)


class NativeBuildHook(BuildHookInterface):  # type: ignore[misc]
    """Called by hatchling for editable installs and for wheels."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile. A wheel is for this platform, and for any Python 3."""
        folder = Path(self.root) / "engine" / "native"
        # By its path: nothing of the package can be imported yet.
        path = runpy.run_path(str(folder / "library.py"))["compile_library"](folder)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{_platform_tag()}"
        if version != "editable":
            build_data["force_include"][str(path)] = f"engine/native/{path.name}"


def _platform_tag() -> str:
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")
