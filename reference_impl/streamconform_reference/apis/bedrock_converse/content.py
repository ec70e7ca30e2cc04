"""What is in a content block: its start and its deltas, by their one key.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlockStart.html,
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlockDelta.html, and the
service model of botocore 1.44.5.

What the documentation does not say, and what differs between models:

- Text and reasoning have no start; some send `start: {}`, which says nothing.
- The fragment of a call without arguments is empty. The answer without streaming has the input as a
  value, and so may a proxy.
- Reasoning is flat in a stream (`reasoningContent.text`) and nested without one. Its signature is a
  delta of its own. Redacted reasoning is base64; some proxies send it under `data`.
- A tool that the provider runs (`type: server_tool_use`) has its result in a block `toolResult`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.decoder import Payload
from streamconform_reference.decoding.fields import text
from streamconform_reference.outcome import Executor

from .fields import part

PartHandler = Callable[[Assembler, int, Any], None]

# Where redacted reasoning stands: AWS's own name, and the one of its proxies.
REDACTED_KEYS: Final = ("redactedContent", "data")

EXECUTORS: Final[Mapping[str, Executor]] = {"server_tool_use": "provider"}


# Starts, by their key. Any other one is kept as `other`.


def start_call(message: Assembler, slot: int, start: Payload) -> None:
    """Begin a call, whose input comes with the start only in an answer without streaming."""
    message.start_call(
        slot,
        id=text(start, "toolUseId"),
        name=text(start, "name"),
        executor=EXECUTORS.get(text(start, "type"), "client"),
        carried=start.get("input"),
    )


def start_result(message: Assembler, slot: int, start: Payload) -> None:
    """Begin the result of a tool that the provider ran."""
    message.put_other("tool_result", start, slot=slot)


STARTS: Final[Mapping[str, PartHandler]] = {
    "toolUse": start_call,
    "toolResult": start_result,
}


# Deltas, by their key. Any other one is ignored.


def add_text(message: Assembler, slot: int, words: Any) -> None:
    """Append visible text."""
    message.add(slot, "text", words)


def add_input(message: Assembler, slot: int, delta: Payload) -> None:
    """Append a fragment of a call's input, or take the whole of it."""
    fragment = delta.get("input")
    if isinstance(fragment, str):
        message.add_arguments(slot, fragment)
    elif fragment is not None:
        message.settle_arguments(slot, fragment)


def add_reasoning(message: Assembler, slot: int, delta: Payload) -> None:
    """Append to reasoning: its text, its signature, or data that nobody can read."""
    message.add(slot, "thinking", text(delta, "text"))
    signature = text(delta, "signature")
    if signature:
        message.sign(slot, signature)
    for key in REDACTED_KEYS:
        redacted = text(delta, key)
        if redacted:
            message.sign(slot, redacted, redacted=True)


def add_citation(message: Assembler, _slot: int, citation: Payload) -> None:
    """Keep a citation at the place where it came."""
    message.put_other("citation", citation)


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
"""Each with the type of its value."""


def start_block(message: Assembler, slot: int, payload: Payload) -> None:
    """Begin the block that a start says something of."""
    for kind, start in part(payload, "start").items():
        if isinstance(start, dict):
            handler = STARTS.get(kind)
            if handler:
                handler(message, slot, start)
            else:
                message.put_other(kind, start, slot=slot)
