"""Build cases from the entries of specs, which match the schema. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

from msgspec import convert

from streamconform.model.behavior import Control, ScriptedReply, ScriptStep
from streamconform.model.case import (
    NOTHING_EXPECTED,
    AnyCase,
    BehaviorCase,
    BehaviorExpectation,
    CallCase,
    Case,
    Kind,
    RoundTripCase,
    Skip,
    Turn,
)
from streamconform.model.cassette import Cassette
from streamconform.model.outcome import Usage
from streamconform.model.trial import get_current_name
from streamconform.suite import expectation, request_expectation

COMMON: Final = "common"
"""The folder of specs that belong to no API."""
DEFAULT_KIND: Final = "stream"
"""The default kind, for a spec with no `kind` key."""


def get_kind(spec: Mapping[str, Any]) -> str:
    """Return the kind of the cases in a spec."""
    kind: str = spec.get("kind", DEFAULT_KIND)
    return kind


def build_case_id(spec: Mapping[str, Any], entry: Mapping[str, Any], api: str | None) -> str:
    """Return the id of the case in `entry`."""
    return f"{api or COMMON}/{spec['topic']}/{entry['id']}"


def read_head(
    spec: Mapping[str, Any], entry: Mapping[str, Any], path: str, line: int, api: str | None
) -> dict[str, Any]:
    """Return the fields of `CaseHead`, which cases of all kinds share."""
    return {
        "id": build_case_id(spec, entry, api),
        "api": api,
        "title": entry["title"],
        "level": entry.get("level", "must"),
        "why": entry.get("why"),
        "reviewed": entry.get("reviewed", True),
        "tags": frozenset(entry.get("tags", ())),
        "evidence": tuple(entry.get("evidence", ())),
        "sources": tuple(entry.get("sources", ())),
        "guards": tuple(entry.get("guards", ())),
        "path": path,
        "line": line,
    }


def list_cassettes(entry: Mapping[str, Any]) -> dict[tuple[str | int, ...], str]:
    """Return the name of each cassette of a case, by its place in the entry; a call has none."""
    if "streams" in entry:
        return {("streams", role): stream["cassette"] for role, stream in entry["streams"].items()}
    if "cassette" in entry:
        return {("cassette",): entry["cassette"]}
    return {("cassettes", number): name for number, name in enumerate(entry.get("cassettes", ()))}


def build_case(
    spec: Mapping[str, Any], entry: Mapping[str, Any], head: Mapping[str, Any], cassettes: Sequence[Cassette]
) -> AnyCase:
    """Return the case in `entry`; for a document, its cassette is the non-streaming exchange."""
    match get_kind(spec):
        case "stream" | "document" as kind:
            return build_stream_case(entry, cassettes[0], head, stream=kind == "stream")
        case "round_trip":
            return _build_round_trip(entry, cassettes, head)
        case "replay":
            return _build_replay(entry, cassettes, head)
        case "behavior":
            return _build_behavior(entry, cassettes, head)
        case "request" as kind:
            request = request_expectation.parse(entry["expect"])
            return CallCase(kind=kind, input=entry["conversation"], expect=request, **head)
        case kind:
            output = expectation.parse_output(entry["expect"])
            return CallCase(kind=cast(Kind, kind), input=entry["input"], expect=output, **head)


def build_stream_case(
    entry: Mapping[str, Any],
    cassette: Cassette,
    head: Mapping[str, Any],
    *,
    stream: bool = True,
    unavailable: str | None = None,
) -> Case:
    """Return the case of a cassette's body."""
    skip = entry.get("skip")
    return Case(
        cassette=cassette,
        expect=expectation.parse(entry["expect"]),
        pricing=entry.get("pricing"),
        usage_seen=tuple(Usage(**usage) for usage in entry.get("usage_seen", ())),
        models_seen=tuple(entry.get("models_seen", ())),
        seen_in=entry.get("seen_in"),
        skip=None if skip is None else _parse_skip(skip),
        stream=stream,
        unavailable=unavailable,
        **head,
    )


def _parse_skip(skip: Mapping[str, Any]) -> Skip:
    deliveries = frozenset(map(get_current_name, skip.get("deliveries", ())))
    return Skip(skip["why"], deliveries, frozenset(skip.get("faults", ())))


def _build_round_trip(
    entry: Mapping[str, Any], cassettes: Sequence[Cassette], head: Mapping[str, Any]
) -> RoundTripCase:
    """Return the case of two requests."""
    expect = entry["expect"]
    turns = (Turn(results=tuple(entry["results"])),)
    return _join_answers(entry, cassettes, (expect.get("first"),), turns, (expect["request"],), head)


def _build_replay(
    entry: Mapping[str, Any], cassettes: Sequence[Cassette], head: Mapping[str, Any]
) -> RoundTripCase:
    """Return the case of a request and its answer, and of one more of each per turn."""
    turns = tuple(
        Turn(tuple(turn.get("results", ())), tuple(turn.get("messages", ()))) for turn in entry["turns"]
    )
    earlier = tuple(turn.get("answer") for turn in entry["turns"])
    requests = tuple(turn.get("request", {}) for turn in entry["turns"])
    return _join_answers(entry, cassettes, earlier, turns, requests, head)


def _join_answers(
    entry: Mapping[str, Any],
    cassettes: Sequence[Cassette],
    earlier: Sequence[Mapping[str, Any] | None],
    turns: tuple[Turn, ...],
    requests: Iterable[Mapping[str, Any]],
    head: Mapping[str, Any],
) -> RoundTripCase:
    """Return the case whose answers, but for the last, have the expected outcomes in `earlier`."""
    expected = [*(NOTHING_EXPECTED if each is None else expectation.parse(each) for each in earlier)]
    expected.append(expectation.parse(entry["expect"]["outcome"]))
    pricing = entry.get("pricing")
    return RoundTripCase(
        answers=tuple(
            Case(cassette=cassette, expect=expect, pricing=pricing, **head)
            for cassette, expect in zip(cassettes, expected, strict=True)
        ),
        conversation=entry["conversation"],
        turns=turns,
        requests=tuple(map(request_expectation.parse, requests)),
        bound=entry.get("bound", False),
        **head,
    )


_ALL: Final = (ScriptStep("send", "all"), ScriptStep("end"))


def _build_behavior(
    entry: Mapping[str, Any], cassettes: Sequence[Cassette], head: Mapping[str, Any]
) -> BehaviorCase:
    """Return the case of a script (`suite.scripts` has added it to the entry)."""
    streams = {
        role: build_stream_case(stream, cassette, head)
        for (role, stream), cassette in zip(entry["streams"].items(), cassettes, strict=True)
    }
    return BehaviorCase(
        control=convert(entry.get("control", {}), Control),
        streams=streams,
        halves={role: stream["half"] for role, stream in entry["streams"].items() if "half" in stream},
        replies=tuple(map(_parse_reply, entry["server"])),
        expect=convert(entry["expect"], BehaviorExpectation),
        **head,
    )


def _parse_reply(reply: Mapping[str, Any]) -> ScriptedReply:
    steps = tuple(map(_parse_step, reply["steps"])) if "steps" in reply else _ALL
    return ScriptedReply(
        reply.get("stream", "error" if "status" in reply else "text"),
        steps,
        reply.get("status"),
        reply.get("headers", {}),
        reply.get("answers", True),
    )


def _parse_step(step: str | Mapping[str, Any]) -> ScriptStep:
    name, amount = (step, None) if isinstance(step, str) else next(iter(step.items()))
    return convert({"name": name, "amount": amount}, ScriptStep)
