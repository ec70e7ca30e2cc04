"""Check the answers: they are in the normal form, correct for small streams, and always the same."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from streamconform.adapters.protocol import RAISED_OUTCOME
from streamconform.causes.raised import ExceptionRecord, format_raised, parse_raised
from streamconform.judge import decode, invariants
from streamconform.model.outcome import STATUSES
from streamconform.smoke.protocol_checks import SmokeProblem, skip_without_runs
from streamconform.smoke.schema_messages import find_mismatches, format_value
from streamconform.smoke.transcript import SampleStream, Transcript, read_claims


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """The answer to one run."""

    step: str
    stream: SampleStream
    outcome: Any
    events: Any
    raised: ExceptionRecord | None = None
    """The library's exception, if the result has one."""


def iter_answers(transcript: Transcript) -> Iterator[RunAnswer]:
    """Yield every outcome that the adapter returned for a stream; an exception alone implies an outcome."""
    for record in transcript.steps:
        for id_, result in record.results.items():
            stream, raised = record.streams[id_], parse_raised(result.get("raised"))
            if stream is not None and "outcome" in result:
                yield RunAnswer(record.step, stream, result["outcome"], record.find_events(id_), raised)
            elif stream is not None and raised is not None:
                yield RunAnswer(record.step, stream, RAISED_OUTCOME, None, raised)


def skip_without_outcomes(transcript: Transcript) -> str | None:
    """Return the reason to skip a check that needs outcomes, or None."""
    return skip_without_runs(transcript) or (None if any(iter_answers(transcript)) else "no outcomes")


def skip_without_whole_streams(transcript: Transcript) -> str | None:
    """Return the reason to skip a check that needs the outcome of a complete stream, or None."""
    whole = any(map(_is_whole, iter_answers(transcript)))
    return skip_without_outcomes(transcript) or (None if whole else "no outcome for a complete stream")


def skip_without_content(transcript: Transcript) -> str | None:
    """Return the reason to skip a check that needs content, or None."""
    return skip_without_outcomes(transcript) or ("no content" if _has_no_content(transcript) else None)


def skip_without_events(transcript: Transcript) -> str | None:
    """Return the reason to skip a check that needs events, or None."""
    claimed = any(
        "events" in read_claims(transcript.hello, answer.stream.api) for answer in iter_answers(transcript)
    )
    return skip_without_outcomes(transcript) or (None if claimed else "`events` is not claimed")


def skip_without_concurrency(transcript: Transcript) -> str | None:
    """Return the reason to skip a check that needs two runs in flight, or None."""
    concurrent = any(record.step == "two at once" for record in transcript.steps)
    return skip_without_runs(transcript) or (None if concurrent else "the adapter takes one run at a time")


def check_outcome_form(transcript: Transcript) -> Iterator[SmokeProblem]:
    """Yield outcomes that do not match their schema."""
    for answer in iter_answers(transcript):
        for message in find_mismatches("outcome.v1", answer.outcome, "outcome"):
            yield SmokeProblem(message, answer.step)


def check_content(transcript: Transcript) -> Iterator[SmokeProblem]:
    """Yield one problem if no stream produced any content, as happens if the adapter is still a template."""
    if _has_no_content(transcript):
        yield SmokeProblem(
            "the outcome of every stream is empty; pass the stream to your library, and return its result"
        )


def check_arguments(transcript: Transcript) -> Iterator[SmokeProblem]:
    """Yield arguments that are still text."""
    for answer in iter_answers(transcript):
        for index, block in enumerate(_get_blocks(answer.outcome)):
            arguments = block.get("arguments")
            if isinstance(arguments, str) and isinstance(_parse_json(arguments), Mapping):
                path = f"outcome.content[{index}].arguments"
                yield SmokeProblem(
                    f"{path} is the string {format_value(arguments)}; "
                    "parse it, and put the text in `arguments_text`",
                    answer.step,
                )


