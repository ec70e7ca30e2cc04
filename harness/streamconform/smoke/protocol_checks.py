"""Check how the adapter uses the protocol: greeting, claims, stdout, timeliness, unknown messages, exit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from streamconform.adapters.protocol import VERSION, quote_line
from streamconform.apis import APIS
from streamconform.causes.raised import format_raised, parse_raised
from streamconform.model.capability import CAPABILITIES
from streamconform.printable import escape_unprintable
from streamconform.replay.exchange import NO_REQUEST
from streamconform.reports.tracebacks import read_traceback
from streamconform.smoke.schema_messages import find_mismatches
from streamconform.smoke.transcript import Message, StepRecord, Transcript, filter_texts, find_input
from streamconform.suggestions import suggest

MAX_TEXT: Final = 500
"""The maximum number of characters that a message quotes from the adapter's own text."""
STEPS_WITH_OWN_CHECK: Final = frozenset({"unknown op", "unknown api"})
VALID_PAYLOAD: Final = {"outcome": {"status": "complete", "content": []}, "events": None}


@dataclass(frozen=True, slots=True)
class SmokeProblem:
    """Something to fix, and the step that revealed it, if there is one."""

    message: str
    step: str | None = None


def never_skip(_: Transcript) -> str | None:
    """Return None: the check always applies."""
    return None


def skip_without_greeting(transcript: Transcript) -> str | None:
    """Return the reason to skip a check that needs a greeting, or None."""
    return None if transcript.hello.get("op") == "hello" else "no greeting"


def skip_without_runs(transcript: Transcript) -> str | None:
    """Return the reason to skip a check that needs runs, or None."""
    if transcript.steps:
        return None
    if find_input(transcript.hello) is None:
        return "no runs sent: the first of `inputs` is not one of bytes, push, http"
    return skip_without_greeting(transcript) or "no runs sent: the adapter claims no known API"


def skip_without_answers(transcript: Transcript) -> str | None:
    """Return the reason to skip a check that needs answers, or None."""
    answered = any(record.results for record in transcript.steps)
    return skip_without_runs(transcript) or (None if answered else "no answers")


def skip_without_http(transcript: Transcript) -> str | None:
    """Return the reason to skip a check that needs HTTP requests, or None."""
    over_http = find_input(transcript.hello) == "http"
    return skip_without_runs(transcript) or (None if over_http else "the adapter does not use HTTP")


def skip_after_exit(transcript: Transcript) -> str | None:
    """Return the reason to skip the check of `stop`, or None."""
    running = transcript.stopped is not None
    return skip_without_greeting(transcript) or (None if running else "the program exited earlier")


def skip_without_step(suffix: str) -> Callable[[Transcript], str | None]:
    """Return a function that returns the reason to skip if no step's name ends with `suffix`."""

    def find_skip_reason(transcript: Transcript) -> str | None:
        if any(record.step.endswith(suffix) for record in transcript.steps):
            return None
        return skip_without_runs(transcript) or "not tried: the program exited or timed out too often"

    return find_skip_reason


def check_greeting(transcript: Transcript) -> Iterator[SmokeProblem]:
    """Yield the problems with the greeting, other than problems with its claims."""
    hello, error = transcript.greeting.parsed
    if hello is None:
        yield SmokeProblem(error)
        return
    if hello.get("op") != "hello":
        yield SmokeProblem(f"expected a line with `op` `hello`, got {quote_line(transcript.greeting.line)}")
        return
    # Claims have separate checks, with better messages than the schema's.
    rest = {key: value for key, value in hello.items() if key not in ("capabilities", "apis")}
    for message in find_mismatches("protocol.v1", rest, "hello", "hello"):
        yield SmokeProblem(message)
    if hello.get("protocol") != VERSION:
        yield SmokeProblem(f"answer with `protocol` {VERSION}; adapters with another version get no runs")


