"""Payload lines back to an api's framing: what a source kept as one JSON payload a line. Pure.

Many projects keep a stream as `.jsonl`, its SSE framing taken off. The payloads are put back as they stand,
byte for byte; only what stood around them is made anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from streamconform.wire import eventstream, json_text, sse


class NotStrippedError(ValueError):
    """A line is not the payload of one frame, or nobody knows what stood around it."""


def restore(api: str, text: bytes) -> bytes:
    """Return the body whose payloads are the lines of `text`; empty lines do not count.

    Raises `NotStrippedError` with the number of the line.
    """
    rewrap = FRAMINGS.get(api)
    if rewrap is None:
        known = ", ".join(FRAMINGS)
        raise NotStrippedError(f"the framing of {api} cannot be put back; known are {known}")
    lines = [(n, line) for n, line in enumerate(text.split(b"\n"), start=1) if line.strip()]
    if not lines:
        raise NotStrippedError("it holds no line")
    for number, line in lines:
        if type_of(line) is None:
            raise NotStrippedError(f"line {number} is not a JSON object")
    return rewrap(line.rstrip(b"\r") for _, line in lines)


def type_of(payload: bytes) -> str | None:
    """Return the `type` that a payload names, empty where it names none; None where it is no object."""
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    given = value.get("type")
    return given if isinstance(given, str) else ""


def _messages(payloads: Iterable[bytes]) -> bytes:
    """Return binary messages: a payload is an object whose one key names the event that its value is."""
    return b"".join(eventstream.event(*_member(number, each)) for number, each in enumerate(payloads, 1))


def _member(number: int, payload: bytes) -> tuple[bytes, str]:
    """Return the value of the one member of `payload`, as it stands there, and the name of that member."""
    root = json_text.parse(payload)
    if root is None or len(root.keys) != 1:
        raise NotStrippedError(f"payload {number} does not name one event: expected {{name: event}}")
    value = root.items[0]
    return payload[value.start : value.end], json.loads(payload[slice(*root.keys[0])])


def _named(payloads: Iterable[bytes]) -> bytes:
    return b"".join(sse.event(each, type_of(each) or None) for each in payloads)


def _plain(payloads: Iterable[bytes]) -> bytes:
    return b"".join(sse.event(each, None) for each in payloads)


def _done(payloads: Iterable[bytes]) -> bytes:
    return _plain(payloads) + sse.event(b"[DONE]", None)


def _lines(payloads: Iterable[bytes]) -> bytes:
    return b"".join(each + b"\n" for each in payloads)


FRAMINGS: Final[Mapping[str, Callable[[Iterable[bytes]], bytes]]] = {
    "anthropic-messages": _named,
    "openai-chat": _done,
    "openai-responses": _named,
    "google-generate": _plain,
    "ollama-chat": _lines,
    "cohere-chat": _named,
    "bedrock-converse": _messages,
}
"""What stood around the payloads of each api."""
