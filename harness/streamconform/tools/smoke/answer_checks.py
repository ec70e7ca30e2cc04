"""Checks of what is answered: the normal form, the small streams read right, and the same each time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from streamconform.adapters.interface import Raised
from streamconform.adapters.protocol import RAISED_OUTCOME, parse_raised
from streamconform.judge import decode, invariants
from streamconform.model.outcome import STATUSES
from streamconform.tools.smoke.protocol_checks import Problem, anything_asked
from streamconform.tools.smoke.schema_messages import misfits, shown
from streamconform.tools.smoke.transcript import Stream, Transcript, claimed


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one run."""

    step: str
    stream: Stream
    outcome: Any
    events: Any
    raised: Raised | None = None
    """The exception of the library, if the result has one."""


def answers(seen: Transcript) -> Iterator[Answer]:
    """Yield every outcome that was given for a stream; an exception alone gives one too."""
    for each in seen.exchanges:
        for id_, result in each.results.items():
            stream, raised = each.asked[id_], parse_raised(result.get("raised"))
            if stream is not None and "outcome" in result:
                yield Answer(each.step, stream, result["outcome"], each.events(id_), raised)
            elif stream is not None and raised is not None:
                yield Answer(each.step, stream, RAISED_OUTCOME, [], raised)


def empty_answers(seen: Transcript) -> str | None:
    """Return why an adapter without any content is no finding, or None."""
    return any_outcome(seen) or (None if any(map(_is_whole, answers(seen))) else "no whole stream was read")


def content(seen: Transcript) -> Iterator[Problem]:
    """Yield one problem if no stream gave any content, as with an adapter that is not filled in yet."""
    if _is_empty(seen):
        yield Problem(
            "every outcome is empty, for a text and for a tool call; pass the stream to your library, and "
            "return what it reads"
        )


def any_content(seen: Transcript) -> str | None:
    """Return why the content is not compared, or None."""
    return any_outcome(seen) or ("there is no content" if _is_empty(seen) else None)


def any_outcome(seen: Transcript) -> str | None:
    """Return why there is no outcome to look at, or None."""
    return anything_asked(seen) or (None if any(answers(seen)) else "no outcome came")


def events_claimed(seen: Transcript) -> str | None:
    """Return why events are not looked at, or None."""
    wanted = any("events" in claimed(seen.hello, each.stream.api) for each in answers(seen))
    return any_outcome(seen) or (None if wanted else "events are not claimed")


def concurrent(seen: Transcript) -> str | None:
    """Return why no two runs were asked together, or None."""
    there = any(each.step == "two at once" for each in seen.exchanges)
    return anything_asked(seen) or (None if there else "one run at a time is claimed")


def outcome_form(seen: Transcript) -> Iterator[Problem]:
    """Yield what does not fit the schema of outcomes."""
    for each in answers(seen):
        for words in misfits("outcome.v1", each.outcome, "outcome"):
            yield Problem(words, each.step)


def arguments(seen: Transcript) -> Iterator[Problem]:
    """Yield arguments that are still text."""
    for each in answers(seen):
        for number, block in enumerate(_blocks(each.outcome)):
            given = block.get("arguments")
            if isinstance(given, str) and isinstance(_json(given), Mapping):
                where = f"outcome.content[{number}].arguments"
                words = f"{where} is the text {shown(given)}; parse it, and put the text in `arguments_text`"
                yield Problem(words, each.step)


def reading(seen: Transcript) -> Iterator[Problem]:
    """Yield where a stream that could not be simpler is not read as anybody reads it."""
    for each in answers(seen):
        if each.step == f"{each.stream.api} {each.stream.name}" and isinstance(each.outcome, Mapping):
            for words in _misread(each, claimed(seen.hello, each.stream.api)):
                yield Problem(words, each.step)


def event_form(seen: Transcript) -> Iterator[Problem]:
    """Yield events that were claimed and did not come, and those that do not fit their schema."""
    for each in _with_events(seen):
        if each.events is None:
            yield Problem("events are claimed, but none came; send them, or do not claim `events`", each.step)
        elif not isinstance(each.events, list):
            yield Problem(f"events are {shown(each.events)}; expected a list", each.step)
        else:
            for number, event in enumerate(each.events):
                for words in misfits("event.v1", event, f"events[{number}]"):
                    yield Problem(words, each.step)


def event_order(seen: Transcript) -> Iterator[Problem]:
    """Yield where events do not fit each other or the outcome."""
    for each in _with_events(seen):
        try:
            outcome, events = decode.decode_outcome(each.outcome), decode.decode_events(each.events)
        except decode.MalformedError:
            continue  # that is told by the checks of the forms
        for rule in invariants.EVENT_RULES.values():
            words = rule(outcome, events)
            if words is not None:
                yield Problem(words, each.step)


def determinism(seen: Transcript) -> Iterator[Problem]:
    """Yield the runs that gave another outcome when they were asked again."""
    for first, later in _pairs(seen, " again"):
        if first.outcome != later.outcome:
            words = "the outcome is another one when the same run is asked again"
            yield Problem(f"{words}: {_difference(first.outcome, later.outcome)}", first.step)
        elif first.events != later.events:
            yield Problem("the events are others when the same run is asked again", first.step)


