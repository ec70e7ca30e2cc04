"""Take a body apart: the payloads of server-sent events, lines of JSON, and AWS event streams.

Written for whole bodies, and apart from every decoder of this project.
"""

from __future__ import annotations

import base64
import json
import re
import struct
from typing import Any, NamedTuple


class Event(NamedTuple):
    """An event and its payload; the name is empty where the framing has none."""

    name: str
    payload: Any


def read_sse(body: bytes) -> list[Event]:
    """Return the events with data; `[DONE]` is a payload of that text."""
    events = []
    for block in re.split(r"(?:\r\n|\n|\r){2,}", body.decode("utf-8")):
        name, data = "", []
        for line in re.split(r"\r\n|\n|\r", block):
            key, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if key == "event":
                name = value
            elif key == "data":
                data.append(value)
        text = "\n".join(data)
        if text:
            events.append(Event(name, text if text == "[DONE]" else json.loads(text)))
    return events


def read_lines(body: bytes) -> list[Event]:
    """Return the objects of a body of JSON lines."""
    return [Event("", json.loads(line)) for line in body.decode("utf-8").split("\n") if line.strip()]


def read_aws(body: bytes) -> list[Event]:
    """Return the events of an AWS event stream: name from `:event-type`, payload from JSON."""
    events, at = [], 0
    while at < len(body):
        total, headers_size = struct.unpack_from(">II", body, at)
        headers = _read_headers(body[at + 12 : at + 12 + headers_size])
        payload = body[at + 12 + headers_size : at + total - 4]
        name = headers.get(":event-type") or headers.get(":exception-type", "")
        events.append(Event(name, json.loads(payload)))
        at += total
    return events


def _read_headers(data: bytes) -> dict[str, str]:
    headers, at = {}, 0
    while at < len(data):
        size = data[at]
        name = data[at + 1 : at + 1 + size].decode()
        at += 1 + size
        if data[at] != 7:  # the type of text; providers send no other
            raise ValueError(f"header of type {data[at]}")
        (length,) = struct.unpack_from(">H", data, at + 1)
        headers[name] = data[at + 3 : at + 3 + length].decode()
        at += 3 + length
    return headers


def unwrap_invoke(events: list[Event]) -> list[Event]:
    """Return the events inside the `chunk` events of InvokeModelWithResponseStream."""
    inner = [
        json.loads(base64.b64decode(event.payload["bytes"])) for event in events if event.name == "chunk"
    ]
    return [Event(payload.get("type", ""), payload) for payload in inner]
