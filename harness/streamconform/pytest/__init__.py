"""The pytest plugin: `pytest --conform-impl mypkg` makes each trial a test item."""

from typing import Final

__all__ = ["ROOT"]

ROOT: Final = "conform"
"""Prefix of our node ids. It is defined here because every module of the package needs it."""
