"""Add the parsed suite to the wheel, so that an installation never parses it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Hook(BuildHookInterface[Any]):
    """Writes the folder `_bundled/suite`; an editable install starts from the checkout instead."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the folder, and add it to those that the wheel includes."""
        if version == "editable":
            return
        root = Path(self.root)
        sys.path.insert(0, str(root / "harness"))
        from streamconform.suite.compiled import NAME
        from streamconform.suite.load import Sources, compile_suite

        folder = root / "build" / NAME
        shutil.rmtree(folder, ignore_errors=True)
        compile_suite(Sources(root / "specs", root / "cassettes"), folder)
        build_data["force_include"][str(folder)] = f"streamconform/_bundled/{NAME}"
