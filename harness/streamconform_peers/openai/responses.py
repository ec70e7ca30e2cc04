"""Responses through the OpenAI SDK: its raw events, and its accumulating helper.

With raw events, `output_item.done` contains the final item; an item that did not end is read from its deltas.
The helper's answer is `get_final_response()`; if that raises, its events are read the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from streamconform_peers.normal_form import (
    Block,
    ExceptionKeeper,
    build_keywords,
    build_outcome,
    get,
    get_text,
    subtract,
)
from streamconform_peers.openai.errors import build_request, describe_error, get_client
from streamconform_peers.openai.items import convert_item

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


def run_raw(run: Any) -> dict[str, Any]:
    """Return the outcome of `responses.create()`, streamed or not; no output means no content."""
    create = get_client(run).responses.create
    events: list[Any] = []
    if not run.stream:
        response: Any = None
        with ExceptionKeeper(describe_error) as kept:
            response = create(**build_keywords(create, build_request(run)))
        return build_result([], None if get(response, "output") is None else response, kept)
    with ExceptionKeeper(describe_error) as kept:
        for event in create(**build_keywords(create, build_request(run) | {"stream": True})):
            events.append(event)  # noqa: PERF402 - events before an exception must be kept
    return build_result(events, None, kept)


def run_helper(run: Any) -> dict[str, Any]:
    """Return the outcome of the final response of `responses.stream()`, or of its events if there is none."""
    responses = get_client(run).responses
    events: list[Any] = []
    final = None
    keywords = build_keywords(responses.stream, build_request(run))
    with ExceptionKeeper(describe_error) as kept, responses.stream(**keywords) as stream:
        for event in stream:
            events.append(event)  # noqa: PERF402 - events before an exception must be kept
        # `get_final_response()` raises unless the response completed.
        if any(event.type == "response.completed" for event in events):
            final = stream.get_final_response()
    return build_result(events, final, kept)


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
