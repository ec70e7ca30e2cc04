"""The pytest plugin: `pytest --conform-impl mypkg` makes each trial a test item."""

from typing import Final

__all__ = ["ROOT"]

ROOT: Final = "conform"
"""What the node ids of our items begin with. It is here because every module of the package needs it."""