def unknown_field(seen: Transcript) -> Iterator[Problem]:
    """Yield what a field that nobody knows yet does to the outcome."""
    for each in seen.exchanges if any(answers(seen)) else ():
        if each.step == "unknown field" and not any(
            "outcome" in one or "raised" in one for one in each.results.values()
        ):
            yield Problem("a run with a field that it does not know was not answered; ignore such fields")
    for first, later in _pairs(seen, "unknown field"):
        if first.outcome != later.outcome:
            words = "a field that it does not know changes the outcome; ignore such fields"
            yield Problem(f"{words}: {_difference(first.outcome, later.outcome)}")


def together(seen: Transcript) -> Iterator[Problem]:
    """Yield where two runs in flight got mixed."""
    for first, later in _pairs(seen, "two at once"):
        if first.outcome != later.outcome:
            words = f"{first.stream.name} has another outcome when two runs are in flight"
            yield Problem(f"{words}: {_difference(first.outcome, later.outcome)}; keep them apart by id")


def _is_whole(answer: Answer) -> bool:
    return answer.stream.status == "complete"


def _is_empty(seen: Transcript) -> bool:
    """Return whether whole streams were answered, none with content, and none with the reason for that."""
    whole = [each for each in answers(seen) if _is_whole(each)]
    return bool(whole) and all(_has_empty_content(each) and not _explain_error(each) for each in whole)


def _has_empty_content(answer: Answer) -> bool:
    blocks = answer.outcome.get("content") if isinstance(answer.outcome, Mapping) else None
    return isinstance(blocks, list) and all(block == {"type": "text", "text": ""} for block in blocks)


def _explain_error(answer: Answer) -> str:
    """Return the exception or the error that an answer reports, or an empty text."""
    if answer.raised is not None:
        where = f", at {answer.raised.where}" if answer.raised.where else ""
        return f"the library raised {answer.raised.type}: {answer.raised.message}{where}"
    error = answer.outcome.get("error") if isinstance(answer.outcome, Mapping) else None
    if not isinstance(error, Mapping) or not (error.get("message") or error.get("type")):
        return ""
    name = f"{shown(error['type'])}: " if error.get("type") else ""
    return f"outcome.error is {name}{shown(error.get('message'))}"


def _with_events(seen: Transcript) -> Iterator[Answer]:
    answered = (each for each in answers(seen) if each.outcome is not RAISED_OUTCOME)
    return (each for each in answered if "events" in claimed(seen.hello, each.stream.api))


def _pairs(seen: Transcript, step: str) -> Iterator[tuple[Answer, Answer]]:
    """Yield the first answer for each stream and its answer in steps that are called so."""
    first: dict[tuple[str, str], Answer] = {}
    for each in answers(seen):
        found = first.setdefault((each.stream.api, each.stream.name), each)
        if each is not found and each.step.endswith(step):
            yield found, each


def _misread(each: Answer, claims: frozenset[str]) -> Iterator[str]:
    stream, status, blocks = each.stream, each.outcome.get("status"), _blocks(each.outcome)
    if status == "error":
        # A broken stream may be an error. The content of a whole one is not compared: the error explains it.
        if _is_whole(each):
            reason = _explain_error(each) or "put the reason into outcome.error.message"
            yield f'outcome.status is "error"; expected `{stream.status}`: {reason}'
        return
    if status != stream.status and status in STATUSES:
        why = "its end did not come" if stream.status == "incomplete" else "its end came"
        yield f"outcome.status is {shown(status)}; expected `{stream.status}`, as {why}"
    if any("content" in misfit for misfit in misfits("outcome.v1", each.outcome, "outcome")):
        return  # told by the check of the form
    if stream.text is not None:
        text = "".join(str(block.get("text")) for block in blocks if block.get("type") == "text")
        whole = stream.status == "complete"
        if text != stream.text and (whole or not stream.text.startswith(text)):
            yield f"the text is {shown(text)}; expected {shown(stream.text)}"
    if stream.call is not None and "tool_calls" in claims:
        calls = [
            {"name": block.get("name"), "arguments": _untangled(block.get("arguments"))}
            for block in blocks
            if block.get("type") == "tool_call"
        ]
        if calls != [stream.call]:
            yield f"the tool calls are {shown(calls)}; expected {shown([stream.call])}"


def _untangled(given: Any) -> Any:
    """Return arguments as a value, where they are still text; the check of arguments tells of that."""
    return _json(given) or given if isinstance(given, str) else given


def _blocks(outcome: Any) -> list[Mapping[str, Any]]:
    content = outcome.get("content") if isinstance(outcome, Mapping) else None
    return [each for each in content if isinstance(each, Mapping)] if isinstance(content, list) else []


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _difference(one: Any, other: Any) -> str:
    """Return the first place, by key, at which two JSON values part."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        key = next(key for key in sorted({*one, *other}) if one.get(key) != other.get(key))
        return f"`{key}` {_difference(one.get(key), other.get(key))}"
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        number = next(i for i, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1])
        return f"[{number}] {_difference(one[number], other[number])}"
    return f"{shown(one)}, then {shown(other)}"
