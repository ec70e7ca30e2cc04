"""`peer:cohere`: v2 or v1 of Cohere's API (depending on the request) through its SDK's `chat_stream()`.

`ApiError` is the provider's error; `httpx` exceptions raised while reading mean a lost connection. v2 events
are aggregated as Cohere's streaming guide shows; v1 repeats the whole answer in its last event.
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

from streamconform.adapters.request_reader import build_keywords
from streamconform.normal.blocks import Block, Error, append_text, build_call, build_outcome, get
from streamconform.normal.stop_reasons import COHERE_V1
from streamconform_peers import control
from streamconform_peers.cohere import v1 as cohere_v1
from streamconform_peers.cohere.documents import convert_v1, convert_v2
from streamconform_peers.cohere.v1 import ERROR_REASONS, read_usage
from streamconform_peers.library_call import TIMEOUT_SECONDS, ExceptionKeeper, describe_exception


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of `chat_stream()`, or `chat()`."""
    v1 = "messages" not in (run.request or {})
    request = {name: value for name, value in (run.request or {}).items() if name != "stream"}
    retries = control.turn_off_retries(run, max_retries=0)
    client = _get_client(cohere.Client if v1 else cohere.ClientV2, run.api_key, run.base_url, **retries)
    keywords = build_keywords((BaseCohere if v1 else V2Client).chat_stream, request)
    extra = keywords.pop("extra_body", {})
    events: list[Any] = []
    # The SDK's methods have no `extra_body`; this option has the same effect.
    options = {"additional_body_parameters": extra, **retries}
    if not run.stream:
        response: Any = None
        with ExceptionKeeper(_describe_error) as kept:
            response = client.chat(**keywords, request_options=options)
        return (convert_v1 if v1 else convert_v2)(response, kept.error)
    read_events = cohere_v1.read_events if v1 else _read_v2_events
    with ExceptionKeeper(_describe_error) as kept:
        control.read(
            run,
            events,
            lambda: read_events(events, None),
            lambda: client.chat_stream(**keywords, request_options=options),
            lambda: _get_client(
                cohere.AsyncClient if v1 else cohere.AsyncClientV2, run.api_key, run.base_url, **retries
            ).chat_stream(**keywords, request_options=options),
        )
    return read_events(events, kept.error)


@control.keep_clients
def _get_client(make: Any, api_key: str, base_url: str, **retries: int) -> Any:
    return make(api_key, base_url=base_url, timeout=TIMEOUT_SECONDS, **retries)


def _read_v2_events(events: Iterable[Any], error: Error | None) -> dict[str, Any]:
    content: list[Block] = []
    calls: dict[Any, dict[str, Any]] = {}
    end: Any = None
    id_ = None
    for event in events:
        message = get(event, "delta", "message")
        kind = get(event, "type")
        if kind == "message-start":
            id_ = event.id
        elif kind in {"content-start", "content-delta"}:
            append_text(content, "thinking", get(message, "content", "thinking"))
            append_text(content, "text", get(message, "content", "text"))
        elif kind == "tool-plan-delta":
            append_text(content, "thinking", get(message, "tool_plan"))
        elif kind == "tool-call-start":
            call = get(message, "tool_calls")
            text = get(call, "function", "arguments") or ""
            calls[event.index] = {"type": "call", "start": call, "text": text, "done": False}
            content.append(calls[event.index])
        elif kind == "tool-call-delta" and event.index in calls:
            calls[event.index]["text"] += get(message, "tool_calls", "function", "arguments") or ""
        elif kind == "tool-call-end" and event.index in calls:
            calls[event.index]["done"] = True
        elif kind == "message-end":
            end = event.delta
    blocks = [_convert_call(block) if block["type"] == "call" else block for block in content]
    stop = get(end, "finish_reason")
    if stop in ERROR_REASONS or get(end, "error"):
        error = {"type": stop, "message": get(end, "error"), "status": None}
    reason = COHERE_V1.get(stop, "other") if end is not None else None
    return build_outcome(
        blocks, reason, stop, usage=read_usage(get(end, "usage")), error=error, response_id=id_
    )


def _convert_call(call: dict[str, Any]) -> Block:
    name = get(call["start"], "function", "name")
    return build_call(get(call["start"], "id"), name, call["text"], complete=call["done"])


def _describe_error(error: Exception) -> Error | None:
    # The SDK's SSEError derives from httpx's TransportError, but means that the bytes are not SSE.
    if isinstance(error, httpx.TransportError) and not isinstance(error, SSEError):
        return None
    if isinstance(error, ApiError):
        message = get(error.body, "message")
        return {"type": None, "message": message or str(error.body), "status": error.status_code}
    return describe_exception(error)
