"""Add the parsed suite to the wheel, so that an installation never parses it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Hook(BuildHookInterface[Any]):
    """Writes `_bundled/suite.json`; an editable install starts from the checkout instead."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the file, and add it to those that the wheel includes."""
        if version == "editable":
            return
        root = Path(self.root)
        sys.path.insert(0, str(root / "harness"))
        from streamconform.suite.compiled import NAME
        from streamconform.suite.load import Sources, compile_suite

        path = root / "build" / NAME
        path.parent.mkdir(exist_ok=True)
        compile_suite(Sources(root / "specs", root / "cassettes"), path)
        build_data["force_include"][str(path)] = f"streamconform/_bundled/{NAME}"
