"""The command of this package."""

from __future__ import annotations

from typing import Final

from streamconform.cli.verbs import Verb

VERBS: Final = (
    Verb("dev", "Maintain", "Maintain the suite and its peers; only in a checkout.", "streamconform_dev.cli"),
)
