"""Write the suite for readers in any language: `suite-<api>.json.gz`, as `suite.v1.json` describes it.

A file contains everything that a judge needs: the bytes of each trial with the offsets at which they are cut,
and what is expected of it. So a reader implements no delivery, no fault and no YAML.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
from collections.abc import Iterable, Iterator
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any, Final

from msgspec.structs import asdict

from streamconform._version import __version__
from streamconform.apis import APIS
from streamconform.judge.judge import find_needed_capabilities
from streamconform.judge.mentions import index_mentions
from streamconform.model.case import AnyCase, BehaviorCase, CallCase, Case, Counts, Expectation, RoundTripCase
from streamconform.model.cassette import Cassette
from streamconform.model.leaf import AnyOf, Digest, Literally, Matches, PrefixOf, Present
from streamconform.model.request import (
    Alternative,
    Contains,
    Exactly,
    Fields,
    Items,
    JsonText,
    OneOf,
    RequestExpectation,
    SameAs,
    Wanted,
)
from streamconform.model.result import RULES
from streamconform.model.trial import (
    DELIVERY_SETS,
    FAULT_SETS,
    FAULTS_OVER_HTTP,
    SAMPLED,
    VARIANTS,
    AnyTrial,
    Behavior,
    Call,
    DeliverySet,
    RoundTrip,
    Trial,
    is_fault,
    supported_inputs,
)
from streamconform.suite.build import COMMON
from streamconform.suite.expand import expand
from streamconform.suite.load import Sources, load

SAFE_INTEGER: Final = 2**53
"""The smallest integer that a reader with only 64-bit floats may confuse with another one."""
INTEGER: Final = "$integer"
"""The only key of an object that stands for an integer from `SAFE_INTEGER` on, as decimal text."""
EVERY: Final = "every"
"""The cuts of a trial whose chunks have one byte each."""
SEED: Final = 0
"""The seed of the delivery `random`: the default of `conform run`."""
_CLOSED: Final = "close"
"""How a broken stream ends, unless its fault needs a connection; then the end is called after the fault."""

Json = dict[str, Any]


def group_cases(sources: Sources) -> Iterator[tuple[str, list[AnyCase]]]:
    """Yield each API, and `common` for cases without one, with its cases. Raises `SourceError`."""
    for api, cases in groupby(load(sources), lambda case: case.api or COMMON):
        yield api, [*cases]


def write_suite(api: str, cases: Iterable[AnyCase], folder: Path) -> Path:
    """Write the file with the `cases` of one API into `folder`, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"suite-{api}.json.gz"
    path.write_bytes(_compress(build_document(api, cases)))
    return path


def build_document(api: str, cases: Iterable[AnyCase]) -> Json:
    """Return the document with the `cases` of one API, in the suite's order."""
    content = {
        "suite": 1,
        "api": api,
        "streamconform": __version__,
        "rules": RULES,
        **({"ordered_content": APIS[api].ordered_content} if api in APIS else {}),
        # Behavior is not exported: only a server sees it.
        "cases": [_export_case(case) for case in cases if not isinstance(case, BehaviorCase)],
    }
    tagged: Json = tag_integers(content)
    return tagged | {"digest": hashlib.sha256(encode_document(tagged)).hexdigest()}


def tag_integers(value: Any) -> Any:
    """Return `value` as plain JSON; integers that a 64-bit float cannot hold are `{"$integer": "…"}`."""
    # Exact types are compared for speed: a file has millions of values.
    kind = type(value)
    if kind is dict:
        assert INTEGER not in value, "this key is reserved"
        return {key: tag_integers(item) for key, item in value.items()}
    if kind is list or kind is tuple:
        return [tag_integers(item) for item in value]
    return {INTEGER: str(value)} if kind is int and abs(value) >= SAFE_INTEGER else value


def encode_document(document: Json) -> bytes:
    """Return the only encoding of a document: sorted keys, no spaces, ASCII."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.encode()


def _compress(document: Json) -> bytes:
    """Return the compressed document; the same on every machine, because the header has no date and name."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=buffer, mtime=0) as file:
        file.write(encode_document(document))
    return buffer.getvalue()


