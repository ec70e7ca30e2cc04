"""Add up the events of the Responses API, for the OpenAI SDK and for frameworks that expose its events.

`output_item.done` contains the final item; an item that did not end is read from its deltas.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from streamconform_peers.normal_form import Block, ExceptionKeeper, build_outcome, get, get_text, subtract
from streamconform_peers.response_items import convert_item

CALL_ENDS: Final = frozenset(
    {"response.function_call_arguments.done", "response.custom_tool_call_input.done"}
)
RESPONSE_ENDS: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})
STOP_REASONS: Final[Mapping[str, str]] = {"max_output_tokens": "length", "content_filter": "content_filter"}
DELTA_FIELDS: Final[Mapping[str, str]] = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "refusal",
    "response.reasoning_summary_text.delta": "thinking",
    "response.reasoning_text.delta": "thinking",
    "response.function_call_arguments.delta": "arguments",
    "response.custom_tool_call_input.delta": "arguments",
}


def build_result(events: Iterable[Any], final: Any, kept: ExceptionKeeper) -> dict[str, Any]:
    """Return the outcome of events; the output of `final`, if given, replaces what the events add up to."""
    error = kept.error
    items: dict[int, Any] = {}
    deltas: dict[int, dict[str, str]] = {}
    done: set[int] = set()  # indexes of items that ended, or whose arguments ended
    whole: set[int] = set()  # indexes of items that `output_item.done` sent in full
    response = final
    for event in events:
        index = get(event, "output_index")
        if event.type in {"response.output_item.added", "response.output_item.done"}:
            items[index] = event.item
            whole |= {index} if event.type.endswith("done") else set()
            done |= whole
        elif event.type in DELTA_FIELDS:
            texts = deltas.setdefault(index, {})
            texts[DELTA_FIELDS[event.type]] = texts.get(DELTA_FIELDS[event.type], "") + get_text(
                event, "delta"
            )
        elif event.type in CALL_ENDS:
            done.add(index)
        elif event.type in RESPONSE_ENDS:
            response = response or event.response
        elif event.type == "error":
            error = {"type": get(event, "code") or "error", "message": event.message, "status": None}
    failure = get(response, "error")
    if get(response, "status") in {"failed", "cancelled"}:
        error = {"type": get(failure, "code"), "message": get(failure, "message"), "status": None}
    content: list[Block] = []
    if final is not None:
        content = [block for item in final.output for block in convert_item(item, {})]
    else:
        # Some servers, such as llama.cpp, send no `output_index`.
        for index, item in sorted(items.items(), key=lambda pair: pair[0] or 0):
            missing = {} if index in whole else deltas.get(index, {})
            content += convert_item(item, missing, complete=index in done, whole=index in whole)
    cut = get(response, "incomplete_details", "reason")
    status = get(response, "status")
    reason = STOP_REASONS.get(cut, "other") if status == "incomplete" else "stop" if response else None
    cached = get(response, "usage", "input_tokens_details", "cached_tokens")
    written = get(response, "usage", "input_tokens_details", "cache_write_tokens")
    buckets = {
        "input": subtract(get(response, "usage", "input_tokens"), cached, written),
        "cache_read": cached,
        "cache_write": written,
        "output": get(response, "usage", "output_tokens"),
        "reasoning": get(response, "usage", "output_tokens_details", "reasoning_tokens"),
        "web_searches": get(response, "tool_usage", "web_search", "num_requests"),
    }
    names = {"model": get(response, "model"), "response_id": get(response, "id")}
    return build_outcome(content, reason, cut or status, usage=buckets, error=error, **names)
