"""Play round trips with a parser and builder of requests: the answer that was read goes into the next."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from streamconform.adapters.interface import Answer, Observation, Output
from streamconform.adapters.program import Collateral
from streamconform.model.case import CallCase, Turn
from streamconform.model.request import RequestExpectation
from streamconform.model.trial import Call, RoundTrip, Trial

Json = Mapping[str, Any]
Ask = Callable[[Trial | Call], Awaitable[Answer | Collateral]]
"""Runs an implementation on one answer, or lets it build one request."""


async def play(trial: RoundTrip, ask: Ask) -> Answer | Collateral:
    """Return the requests that were built and the outcomes of the answers, or the first failure.

    The conversation ends early after an answer that the implementation could not read.
    """
    conversation: Json = trial.case.conversation
    requests: list[Any] = []
    earlier: list[Any] = []
    for index, answer in enumerate(trial.answers):
        built = await ask(_make_call(trial, conversation))
        if not isinstance(built, Output):
            return built
        requests.append(built.value)
        seen = await ask(answer)
        if not isinstance(seen, Observation):
            return seen
        if index == len(trial.case.turns) or not _is_readable(seen):
            return replace(seen, earlier=tuple(earlier), requests=tuple(requests))
        earlier.append(seen.outcome)
        conversation = extend(conversation, seen.outcome, trial.case.turns[index])
    raise AssertionError("there is one turn fewer than there are answers")


def extend(conversation: Json, outcome: Json, turn: Turn) -> Json:
    """Return the conversation with an answer in the normal form, and with what the client adds to it.

    An answer that failed is no part of the conversation; the client asks again.
    """
    answer: dict[str, Any] = {"role": "assistant", "content": [*map(_drop_nulls, outcome["content"])]}
    for name in ("response_id", "echo"):
        if outcome.get(name) is not None:
            answer[name] = outcome[name]
    reason = (outcome.get("stop") or {}).get("reason")
    if reason is not None:
        answer["stop"] = reason
    results = [*_pair_results(turn.results, answer["content"])]
    answers = [] if outcome.get("status") == "error" else [answer]
    added = [*answers, *([{"role": "tool", "results": results}] if results else []), *turn.messages]
    return {**conversation, "messages": [*conversation["messages"], *added]}


def _drop_nulls(block: Json) -> Json:
    """Return a block without the members that are null; for arguments, null is a value."""
    return {name: value for name, value in block.items() if value is not None or name == "arguments"}


def _pair_results(results: Iterable[Json], content: Iterable[Json]) -> Iterator[Json]:
    """Yield each result with the id of the first call of its name that has no result yet, if there is one."""
    calls = [
        block for block in content if block["type"] == "tool_call" and block.get("executor") != "provider"
    ]
    for result in results:
        call = next((call for call in calls if call.get("name") == result["name"]), None)
        if call is not None:
            calls.remove(call)
            yield {**result, "id": call.get("id") or call["name"]}


def _is_readable(seen: Observation) -> bool:
    content = seen.outcome.get("content") if isinstance(seen.outcome, Mapping) else None
    is_list = isinstance(content, list)
    return is_list and all(isinstance(block, Mapping) and "type" in block for block in content or ())


def _make_call(trial: RoundTrip, conversation: Json) -> Call:
    case = trial.case
    return Call(
        CallCase(
            id=case.id,
            api=case.api,
            title=case.title,
            kind="request",
            input=conversation,
            expect=RequestExpectation(),
        )
    )
