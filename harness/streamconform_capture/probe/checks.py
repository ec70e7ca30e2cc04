"""Turn a live server's answers into checks with stable paths. Pure.

- `http.*`: status, content type, and whether the body is complete
- `grammar.<rule>`: a rule of the API's grammar, with the level that follows from the provider's documentation
- `answer.*`: the outcome of the reference decoder, compared with the scenario's expected answer
- `document.<path>`, `error.<path>`, `count.<path>`: fields of non-streaming answers, errors, token counts
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from streamconform.apis import APIS
from streamconform.apis.api import DocumentField, TokenCounting, require
from streamconform.judge.compare import FAILED_VERDICT
from streamconform.model.case import Level
from streamconform.model.verdict import Check
from streamconform.suite.scenarios import ExpectedAnswer, Scenario
from streamconform.wire.framings import MEDIA_TYPES
from streamconform_capture.probe import documents
from streamconform_capture.probe.bad_requests import RefusedRequest
from streamconform_capture.record.live import RawRecording
from streamconform_reference.apis import DECODERS
from streamconform_reference.apis.grammars import GRAMMARS
from streamconform_reference.document import decode_document
from streamconform_reference.grammars.grammar import COMMON, Deviation, Grammar

Json = dict[str, Any]

MAX_PLACES: Final = 3
"""The maximum number of deviations quoted per broken rule; the others are counted."""
MAX_FRAMES: Final = 50
"""The maximum number of frames listed per check."""
WRITTEN: Final = ("text", "name", "arguments", "arguments_text")
"""The fields of a block that the model wrote."""
BROKEN: Final = re.compile(r"[\ufffd\ud800-\udfff]")
UNPARSED: Final = "the arguments are not a JSON object"


def check_stream(
    api: str, scenario: Scenario, request: Mapping[str, Any], recording: RawRecording
) -> tuple[list[Check], Json | None]:
    """Return the checks on a streamed answer, and its outcome from the reference decoder.

    An answer with an error status gets only the check `http.status`, and has no outcome.
    """
    checks = [_check_success(recording)]
    if not _is_success(recording):
        return checks, None
    checks += [_check_media_type(recording, MEDIA_TYPES[APIS[api].framing]), _check_complete(recording)]
    checks += check_grammar(GRAMMARS[api], GRAMMARS[api].of_body([recording.body], request))
    decoder = DECODERS[api](status=recording.status, headers=recording.headers)
    decoder.receive_data(recording.body)
    decoder.receive_eof()
    outcome = decoder.outcome.to_json()
    return [*checks, *check_answer(api, scenario.expected, outcome)], outcome


def check_twin(
    api: str, scenario: Scenario, recording: RawRecording, streamed: Mapping[str, Any] | None
) -> list[Check]:
    """Return the checks on a non-streaming answer; `streamed` is the outcome of the streamed answer."""
    checks = [_check_success(recording)]
    if not _is_success(recording):
        return checks
    document = _parse_document(recording)
    checks += [_check_media_type(recording, "application/json"), _check_complete(recording)]
    if document is None:
        return [*checks, _fail_parse("document.json", recording)]
    checks.append(make_check("document.json", "must", None))
    checks += check_fields("document", document, APIS[api].probing.answer)
    outcome = decode_document(recording.body, api, recording.status).to_json()
    checks += check_answer(api, scenario.expected, outcome)
    plain_tokens, streamed_tokens = _count_prompt_tokens(outcome), _count_prompt_tokens(streamed or {})
    differs = streamed is not None and plain_tokens != streamed_tokens
    message = (
        f"{plain_tokens} prompt tokens without streaming, {streamed_tokens} with streaming"
        if differs
        else None
    )
    return [*checks, make_check("answer.usage-as-streamed", "should", message)]


def check_error(api: str, bad_request: RefusedRequest, recording: RawRecording) -> list[Check]:
    """Return the checks on the answer to a bad request."""
    refused = 400 <= recording.status < 500
    message = (
        None if refused else f"expected 400 to 499, got {recording.status}: {quote_body(recording.body)}"
    )
    checks = [make_check("http.status", bad_request.level, message)]
    if recording.status < 400:
        return checks
    expected = " or ".join(map(str, sorted(bad_request.statuses)))
    message = (
        None if recording.status in bad_request.statuses else f"expected {expected}, got {recording.status}"
    )
    document = _parse_document(recording)
    # A status of 500 or more has already failed `http.status`.
    if refused:
        checks.append(make_check("http.status-fits", "should", message))
    checks.append(_check_media_type(recording, "application/json"))
    if document is None:
        return [*checks, _fail_parse("error.json", recording)]
    checks.append(make_check("error.json", "must", None))
    return [*checks, *check_fields("error", document, APIS[api].probing.error)]


def check_token_counts(counting: TokenCounting, short: RawRecording, long: RawRecording) -> list[Check]:
    """Return the checks on two token counts; `long` adds a system prompt and tools to the same messages."""
    checks = [_check_success(short)]
    if not (_is_success(short) and _is_success(long)):
        return checks if not _is_success(short) else [_check_success(long)]
    small, large = _parse_document(short) or {}, _parse_document(long) or {}
    checks += check_fields("count", small, require("count", counting.count))
    less, more = small.get(counting.count), large.get(counting.count)
    grows = isinstance(less, int) and isinstance(more, int) and 0 < less < more
    message = None if grows else f"{less} tokens without system prompt and tools, {more} with them"
    return [*checks, make_check("count.grows", "must", message)]


def describe_refusal(api: str, recording: RawRecording) -> str | None:
    """Return the status and text of a well-formed error answer, or None."""
    document = _parse_document(recording)
    if not 400 <= recording.status < 500 or document is None:
        return None
    errors = documents.check_fields(document, APIS[api].probing.error)
    if any(message for field, message in errors if field.level == "must"):
        return None
    return f"HTTP {recording.status}: {quote_body(recording.body)}"


def quote_body(body: bytes, length: int = 200) -> str:
    """Return the beginning of a body as one line."""
    text = " ".join(body[: 4 * length].decode("utf-8", "replace").split())
    return f"`{text[:length]}{'…' if len(text) > length else ''}`" if text else "nothing"


def check_grammar(grammar: type[Grammar], deviations: Sequence[Deviation]) -> Iterator[Check]:
    """Yield a check for every rule and every field in the grammar, whether violated or not."""
    by_rule: dict[str, list[Deviation]] = {}
    for deviation in deviations:
        by_rule.setdefault(deviation.rule, []).append(deviation)
    for rule, level in list_rules(grammar).items():
        broken = by_rule.get(rule)
        yield _fail_rule(rule, level, broken) if broken else make_check(f"grammar.{rule}", level, None)


def list_rules(grammar: type[Grammar]) -> dict[str, Level]:
    """Return every rule in a grammar, including the rules for fields, with its level."""
    all_rules = {**COMMON, **grammar.rules}
    rules: dict[str, Level] = {name: rule.level for name, rule in all_rules.items()}
    for kind, fields in grammar.fields.items():
        for field in fields:
            path = f"{kind}.{field.path.replace('[]', '')}"
            rules[f"field-type.{path}"] = field.level
            if field.needed:
                rules[f"required-field.{path}"] = field.level
    return rules


def _fail_rule(rule: str, level: Level, deviations: Sequence[Deviation]) -> Check:
    places = [f"{format_frame(deviation)}: {deviation.message}" for deviation in deviations[:MAX_PLACES]]
    more = [f"and {len(deviations) - MAX_PLACES} more"] if len(deviations) > MAX_PLACES else []
    frames = dict.fromkeys(deviation.frame for deviation in deviations if deviation.frame is not None)
    return Check(
        path=f"grammar.{rule}",
        level=level,
        verdict=FAILED_VERDICT[level],
        message="; ".join([*places, *more, deviations[0].source]),
        frames=tuple(frames)[:MAX_FRAMES],
    )


def format_frame(deviation: Deviation) -> str:
    """Return a deviation's position in the body."""
    return "end of the body" if deviation.frame is None else f"frame {deviation.frame}"


