"""Build the probe requests that are not scenarios: bad requests and token counts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from streamconform.apis import APIS
from streamconform.apis.api import Api, TokenCounting
from streamconform.apis.payloads import as_object, read_payload
from streamconform.wire.framings import split
from streamconform_capture.probe.bad_requests import RefusedRequest
from streamconform_capture.record.scenario_request import LiveRequest, RequestSettings, build_conversation

WEATHER: Final = {
    "name": "get_weather",
    "description": "Tells the weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
TIME: Final = {
    "name": "get_time",
    "description": "Tells the time.",
    "parameters": {"type": "object", "properties": {}},
}
NO_SUCH_MODEL: Final = "streamconform-no-such-model"
NO_SUCH_KEY: Final = "streamconform-no-such-key"
NO_SUCH_TYPE: Final = "no-such-type"


def build_bad_request(settings: RequestSettings, bad_request: RefusedRequest) -> LiveRequest:
    """Return a request that must be rejected."""
    conversation: dict[str, Any] = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 16}
    if bad_request.broken == "model":
        settings = replace(settings, model=NO_SUCH_MODEL)
    if bad_request.broken == "key":
        settings = replace(settings, key=NO_SUCH_KEY)
    if bad_request.broken == "tool":
        conversation["tools"] = [WEATHER | {"parameters": {"type": NO_SUCH_TYPE}}]
    if bad_request.broken == "tool-type":
        conversation["tools"] = [WEATHER]
    request = build_conversation(settings, conversation, stream=False)
    assert isinstance(request.body, Mapping), "a request is built as an object"
    if bad_request.broken == "json":
        return replace(request, body=b'{"model": "')
    if bad_request.broken == "messages":
        messages = APIS[settings.api].requests.messages
        return replace(request, body={key: value for key, value in request.body.items() if key != messages})
    if bad_request.broken == "tool-type":
        tools = [tool | {"type": NO_SUCH_TYPE} for tool in request.body["tools"]]
        return replace(request, body={**request.body, "tools": tools})
    return request


def build_count_requests(
    settings: RequestSettings, counting: TokenCounting
) -> tuple[LiveRequest, LiveRequest]:
    """Return two token-count requests; the second adds a system prompt and tools."""
    short: dict[str, Any] = {
        "messages": [{"role": "user", "content": "What is the weather in Paris?"}],
        "max_tokens": 16,
    }
    long = short | {"system": "You are a helpful assistant. Be brief.", "tools": [WEATHER, TIME]}
    return (
        _convert_to_count(build_conversation(settings, short, stream=False), counting),
        _convert_to_count(build_conversation(settings, long, stream=False), counting),
    )


def _convert_to_count(request: LiveRequest, counting: TokenCounting) -> LiveRequest:
    assert isinstance(request.body, Mapping), "a request is built as an object"
    body = {key: value for key, value in request.body.items() if key in counting.members}
    return replace(request, body=body, path=f"{request.path}{counting.path}")


def format_message(api: Api, body: bytes | Mapping[str, Any]) -> str:
    """Return the message that asks for an answer over a WebSocket; bytes are sent as they are."""
    assert api.sockets is not None, "only APIs with a WebSocket have such questions"
    if isinstance(body, bytes):
        return body.decode()
    # `stream` is of HTTP only.
    members = {name: value for name, value in body.items() if name != "stream"}
    return json.dumps({"type": api.sockets.request, **members}, ensure_ascii=False)


def continue_request(api: str, body: Mapping[str, Any], answer: bytes) -> Mapping[str, Any]:
    """Return the request that continues an answer over a WebSocket, given its frames."""
    form = APIS[api].requests
    events = (read_payload(frame.payload) for frame in split("websocket", answer))
    ids = (as_object(event.get("response")).get("id") for event in events)
    previous = next((id_ for id_ in ids if isinstance(id_, str)), None)
    added = [{"role": "user", "content": "And once more, please."}]
    return {**body, form.messages: added, **dict.fromkeys(form.previous, previous)}
