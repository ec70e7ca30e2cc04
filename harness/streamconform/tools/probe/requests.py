"""The requests of a probe: each scenario in the words of an api, as the reference would send it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from streamconform_reference.apis import REQUEST_BUILDERS

from streamconform.tools.probe.refusals import Refusal
from streamconform.tools.probe.scenarios import STOPPABLE, TIME, WEATHER, Scenario, user
from streamconform.tools.record.providers import ENDPOINTS

NO_SUCH_MODEL: Final = "streamconform-no-such-model"
NO_SUCH_KEY: Final = "streamconform-no-such-key"
COUNTED: Final = frozenset({"model", "messages", "system", "tools"})
"""Fields of a request whose tokens are counted."""
NO_SUCH_TYPE: Final = "no-such-type"
MESSAGES: Final[Mapping[str, str]] = {"google-generate": "contents", "openai-responses": "input"}
"""Where the request of an api has its messages, unless in `messages`."""
COUNTING: Final = frozenset({"anthropic-messages"})
"""The apis with a path for counting tokens."""


@dataclass(frozen=True, slots=True)
class Key:
    """Where an api has its key: the header, what stands before it there, and the usual variable."""

    header: str
    prefix: str
    variable: str


KEYS: Final[Mapping[str, Key]] = {
    **{api: Key(each.key_header, each.key_prefix, each.key_variable) for api, each in ENDPOINTS.items()},
    "google-generate": Key("x-goog-api-key", "", "GEMINI_API_KEY"),
    "bedrock-converse": Key("authorization", "Bearer ", "AWS_BEARER_TOKEN_BEDROCK"),
}


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
        absent = MESSAGES.get(asking.api, "messages")
        return replace(asked, body={key: value for key, value in asked.body.items() if key != absent})
    if refusal.broken == "tool-type":
        tools = [each | {"type": NO_SUCH_TYPE} for each in asked.body["tools"]]
        return replace(asked, body={**asked.body, "tools": tools})
    return asked


def counts(asking: Asking) -> tuple[Question, Question]:
    """Return two requests to count tokens, the second with a system prompt and tools."""
    short: dict[str, Any] = {"messages": [user("What is the weather in Paris?")], "max_tokens": 16}
    long = short | {"system": "You are a helpful assistant. Be brief.", "tools": [WEATHER, TIME]}
    first, second = (_counted(_built(asking, each, stream=False)) for each in (short, long))
    return first, second


def _counted(asked: Question) -> Question:
    assert isinstance(asked.body, Mapping), "a request is built as an object"
    body = {key: value for key, value in asked.body.items() if key in COUNTED}
    return replace(asked, body=body, path=f"{asked.path}/count_tokens")


def _built(
    asking: Asking, conversation: Mapping[str, Any], *, stream: bool, stop: str | None = None
) -> Question:
    given = dict(conversation) | {"model": asking.model, "stream": stream}
    if asking.temperature is not None:
        given["temperature"] = asking.temperature
    request = REQUEST_BUILDERS[asking.api](given)
    body = copy.deepcopy(dict(request["body"]))
    if stop is not None:
        *holders, name = STOPPABLE[asking.api]
        at = body
        for each in holders:
            at = at.setdefault(each, {})
        at[name] = [stop]
    place = KEYS[asking.api]
    headers = {name.lower(): value for name, value in request["headers"].items()}
    headers.pop(place.header, None)
    secret = {} if asking.key is None else {place.header: f"{place.prefix}{asking.key}"}
    return Question(path=request["path"], headers=headers | dict(asking.headers), secret=secret, body=body)
