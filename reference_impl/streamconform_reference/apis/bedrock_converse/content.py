"""Content blocks of Bedrock Converse: their starts and deltas, each identified by its single key.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlockStart.html,
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlockDelta.html, and the
service model in botocore 1.44.5.

Undocumented behavior, and differences between models:

- Text and reasoning have no start event; some models send `start: {}`, which is ignored.
- The fragment of a call without arguments is empty. The non-streaming answer contains the input as a value,
  and a proxy may also stream it as a value.
- Reasoning is flat in a stream (`reasoningContent.text`) but nested in a non-streaming answer. Its signature
  is a separate delta. Redacted reasoning is base64; some proxies send it under `data`.
- The result of a tool that the provider runs (`type: server_tool_use`) is in a `toolResult` block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.citations import CitationFields
from streamconform_reference.decoding.decoder import Payload
from streamconform_reference.decoding.fields import (
    read_objects,
    read_text,
)
from streamconform_reference.outcome import (
    Citation,
    Executor,
)

from .fields import read_object

PartHandler = Callable[[Assembler, int, Any], None]
CITATIONS: Final = CitationFields(source=("url", "source", "documentIndex"), title=("title",))
"""Positions refer to the cited document, not to the answer."""

# The keys of redacted reasoning: the name used by AWS, and the one used by proxies.
REDACTED_KEYS: Final = ("redactedContent", "data")

EXECUTORS: Final[Mapping[str, Executor]] = {"server_tool_use": "provider"}


# Starts, by their key. Any other start becomes an `other` block.


def start_call(message: Assembler, slot: int, start: Payload) -> None:
    """Start a call; only in a non-streaming answer does the start contain the input."""
    message.start_call(
        slot,
        id=read_text(start, "toolUseId"),
        name=read_text(start, "name"),
        executor=EXECUTORS.get(read_text(start, "type"), "client"),
        initial_arguments=start.get("input"),
    )


def start_result(message: Assembler, slot: int, start: Payload) -> None:
    """Start the result of a tool that the provider ran."""
    message.add_other("tool_result", start, slot=slot)


STARTS: Final[Mapping[str, PartHandler]] = {
    "toolUse": start_call,
    "toolResult": start_result,
}


# Deltas, by their key. Any other delta is ignored.


def add_text(message: Assembler, slot: int, fragment: Any) -> None:
    """Append to a text block."""
    message.add(slot, "text", fragment)


def add_input(message: Assembler, slot: int, delta: Payload) -> None:
    """Append a fragment to a call's input, or set the complete input."""
    fragment = delta.get("input")
    if isinstance(fragment, str):
        message.add_arguments(slot, fragment)
    elif fragment is not None:
        message.settle_arguments(slot, fragment)


def add_reasoning(message: Assembler, slot: int, delta: Payload) -> None:
    """Append to reasoning: text, a signature, or encrypted data."""
    message.add(slot, "thinking", read_text(delta, "text"))
    signature = read_text(delta, "signature")
    if signature:
        message.sign(slot, signature)
    for key in REDACTED_KEYS:
        redacted = read_text(delta, key)
        if redacted:
            message.sign(slot, redacted, redacted=True)


def add_citation(message: Assembler, slot: int, citation: Payload) -> None:
    """Append to the citations of a text block."""
    message.cite(slot, [read_citation(citation)])


def read_citation(citation: Payload) -> Citation:
    """Return a citation. Its location is an object with one key, which names the kind of source."""
    location = citation.get("location")
    places = location.values() if isinstance(location, dict) else ()
    place = next((place for place in places if isinstance(place, dict)), {})
    texts = [read_text(piece, "text") for piece in read_objects(citation, "sourceContent")]
    named = CITATIONS.read({**place, "title": citation.get("title"), "source": citation.get("source")})
    return replace(named, quote="".join(texts) or None, data=citation)


def add_result(message: Assembler, slot: int, parts: Any) -> None:
    """Append to the result of a tool that the provider ran."""
    result = message.other(slot)
    if isinstance(result, dict):
        content = result.get("content")
        before = content if isinstance(content, list) else []
        message.replace_other(slot, {**result, "content": [*before, *parts]})


DELTAS: Final[Mapping[str, tuple[type, PartHandler]]] = {
    "text": (str, add_text),
    "toolUse": (dict, add_input),
    "reasoningContent": (dict, add_reasoning),
    "citation": (dict, add_citation),
    "toolResult": (list, add_result),
}
"""The handler for each kind of delta, with the type that its value must have."""


def start_block(message: Assembler, slot: int, payload: Payload) -> None:
    """Start the block that a start frame describes."""
    for kind, start in read_object(payload, "start").items():
        if isinstance(start, dict):
            handler = STARTS.get(kind)
            if handler:
                handler(message, slot, start)
            else:
                message.add_other(kind, start, slot=slot)
