"""What a program says that is seen through another api, as a proxy is: of itself, and of a stream.

In its greeting `{"through": {"api": "anthropic-messages", "rules": {"grammar.one-terminal": "must"}}}`: its
outcomes were read from streams of that api, which it held to these rules. In a result
`{"deviations": [{"rule": "grammar.one-terminal", "message": "…"}]}`: the rules that were broken.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamconform.model.trial import Through

MAX_DEVIATIONS: Final = 500
"""Of one stream; there are not so many rules."""


def of_greeting(message: Mapping[str, Any]) -> Through | None:
    """Return what a greeting that fits its schema says; None for all that read the case's own api."""
    match message.get("through"):
        case {"api": str(api), **rest}:
            rules: Any = rest.get("rules") or {}
            return Through(api, dict(rules))
        case _:
            return None


def deviations(message: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the rules that a result calls broken, and how; what is none is left out."""
    given = message.get("deviations")
    found = []
    for each in given[:MAX_DEVIATIONS] if isinstance(given, list) else ():
        match each:
            case {"rule": str(rule), "message": str(words)}:
                found.append((rule, words))
            case _:
                pass
    return tuple(found)
