"""Snippets that call each peer's library (`<library>/snippets/<peer>.yaml`), for the programs of findings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from streamconform.errors import UsageError
from streamconform.schemas import read_checked
from streamconform_peers.table import PEERS, Peer

PLACEHOLDER: Final = re.compile(r"__([A-Z][A-Z0-9_]*?)__")


@dataclass(frozen=True, slots=True)
class Snippet:
    """The code that calls a library for one API, with placeholders."""

    imports: str
    code: str
    request: str | None
    """The code that sends a conversation; None if the peer does not claim requests."""
    conversation: str | None
    """The code that has a conversation: a prompt, the results of the calls, and the answer."""
    values: Mapping[str, str]
    """Values of the placeholders that do not depend on the finding."""


def read_snippet(peer: Peer, api: str) -> Snippet:
    """Return a peer's snippet for an API.

    Raises `UsageError` if there is none, and `SourceError` if its file is invalid.
    """
    document = _read_document(peer)
    of_api = document["apis"].get(api)
    if of_api is None:
        raise UsageError(f"the snippet for `{peer.name}` has no code for `{api}`")
    base = _read_document(PEERS[document["base"]]) if "base" in document else {}
    merged = {**base, **document, **of_api}
    return Snippet(
        merged.get("imports", ""),
        merged.get("code", ""),
        merged.get("request"),
        merged.get("conversation"),
        merged.get("values", {}),
    )


def _read_document(peer: Peer) -> Mapping[str, Any]:
    if not peer.snippet.exists():
        raise UsageError(f"there is no snippet for `{peer.name}`; write `{peer.snippet}`")
    document = read_checked(peer.snippet, "snippet.v1")
    value: Mapping[str, Any] = document.value
    return value


def fill_in(template: str, values: Mapping[str, str]) -> str:
    """Return `template` with its placeholders replaced; lines that need a missing value are dropped.

    A line whose value is empty is kept.
    """
    lines = [line for line in template.splitlines() if set(PLACEHOLDER.findall(line)) <= values.keys()]
    # A value may contain text that looks like a placeholder, so each line is replaced only once.
    return "\n".join(PLACEHOLDER.sub(lambda match: values[match[1]], line) for line in lines) + "\n"
