"""Payloads as JSON objects, whose members can be read safely even if a server sent something else. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Payload = Mapping[str, Any]


def read_payload(payload: bytes) -> Payload:
    """Return the JSON object in `payload`, or an empty object if there is none."""
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def as_object(value: Any) -> Payload:
    """Return `value` if it is an object, otherwise an empty object."""
    return value if isinstance(value, dict) else {}


def as_objects(value: Any) -> list[Payload]:
    """Return the objects in the list `value`, or an empty list if it is not a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
