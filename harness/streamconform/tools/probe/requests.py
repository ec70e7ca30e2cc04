"""Build the requests of a probe: each scenario as the reference would send it to an API."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from streamconform_reference.apis import REQUEST_BUILDERS

from streamconform.apis import APIS
from streamconform.apis.api import TokenCounting
from streamconform.tools.probe.bad_requests import RefusedRequest
from streamconform.tools.probe.scenarios import TIME, WEATHER, Scenario, make_user_message

NO_SUCH_MODEL: Final = "streamconform-no-such-model"
NO_SUCH_KEY: Final = "streamconform-no-such-key"
NO_SUCH_TYPE: Final = "no-such-type"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSettings:
    """The settings that all requests of a probe share."""

    api: str
    model: str
    key: str | None = None
    headers: Mapping[str, str]
    """Sent in addition to the API's."""
    temperature: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeRequest:
    """One request, ready to send."""

    path: str
    headers: Mapping[str, str]
    secret: Mapping[str, str]
    """Headers that are sent and never stored."""
    body: bytes | Mapping[str, Any]


def build_request(settings: RequestSettings, scenario: Scenario, *, stream: bool) -> ProbeRequest:
    """Return the request of a scenario."""
    return _build(settings, scenario.conversation, stream=stream, stop=scenario.stop)


def build_bad_request(settings: RequestSettings, bad_request: RefusedRequest) -> ProbeRequest:
    """Return a request that must be refused."""
    conversation: dict[str, Any] = {"messages": [make_user_message("Hello")], "max_tokens": 16}
    if bad_request.broken == "model":
        settings = replace(settings, model=NO_SUCH_MODEL)
    if bad_request.broken == "key":
        settings = replace(settings, key=NO_SUCH_KEY)
    if bad_request.broken == "tool":
        conversation["tools"] = [WEATHER | {"parameters": {"type": NO_SUCH_TYPE}}]
    if bad_request.broken == "tool-type":
        conversation["tools"] = [WEATHER]
    request = _build(settings, conversation, stream=False)
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
) -> tuple[ProbeRequest, ProbeRequest]:
    """Return two requests for token counts, the second with a system prompt and tools."""
    short: dict[str, Any] = {
        "messages": [make_user_message("What is the weather in Paris?")],
        "max_tokens": 16,
    }
    long = short | {"system": "You are a helpful assistant. Be brief.", "tools": [WEATHER, TIME]}
    return (
        _convert_to_count(_build(settings, short, stream=False), counting),
        _convert_to_count(_build(settings, long, stream=False), counting),
    )


def _convert_to_count(request: ProbeRequest, counting: TokenCounting) -> ProbeRequest:
    assert isinstance(request.body, Mapping), "a request is built as an object"
    body = {key: value for key, value in request.body.items() if key in counting.members}
    return replace(request, body=body, path=f"{request.path}{counting.path}")


def _build(
    settings: RequestSettings, conversation: Mapping[str, Any], *, stream: bool, stop: str | None = None
) -> ProbeRequest:
    conversation = {**conversation, "model": settings.model, "stream": stream}
    if settings.temperature is not None:
        conversation["temperature"] = settings.temperature
    request = REQUEST_BUILDERS[settings.api](conversation)
    body = copy.deepcopy(dict(request["body"]))
    if stop is not None:
        *parents, name = APIS[settings.api].probing.stop_sequences
        parent = body
        for key in parents:
            parent = parent.setdefault(key, {})
        parent[name] = [stop]
    api_key = APIS[settings.api].key
    headers = {name.lower(): value for name, value in request["headers"].items()}
    headers.pop(api_key.header, None)
    secret = {} if settings.key is None else api_key.headers(settings.key)
    return ProbeRequest(
        path=request["path"], headers=headers | dict(settings.headers), secret=secret, body=body
    )
