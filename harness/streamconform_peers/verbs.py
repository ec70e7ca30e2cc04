"""The command of this package."""

from __future__ import annotations

from typing import Final

from streamconform.cli.verbs import Verb

VERBS: Final = (
    Verb(
        "peers",
        "Libraries",
        "Install libraries that can be judged without writing an adapter.",
        "streamconform_peers.cli",
    ),
)
