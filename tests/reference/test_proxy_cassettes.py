"""The proxy translates every bundled answer to a legal stream with the same content."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from streamconform_proxy import ROUTES, StreamRelay
from streamconform_reference.apis.grammars import GRAMMARS
from streamconform_reference.healing import heal_tool_arguments
from streamconform_reference.outcome import Outcome, Refusal, Text, ToolCall

from .test_proxy_relay import TYPES, build_request, count_ids, decode

CASSETTES = Path(__file__).parents[2] / "cassettes"
SUFFIXES = {"ollama-chat": ".ndjson", "openai-chat": ".sse", "anthropic-messages": ".sse"}
HEALED = "anthropic-messages"
"""The client API whose arguments are always an object."""


def load_answers(upstream: str) -> Iterator[tuple[str, bytes, Outcome]]:
    """Yield every recorded and authored stream, with its outcome."""
    for path in sorted((CASSETTES / upstream).glob(f"*{SUFFIXES[upstream]}")):
        body = path.read_bytes()
        yield path.stem, body, decode(upstream, body)


def run_relay(names: tuple[str, str], body: bytes) -> bytes:
    relay = StreamRelay(build_request(*names), headers={"content-type": TYPES[names[1]]}, new_id=count_ids())
    output = relay.receive(body) + relay.end()
    assert relay.ended
    return output


def join_text(outcome: Outcome) -> str:
    return "".join(block.text for block in outcome.content if isinstance(block, (Text, Refusal)))


def select_client_calls(outcome: Outcome) -> list[ToolCall]:
    return [block for block in outcome.content if isinstance(block, ToolCall) and block.executor == "client"]


@pytest.mark.parametrize("names", ROUTES, ids=" ".join)
def test_the_content_passes_through(names: tuple[str, str]) -> None:
    client, upstream = names
    seen = 0
    for name, body, outcome in load_answers(upstream):
        relayed = decode(client, run_relay(names, body))
        assert relayed.status == ("complete" if outcome.status == "complete" else "error"), name
        assert join_text(relayed) == join_text(outcome), name
        if outcome.status == "complete":
            assert [call.name for call in select_client_calls(relayed)] == [
                call.name for call in select_client_calls(outcome)
            ], name
            for call, original in zip(
                select_client_calls(relayed), select_client_calls(outcome), strict=True
            ):
                healed = heal_tool_arguments(original.arguments_text or original.arguments)
                expected = healed if client == HEALED and original.complete else original.arguments
                assert call.arguments == expected, name
        seen += 1
    assert seen > 80


@pytest.mark.parametrize("names", ROUTES, ids=" ".join)
def test_it_is_a_legal_stream(names: tuple[str, str]) -> None:
    client, upstream = names
    for name, body, outcome in load_answers(upstream):
        if outcome.status == "complete":
            violations = GRAMMARS[client].of_body([run_relay(names, body)])
            broken = {violation.rule for violation in violations if violation.level != "may"}
            free = client != HEALED and any(
                not isinstance(call.arguments, dict) for call in select_client_calls(outcome)
            )
            assert broken <= ({"arguments-parse"} if free else set()), name


@pytest.mark.parametrize("names", ROUTES, ids=" ".join)
def test_an_unfinished_answer_has_no_terminal_event(names: tuple[str, str]) -> None:
    for name, body, outcome in load_answers(names[1]):
        if outcome.status != "complete":
            output = run_relay(names, body)
            assert b"message_stop" not in output, name
            assert b"[DONE]" not in output, name
            assert b'"error"' in output, name
