"""The protocol fields for a program that reads its streams through a proxy, in an API other than the case's.

In its greeting, `{"through": {"api": "anthropic-messages", "rules": {"grammar.one-terminal": "must"}}}`: the
program reads its outcomes from streams in that API and checks those streams against these rules. In a result,
`{"deviations": [{"rule": "grammar.one-terminal", "message": "…"}]}`: the rules that the stream violated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamconform.model.trial import ProxyView

MAX_DEVIATIONS: Final = 500
"""Maximum deviations kept per stream; there are fewer rules than this."""


def parse_proxy_view(message: Mapping[str, Any]) -> ProxyView | None:
    """Return the `through` field of a valid greeting, or None for a program that reads the case's own API."""
    match message.get("through"):
        case {"api": str(api), **rest}:
            rules: Any = rest.get("rules") or {}
            return ProxyView(api, dict(rules))
        case _:
            return None


def parse_deviations(message: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return (broken rule, message) pairs from a result; invalid entries are ignored."""
    entries = message.get("deviations")
    deviations = []
    for entry in entries[:MAX_DEVIATIONS] if isinstance(entries, list) else ():
        match entry:
            case {"rule": str(rule), "message": str(text)}:
                deviations.append((rule, text))
            case _:
                pass
    return tuple(deviations)
