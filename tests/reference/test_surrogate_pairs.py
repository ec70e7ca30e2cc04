"""The halves of a character in two deltas are one character, in the texts and arguments of every API."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streamconform_dev.fuzz.exchange import assert_event_rules, decode

from . import bedrock_converse_streams as converse
from . import bedrock_invoke_streams as invoke
from . import cohere_chat_streams as cohere
from . import google_generate_streams as google
from . import google_interactions_streams as interactions
from . import ollama_chat_streams as ollama
from . import openai_chat_streams as chat
from . import openai_responses_streams as responses
from . import streams as anthropic

HALVES = ("a\ud83d", "\ude00b")
WHOLE = "a\U0001f600b"
FRAGMENTS = ('{"x":"a\ud83d', '\ude00b"}')


def escaped(body: bytes) -> bytes:
    """Return a text body with every surrogate as an escape, as servers write half a pair."""
    return body.decode("utf-8", "surrogatepass").encode("utf-8", "backslashreplace")


def in_chunks(*events: dict[str, Any]) -> bytes:
    return b"".join(invoke.wrapped(json.dumps(event).encode()) for event in events)


def anthropic_events(*blocks: dict[str, Any], reason: str = "end_turn") -> tuple[dict[str, Any], ...]:
    return anthropic.start(), *blocks, anthropic.ends(reason), anthropic.STOP


SAID = (anthropic.text(), *map(anthropic.says, HALVES), anthropic.stop())
CALLED = (anthropic.tool(0), *(anthropic.args(0, each) for each in FRAGMENTS), anthropic.stop())
THOUGHT = (
    anthropic.block(0, "thinking", thinking=""),
    *(anthropic.delta(0, "thinking_delta", thinking=each) for each in HALVES),
    anthropic.stop(),
)
FIRST, SECOND = FRAGMENTS
TEXTS = {
    "anthropic-messages": escaped(anthropic.sse(*anthropic_events(*SAID))),
    "bedrock-invoke": in_chunks(*anthropic_events(*SAID)),
    "bedrock-converse": converse.answer(*map(converse.says, HALVES), converse.stop()),
    "openai-chat": escaped(chat.whole(*map(chat.says, HALVES))),
    "openai-responses": escaped(
        responses.sse(responses.CREATED, *(responses.says(each) for each in HALVES), responses.completed())
    ),
    "google-generate": escaped(google.sse(*map(google.says, HALVES), google.ends())),
    "google-interactions": escaped(
        interactions.answer(
            interactions.start(0, "model_output"),
            *(interactions.delta(0, "text", text=each) for each in HALVES),
            interactions.stop(0),
        )
    ),
    "ollama-chat": escaped(ollama.lines(*map(ollama.record, HALVES), ollama.ends())),
    "cohere-chat": escaped(cohere.answer(cohere.begins(), *map(cohere.says, HALVES), cohere.ends())),
}
ARGUMENTS = {
    "anthropic-messages": escaped(anthropic.sse(*anthropic_events(*CALLED, reason="tool_use"))),
    "bedrock-invoke": in_chunks(*anthropic_events(*CALLED, reason="tool_use")),
    "bedrock-converse": converse.answer(
        converse.tool(0), *map(converse.args, FRAGMENTS), converse.stop(), reason="tool_use"
    ),
    "openai-chat": escaped(
        chat.whole(
            chat.calls(chat.call(id="c", name="f", args=FIRST)),
            chat.calls(chat.call(args=SECOND)),
            finish="tool_calls",
        )
    ),
    "openai-responses": escaped(
        responses.sse(
            responses.CREATED,
            responses.added(responses.call("")),
            *map(responses.args, FRAGMENTS),
            responses.completed(),
        )
    ),
    "google-interactions": escaped(
        interactions.answer(
            interactions.start(0, "function_call", id="c", name="f", arguments={}),
            *(interactions.delta(0, "arguments_delta", arguments=each) for each in FRAGMENTS),
            interactions.stop(0),
            status="requires_action",
        )
    ),
    "cohere-chat": escaped(
        cohere.answer(cohere.calls(), *map(cohere.args, FRAGMENTS), cohere.called(), reason="TOOL_CALL")
    ),
}


@pytest.mark.parametrize("api", TEXTS)
def test_the_halves_of_a_character_in_two_deltas_are_one(api: str) -> None:
    answer = decode(TEXTS[api], api=api)
    assert [block["text"] for block in answer.content] == [WHOLE]
    assert "".join(event.get("delta", "") for event in answer.events) == WHOLE
    assert_event_rules(answer)


@pytest.mark.parametrize("api", ARGUMENTS)
def test_the_halves_of_a_character_in_two_fragments_are_one(api: str) -> None:
    answer = decode(ARGUMENTS[api], api=api)
    assert [block["arguments"] for block in answer.content] == [{"x": WHOLE}]
    assert_event_rules(answer)


def test_the_halves_of_a_character_in_two_thoughts_are_one() -> None:
    bodies = {
        "anthropic-messages": escaped(anthropic.sse(*anthropic_events(*THOUGHT))),
        "openai-chat": escaped(chat.whole(*map(chat.thinks, HALVES))),
        "ollama-chat": escaped(ollama.lines(*map(ollama.thinks, HALVES), ollama.ends())),
        "bedrock-converse": converse.answer(
            *(converse.thinks(text=each) for each in HALVES), converse.stop()
        ),
    }
    for api, body in bodies.items():
        assert [block["text"] for block in decode(body, api=api).content] == [WHOLE], api
