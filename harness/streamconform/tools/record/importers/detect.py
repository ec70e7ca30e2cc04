"""Tell from the frames of a body which API it is of. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from streamconform.apis import APIS
from streamconform.apis.api import Api
from streamconform.wire.framings import split

MAX_FRAMES: Final = 200
"""Frames that are looked at; the first one of any stream says what it is."""


def detect_apis(status: int, body: bytes) -> tuple[str, ...]:
    """Return the APIs that have frames like those of `body`."""
    return tuple(
        name
        for name, api in APIS.items()
        if any(is_typical(api, event, payload) for event, payload in _read_payloads(api, status, body))
    )


def detect_apis_of_payload(payload: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the APIs that have payloads like `payload`."""
    return tuple(name for name, api in APIS.items() if is_typical(api, None, payload))


def explain_wrong_api(api: str, status: int, body: bytes) -> str | None:
    """Return why `body` cannot be one of `api`; None if it can.

    An error may come before any frame, as a frame of its own or as a document.
    """
    if status >= 400 or not body or _is_json(body):
        return None  # a document, of which nothing but its reader can tell more
    if APIS[api].detect_framing(status, body) == "document":
        found = "no stream, and no JSON"
    else:
        payloads = [*_read_payloads(APIS[api], status, body)]
        if any(is_typical(APIS[api], event, payload) or _is_error(payload) for event, payload in payloads):
            return None
        found = f"{len(payloads)} frames, none of {api}"
    others = [name for name in detect_apis(status, body) if name != api]
    hint = f"; it looks like {' or '.join(others)}" if others else ""
    return f"it is not of {api}: {found}{hint}"


def is_typical(api: Api, event: str | None, payload: Mapping[str, Any]) -> bool:
    """Return whether only this API has such a payload."""
    names = (payload.get("type"), payload.get("event_type"), event)
    of_type = any(isinstance(name, str) and api.importing.types.fullmatch(name) for name in names)
    return of_type or not api.importing.members.isdisjoint(payload)


def _read_payloads(api: Api, status: int, body: bytes) -> Iterator[tuple[str | None, Mapping[str, Any]]]:
    for frame in islice(split(api.detect_framing(status, body), body), MAX_FRAMES):
        try:
            payload = json.loads(frame.payload)
        except (ValueError, RecursionError):
            continue
        if isinstance(payload, dict):
            yield frame.event, payload


def _is_error(payload: Mapping[str, Any]) -> bool:
    return "error" in payload or payload.get("type") == "error" or payload.get("event_type") == "error"


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True
