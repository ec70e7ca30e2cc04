"""A small round trip: an answer with one call, the request with its result, and a text answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streamconform.adapters.interface import Observation
from streamconform.model.case import NOTHING_EXPECTED, Case, Level, RoundTripCase, Turn
from streamconform.model.trial import Delivered, RoundTrip, Trial
from streamconform.suite import expectation, request_expectation

from . import builders

OLLAMA = "ollama-chat"
CALL_EXPECT: Mapping[str, Any] = {
    "status": "complete",
    "stop": "tool_use",
    "content": [{"tool_call": {"name": "f", "arguments": {}}}],
}
REQUEST: Mapping[str, Any] = {"must": {"messages": [{"role": "user"}, {"role": "tool", "content": "1"}]}}
FIRST_OUTCOME: Mapping[str, Any] = {
    "status": "complete",
    "stop": {"reason": "tool_use"},
    "content": [{"type": "tool_call", "id": "a", "name": "f", "arguments": {}}],
}
MESSAGES: Sequence[Mapping[str, Any]] = ({"role": "user"}, {"role": "tool", "content": "1"})
GOOD = Observation(
    builders.TEXT_OUTCOME,
    earlier=(FIRST_OUTCOME,),
    requests=({"body": {"messages": [*MESSAGES[:1]]}}, {"body": {"messages": [*MESSAGES]}}),
)
"""The observation of a client that does everything right."""


def case(
    request: Mapping[str, Any] = REQUEST,
    first: Mapping[str, Any] | None = CALL_EXPECT,
    *,
    api: str = OLLAMA,
    level: Level = "must",
    body: bytes = b'{"id": "resp_1"}',
    results: tuple[Mapping[str, Any], ...] = ({"name": "f", "content": "1"},),
) -> RoundTripCase:
    head: dict[str, Any] = {
        "id": f"{api}/round-trip/small",
        "api": api,
        "title": "A small round trip",
        "level": level,
    }
    expect = NOTHING_EXPECTED if first is None else expectation.parse(first)
    return RoundTripCase(
        answers=(
            Case(cassette=builders.cassette(body, api=api), expect=expect, **head),
            Case(cassette=builders.cassette(api=api), expect=expectation.parse(builders.TEXT_EXPECT), **head),
        ),
        conversation={"model": "m", "messages": []},
        turns=(Turn(results),),
        requests=(request_expectation.parse(request),),
        **head,
    )


def trial(of: RoundTripCase | None = None) -> RoundTrip:
    of = of or case()
    answers = (Trial(answer, "whole", of.level, Delivered((answer.cassette.body,))) for answer in of.answers)
    return RoundTrip(of, tuple(answers))