def check_answer(api: str, expected: ExpectedAnswer, outcome: Mapping[str, Any]) -> Iterator[Check]:
    """Yield the checks on the outcome of an answer."""
    error, stop = outcome["error"], outcome["stop"]
    complete = outcome["status"] == "complete"
    reason = f": {error['type']}, {error['message']}" if error else ""
    problem = f"expected `complete`, got `{outcome['status']}`{reason}"
    yield make_check("answer.complete", "must", None if complete else problem)
    yield from _check_calls(api, expected, outcome)
    message = f"expected {' or '.join(sorted(expected.stops))}, got `{stop['reason']}` (`{stop['raw']}`)"
    yield make_check("answer.stop", "must", None if stop["reason"] in expected.stops else message)
    if expected.excluded_text is not None:
        text = "".join(block["text"] for block in outcome["content"] if block["type"] == "text")
        message = f"the text contains the stop sequence `{expected.excluded_text}`"
        yield make_check("answer.stop-sequence", "must", message if expected.excluded_text in text else None)
    yield _check_characters(outcome)


def _check_characters(outcome: Mapping[str, Any]) -> Check:
    """Return the check that no character was cut: a server that cuts one sends what is left of it.

    A model may also write U+FFFD itself, so this is no more than a warning.
    """
    fields = ((block["type"], name, block.get(name)) for block in outcome["content"] for name in WRITTEN)
    texts = ((kind, name, json.dumps(value, ensure_ascii=False)) for kind, name, value in fields)
    found = (
        (kind, name, text, broken.start()) for kind, name, text in texts if (broken := BROKEN.search(text))
    )
    for kind, name, text, place in found:
        excerpt = text[max(place - 20, 0) : place + 20].encode("utf-8", "replace").decode()
        what = f"the {name} of a `{kind}` block contain U+FFFD or half a surrogate pair: `{excerpt}`"
        return make_check("answer.characters", "should", what)
    return make_check("answer.characters", "should", None)


