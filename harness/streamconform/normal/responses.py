"""Add up the events of the Responses API, for the OpenAI SDK and for frameworks that expose its events.

`output_item.done` contains the final item; an item that did not end is read from its deltas.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from streamconform.normal.blocks import Block, Error, build_outcome, get, get_text, subtract
from streamconform.normal.response_items import convert_item

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


def convert_response(response: Any, *, error: Error | None = None) -> dict[str, Any]:
    """Return the outcome of a `Response`, or of None if the SDK returned nothing."""
    return convert_response_events((), response, error=error)


def convert_response_events(
    events: Iterable[Any], final: Any = None, *, error: Error | None = None
) -> dict[str, Any]:
    """Return the outcome of events; the output of `final`, if given, replaces what the events add up to."""
    items = _Items()
    response = final
    for event in events:
        items.add(event)
        if get(event, "type") in RESPONSE_ENDS:
            response = response or get(event, "response")
        elif get(event, "type") == "error":
            error = _read_error(event)
    status = get(response, "status")
    if status in {"failed", "cancelled"}:
        failure = get(response, "error")
        error = {"type": get(failure, "code"), "message": get(failure, "message"), "status": None}
    content = items.convert()
    if final is not None:
        content = [block for item in get(final, "output") for block in convert_item(item, {})]
    cut = get(response, "incomplete_details", "reason")
    reason = "stop" if response else None
    if status == "incomplete":
        reason = STOP_REASONS.get(cut, "other")
    names = {"model": get(response, "model"), "response_id": get(response, "id")}
    return build_outcome(content, reason, cut or status, usage=_read_usage(response), error=error, **names)


class _Items:
    """The output items that events add up to, by their index."""

    def __init__(self) -> None:
        self._items: dict[int, Any] = {}
        self._deltas: dict[int, dict[str, str]] = {}
        self._done: set[int] = set()
        """The items that ended, or whose arguments ended."""
        self._whole: set[int] = set()
        """The items that `output_item.done` sent in full."""

    def add(self, event: Any) -> None:
        """Add what an event says about an item, if anything."""
        kind, index = get(event, "type"), get(event, "output_index")
        if kind == "response.output_item.added":
            self._items[index] = get(event, "item")
        elif kind == "response.output_item.done":
            self._items[index] = get(event, "item")
            self._whole.add(index)
            self._done.add(index)
        elif kind in DELTA_FIELDS:
            texts, name = self._deltas.setdefault(index, {}), DELTA_FIELDS[kind]
            texts[name] = texts.get(name, "") + get_text(event, "delta")
        elif kind in CALL_ENDS:
            self._done.add(index)

    def convert(self) -> list[Block]:
        """Return the blocks of all items."""
        content: list[Block] = []
        # Some servers, such as llama.cpp, send no `output_index`.
        for index, item in sorted(self._items.items(), key=lambda pair: pair[0] or 0):
            whole = index in self._whole
            missing = {} if whole else self._deltas.get(index, {})
            content += convert_item(item, missing, complete=index in self._done, whole=whole)
        return content


def _read_error(event: Any) -> Error:
    """Return the error of a flat event, or of one from a WebSocket, which has an object and a status."""
    failure = get(event, "error") or event
    kind = get(failure, "code") or get(failure, "type")
    message = get(failure, "message") or get(event, "message")
    return {"type": kind or "error", "message": message, "status": get(event, "status")}


def _read_usage(response: Any) -> dict[str, int | None]:
    usage = get(response, "usage")
    cached = get(usage, "input_tokens_details", "cached_tokens")
    written = get(usage, "input_tokens_details", "cache_write_tokens")
    return {
        "input": subtract(get(usage, "input_tokens"), cached, written),
        "cache_read": cached,
        "cache_write": written,
        "output": get(usage, "output_tokens"),
        "reasoning": get(usage, "output_tokens_details", "reasoning_tokens"),
        "web_searches": get(response, "tool_usage", "web_search", "num_requests"),
    }
