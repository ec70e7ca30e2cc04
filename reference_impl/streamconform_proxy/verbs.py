"""The command of this package."""

from __future__ import annotations

from importlib.machinery import PathFinder
from typing import Final

from streamconform.cli.verbs import Verb

VERBS: Final = (
    Verb(
        "proxy",
        "Capture",
        "Put a server of one API in front of a server of another.",
        "streamconform_proxy.cli",
        # Without the extra `proxy`, `conform proxy` only says how to install it.
        is_listed=PathFinder.find_spec("aiohttp") is not None,
    ),
)