def _check_calls(api: str, expected: ExpectedAnswer, outcome: Mapping[str, Any]) -> Iterator[Check]:
    calls = [
        block
        for block in outcome["content"]
        if block["type"] == "tool_call" and block["executor"] == "client"
    ]
    if expected.calls is not None:
        least, most = expected.calls
        fits = least <= len(calls) and (most is None or len(calls) <= most)
        span = str(least) if most == least else f"at least {least}" if most is None else f"{least} to {most}"
        yield make_check("answer.calls", "must", None if fits else f"expected {span}, got {len(calls)}")
    if expected.names:
        unexpected = sorted({str(call["name"]) for call in calls} - expected.names)
        message = f"unexpected calls: `{'`, `'.join(unexpected)[:200]}`" if unexpected else None
        yield make_check("answer.tool", "must", message)
        rule = GRAMMARS[api].rules.get("arguments-parse")
        # A token limit may cut a call, which is not the server's fault.
        unparsed = outcome["stop"]["reason"] != "length" and any(
            not (call["complete"] and isinstance(call["arguments"], dict)) for call in calls
        )
        yield make_check("answer.arguments", rule.level if rule else "must", UNPARSED if unparsed else None)


def _count_prompt_tokens(outcome: Mapping[str, Any]) -> int | None:
    """Return the number of prompt tokens, both cached and uncached."""
    usage = outcome.get("usage") or {}
    # A server may read the prompt of the second request from its cache, and then counts it there.
    counts = [usage.get(key) for key in ("input", "cache_read", "cache_write")]
    return None if counts[0] is None else sum(count or 0 for count in counts)


def check_fields(
    prefix: str, document: Mapping[str, Any], fields: tuple[DocumentField, ...]
) -> Iterator[Check]:
    """Yield a check for each of the fields of a document."""
    # Fields whose paths differ only in `[]` share one check, which fails with the first message.
    by_path: dict[str, tuple[Level, str | None]] = {}
    for field, message in documents.check_fields(document, fields):
        path = f"{prefix}.{field.path.replace('[]', '')}"
        by_path[path] = (field.level, by_path.get(path, (field.level, None))[1] or message)
    for path, (level, message) in by_path.items():
        yield make_check(path, level, message)


def _parse_document(recording: RawRecording) -> Json | None:
    try:
        document = json.loads(recording.body)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _fail_parse(path: str, recording: RawRecording) -> Check:
    return make_check(path, "must", f"the body is not a JSON object: {quote_body(recording.body)}")


def _is_success(recording: RawRecording) -> bool:
    return 200 <= recording.status < 300


def _check_success(recording: RawRecording) -> Check:
    message = f"expected 2xx, got {recording.status}: {quote_body(recording.body)}"
    return make_check("http.status", "must", None if _is_success(recording) else message)


def _check_complete(recording: RawRecording) -> Check:
    message = (
        None if recording.cut is None else f"the connection ended in the middle of the body: {recording.cut}"
    )
    return make_check("http.whole", "must", message)


def _check_media_type(recording: RawRecording, expected: str) -> Check:
    got = recording.headers.get("content-type", "").partition(";")[0].strip().lower()
    message = None if got == expected else f"expected `{expected}`, got `{got or 'none'}`"
    return make_check("http.content-type", "should", message)


def make_check(path: str, level: Level, message: str | None) -> Check:
    """Return a check, which has failed if there is a message."""
    if message is None:
        return Check(path=path, level=level, verdict="pass")
    return Check(path=path, level=level, verdict=FAILED_VERDICT[level], message=message)