def _export_case(case: Case | CallCase | RoundTripCase) -> Json:
    head = _export_head(case)
    match case:
        case Case():
            return head | {
                "kind": "stream" if case.stream else "document",
                "stream": _export_stream(case),
                "expect": _export_expectation(case.expect),
                "trials": _export_trials(case),
                "mentions": [*index_mentions(case.api, case.cassette.body)],
                **({} if case.pricing is None else {"pricing": case.pricing}),
            }
        case RoundTripCase():
            return head | {
                "kind": "round_trip",
                "conversation": case.conversation,
                "answers": [*map(_export_answer, case.answers)],
                "turns": [asdict(turn) for turn in case.turns],
                "requests": [*map(_export_request, case.requests)],
                "bound": case.bound,
                "trials": _export_trials(case),
            }
        case CallCase():
            return head | {"kind": case.kind, "input": case.input, "expect": _export_output(case)}


def _export_head(case: AnyCase) -> Json:
    _, _, name = case.id.partition("/")
    entry: Json = {
        "id": case.id,
        "title": case.title,
        "level": case.level,
        "reviewed": case.reviewed,
        "tags": sorted(case.tags),
        "evidence": case.evidence,
        "sources": case.sources,
        "guards": case.guards,
        "spec": f"{case.api or COMMON}/{name.partition('/')[0]}.yaml",
        "line": case.line,
        "capabilities": find_needed_capabilities(case),
    }
    return entry if case.why is None else entry | {"why": case.why}


def _export_stream(case: Case) -> Json:
    """Return the recorded exchange of a case."""
    cassette = case.cassette
    provenance = asdict(cassette.provenance)
    return {
        "name": cassette.name,
        "framing": _detect_framing(case, cassette),
        "request": {
            "method": cassette.request.method,
            "path": cassette.request.path,
            "headers": cassette.request.headers,
            "body": cassette.request.body,
        },
        "status": cassette.status,
        "headers": cassette.headers,
        "provenance": {name: value for name, value in provenance.items() if value is not None},
        "sha256": cassette.sha256,
        **_export_bytes("body", cassette.body),
    }


def _detect_framing(case: Case, cassette: Cassette) -> str:
    return APIS[case.api].detect_framing(cassette.status, cassette.body) if case.stream else "document"


def _export_bytes(name: str, data: bytes) -> Json:
    """Return one member: `name` with the text, or `name_base64` if the bytes are not UTF-8."""
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(data).decode()}


def _export_answer(answer: Case) -> Json:
    return {"stream": _export_stream(answer), "expect": _export_expectation(answer.expect)}


def _export_trials(case: Case | RoundTripCase) -> list[Json]:
    return [_export_trial(trial, which) for trial, which in list_trials(case)]


def list_trials(case: AnyCase) -> Iterator[tuple[AnyTrial, DeliverySet]]:
    """Yield every trial of a case, each with the smallest set of deliveries and faults that has it."""
    sets: dict[str, DeliverySet] = {}
    trials: dict[str, AnyTrial] = {}
    for name, deliveries in DELIVERY_SETS.items():
        sampled = SAMPLED if name == "standard" else ()
        for trial in expand((case,), deliveries, "http", SEED, FAULT_SETS[name], sampled):
            sets.setdefault(trial.id, name)
            if name == "full":
                trials[trial.id] = trial
    assert sets.keys() == trials.keys(), "the larger set has all trials of the smaller one"
    for id_, trial in trials.items():
        yield trial, sets[id_]


def _export_trial(trial: AnyTrial, which: DeliverySet) -> Json:
    assert not isinstance(trial, Behavior | Call), "a call has no bytes, and a script its own"
    entry: Json = {
        "name": trial.delivery,
        "level": trial.level,
        "set": which,
        "inputs": sorted(supported_inputs(trial)),
    }
    if isinstance(trial, Trial) and trial.transport != "http":
        entry["transport"] = trial.transport
    if isinstance(trial, RoundTrip):
        return entry | {"answers": [*map(_export_delivery, trial.answers)]}
    if trial.delivery in VARIANTS:
        mentions = [*index_mentions(trial.case.api, trial.body)]
        if mentions != [*index_mentions(trial.case.api, trial.case.cassette.body)]:
            entry["mentions"] = mentions
    if trial.derived is not None:
        entry["expect"] = _export_expectation(trial.derived)
    if is_fault(trial.delivery):
        fault = trial.delivery.partition(".")[0]
        entry["ends"] = fault if fault in FAULTS_OVER_HTTP else _CLOSED
    return entry | _export_delivery(trial)


