"""The command of this package."""

from __future__ import annotations

from typing import Final

from streamconform.cli.verbs import Verb

VERBS: Final = (
    Verb(
        "proxy",
        "Capture",
        "Translate between two APIs: one for clients and one for the upstream.",
        "streamconform_proxy.cli",
    ),
)
