"""Detect the API of a body from its frames. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from streamconform.apis import APIS
from streamconform.apis.api import Api
from streamconform.wire.framings import MESSAGE_REWRITERS, split

MAX_FRAMES: Final = 200
"""The maximum number of frames examined; the first frame normally identifies the API."""
MAX_EXAMINED: Final = 1024 * 1024
"""The number of bytes at the beginning of a body that are examined, because every framing is tried."""


def detect_apis(status: int, body: bytes) -> tuple[str, ...]:
    """Return the APIs whose frames look like those of `body`."""
    return tuple(
        name
        for name, api in APIS.items()
        if any(is_typical(api, event, payload) for event, payload in _read_payloads(api, status, body))
    )


def detect_apis_of_payload(payload: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the APIs whose payloads look like `payload`."""
    return tuple(name for name, api in APIS.items() if is_typical(api, None, payload))


def explain_wrong_api(api: str, status: int, body: bytes) -> str | None:
    """Return the reason why `body` cannot be a stream of `api`, or None.

    An error may precede all other frames, as a separate frame or as a document.
    """
    if status >= 400 or not body or _is_json(body):
        return None  # a document, which only the code that reads it can examine further
    framed = APIS[api].detect_framing(status, body)
    payloads = [*_read_payloads(APIS[api], status, body)]
    if any(
        is_typical(APIS[api], event, payload) or _has_members(APIS[api], payload) or _is_error(payload)
        for event, payload in payloads
    ):
        return None
    others = [name for name in detect_apis(status, body) if name != api]
    if framed in MESSAGE_REWRITERS and not others:
        return None  # binary messages, whose first one may be any error
    found = "neither a stream nor JSON" if framed == "document" else f"0 of {len(payloads)} frames match"
    hint = f"; it looks like {' or '.join(others)}" if others else ""
    return f"its API is not {api}: {found}{hint}"


def is_typical(api: Api, event: str | None, payload: Mapping[str, Any]) -> bool:
    """Return whether no other API has payloads like this one."""
    names = [name for name in _list_names(event, payload) if isinstance(name, str) and name]
    if any(api.importing.types.fullmatch(name) for name in names):
        return True
    return not names and _has_members(api, payload)


def _list_names(event: str | None, payload: Mapping[str, Any]) -> tuple[object, ...]:
    """Return values that may identify a payload's type; the last is the name of its only member, or None."""
    wrapper = next(iter(payload)) if len(payload) == 1 else None
    return payload.get("type"), payload.get("event_type"), payload.get("object"), event, wrapper


def _has_members(api: Api, payload: Mapping[str, Any]) -> bool:
    return any(members <= payload.keys() for members in api.importing.members)


def _read_payloads(api: Api, status: int, body: bytes) -> Iterator[tuple[str | None, Mapping[str, Any]]]:
    head = body[:MAX_EXAMINED]
    for frame in islice(split(api.detect_framing(status, head), head), MAX_FRAMES):
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
