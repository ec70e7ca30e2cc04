"""Build requests to a live server: the reference's request for each scenario and API."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from streamconform.apis import APIS
from streamconform.apis.api import Key
from streamconform.suite.scenarios import Scenario
from streamconform_reference.apis import REQUEST_BUILDERS


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSettings:
    """The settings that all requests to a server share."""

    api: str
    model: str
    key: str | None = None
    headers: Mapping[str, str]
    """Headers to send in addition to the API's own."""
    temperature: float | None = None
    key_form: Key | None = None
    """How the key is sent, if not in the API provider's usual way."""
    host: str | None = None
    """The host's name; some request fields depend on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRequest:
    """One request, ready to send."""

    path: str
    headers: Mapping[str, str]
    secret: Mapping[str, str]
    """Headers that are sent but never stored."""
    body: bytes | Mapping[str, Any]


def build_request(settings: RequestSettings, scenario: Scenario, *, stream: bool) -> LiveRequest:
    """Return the request for a scenario."""
    return build_conversation(settings, scenario.conversation, stream=stream, stop=scenario.stop)


def build_conversation(
    settings: RequestSettings, conversation: Mapping[str, Any], *, stream: bool, stop: str | None = None
) -> LiveRequest:
    """Return the request for a conversation; `stop` is its stop sequence."""
    conversation = {"model": settings.model, **conversation, "stream": stream}
    if settings.host is not None:
        conversation["facts"] = {"host": settings.host} | conversation.get("facts", {})
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
    # The builder writes a placeholder for the key; the real one must be in `secret` only.
    headers.pop(api_key.header, None)
    secret = {} if settings.key is None else (settings.key_form or api_key).headers(settings.key)
    return LiveRequest(
        path=request["path"], headers=headers | dict(settings.headers), secret=secret, body=body
    )