def check_reading(transcript: Transcript) -> Iterator[SmokeProblem]:
    """Yield the streams that the adapter reads wrongly."""
    for answer in iter_answers(transcript):
        # The repeated steps have separate checks, so that a misreading is reported once.
        first_time = answer.step == f"{answer.stream.api} {answer.stream.name}"
        if first_time and isinstance(answer.outcome, Mapping):
            for message in _find_misreadings(answer, read_claims(transcript.hello, answer.stream.api)):
                yield SmokeProblem(message, answer.step)


def check_event_form(transcript: Transcript) -> Iterator[SmokeProblem]:
    """Yield claimed events that are missing, and events that do not match their schema."""
    for answer in _iter_answers_with_events(transcript):
        if answer.events is None:
            yield SmokeProblem(
                "`events` is claimed, but none were sent; send them, or do not claim `events`", answer.step
            )
        elif not isinstance(answer.events, list):
            yield SmokeProblem(f"events are {format_value(answer.events)}; expected a list", answer.step)
        else:
            for index, event in enumerate(answer.events):
                for message in find_mismatches("event.v1", event, f"events[{index}]"):
                    yield SmokeProblem(message, answer.step)


def check_event_order(transcript: Transcript) -> Iterator[SmokeProblem]:
    """Yield events that contradict each other or the outcome."""
    for answer in _iter_answers_with_events(transcript):
        try:
            outcome, events = decode.decode_outcome(answer.outcome), decode.decode_events(answer.events)
        except decode.MalformedError:
            continue  # already reported by the checks of their form
        for rule in invariants.EVENT_RULES.values():
            message = rule(outcome, events)
            if message is not None:
                yield SmokeProblem(message, answer.step)


def check_determinism(transcript: Transcript) -> Iterator[SmokeProblem]:
    """Yield runs that give a different outcome or events when repeated."""
    for first, later in _pair_answers(transcript, " again"):
        if first.outcome != later.outcome:
            difference = _describe_difference(first.outcome, later.outcome)
            yield SmokeProblem(f"the outcome differs when the same run is repeated: {difference}", first.step)
        elif first.events != later.events:
            yield SmokeProblem("the events differ when the same run is repeated", first.step)


def check_unknown_field(transcript: Transcript) -> Iterator[SmokeProblem]:
    """Yield outcomes that an unknown field in the run message changes or prevents."""
    # If no run at all has an answer, the unknown field is not the reason.
    for record in transcript.steps if any(iter_answers(transcript)) else ():
        answered = any("outcome" in result or "raised" in result for result in record.results.values())
        if record.step == "unknown field" and not answered:
            yield SmokeProblem("no outcome for a run with an unknown field; ignore such fields")
    for first, later in _pair_answers(transcript, "unknown field"):
        if first.outcome != later.outcome:
            difference = _describe_difference(first.outcome, later.outcome)
            yield SmokeProblem(f"an unknown field changes the outcome; ignore such fields: {difference}")


def check_concurrency(transcript: Transcript) -> Iterator[SmokeProblem]:
    """Yield runs whose outcome differs while another run is in flight."""
    for first, later in _pair_answers(transcript, "two at once"):
        if first.outcome != later.outcome:
            difference = _describe_difference(first.outcome, later.outcome)
            yield SmokeProblem(
                f"the outcome of `{first.stream.name}` differs while another run is in flight: "
                f"{difference}; keep runs apart by id"
            )


def _iter_answers_with_events(transcript: Transcript) -> Iterator[RunAnswer]:
    for answer in iter_answers(transcript):
        # An exception without an outcome cuts the events short, and a document has none.
        if (
            answer.stream.trial.case.stream
            and "events" in read_claims(transcript.hello, answer.stream.api)
            and answer.outcome is not RAISED_OUTCOME
        ):
            yield answer


def _is_whole(answer: RunAnswer) -> bool:
    return answer.stream.status == "complete"


def _has_no_content(transcript: Transcript) -> bool:
    """Return whether every answer to a complete stream lacks both content and an error that explains why."""
    whole = [answer for answer in iter_answers(transcript) if _is_whole(answer)]
    return bool(whole) and all(_is_empty(answer) and not _describe_error(answer) for answer in whole)


