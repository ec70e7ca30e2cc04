"""What a server is asked: neutral conversations, and what has to come of each.

A small model may answer badly; what is expected here is only what the server itself answers for: that a
tool that was required is called, that a limit is kept, that a stop sequence ends the text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from streamconform.apis.api import Probing

Json = dict[str, Any]
Kind = Literal["stream", "twin", "refusal", "count"]
"""How a scenario is asked: streamed, at once, so that it has to be refused, or only for its tokens."""

WEATHER: Final[Json] = {
    "name": "get_weather",
    "description": "Tells the weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
TIME: Final[Json] = {
    "name": "get_time",
    "description": "Tells the time.",
    "parameters": {"type": "object", "properties": {}},
}
LABEL: Final[Json] = {
    "name": "print_label",
    "description": "Prints a label.",
    "parameters": {
        "type": "object",
        "properties": {
            "text": {"enum": ['Grüße "東京" 🚆 \\ Ende']},
            "lines": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"bold": {"type": "boolean"}},
                    "required": ["bold"],
                },
            },
        },
        "required": ["text", "lines"],
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What has to come of an answer beside its form."""

    calls: tuple[int, int | None] | None = None
    """Least and most calls of the client's tools; None: any number."""
    names: frozenset[str] = frozenset()
    """Tools that may be called; empty: none is asked for."""
    stops: frozenset[str] = frozenset()
    """Stop reasons that may be, in the normal form; empty: those of an answer that ended by itself."""
    without: str | None = None
    """What the text must not hold: its stop sequence."""


