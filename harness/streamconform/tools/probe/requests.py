"""The requests of a probe: each scenario in the words of an api, as the reference would send it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from streamconform_reference.apis import REQUEST_BUILDERS

from streamconform.apis import APIS
from streamconform.apis.api import TokenCounting
from streamconform.tools.probe.refusals import Refusal
from streamconform.tools.probe.scenarios import TIME, WEATHER, Scenario, user

NO_SUCH_MODEL: Final = "streamconform-no-such-model"
NO_SUCH_KEY: Final = "streamconform-no-such-key"
NO_SUCH_TYPE: Final = "no-such-type"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """What every request of one probe has in common."""

    api: str
    model: str
    key: str | None = None
    headers: Mapping[str, str]
    """Sent beside those of the api."""
    temperature: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One request as it is sent."""

    path: str
    headers: Mapping[str, str]
    secret: Mapping[str, str]
    """Headers that are sent, and kept nowhere."""
    body: bytes | Mapping[str, Any]


def question(asking: Asking, scenario: Scenario, *, stream: bool) -> Question:
    """Return the request of a scenario."""
    return _built(asking, scenario.conversation, stream=stream, stop=scenario.stop)


def broken(asking: Asking, refusal: Refusal) -> Question:
    """Return a request that has to be refused."""
    conversation: dict[str, Any] = {"messages": [user("Hello")], "max_tokens": 16}
    if refusal.broken == "model":
        asking = replace(asking, model=NO_SUCH_MODEL)
    if refusal.broken == "key":
        asking = replace(asking, key=NO_SUCH_KEY)
    if refusal.broken == "tool":
        conversation["tools"] = [WEATHER | {"parameters": {"type": NO_SUCH_TYPE}}]
    if refusal.broken == "tool-type":
        conversation["tools"] = [WEATHER]
    asked = _built(asking, conversation, stream=False)
    assert isinstance(asked.body, Mapping), "a request is built as an object"
    if refusal.broken == "json":
        return replace(asked, body=b'{"model": "')
    if refusal.broken == "messages":
        absent = APIS[asking.api].probing.messages
        return replace(asked, body={key: value for key, value in asked.body.items() if key != absent})
    if refusal.broken == "tool-type":
        tools = [each | {"type": NO_SUCH_TYPE} for each in asked.body["tools"]]
        return replace(asked, body={**asked.body, "tools": tools})
    return asked


def counts(asking: Asking, counting: TokenCounting) -> tuple[Question, Question]:
    """Return two requests to count tokens, the second with a system prompt and tools."""
    short: dict[str, Any] = {"messages": [user("What is the weather in Paris?")], "max_tokens": 16}
    long = short | {"system": "You are a helpful assistant. Be brief.", "tools": [WEATHER, TIME]}
    first, second = (_counted(_built(asking, each, stream=False), counting) for each in (short, long))
    return first, second


def _counted(asked: Question, counting: TokenCounting) -> Question:
    assert isinstance(asked.body, Mapping), "a request is built as an object"
    body = {key: value for key, value in asked.body.items() if key in counting.members}
    return replace(asked, body=body, path=f"{asked.path}{counting.path}")


def _built(
    asking: Asking, conversation: Mapping[str, Any], *, stream: bool, stop: str | None = None
) -> Question:
    given = dict(conversation) | {"model": asking.model, "stream": stream}
    if asking.temperature is not None:
        given["temperature"] = asking.temperature
    request = REQUEST_BUILDERS[asking.api](given)
    body = copy.deepcopy(dict(request["body"]))
    if stop is not None:
        *holders, name = APIS[asking.api].probing.stop_sequences
        at = body
        for each in holders:
            at = at.setdefault(each, {})
        at[name] = [stop]
    key = APIS[asking.api].key
    headers = {name.lower(): value for name, value in request["headers"].items()}
    headers.pop(key.header, None)
    secret = {} if asking.key is None else key.headers(asking.key)
    return Question(path=request["path"], headers=headers | dict(asking.headers), secret=secret, body=body)
