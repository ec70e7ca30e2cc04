"""Anthropic Messages: server-sent events in, events and the outcome out.

Source: https://docs.claude.com/en/docs/build-with-claude/streaming,
https://docs.claude.com/en/api/messages-streaming, and the types in the `anthropic` package (2.12.0).

Undocumented behavior, and differences between servers:

- The payload's `type` decides. Some servers send no `event:` line, and some append `[DONE]`.
- Blocks are keyed by `index`; `content` reads their contents. llama.cpp starts blocks before it stops earlier
  ones, omits `input` from the start of a tool call and may omit `message_start`; proxies skip indices and
  reuse them.
- A delta that does not match its block's type is ignored, as in the official SDKs. Text or thinking for an
  index without a block starts a new block.
- `message_delta.usage` is cumulative: a field replaces the earlier value, unless it is null or absent.
- `usage.iterations` of type `compaction` are billed but not included in the totals: they are part of the
  cost, under `other`, but not of the buckets. Advisor iterations are billed at another model's price and are
  left out.
- A second `message_start` before `message_stop` means that a new answer was spliced in. Finished blocks of
  the first answer stay, its open blocks never end, and usage, model and id come from the second answer.
- A refusal may follow a complete call, and a server may then still report `tool_use` next to the
  `stop_details` of a refusal, which count (code-yeongyu/senpi#387).
- Everything after `message_stop` or an error is ignored, for example a second recording in the same file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.decoder import BrokenPayloadError, Decoder, Payload
from streamconform_reference.decoding.fields import read_count, read_index, read_text, require_object, select
from streamconform_reference.decoding.provider_errors import read_error
from streamconform_reference.framing import Framing
from streamconform_reference.framing.sse import SseFraming
from streamconform_reference.outcome import StopReason, Usage
from streamconform_reference.pricing import Billing

from .content import DELTAS, start_block

Handler = Callable[[Assembler, Payload], None]


# https://docs.claude.com/en/api/handling-stop-reasons
STOP_REASONS: Final[Mapping[str, StopReason]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_use",
    "pause_turn": "pause",
    "refusal": "refusal",
}

# The type of `stop_details` that says why the model refused.
_REFUSAL: Final = "refusal"

# The path of each count in `usage`, by its name in the normal form.
USAGE_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "input": ("input_tokens",),
    "cache_read": ("cache_read_input_tokens",),
    "cache_write": ("cache_creation_input_tokens",),
    "cache_write_1h": ("cache_creation", "ephemeral_1h_input_tokens"),
    "output": ("output_tokens",),
    "reasoning": ("output_tokens_details", "thinking_tokens"),
    "web_searches": ("server_tool_use", "web_search_requests"),
}
CONTAINER: Final = frozenset({"container"})


def on_message_start(message: Assembler, payload: Payload) -> None:
    """Read the id, model, first usage and, from servers that send it here, the content."""
    start = require_object(payload, "message")
    message.begin(model=read_text(start, "model"), response_id=read_text(start, "id"))
    content = start.get("content")
    for number, block in enumerate(content if isinstance(content, list) else ()):
        slot = ("message_start", number)
        start_block(message, slot, block)
        message.end(slot)
    _read_stop_reason(message, start)
    _keep_container(message, start)
    # vLLM puts the usage next to the message instead of inside it.
    read_usage(message, start.get("usage") or payload.get("usage"))


def _keep_container(message: Assembler, holder: Payload) -> None:
    """Keep the container in which the provider runs code: the next request names it."""
    message.echo = message.echo | select(holder, CONTAINER)


def on_content_block_start(message: Assembler, payload: Payload) -> None:
    """Start the block at an index."""
    start_block(message, _read_index(payload), payload.get("content_block"))


def on_content_block_delta(message: Assembler, payload: Payload) -> None:
    """Append to the block at an index; a delta of an unknown type is ignored."""
    delta = require_object(payload, "delta")
    kind = delta.get("type")
    handler = DELTAS.get(kind) if isinstance(kind, str) else None
    if handler:
        handler(message, _read_index(payload), delta)


def on_content_block_stop(message: Assembler, payload: Payload) -> None:
    """End the block at an index."""
    message.end(_read_index(payload))


def on_message_delta(message: Assembler, payload: Payload) -> None:
    """Read the stop reason and the cumulative usage."""
    if payload.get("delta") is not None:
        delta = require_object(payload, "delta")
        _read_stop_reason(message, delta)
        _keep_container(message, delta)
    read_usage(message, payload.get("usage"))


def on_message_stop(message: Assembler, _payload: Payload) -> None:
    """Complete the answer; this is the terminal event, regardless of the stop reason."""
    message.complete()


def on_error(message: Assembler, payload: Payload) -> None:
    """End the answer with the provider's error; the HTTP status was 200."""
    message.fail(read_error(payload))


HANDLERS: Final[Mapping[str, Handler]] = {
    "message_start": on_message_start,
    "content_block_start": on_content_block_start,
    "content_block_delta": on_content_block_delta,
    "content_block_stop": on_content_block_stop,
    "message_delta": on_message_delta,
    "message_stop": on_message_stop,
    "error": on_error,
}


class AnthropicMessagesDecoder(Decoder):
    """Decodes one response of `POST /v1/messages` with `"stream": true`."""

    framing_factory: ClassVar[Callable[[], Framing]] = SseFraming
    handlers: ClassVar[Mapping[str, Handler]] = HANDLERS

    def read(self, payload: Payload) -> None:
        """Read one payload; unknown types are ignored."""
        kind = payload.get("type")
        if kind is None and payload.get("error") is not None:
            kind = "error"  # another vendor's error envelope, sent by a gateway
        handler = self.handlers.get(kind) if isinstance(kind, str) else None
        if handler:
            handler(self.message, payload)


def _read_stop_reason(message: Assembler, holder: Payload) -> None:
    raw = read_text(holder, "stop_reason")
    if raw:  # a later null does not erase it
        sequence, details = holder.get("stop_sequence"), holder.get("stop_details")
        refused = isinstance(details, dict) and details.get("type") == _REFUSAL
        message.stop(
            "refusal" if refused else STOP_REASONS.get(raw, "other"),
            raw,
            sequence=sequence if isinstance(sequence, str) else None,
            details=details,
        )


def read_usage(message: Assembler, usage: Any) -> None:
    """Report the counts in a `usage`, if it is an object."""
    if not isinstance(usage, dict):
        return
    iterations = usage.get("iterations")
    message.report_usage(
        read_counts(usage),
        Billing(
            service_tier=read_text(usage, "service_tier") or None,
            speed=read_text(usage, "speed") or None,
            inference_geo=read_text(usage, "inference_geo") or None,
            extra=tuple(
                Usage(**read_counts(iteration))
                for iteration in (iterations if isinstance(iterations, list) else ())
                if isinstance(iteration, dict) and iteration.get("type") == "compaction"
            ),
        ),
    )


def read_counts(usage: Payload) -> dict[str, int | None]:
    """Return the counts in a `usage` object, keyed by the fields of `Usage`."""
    return {name: read_count(usage, *path) for name, path in USAGE_FIELDS.items()}


def _read_index(payload: Payload) -> int:
    index = read_index(payload, "index")
    if index is None:
        problem = f"`{payload['type']}` has no `index`"
        raise BrokenPayloadError(problem)
    return index
