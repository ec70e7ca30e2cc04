"""The end of a Cohere answer: its stop reason, usage and error, which are the same in v1 and v2.

Source: https://docs.cohere.com/reference/chat-stream, https://docs.cohere.com/reference/chat-stream-v1,
the types in the `cohere` package (7.3.1), and
https://docs.cohere.com/docs/how-does-cohere-pricing-work for billing.

- `billed_units` is what Cohere charges; `tokens` includes its own preamble and template, and may be six times
  as high. The buckets contain billed tokens, because the cost follows from them; they stay null if billed
  tokens are not reported.
- `cached_tokens` is part of `tokens`, not of `billed_units`, and may exceed it (recorded: 6048 cached, 4612
  billed). Added to the billed input, it would count the same tokens twice, so no bucket includes it.
- `reasoning_tokens` is only in `tokens`. The preamble is input, so reasoning tokens are billed output.
- `search_units` are searches that Cohere ran and bills individually.
- `ERROR` and `TIMEOUT` make the answer an error, with `error_type` if there is one. `ERROR_LIMIT` is not a
  failure: the reply was cut off at the context length.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.decoder import Payload
from streamconform_reference.decoding.fields import read_text
from streamconform_reference.decoding.provider_errors import read_error
from streamconform_reference.outcome import Error, StopReason

from .fields import read_count

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

# The path of each count, by its name in the normal form.
USAGE_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "input": ("billed_units", "input_tokens"),
    "output": ("billed_units", "output_tokens"),
    "reasoning": ("tokens", "reasoning_tokens"),
    "web_searches": ("billed_units", "search_units"),
}


def read_counts(usage: Payload) -> dict[str, int | None]:
    """Return the counts in the `usage` of v2 or the `meta` of v1, keyed by `Usage` fields."""
    return {name: read_count(usage, *path) for name, path in USAGE_FIELDS.items()}


def set_stop(message: Assembler, raw: str) -> None:
    """Set the stop reason."""
    message.stop(STOP_REASONS.get(raw, "other"), raw or None)


def end_answer(message: Assembler, raw: str, holder: Payload) -> None:
    """End the answer; it is complete unless the reason is a failure or the payload has an `error`."""
    if holder.get("error") or STOP_REASONS.get(raw) == "error":
        error = read_error(holder)
        message.fail(
            Error(read_text(holder, "error_type") or error.type or raw or None, error.message, error.status)
        )
    else:
        message.end_all(calls=False)
        message.complete()