def check_apis(transcript: Transcript) -> Iterator[SmokeProblem]:
    """Yield unknown APIs, and claims for APIs that the adapter does not list."""
    names = transcript.hello.get("apis")
    if names is not None and (not isinstance(names, list) or len(filter_texts(names)) < len(names)):
        yield SmokeProblem('hello.apis is not a list of names, such as ["anthropic-messages"]')
    if names == []:
        yield SmokeProblem(
            "hello.apis is empty, so the adapter gets no runs; list the APIs it reads, or omit `apis`"
        )
    for name in filter_texts(names):
        if name not in APIS:
            yield SmokeProblem(f"unknown api `{_escape(name)}`{_suggest(name, APIS)}")
    claims = transcript.hello.get("capabilities")
    if isinstance(names, list) and isinstance(claims, Mapping):
        for name in claims:
            if name not in names:
                yield SmokeProblem(f"capabilities are claimed for `{_escape(name)}`, which is not in `apis`")


def check_capabilities(transcript: Transcript) -> Iterator[SmokeProblem]:
    """Yield unknown capabilities."""
    claims = transcript.hello.get("capabilities")
    for names in claims.values() if isinstance(claims, Mapping) else (claims,):
        if names is not None and (not isinstance(names, list) or len(filter_texts(names)) < len(names)):
            yield SmokeProblem(
                'hello.capabilities must be a list of names, or have a list per API: {"openai-chat": […]}'
            )
        for name in filter_texts(names):
            if name not in CAPABILITIES:
                yield SmokeProblem(f"unknown capability `{_escape(name)}`{_suggest(name, CAPABILITIES)}")


def check_stdout(transcript: Transcript) -> Iterator[SmokeProblem]:
    """Yield every line on stdout that is not a message, or whose id does not belong to any run."""
    run_ids = _list_run_ids(transcript)
    for step, message in _iter_lines(transcript):
        fields, error = message.parsed
        if fields is None:
            yield SmokeProblem(error, step)
            continue
        op, id_ = fields.get("op"), fields.get("id")
        if op not in ("result", "event"):
            yield SmokeProblem(
                f"`op` is {op!a}, expected `result` or `event`: {quote_line(message.line)}", step
            )
        # Without an id, the schema's message below is the better one.
        elif id_ not in run_ids and id_ is not None:
            # An answer to the unknown op has a check of its own.
            if step != "unknown op":
                yield SmokeProblem(
                    f"unknown run id: {quote_line(message.line)}; send back the id of the run", step
                )
        else:
            for mismatch in find_mismatches("protocol.v1", {**fields, **_replace_payload(fields)}, op, op):
                yield SmokeProblem(mismatch, step)


def check_answers(transcript: Transcript) -> Iterator[SmokeProblem]:
    """Yield runs without an answer, runs with more than one, and premature exits of the program."""
    for record in transcript.steps:
        if record.step in STEPS_WITH_OWN_CHECK:
            continue
        if record.exit is not None:
            yield SmokeProblem(f"{record.exit}; keep answering until `stop`", record.step)
        elif record.timed_out:
            yield SmokeProblem(
                f"no answer in {transcript.timeout:g} s; flush stdout after each line", record.step
            )
    answers = Counter(
        message.fields.get("id")
        for _, message in _iter_lines(transcript)
        if message.fields.get("op") == "result" and isinstance(message.fields.get("id"), str)
    )
    steps = {id_: record.step for record in transcript.steps for id_ in record.streams}
    for id_, times in answers.items():
        if times > 1 and id_ in steps:
            yield SmokeProblem(f"answered {times} times; send one `result` per run", steps[str(id_)])
    if transcript.untried:
        yield SmokeProblem(f"not tried: {', '.join(transcript.untried)}")


def check_adapter_errors(transcript: Transcript) -> Iterator[SmokeProblem]:
    """Yield errors that the adapter reports, and runs that it skips although it claims them."""
    for record in transcript.steps:
        for id_, result in record.results.items():
            if record.streams[id_] is None:
                continue
            errored, skipped = result.get("errored"), result.get("skipped")
            if isinstance(errored, Mapping):
                yield SmokeProblem(_describe_error(errored), record.step)
            elif isinstance(skipped, Mapping) and "outcome" not in result:
                reason = _escape(str(skipped.get("reason")))
                yield SmokeProblem(
                    f"skipped a run that its claims include ({reason}); narrow the claims in `apis`, or"
                    " answer",
                    record.step,
                )


