"""Read the finished response: items missing from the stream, usage and stop reason.

`response.output` repeats every item. On some servers, it is empty (ChatGPT's Codex backend) or missing; on
others, it is the only source of the items. Therefore, known items are completed and unknown items are added,
and nothing is added twice.

Source: https://platform.openai.com/docs/api-reference/responses/object
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from streamconform_reference.decoding import fields
from streamconform_reference.decoding.decoder import Payload
from streamconform_reference.decoding.provider_errors import read_error
from streamconform_reference.outcome import Error, StopReason
from streamconform_reference.pricing import Billing

from .answer import ResponseState, begin_item, finish_item, identify

# `incomplete_details.reason`; any other value means `other`.
INCOMPLETE_REASONS: Final[Mapping[str, StopReason]] = {
    "max_output_tokens": "length",
    "content_filter": "content_filter",
}
ERROR_TYPES: Final = ("code", "type")
"""The `error` event and `response.error` have a code; only the nested form has a type too."""

_FAILED: Final = frozenset({"failed", "cancelled"})


def finish_response(answer: ResponseState, response: Payload, status: str) -> None:
    """Read the finished response; `status` comes from the event, and is used if the response has none.

    vLLM sends `response.completed` for every end, so a failure in the response's own status wins.
    """
    identify(answer, response)
    own_status = fields.read_text(response, "status")
    if status == "completed" and own_status in (*_FAILED, "incomplete"):
        status = own_status
    if status != "completed":
        answer.cut = ("incomplete", "in_progress")  # a patch has no other status for it
    _recover_items(answer, response)
    if status in _FAILED:
        _take_usage(answer, response)
        _fail_response(answer, response, status)
        return
    answer.message.end_all(calls=status == "completed")
    _take_usage(answer, response)
    details = response.get("incomplete_details")
    if status == "incomplete":
        reason = fields.read_text(details, "reason") if isinstance(details, dict) else ""
        answer.message.stop(INCOMPLETE_REASONS.get(reason, "other"), reason or status)
    else:
        answer.message.stop("stop", status)
    answer.message.complete()


def _fail_response(answer: ResponseState, response: Payload, status: str) -> None:
    """End the answer with the response's error."""
    error = read_error({"error": response.get("error")}, type_keys=ERROR_TYPES)
    answer.message.stop("error", status)
    answer.message.fail(Error(error.type or status, error.message, error.status))


def _recover_items(answer: ResponseState, response: Payload) -> None:
    """Complete the items from the response's list, and start those that never arrived."""
    output = [data for data in fields.read_objects(response, "output") if isinstance(data.get("type"), str)]
    for item, data in answer.items.pair(output):
        finish_item(answer, item or begin_item(answer, None, data), data)


def _take_usage(answer: ResponseState, response: Payload) -> None:
    """Report the usage, with the finished response's tier, since earlier events repeat the requested tier."""
    usage = response.get("usage")
    if isinstance(usage, dict):
        searches = fields.read_count(response, "tool_usage", "web_search", "num_requests")
        if searches is None:  # where xAI puts it
            searches = fields.read_count(usage, "server_side_tool_usage_details", "web_search_calls")
        answer.message.report_usage(
            {**read_counts(usage), "web_searches": searches},
            Billing(service_tier=fields.read_text(response, "service_tier") or None),
        )


def read_counts(usage: Payload) -> dict[str, int | None]:
    """Return the counts in a `usage` object as disjoint buckets: `input_tokens` includes the cache."""
    total = fields.read_count(usage, "input_tokens")
    read = fields.read_count(usage, "input_tokens_details", "cached_tokens")
    written = fields.read_count(usage, "input_tokens_details", "cache_write_tokens")
    return {
        "input": None if total is None else max(total - (read or 0) - (written or 0), 0),
        "cache_read": read,
        "cache_write": written,
        "output": fields.read_count(usage, "output_tokens"),
        "reasoning": fields.read_count(usage, "output_tokens_details", "reasoning_tokens"),
    }
