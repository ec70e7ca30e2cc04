"""The questions of a probe: neutral conversations, and the expected answer to each.

A small model may answer badly, so only the server's own part is checked: it calls a required tool, keeps a
token limit, stops at a stop sequence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from streamconform.apis.api import Probing

Json = dict[str, Any]
Kind = Literal["stream", "twin", "refusal", "count"]
"""Streamed, not streamed, a bad request, or a token count."""

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
class ExpectedAnswer:
    """The expected content of an answer; its form is the grammar's part."""

    calls: tuple[int, int | None] | None = None
    """Minimum and maximum number of calls of the client's tools; None: any number."""
    names: frozenset[str] = frozenset()
    """Tools that may be called; empty: calls are not checked."""
    stops: frozenset[str] = frozenset()
    """Allowed stop reasons, in the normal form."""
    excluded_text: str | None = None
    """The stop sequence, which the text must not contain."""


def applies_to_every_api(probing: Probing) -> bool:
    """Return True: every API can express this request."""
    del probing
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One question and its expected answer."""

    name: str
    title: str
    conversation: Mapping[str, Any]
    """As `build_request` takes it, without the model."""
    expected: ExpectedAnswer = field(default_factory=ExpectedAnswer)
    stop: str | None = None
    """A stop sequence, for the APIs that support them."""
    may_refuse: bool = False
    """Whether a server may refuse, because its model cannot do this."""
    twin: bool = True
    """Whether to ask again without streaming."""
    possible: Callable[[Probing], bool] = applies_to_every_api
    """Whether an API can express the question."""


def make_user_message(text: str) -> Json:
    """Return a message of the user."""
    return {"role": "user", "content": text}


def make_call(name: str, id_: str, arguments: Mapping[str, Any]) -> Json:
    """Return a tool call as a content block."""
    return {
        "type": "tool_call",
        "id": id_,
        "name": name,
        "arguments": dict(arguments),
        "arguments_text": None,
        "complete": True,
        "executor": "client",
    }


def make_echo(text: str) -> tuple[Json, Json]:
    """Return a user message and an answer that repeats it: even the smallest model continues the pattern."""
    return make_user_message(text), {"role": "assistant", "content": [{"type": "text", "text": text}]}


def _make_results(**texts: str) -> Json:
    results = [{"id": key, "name": "get_weather", "content": text} for key, text in texts.items()]
    return {"role": "tool", "results": results}


FIRST_QUESTION: Final = (
    make_user_message("What is the weather in London and in Madrid?"),
    {
        "role": "assistant",
        "content": [
            make_call("get_weather", "call_1", {"city": "London"}),
            make_call("get_weather", "call_2", {"city": "Madrid"}),
        ],
    },
    _make_results(call_1='{"temp": 12}', call_2='{"temp": 25}'),
)
SECOND_QUESTION: Final = (
    *FIRST_QUESTION,
    {"role": "assistant", "content": [{"type": "text", "text": "It is 12 degrees in London, 25 in Madrid."}]},
    make_user_message("What is the weather in Paris and in Rome?"),
)
CALLED: Final = frozenset({"tool_use"})
ENDED: Final = frozenset({"stop", "length"})
"""A text answer ends by itself, or at the token limit that keeps a probe short."""

SCENARIOS: Final = (
    Scenario(
        name="text",
        title="A short answer",
        conversation={"messages": [make_user_message("What is the capital of France?")], "max_tokens": 64},
        expected=ExpectedAnswer(calls=(0, 0), stops=ENDED),
    ),
    Scenario(
        name="unicode",
        title="An answer that begins with multi-byte characters",
        conversation={
            "messages": [
                *make_echo("Zoë 日本語 🎉🚀"),
                *make_echo("東京 café 🚆"),
                make_user_message("🎉 naïve 日本 Kraków"),
            ],
            "max_tokens": 64,
        },
        expected=ExpectedAnswer(calls=(0, 0), stops=ENDED),
        twin=False,
    ),
    Scenario(
        name="system-prompt",
        title="A system prompt before the question",
        conversation={
            "system": "You are a pirate. Answer in one sentence.",
            "messages": [make_user_message("Who are you?")],
            "max_tokens": 64,
        },
        expected=ExpectedAnswer(calls=(0, 0), stops=ENDED),
        twin=False,
    ),
    Scenario(
        name="max-tokens",
        title="An answer that reaches its token limit",
        conversation={"messages": [make_user_message("Tell a long story about a dog.")], "max_tokens": 16},
        expected=ExpectedAnswer(calls=(0, 0), stops=frozenset({"length"})),
    ),
    Scenario(
        name="stop-sequence",
        title="An answer with a stop sequence",
        conversation={
            "messages": [make_user_message("Count: one, two, three, four, five, six")],
            "max_tokens": 64,
        },
        expected=ExpectedAnswer(calls=(0, 0), stops=ENDED, excluded_text="five"),
        stop="five",
        possible=lambda probing: bool(probing.stop_sequences),
    ),
    Scenario(
        name="tool-call",
        title="A required tool call",
        conversation={
            "messages": [*SECOND_QUESTION[:-1], make_user_message("What is the weather in Paris?")],
            "tools": [WEATHER, TIME],
            "tool_choice": "required",
            "max_tokens": 256,
        },
        expected=ExpectedAnswer(calls=(1, None), names=frozenset({"get_weather", "get_time"}), stops=CALLED),
    ),
    Scenario(
        name="named-tool",
        title="A required call of a named tool without parameters",
        conversation={
            "messages": [make_user_message("What time is it?")],
            "tools": [WEATHER, TIME],
            "tool_choice": {"name": "get_time"},
            "max_tokens": 256,
        },
        expected=ExpectedAnswer(calls=(1, None), names=frozenset({"get_time"}), stops=CALLED),
        possible=lambda probing: probing.tool_by_name,
    ),
    Scenario(
        name="nested-arguments",
        title="Nested arguments with quotes, backslashes and other scripts",
        conversation={
            "messages": [make_user_message("Print the label with two lines.")],
            "tools": [LABEL],
            "tool_choice": "required",
            "max_tokens": 512,
        },
        expected=ExpectedAnswer(calls=(1, None), names=frozenset({"print_label"}), stops=CALLED),
        twin=False,
    ),
    Scenario(
        name="parallel-calls",
        title="Several calls in one answer",
        conversation={
            "messages": [*SECOND_QUESTION],
            "tools": [WEATHER],
            "tool_choice": "required",
            "max_tokens": 256,
        },
        expected=ExpectedAnswer(calls=(1, None), names=frozenset({"get_weather"}), stops=CALLED),
    ),
    Scenario(
        name="parallel-calls-off",
        title="At most one call, as requested",
        conversation={
            "messages": [*SECOND_QUESTION],
            "tools": [WEATHER],
            "tool_choice": "required",
            "parallel_tool_calls": False,
            "max_tokens": 256,
        },
        expected=ExpectedAnswer(calls=(1, 1), names=frozenset({"get_weather"}), stops=CALLED),
        twin=False,
        possible=lambda probing: probing.parallel_calls_off,
    ),
    Scenario(
        name="tool-result",
        title="An answer to the results of two calls",
        conversation={"messages": [*FIRST_QUESTION], "tools": [WEATHER], "max_tokens": 128},
        expected=ExpectedAnswer(stops=ENDED | CALLED),
    ),
    Scenario(
        name="thinking",
        title="Thinking before the answer",
        conversation={
            "messages": [make_user_message("What is 17 times 23?")],
            "thinking": {"budget": 1024},
            "facts": {"thinking": "budget"},
            "max_tokens": 2048,
        },
        expected=ExpectedAnswer(calls=(0, 0), stops=ENDED),
        may_refuse=True,
        twin=False,
    ),
)
