"""`peer:cohere`: Cohere's SDK, `chat_stream()` of v2 or v1, whichever the request is one of.

`ApiError` is the provider's error; while it reads, `httpx` tells a lost connection. Events of v2 are added up
as its guide to streaming does; v1 gives the whole answer with its last event.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import cohere
import httpx
from cohere.base_client import BaseCohere
from cohere.core.api_error import ApiError
from cohere.core.http_sse import SSEError
from cohere.v2.client import V2Client

from streamconform.peers.cohere import v1 as cohere_v1
from streamconform.peers.cohere.v1 import FAILED, STOPS, counts
from streamconform.peers.normal_form import SECONDS, Block, Error, at, call, outcome, raised, say, words


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of `chat_stream()`."""
    v1 = "messages" not in (run.request or {})
    request = {name: value for name, value in (run.request or {}).items() if name != "stream"}
    make = cohere.Client if v1 else cohere.ClientV2
    client = make(run.api_key, base_url=run.base_url, timeout=SECONDS, max_retries=0)
    given = words((BaseCohere if v1 else V2Client).chat_stream, request)
    extra = given.pop("extra_body", {})
    events: list[Any] = []
    error: Error | None = None
    options = {"additional_body_parameters": extra, "max_retries": 0}
    try:
        for event in client.chat_stream(**given, request_options=options):
            events.append(event)  # noqa: PERF402 - those before an exception count
    except Exception as thrown:  # noqa: BLE001 - what its user sees
        error = _told(thrown)
    return cohere_v1.read(events, error) if v1 else _v2(events, error)


def _v2(events: Iterable[Any], error: Error | None) -> dict[str, Any]:
    content: list[Block] = []
    calls: dict[Any, dict[str, Any]] = {}
    end: Any = None
    id_ = None
    for event in events:
        message = at(event, "delta", "message")
        kind = at(event, "type")
        if kind == "message-start":
            id_ = event.id
        elif kind in {"content-start", "content-delta"}:
            say(content, "thinking", at(message, "content", "thinking"))
            say(content, "text", at(message, "content", "text"))
        elif kind == "tool-plan-delta":
            say(content, "thinking", at(message, "tool_plan"))
        elif kind == "tool-call-start":
            made = at(message, "tool_calls")
            given = at(made, "function", "arguments") or ""
            calls[event.index] = {"type": "call", "of": made, "text": given, "done": False}
            content.append(calls[event.index])
        elif kind == "tool-call-delta" and event.index in calls:
            calls[event.index]["text"] += at(message, "tool_calls", "function", "arguments") or ""
        elif kind == "tool-call-end" and event.index in calls:
            calls[event.index]["done"] = True
        elif kind == "message-end":
            end = event.delta
    blocks = [
        call(at(each["of"], "id"), at(each["of"], "function", "name"), each["text"], complete=each["done"])
        if each["type"] == "call"
        else each
        for each in content
    ]
    stop = at(end, "finish_reason")
    if stop in FAILED or at(end, "error"):
        error = {"type": stop, "message": at(end, "error"), "status": None}
    reason = STOPS.get(stop, "other") if end is not None else None
    return outcome(blocks, reason, stop, usage=counts(at(end, "usage")), error=error, response_id=id_)


def _told(error: Exception) -> Error | None:
    if isinstance(error, httpx.TransportError) and not isinstance(error, SSEError):
        return None
    if isinstance(error, ApiError):
        message = at(error.body, "message")
        return {"type": None, "message": message or str(error.body), "status": error.status_code}
    return raised(error)