def _export_delivery(trial: Trial) -> Json:
    """Return how to make the chunks: what is delivered of the stream's body, what follows, and the cuts."""
    body, delivered = trial.case.cassette.body, trial.body
    entry: Json = {}
    if delivered != body:
        prefix = _measure_prefix(trial, body, delivered)
        entry = {"prefix": prefix}
        if prefix < len(delivered):
            entry |= _export_bytes("append", delivered[prefix:])
    ends = [*accumulate(map(len, trial.chunks))]
    is_bytewise = len(ends) == len(delivered) > 1
    return entry | {"cuts": EVERY if is_bytewise else ends[:-1]}


def _measure_prefix(trial: Trial, body: bytes, delivered: bytes) -> int:
    """Return how many bytes of the stream's body a trial delivers; all others follow them."""
    if not is_fault(trial.delivery) or trial.transport != "http":
        return 0  # a delivery that changes bytes has a body of its own, and so has another transport
    kept = delivered if body.startswith(delivered) else b"".join(trial.chunks[:-1])
    assert body.startswith(kept), "a fault keeps the beginning of the body, and adds at most one chunk"
    return len(kept)


def _export_expectation(expect: Expectation) -> Json:
    entry: Json = {"fields": {path: export_wanted(leaf) for path, leaf in expect.fields.items()}}
    if expect.content is not None:
        entry["content"] = [
            {"type": block.type, "fields": {name: export_wanted(leaf) for name, leaf in block.fields.items()}}
            for block in expect.content
        ]
    if expect.partial is not None:
        entry["partial"] = {
            "calls_ended": expect.partial.calls_ended,
            "text_arrived": expect.partial.text_arrived,
        }
    return entry


def _export_output(case: CallCase) -> Json:
    match case.expect:
        case RequestExpectation():
            return _export_request(case.expect)
        case Counts(order):
            return {"counts": order}
        case leaf:
            return export_wanted(leaf)


def _export_request(expect: RequestExpectation) -> Json:
    entry: Json = {
        "must": export_wanted(expect.must),
        "should": export_wanted(expect.should),
        "may": export_wanted(expect.may),
        "must_not": expect.must_not,
        "headers": {name: export_wanted(leaf) for name, leaf in expect.headers.items()},
    }
    if expect.path is not None:
        entry["path"] = export_wanted(expect.path)
    if expect.when:
        entry["when"] = [_export_alternative(alternative) for alternative in expect.when]
    return entry


def _export_alternative(alternative: Alternative) -> Json:
    conditions: Json = {"headers": {name: export_wanted(leaf) for name, leaf in alternative.headers.items()}}
    if alternative.path is not None:
        conditions["path"] = export_wanted(alternative.path)
    return {"if": conditions, "expect": _export_request(alternative.expect)}


def export_wanted(expected: Wanted) -> Json:
    """Return an expected value as an object whose first key names the matcher."""
    match expected:
        case Literally(value):
            return {"equals": value}
        case Matches(pattern, why):
            return _add_why({"matches": pattern.pattern}, why)
        case Present(present, why):
            return _add_why({"present": present}, why)
        case AnyOf(values, why, preferred):
            return _add_why({"any_of": values} | ({"prefer": preferred} if preferred else {}), why)
        case PrefixOf(text, why):
            return _add_why({"prefix_of": text}, why)
        case Digest(parts):
            return {"digest": parts}
        case Exactly(value):
            return {"exactly": value}
        case JsonText(value):
            return {"json": value}
        case SameAs(path):
            return {"same_as": path}
        case Contains(text):
            return {"contains": text}
        case Fields(fields):
            return {"members": {name: export_wanted(member) for name, member in fields.items()}}
        case Items(items):
            return {"items": [export_wanted(item) for item in items]}
        case OneOf(options, why):
            return _add_why({"one_of": [export_wanted(option) for option in options]}, why)


def _add_why(entry: Json, why: str | None) -> Json:
    return entry if why is None else entry | {"why": why}
