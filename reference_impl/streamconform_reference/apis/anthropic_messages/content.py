"""Content blocks of Anthropic Messages: their starts and deltas, by type.

Source: https://docs.claude.com/en/docs/build-with-claude/streaming#content-block-delta-types, and
the types in the `anthropic` package (2.12.0).

Undocumented behavior, and differences between servers:

- A start may contain text ("pre", then the delta "fix"), and the start of a tool call may contain its
  complete input: programmatic calls have no deltas at all. Non-blank fragments replace that input.
- `signature_delta` appends. The official API sends one per block; some servers split it.
- A citation may arrive before its block's text.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, Final

from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.citations import CitationFields
from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload
from streamconform_reference.decoding.fields import read_text, select
from streamconform_reference.outcome import Executor

PartHandler = Callable[[Assembler, Hashable, Payload], None]

ECHOED: Final = frozenset({"caller", "toolset_name"})
"""The members of a call that the next request must repeat; `caller` names the code that made the call."""
CITATIONS: Final = CitationFields(
    source=("url", "source", "file_id", "document_index"),
    title=("title", "document_title"),
    quote=("cited_text",),
)
"""Positions refer to the cited document, not to the answer."""


# Blocks, by the type in their start event. Any other type becomes an `other` block.


def start_text(message: Assembler, slot: Hashable, block: Payload) -> None:
    """Start a text block, with the text and citations that its start contains."""
    message.start(slot, "text", read_text(block, "text"))
    citations = block.get("citations")
    message.cite(slot, map(CITATIONS.read, citations if isinstance(citations, list) else ()))


def start_thinking(message: Assembler, slot: Hashable, block: Payload) -> None:
    """Start a thinking block. With `display: omitted`, it has no text, only a signature."""
    message.start(slot, "thinking", read_text(block, "thinking"))
    message.sign(slot, read_text(block, "signature"))


def start_redacted_thinking(message: Assembler, slot: Hashable, block: Payload) -> None:
    """Start a thinking block with opaque data and no deltas; the next request returns the data unchanged."""
    message.start(slot, "thinking")
    message.sign(slot, read_text(block, "data"), redacted=True)


def start_client_call(message: Assembler, slot: Hashable, block: Payload) -> None:
    """Start a call that the client has to run."""
    _start_call(message, slot, block, "client")


def start_provider_call(message: Assembler, slot: Hashable, block: Payload) -> None:
    """Start a call that the provider runs; its result arrives as a separate block."""
    _start_call(message, slot, block, "provider")


def start_fallback(message: Assembler, slot: Hashable, block: Payload) -> None:
    """Start the block at which another model takes over.

    Source: the type `BetaFallbackBlock` of the `anthropic` package.
    """
    successor = block.get("to")
    if isinstance(successor, dict):
        message.model = read_text(successor, "model") or message.model
    message.add_other("fallback", block, slot=slot)


BLOCK_STARTS: Final[Mapping[str, PartHandler]] = {
    "text": start_text,
    "thinking": start_thinking,
    "redacted_thinking": start_redacted_thinking,
    "tool_use": start_client_call,
    "server_tool_use": start_provider_call,
    "mcp_tool_use": start_provider_call,
    "fallback": start_fallback,
}


# Deltas, by type. Any other type is ignored.


def add_text(message: Assembler, slot: Hashable, delta: Payload) -> None:
    """Append to a text block."""
    message.add(slot, "text", read_text(delta, "text"))


def add_thinking(message: Assembler, slot: Hashable, delta: Payload) -> None:
    """Append to a thinking block."""
    message.add(slot, "thinking", read_text(delta, "thinking"))


def add_signature(message: Assembler, slot: Hashable, delta: Payload) -> None:
    """Append to the signature of a thinking block."""
    message.sign(slot, read_text(delta, "signature"))


def add_arguments(message: Assembler, slot: Hashable, delta: Payload) -> None:
    """Append a fragment to a call's arguments; the first fragment is often empty."""
    message.add_arguments(slot, read_text(delta, "partial_json"))


def add_citation(message: Assembler, slot: Hashable, delta: Payload) -> None:
    """Append to the citations of a text block."""
    message.cite(slot, [CITATIONS.read(delta.get("citation"))])


def set_compaction(message: Assembler, slot: Hashable, delta: Payload) -> None:
    """Replace the summary of a compaction block; null content means that compaction failed."""
    block = message.other(slot)
    if isinstance(block, dict):
        summary = {key: value for key, value in delta.items() if key != "type"}
        message.replace_other(slot, block | summary)


DELTAS: Final[Mapping[str, PartHandler]] = {
    "text_delta": add_text,
    "thinking_delta": add_thinking,
    "signature_delta": add_signature,
    "input_json_delta": add_arguments,
    "citations_delta": add_citation,
    "compaction_delta": set_compaction,
}


def start_block(message: Assembler, slot: Hashable, block: Any) -> None:
    """Start a block according to its type."""
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(kind, str):
        problem = "a content block has no type"
        raise BrokenPayloadError(problem)
    start = BLOCK_STARTS.get(kind)
    if start:
        start(message, slot, block)
    else:
        message.add_other(kind, block, slot=slot)


def _start_call(message: Assembler, slot: Hashable, block: Payload, executor: Executor) -> None:
    message.start_call(
        slot,
        id=read_text(block, "id"),
        name=read_text(block, "name"),
        executor=executor,
        initial_arguments=block.get("input"),
    )
    message.keep(slot, select(block, ECHOED))
