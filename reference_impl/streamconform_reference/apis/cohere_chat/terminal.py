"""How an answer of Cohere ends: its reason, its usage and its error, the same in v1 and v2.

Source: https://docs.cohere.com/reference/chat-stream, https://docs.cohere.com/reference/chat-stream-v1,
the types of the `cohere` package 7.3.1, and
https://docs.cohere.com/docs/how-does-cohere-pricing-work for what is billed.

- `billed_units` is what one pays for; `tokens` has Cohere's own preamble and template in it, up to six
  times as many. The buckets count what is billed, so that the cost follows from them, and stay null
  where nothing says what was billed.
- `cached_tokens` is a part of `tokens`, not of `billed_units`, of which it may be more (recorded: 6048
  cached, 4612 billed). Beside the billed input it would count twice, so it is in no bucket.
- `reasoning_tokens` is in `tokens` alone. The preamble is input, so these are output that is billed.
- `search_units` are searches that Cohere ran and bills by the piece.
- `ERROR` and `TIMEOUT` make the answer an error, with `error_type` where there is one. `ERROR_LIMIT` is
  no failure: the reply was cut off at the length of the context.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.decoder import Payload
from streamconform_reference.decoding.fields import text
from streamconform_reference.decoding.provider_errors import read_error
from streamconform_reference.outcome import Error, StopReason

from .fields import count

STOP_REASONS: Final[Mapping[str, StopReason]] = {
    "COMPLETE": "stop",
    "STOP_SEQUENCE": "stop",
    "MAX_TOKENS": "length",
    "TOOL_CALL": "tool_use",
    "ERROR": "error",
    "TIMEOUT": "error",
    "ERROR_LIMIT": "length",
    "ERROR_TOXIC": "content_filter",
    "USER_CANCEL": "other",
}

# Where each count stands, by the name that we give it.
USAGE_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "input": ("billed_units", "input_tokens"),
    "output": ("billed_units", "output_tokens"),
    "reasoning": ("tokens", "reasoning_tokens"),
    "web_searches": ("billed_units", "search_units"),
}


def read_counts(usage: Payload) -> dict[str, int | None]:
    """Return what `usage` of v2 or `meta` of v1 reports, by the field names of the outcome's usage."""
    return {name: count(usage, *path) for name, path in USAGE_FIELDS.items()}


def take_reason(message: Assembler, raw: str) -> None:
    """Take the reason why the answer ends."""
    message.stop(STOP_REASONS.get(raw, "other"), raw or None)


def take_end(message: Assembler, raw: str, holder: Payload) -> None:
    """End the answer: complete, unless the reason is a failure or the holder has an `error`."""
    if holder.get("error") or STOP_REASONS.get(raw) == "error":
        said = read_error(holder)
        message.fail(Error(text(holder, "error_type") or said.type or raw or None, said.message, said.status))
    else:
        message.end_all(calls=False)
        message.complete()
