"""The command of this package, if what it needs is installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from streamconform.cli.verbs import Verb

PROXY: Final = Verb(
    "proxy",
    "Capture",
    "Translate between two APIs: one for clients and one for the upstream.",
    "streamconform_proxy.cli",
)
VERBS: Final = (PROXY,) if find_spec("aiohttp") is not None else ()
"""Without the extra `proxy`, there is no such command, which leaves less to read for those who need none."""
