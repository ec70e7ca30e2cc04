"""What a live server answered to checks with stable paths. Pure.

- `http.*`: status, content type, and whether the body came whole
- `grammar.<rule>`: a rule of the api's grammar, over the whole stream; levels are the provider's own words
- `answer.*`: what the reference decoder makes of the answer, and what the scenario wants of it
- `document.<path>`, `error.<path>`, `count.<path>`: fields of whole answers, refusals, counts
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from streamconform_reference.apis import DECODERS
from streamconform_reference.apis.grammars import GRAMMARS
from streamconform_reference.document import decode_document
from streamconform_reference.grammars.grammar import COMMON, Deviation, Grammar

from streamconform.apis import APIS
from streamconform.apis.api import DocumentField, TokenCounting, require
from streamconform.judge.compare import FAILED_VERDICT
from streamconform.model.case import Level
from streamconform.model.verdict import Check
from streamconform.tools.probe import documents
from streamconform.tools.probe.refusals import Refusal
from streamconform.tools.probe.scenarios import Scenario, Wanted
from streamconform.tools.record.live import RawRecording
from streamconform.wire.framings import MEDIA_TYPES

Json = dict[str, Any]

PLACES: Final = 3
"""Places named in the message of a broken rule; the rest is counted."""
FRAMES: Final = 50
"""Frames listed in a check."""
UNPARSED: Final = "the arguments are no JSON object"


def of_stream(
    api: str, scenario: Scenario, request: Mapping[str, Any], came: RawRecording
) -> tuple[list[Check], Json | None]:
    """Return the checks of a streamed answer, and the outcome that the reference decoder makes of it.

    Where the status is no success there is nothing but `http.status` to be judged, and no outcome.
    """
    checks = [_success(came)]
    if not _succeeded(came):
        return checks, None
    checks += [_media_type(came, MEDIA_TYPES[APIS[api].framing]), _whole(came)]
    checks += _grammar(GRAMMARS[api], GRAMMARS[api].of_body([came.body], request))
    decoder = DECODERS[api](status=came.status, headers=came.headers)
    decoder.receive_data(came.body)
    decoder.receive_eof()
    outcome = decoder.outcome.to_json()
    return [*checks, *_answer(api, scenario.wanted, outcome)], outcome


def of_twin(
    api: str, scenario: Scenario, came: RawRecording, streamed: Mapping[str, Any] | None
) -> list[Check]:
    """Return the checks of the same answer without streaming; `streamed` is the outcome of the stream."""
    checks = [_success(came)]
    if not _succeeded(came):
        return checks
    document = _document(came)
    checks += [_media_type(came, "application/json"), _whole(came)]
    if document is None:
        return [*checks, _no_object("document.json", came)]
    checks.append(_check("document.json", "must", None))
    checks += _fields("document", document, APIS[api].probing.answer)
    outcome = decode_document(came.body, api, came.status).to_json()
    checks += _answer(api, scenario.wanted, outcome)
    ours, theirs = _prompt(outcome), _prompt(streamed or {})
    differs = streamed is not None and ours != theirs
    words = f"the same prompt counts {ours} tokens here, and {theirs} in the stream" if differs else None
    return [*checks, _check("answer.usage-as-streamed", "should", words)]


def of_refusal(api: str, refusal: Refusal, came: RawRecording) -> list[Check]:
    """Return the checks of an answer to a request that has to be refused."""
    refused = 400 <= came.status < 500
    words = None if refused else f"expected 400 to 499, got {came.status}: {excerpt(came.body)}"
    checks = [_check("http.status", refusal.level, words)]
    if came.status < 400:
        return checks
    wanted = " or ".join(map(str, sorted(refusal.statuses)))
    other = None if came.status in refusal.statuses else f"expected {wanted}, got {came.status}"
    document = _document(came)
    if refused:
        checks.append(_check("http.status-fits", "should", other))
    checks.append(_media_type(came, "application/json"))
    if document is None:
        return [*checks, _no_object("error.json", came)]
    checks.append(_check("error.json", "must", None))
    return [*checks, *_fields("error", document, APIS[api].probing.error)]


def of_count(counting: TokenCounting, short: RawRecording, long: RawRecording) -> list[Check]:
    """Return the checks of two counts: `long` is of the same messages with a system prompt and tools."""
    checks = [_success(short)]
    if not (_succeeded(short) and _succeeded(long)):
        return checks if not _succeeded(short) else [_success(long)]
    small, large = _document(short) or {}, _document(long) or {}
    checks += _fields("count", small, require("count", counting.count))
    less, more = small.get(counting.count), large.get(counting.count)
    grows = isinstance(less, int) and isinstance(more, int) and 0 < less < more
    words = None if grows else f"{less} tokens without system prompt and tools, {more} with them"
    return [*checks, _check("count.grows", "must", words)]


def refused(api: str, came: RawRecording) -> str | None:
    """Return what a proper refusal says, None where the answer is none."""
    document = _document(came)
    if not 400 <= came.status < 500 or document is None:
        return None
    faults = documents.faults(document, APIS[api].probing.error)
    if any(words for field, words in faults if field.level == "must"):
        return None
    return f"HTTP {came.status}: {excerpt(came.body)}"


def excerpt(body: bytes, length: int = 200) -> str:
    """Return the beginning of a body as words in one line."""
    text = " ".join(body[: 4 * length].decode("utf-8", "replace").split())
    return f"`{text[:length]}{'…' if len(text) > length else ''}`" if text else "nothing"


def _grammar(grammar: type[Grammar], found: Sequence[Deviation]) -> Iterator[Check]:
    """Yield a check for every rule and every field that the grammar holds, broken or not."""
    broken: dict[str, list[Deviation]] = {}
    for each in found:
        broken.setdefault(each.rule, []).append(each)
    for rule, level in held(grammar).items():
        own = broken.get(rule)
        yield _broken(rule, level, own) if own else _check(f"grammar.{rule}", level, None)


def held(grammar: type[Grammar]) -> dict[str, Level]:
    """Return every rule that a grammar holds, those of fields too, with its level."""
    rules: dict[str, Level] = {rule: each.level for rule, each in {**COMMON, **grammar.rules}.items()}
    for kind, fields in grammar.fields.items():
        for field in fields:
            place = f"{kind}.{field.path.replace('[]', '')}"
            rules[f"field-type.{place}"] = field.level
            if field.needed:
                rules[f"required-field.{place}"] = field.level
    return rules


def _broken(rule: str, level: Level, own: Sequence[Deviation]) -> Check:
    places = [f"{where(each)}: {each.message}" for each in own[:PLACES]]
    more = [f"and at {len(own) - PLACES} more places"] if len(own) > PLACES else []
    frames = dict.fromkeys(each.frame for each in own if each.frame is not None)
    return Check(
        path=f"grammar.{rule}",
        level=level,
        verdict=FAILED_VERDICT[level],
        message="; ".join([*places, *more, own[0].source]),
        frames=tuple(frames)[:FRAMES],
    )


def where(deviation: Deviation) -> str:
    """Return in words at which frame of a body something is wrong."""
    return "end of the body" if deviation.frame is None else f"frame {deviation.frame}"


def _answer(api: str, wanted: Wanted, outcome: Mapping[str, Any]) -> Iterator[Check]:
    error, stop = outcome["error"], outcome["stop"]
    whole = outcome["status"] == "complete"
    why = f": {error['type']}, {error['message']}" if error else ""
    yield _check("answer.complete", "must", None if whole else f"it is {outcome['status']}{why}")
    calls = [
        each for each in outcome["content"] if each["type"] == "tool_call" and each["executor"] == "client"
    ]
    if wanted.calls is not None:
        least, most = wanted.calls
        fits = least <= len(calls) and (most is None or len(calls) <= most)
        span = str(least) if most == least else f"at least {least}" if most is None else f"{least} to {most}"
        yield _check("answer.calls", "must", None if fits else f"expected {span}, got {len(calls)}")
    if wanted.names:
        others = sorted({str(each["name"]) for each in calls} - wanted.names)
        words = f"`{'`, `'.join(others)[:200]}` is called, which was not to be" if others else None
        yield _check("answer.tool", "must", words)
        rule = GRAMMARS[api].rules.get("arguments-parse")
        unparsed = stop["reason"] != "length" and any(
            not (each["complete"] and isinstance(each["arguments"], dict)) for each in calls
        )
        yield _check("answer.arguments", rule.level if rule else "must", UNPARSED if unparsed else None)
    expected = f"expected {' or '.join(sorted(wanted.stops))}, got `{stop['reason']}` (`{stop['raw']}`)"
    yield _check("answer.stop", "must", None if stop["reason"] in wanted.stops else expected)
    if wanted.without is not None:
        text = "".join(each["text"] for each in outcome["content"] if each["type"] == "text")
        words = f"the text goes on to `{wanted.without}`, at which it was to stop"
        yield _check("answer.stop-sequence", "must", words if wanted.without in text else None)


def _prompt(outcome: Mapping[str, Any]) -> int | None:
    """Return all tokens of the prompt, cached or not."""
    usage = outcome.get("usage") or {}
    counts = [usage.get(key) for key in ("input", "cache_read", "cache_write")]
    return None if counts[0] is None else sum(each or 0 for each in counts)


def _fields(prefix: str, document: Mapping[str, Any], fields: tuple[DocumentField, ...]) -> Iterator[Check]:
    worst: dict[str, tuple[Level, str | None]] = {}
    for field, words in documents.faults(document, fields):
        path = f"{prefix}.{field.path.replace('[]', '')}"
        worst[path] = (field.level, worst.get(path, (field.level, None))[1] or words)
    for path, (level, words) in worst.items():
        yield _check(path, level, words)


def _document(came: RawRecording) -> Json | None:
    try:
        document = json.loads(came.body)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _no_object(path: str, came: RawRecording) -> Check:
    return _check(path, "must", f"the body is no JSON object: {excerpt(came.body)}")


def _succeeded(came: RawRecording) -> bool:
    return 200 <= came.status < 300


def _success(came: RawRecording) -> Check:
    words = f"expected 2xx, got {came.status}: {excerpt(came.body)}"
    return _check("http.status", "must", None if _succeeded(came) else words)


def _whole(came: RawRecording) -> Check:
    words = None if came.cut is None else f"the connection ended before the body: {came.cut}"
    return _check("http.whole", "must", words)


def _media_type(came: RawRecording, expected: str) -> Check:
    got = came.headers.get("content-type", "").partition(";")[0].strip().lower()
    words = None if got == expected else f"expected `{expected}`, got `{got or 'none'}`"
    return _check("http.content-type", "should", words)


def _check(path: str, level: Level, words: str | None) -> Check:
    if words is None:
        return Check(path=path, level=level, verdict="pass")
    return Check(path=path, level=level, verdict=FAILED_VERDICT[level], message=words)