def check_requests(transcript: Transcript) -> Iterator[SmokeProblem]:
    """Yield the server's complaints about requests."""
    for record in transcript.steps:
        for complaint in record.complaints:
            error = _find_error(record) if complaint.startswith(NO_REQUEST) else None
            # A client that fails before it sends may well use the base URL.
            yield SmokeProblem(f"{NO_REQUEST}: {error}" if error else complaint, record.step)
    # A mismatch only skips a trial, so it is reported only if no request at all got a stream.
    checked = any(stream is not None for record in transcript.steps for stream in record.streams.values())
    for record in () if checked else transcript.steps:
        for mismatch in record.mismatches:
            yield SmokeProblem(f"no request selects a recorded stream: {mismatch}", record.step)


def check_unknown_op(transcript: Transcript) -> Iterator[SmokeProblem]:
    """Yield wrong reactions to an unknown `op`, which a later version of the protocol may send."""
    run_ids = _list_run_ids(transcript)
    for record in _filter_steps(transcript, "unknown op"):
        if record.exit is not None or record.timed_out:
            yield SmokeProblem("stopped answering after a message with an unknown `op`; ignore such messages")
            continue
        for message in record.output:
            if message.parsed[0] is not None and message.fields.get("id") not in run_ids:
                yield SmokeProblem(
                    f"answered an unknown `op` with {quote_line(message.line)}; do not answer it"
                )


def check_unknown_api(transcript: Transcript) -> Iterator[SmokeProblem]:
    """Yield a problem if a run for an unknown API gets no answer; any answer will do."""
    for record in _filter_steps(transcript, "unknown api"):
        if record.exit is not None or record.timed_out:
            yield SmokeProblem(
                'stopped answering after a run for an unknown API; answer with `"skipped": {"reason": …}`'
            )


def check_stop(transcript: Transcript) -> Iterator[SmokeProblem]:
    """Yield a problem if the program ignores `stop` or does not exit with 0."""
    if transcript.stopped is False:
        yield SmokeProblem(
            "still running after `stop` and the end of stdin; exit at that point, and end all child processes"
        )
    elif transcript.stopped and transcript.exit_code:
        yield SmokeProblem(f"exited with code {transcript.exit_code} after `stop`; exit with 0")


def _suggest(name: str, known: Mapping[str, object] | frozenset[str]) -> str:
    listed = ", ".join(f"`{known_name}`" for known_name in sorted(known))
    return suggest(name, sorted(known)) or f"; known: {listed}"


def _replace_payload(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return valid content for a message: its real outcome and events have their own checks."""
    if fields.get("op") == "event":
        return {"event": {"type": "usage"}} if "event" in fields else {}
    return {key: value for key, value in VALID_PAYLOAD.items() if key in fields}


def _describe_error(errored: Mapping[str, Any]) -> str:
    """Return the error's message with the end of its traceback."""
    lines = read_traceback({"traceback": errored.get("traceback")})
    headline = f"the adapter failed: {_escape(str(errored.get('message')))}"
    return "\n".join([headline, *(f"  | {line}" for line in lines)])


def _find_error(record: StepRecord) -> str | None:
    """Return the first exception of a step, which the library or the adapter raised."""
    for result in record.results.values():
        raised = parse_raised(result.get("raised"))
        if raised is not None:
            return f"the library raised {format_raised(raised)}"
        if isinstance(result.get("errored"), Mapping):
            return f"the adapter failed: {_escape(str(result['errored'].get('message')))}"
    return None


def _escape(text: str) -> str:
    return escape_unprintable(text[:MAX_TEXT])


def _list_run_ids(transcript: Transcript) -> set[str]:
    return {id_ for record in transcript.steps for id_ in record.streams}


def _iter_lines(transcript: Transcript) -> Iterator[tuple[str | None, Message]]:
    for record in transcript.steps:
        for message in record.output:
            yield record.step, message
    for message in transcript.leftover:
        yield "after the last", message


def _filter_steps(transcript: Transcript, name: str) -> Iterator[StepRecord]:
    return (record for record in transcript.steps if record.step == name)
