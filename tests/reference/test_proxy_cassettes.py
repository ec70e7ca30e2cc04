"""The proxy in front of every bundled answer: the content passes through, in a legal stream."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from streamconform_proxy import ROUTES, Relay
from streamconform_reference.apis.grammars import GRAMMARS
from streamconform_reference.healing import heal_tool_arguments
from streamconform_reference.outcome import Outcome, Refusal, Text, ToolCall

from .test_proxy_relay import TYPES, asked, decoded, digits

CASSETTES = Path(__file__).parents[2] / "cassettes"
SUFFIXES = {"ollama-chat": ".ndjson", "openai-chat": ".sse", "anthropic-messages": ".sse"}
HEALED = "anthropic-messages"
"""The client's api in which arguments are an object whatever the upstream says."""


def answers(upstream: str) -> Iterator[tuple[str, bytes, Outcome]]:
    """Yield every recorded and authored stream, with its outcome."""
    for path in sorted((CASSETTES / upstream).glob(f"*{SUFFIXES[upstream]}")):
        body = path.read_bytes()
        yield path.stem, body, decoded(upstream, body)


def relayed(names: tuple[str, str], body: bytes) -> bytes:
    to = Relay(asked(*names), headers={"content-type": TYPES[names[1]]}, new_id=digits())
    told = to.receive(body) + to.end()
    assert to.ended
    return told


def text(outcome: Outcome) -> str:
    return "".join(block.text for block in outcome.content if isinstance(block, (Text, Refusal)))


def calls(outcome: Outcome) -> list[ToolCall]:
    return [block for block in outcome.content if isinstance(block, ToolCall) and block.executor == "client"]


@pytest.mark.parametrize("names", ROUTES, ids=" ".join)
def test_the_content_passes_through(names: tuple[str, str]) -> None:
    client, upstream = names
    seen = 0
    for name, body, given in answers(upstream):
        got = decoded(client, relayed(names, body))
        assert got.status == ("complete" if given.status == "complete" else "error"), name
        assert text(got) == text(given), name
        if given.status == "complete":
            assert [call.name for call in calls(got)] == [call.name for call in calls(given)], name
            for call, said in zip(calls(got), calls(given), strict=True):
                healed = heal_tool_arguments(said.arguments_text or said.arguments)
                wanted = healed if client == HEALED and said.complete else said.arguments
                assert call.arguments == wanted, name
        seen += 1
    assert seen > 80


@pytest.mark.parametrize("names", ROUTES, ids=" ".join)
def test_it_is_a_legal_stream(names: tuple[str, str]) -> None:
    client, upstream = names
    for name, body, given in answers(upstream):
        if given.status == "complete":
            found = GRAMMARS[client].of_body([relayed(names, body)])
            broken = {each.rule for each in found if each.level != "may"}
            free = client != HEALED and any(not isinstance(each.arguments, dict) for each in calls(given))
            assert broken <= ({"arguments-parse"} if free else set()), name


@pytest.mark.parametrize("names", ROUTES, ids=" ".join)
def test_an_answer_that_did_not_end_has_no_end(names: tuple[str, str]) -> None:
    for name, body, given in answers(names[1]):
        if given.status != "complete":
            told = relayed(names, body)
            assert b"message_stop" not in told, name
            assert b"[DONE]" not in told, name
            assert b'"error"' in told, name