def always(probing: Probing) -> bool:
    """Return True: a request of every API can ask this."""
    del probing
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One question, and what is expected of the answer."""

    name: str
    title: str
    conversation: Mapping[str, Any]
    """As `build_request` takes it, but for the model."""
    wanted: Wanted = field(default_factory=Wanted)
    stop: str | None = None
    """A stop sequence, where the api has any."""
    may_refuse: bool = False
    """Whether a server may say that its model cannot do this."""
    twin: bool = True
    possible: Callable[[Probing], bool] = always
    """Whether a request of an API can ask this."""


def user(text: str) -> Json:
    """Return what the user says."""
    return {"role": "user", "content": text}


def call(name: str, id_: str, arguments: Mapping[str, Any]) -> Json:
    """Return a call as a block of an answer."""
    return {
        "type": "tool_call",
        "id": id_,
        "name": name,
        "arguments": dict(arguments),
        "arguments_text": None,
        "complete": True,
        "executor": "client",
    }


def echoed(text: str) -> tuple[Json, Json]:
    """Return what the user says, and an answer that repeats it: the smallest model goes on so."""
    return user(text), {"role": "assistant", "content": [{"type": "text", "text": text}]}


def _results(**texts: str) -> Json:
    results = [{"id": key, "name": "get_weather", "content": text} for key, text in texts.items()]
    return {"role": "tool", "results": results}


EARLIER: Final = (
    user("What is the weather in London and in Madrid?"),
    {
        "role": "assistant",
        "content": [
            call("get_weather", "call_1", {"city": "London"}),
            call("get_weather", "call_2", {"city": "Madrid"}),
        ],
    },
    _results(call_1='{"temp": 12}', call_2='{"temp": 25}'),
)
ASKED_AGAIN: Final = (
    *EARLIER,
    {"role": "assistant", "content": [{"type": "text", "text": "It is 12 degrees in London, 25 in Madrid."}]},
    user("What is the weather in Paris and in Rome?"),
)
CALLED: Final = frozenset({"tool_use"})
ENDED: Final = frozenset({"stop", "length"})
"""An answer in words ends by itself, or at the limit that keeps a probe short."""

SCENARIOS: Final = (
    Scenario(
        name="text",
        title="A short answer",
        conversation={"messages": [user("What is the capital of France?")], "max_tokens": 64},
        wanted=Wanted(calls=(0, 0), stops=ENDED),
    ),
    Scenario(
        name="unicode",
        title="An answer that begins with characters of several bytes",
        conversation={
            "messages": [*echoed("Zoë 日本語 🎉🚀"), *echoed("東京 café 🚆"), user("🎉 naïve 日本 Kraków")],
            "max_tokens": 64,
        },
        wanted=Wanted(calls=(0, 0), stops=ENDED),
        twin=False,
    ),
    Scenario(
        name="system-prompt",
        title="A system prompt before the question",
        conversation={
            "system": "You are a pirate. Answer in one sentence.",
            "messages": [user("Who are you?")],
            "max_tokens": 64,
        },
        wanted=Wanted(calls=(0, 0), stops=ENDED),
        twin=False,
    ),
    Scenario(
        name="max-tokens",
        title="An answer that meets its limit",
        conversation={"messages": [user("Tell a long story about a dog.")], "max_tokens": 16},
        wanted=Wanted(calls=(0, 0), stops=frozenset({"length"})),
    ),
    Scenario(
        name="stop-sequence",
        title="A stop sequence in the answer",
        conversation={"messages": [user("Count: one, two, three, four, five, six")], "max_tokens": 64},
        wanted=Wanted(calls=(0, 0), stops=ENDED, without="five"),
        stop="five",
        possible=lambda probing: bool(probing.stop_sequences),
    ),
    Scenario(
        name="tool-call",
        title="A tool that has to be called",
        conversation={
            "messages": [*ASKED_AGAIN[:-1], user("What is the weather in Paris?")],
            "tools": [WEATHER, TIME],
            "tool_choice": "required",
            "max_tokens": 256,
        },
        wanted=Wanted(calls=(1, None), names=frozenset({"get_weather", "get_time"}), stops=CALLED),
    ),
    Scenario(
        name="named-tool",
        title="A named tool without parameters has to be called",
        conversation={
            "messages": [user("What time is it?")],
            "tools": [WEATHER, TIME],
            "tool_choice": {"name": "get_time"},
            "max_tokens": 256,
        },
        wanted=Wanted(calls=(1, None), names=frozenset({"get_time"}), stops=CALLED),
        possible=lambda probing: probing.tool_by_name,
    ),
    Scenario(
        name="nested-arguments",
        title="Nested arguments with quotes, backslashes and other scripts",
        conversation={
            "messages": [user("Print the label with two lines.")],
            "tools": [LABEL],
            "tool_choice": "required",
            "max_tokens": 512,
        },
        wanted=Wanted(calls=(1, None), names=frozenset({"print_label"}), stops=CALLED),
        twin=False,
    ),
    Scenario(
        name="parallel-calls",
        title="Several calls in one answer",
        conversation={
            "messages": [*ASKED_AGAIN],
            "tools": [WEATHER],
            "tool_choice": "required",
            "max_tokens": 256,
        },
        wanted=Wanted(calls=(1, None), names=frozenset({"get_weather"}), stops=CALLED),
    ),
    Scenario(
        name="parallel-calls-off",
        title="One call at most, where it is asked for",
        conversation={
            "messages": [*ASKED_AGAIN],
            "tools": [WEATHER],
            "tool_choice": "required",
            "parallel_tool_calls": False,
            "max_tokens": 256,
        },
        wanted=Wanted(calls=(1, 1), names=frozenset({"get_weather"}), stops=CALLED),
        twin=False,
        possible=lambda probing: probing.parallel_calls_off,
    ),
    Scenario(
        name="tool-result",
        title="An answer to the results of two calls",
        conversation={"messages": [*EARLIER], "tools": [WEATHER], "max_tokens": 128},
        wanted=Wanted(stops=ENDED | CALLED),
    ),
    Scenario(
        name="thinking",
        title="Thinking before the answer",
        conversation={
            "messages": [user("What is 17 times 23?")],
            "thinking": {"budget": 1024},
            "facts": {"thinking": "budget"},
            "max_tokens": 2048,
        },
        wanted=Wanted(calls=(0, 0), stops=ENDED),
        may_refuse=True,
        twin=False,
    ),
)