def _is_empty(answer: RunAnswer) -> bool:
    blocks = answer.outcome.get("content") if isinstance(answer.outcome, Mapping) else None
    return isinstance(blocks, list) and all(block == {"type": "text", "text": ""} for block in blocks)


def _describe_error(answer: RunAnswer) -> str:
    """Return an answer's exception or error, or an empty string."""
    if answer.raised is not None:
        return f"the library raised {format_raised(answer.raised)}"
    error = answer.outcome.get("error") if isinstance(answer.outcome, Mapping) else None
    if not isinstance(error, Mapping) or not (error.get("message") or error.get("type")):
        return ""
    name = f"{format_value(error['type'])}: " if error.get("type") else ""
    return f"outcome.error is {name}{format_value(error.get('message'))}"


def _pair_answers(transcript: Transcript, suffix: str) -> Iterator[tuple[RunAnswer, RunAnswer]]:
    """Pair each stream's first answer with its answer in each step whose name ends with `suffix`."""
    first_answers: dict[tuple[str, str], RunAnswer] = {}
    for answer in iter_answers(transcript):
        first = first_answers.setdefault((answer.stream.api, answer.stream.name), answer)
        if answer is not first and answer.step.endswith(suffix):
            yield first, answer


def _find_misreadings(answer: RunAnswer, claims: frozenset[str]) -> Iterator[str]:
    stream, status, blocks = answer.stream, answer.outcome.get("status"), _get_blocks(answer.outcome)
    if status == "error":
        # A cut stream may be an error. If a complete stream is an error, its content is not compared.
        if _is_whole(answer):
            reason = _describe_error(answer) or "put the reason into outcome.error.message"
            yield f'outcome.status is "error"; expected `{stream.status}`: {reason}'
        return
    if status != stream.status and status in STATUSES:
        reason = "is cut before its end" if stream.status == "incomplete" else "has its terminal event"
        yield f"outcome.status is {format_value(status)}; expected `{stream.status}`: the stream {reason}"
    if any("content" in message for message in find_mismatches("outcome.v1", answer.outcome, "outcome")):
        return  # already reported by the check of the form
    if stream.text is not None:
        text = "".join(str(block.get("text")) for block in blocks if block.get("type") == "text")
        whole = stream.status == "complete"
        # Any prefix of a cut text is right, because libraries may hold back the last characters.
        if text != stream.text and (whole or not stream.text.startswith(text)):
            yield f"the text is {format_value(text)}; expected {format_value(stream.text)}"
    if stream.call is not None and "tool_calls" in claims:
        calls = [
            {"name": block.get("name"), "arguments": _parse_arguments(block.get("arguments"))}
            for block in blocks
            if block.get("type") == "tool_call"
        ]
        if calls != [stream.call]:
            yield f"the tool calls are {format_value(calls)}; expected {format_value([stream.call])}"


def _parse_arguments(arguments: Any) -> Any:
    """Return the arguments parsed, even if they are still text: that mistake has its own check."""
    return _parse_json(arguments) or arguments if isinstance(arguments, str) else arguments


def _get_blocks(outcome: Any) -> list[Mapping[str, Any]]:
    content = outcome.get("content") if isinstance(outcome, Mapping) else None
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _describe_difference(first: Any, later: Any) -> str:
    """Return the path of the first difference between two JSON values, and the value at that path in each."""
    if isinstance(first, Mapping) and isinstance(later, Mapping):
        key = next(key for key in sorted({*first, *later}) if first.get(key) != later.get(key))
        return f"`{key}` {_describe_difference(first.get(key), later.get(key))}"
    if isinstance(first, list) and isinstance(later, list) and len(first) == len(later):
        index = next(i for i, pair in enumerate(zip(first, later, strict=True)) if pair[0] != pair[1])
        return f"[{index}] {_describe_difference(first[index], later[index])}"
    return f"{format_value(first)}, then {format_value(later)}"
