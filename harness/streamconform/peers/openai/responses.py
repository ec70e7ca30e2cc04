"""Responses through the OpenAI SDK: events as they come, and its accumulating helper.

With raw events an item is what `output_item.done` says it is; what had not ended by then is what its deltas
say. The helper's answer is `get_final_response()`, and where it raises, its events have to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from streamconform.peers.normal_form import Block, Error, at, less, outcome, text, words
from streamconform.peers.openai.errors import asked, client, told
from streamconform.peers.openai.items import blocks

CALL_ENDS: Final = frozenset(
    {"response.function_call_arguments.done", "response.custom_tool_call_input.done"}
)
ENDS: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})
STOPS: Final[Mapping[str, str]] = {"max_output_tokens": "length", "content_filter": "content_filter"}
DELTAS: Final[Mapping[str, str]] = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "refusal",
    "response.reasoning_summary_text.delta": "thinking",
    "response.reasoning_text.delta": "thinking",
    "response.function_call_arguments.delta": "arguments",
    "response.custom_tool_call_input.delta": "arguments",
}


def raw(run: Any) -> dict[str, Any]:
    """Return the outcome of `responses.create(stream=True)`."""
    create = client(run).responses.create
    events: list[Any] = []
    error: Error | None = None
    try:
        for event in create(**words(create, asked(run) | {"stream": True})):
            events.append(event)  # noqa: PERF402 - those before an exception count
    except Exception as thrown:  # noqa: BLE001 - what its user sees
        error = told(thrown)
    return _outcome(events, None, error)


def helper(run: Any) -> dict[str, Any]:
    """Return the outcome of `responses.stream()`: its final response, and its events where there is none."""
    responses = client(run).responses
    events: list[Any] = []
    error: Error | None = None
    final = None
    try:
        with responses.stream(**words(responses.stream, asked(run))) as stream:
            for event in stream:
                events.append(event)  # noqa: PERF402 - those before an exception count
            if any(event.type == "response.completed" for event in events):
                final = stream.get_final_response()  # it raises without, and is then not to be called
    except Exception as thrown:  # noqa: BLE001 - what its user sees
        error = told(thrown)
    return _outcome(events, final, error)


def _outcome(events: Iterable[Any], final: Any, error: Error | None) -> dict[str, Any]:
    items: dict[int, Any] = {}
    parts: dict[int, dict[str, str]] = {}
    done: set[int] = set()  # what had ended, the arguments of a call at least
    whole: set[int] = set()  # what an event has given in one piece
    ended = final
    for event in events:
        index = at(event, "output_index")
        if event.type in {"response.output_item.added", "response.output_item.done"}:
            items[index] = event.item
            whole |= {index} if event.type.endswith("done") else set()
            done |= whole
        elif event.type in DELTAS:
            own = parts.setdefault(index, {})
            own[DELTAS[event.type]] = own.get(DELTAS[event.type], "") + text(event, "delta")
        elif event.type in CALL_ENDS:
            done.add(index)
        elif event.type in ENDS:
            ended = ended or event.response
        elif event.type == "error":
            error = {"type": at(event, "code") or "error", "message": event.message, "status": None}
    failed = at(ended, "error")
    if at(ended, "status") in {"failed", "cancelled"}:
        error = {"type": at(failed, "code"), "message": at(failed, "message"), "status": None}
    content: list[Block] = []
    if final is not None:
        content = [block for item in final.output for block in blocks(item, {}, complete=True)]
    else:
        for index, item in sorted(items.items(), key=lambda pair: pair[0] or 0):
            lacks = {} if index in whole else parts.get(index, {})
            content += blocks(item, lacks, complete=index in done)
    cut = at(ended, "incomplete_details", "reason")
    status = at(ended, "status")
    reason = None if ended is None else STOPS.get(cut, "other") if status == "incomplete" else "stop"
    cached = at(ended, "usage", "input_tokens_details", "cached_tokens")
    written = at(ended, "usage", "input_tokens_details", "cache_write_tokens")
    counts = {
        "input": less(at(ended, "usage", "input_tokens"), cached, written),
        "cache_read": cached,
        "cache_write": written,
        "output": at(ended, "usage", "output_tokens"),
        "reasoning": at(ended, "usage", "output_tokens_details", "reasoning_tokens"),
        "web_searches": at(ended, "tool_usage", "web_search", "num_requests"),
    }
    names = {"model": at(ended, "model"), "response_id": at(ended, "id")}
    return outcome(content, reason, cut or status, usage=counts, error=error, **names)
