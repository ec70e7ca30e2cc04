"""Draft a test case from a cassette, with the reference's outcome as its expectation.

A draft works as a regression test immediately. Until it has been reviewed, it contains `reviewed: false`, and
`conform lint --strict` rejects it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from streamconform.delivery.websocket import frame_lines
from streamconform.errors import ConformError, Problem, SourceError
from streamconform.judge import align, decode
from streamconform.model.capability import CAPABILITIES
from streamconform.model.cassette import Cassette
from streamconform.model.outcome import Block, Other, Outcome, Refusal, Stop, Text, Thinking, ToolCall
from streamconform.run.blame import ReferenceInput
from streamconform.schemas import check_document
from streamconform.suite import pulled
from streamconform.suite.documents import is_document
from streamconform.wire.framings import split
from streamconform.yaml_text import reader
from streamconform.yaml_text.writer import FlowMap, dump

REMARK: Final = """\
  # DRAFT: the output of the bundled parser, not a verified expectation. Check every line against the
  # provider's documentation, name the facts in `evidence`, and remove `reviewed: false`.
"""
TITLE_MAX: Final = 160
DOCUMENTS: Final = "documents-"
"""The topic prefix of specs for non-streaming answers, since a spec contains only one kind of case."""


class DraftRefused(ConformError):
    """No draft can be written: the case already exists, or the spec's form does not allow appending."""


def compose_spec(specs: Path, cassette: Cassette, topic: str, title: str) -> str:
    """Return the spec's validated text with a draft case for `cassette` appended; nothing is written."""
    return add_case(specs, cassette, topic, format_case(cassette, title))


def add_case(specs: Path, cassette: Cassette, topic: str, case: str) -> str:
    """Return the validated text of the spec with `case`, the output of `format_case`, appended.

    Raises `DraftRefused` if the spec already has that case, or no case can be appended.
    """
    path = find_spec(specs, cassette, topic)
    if path.name.startswith(pulled.PREFIX):
        raise DraftRefused(
            f"`{path.stem}`: topics that begin with `{pulled.PREFIX}` are reserved for pulled recordings;"
            " pass another --topic"
        )
    before, known = _read_spec(path)
    if cassette.name in known:
        raise DraftRefused(f"`{path}` already has a case `{cassette.name}`; pass another --name")
    kind = "kind: document\n" if is_document(cassette) else ""
    text = (before or f"spec: 1\n{kind}api: {cassette.api}\ntopic: {path.stem}\ncases:\n") + case
    try:
        document = reader.parse(text.encode(), str(path))
        problems = check_document("spec.v1", document)
    except SourceError as error:
        problems = error.problems
    else:
        # Text appended after a key other than `cases` may be valid YAML without adding a case.
        if not problems and [case["id"] for case in document.value["cases"]] == [*known, cassette.name]:
            return text
    reason = "; ".join(problem.message for problem in problems[:3]) or "`cases` is not its last key"
    raise DraftRefused(f"cannot append a case to `{path}` ({reason}); pass another --topic")


def find_spec(specs: Path, cassette: Cassette, topic: str) -> Path:
    """Return the path of the spec for a case about `cassette`; non-streaming answers have separate specs."""
    return specs / cassette.api / f"{DOCUMENTS if is_document(cassette) else ''}{topic}.yaml"


def list_cases(path: Path) -> list[str]:
    """Return the ids of a spec's cases; empty if the file does not exist."""
    return _read_spec(path)[1]


def format_case(cassette: Cassette, title: str) -> str:
    """Return the YAML of the draft case, indented as an item of `cases`."""
    case: dict[str, Any] = {
        "id": cassette.name,
        "title": title if len(title) <= TITLE_MAX else title[: TITLE_MAX - 1] + "…",
        "cassette": cassette.name,
        "reviewed": False,
    }
    events = _run_reference(cassette)
    outcome = decode.decode_outcome(events[-1]["outcome"])
    reports = collect_usage_seen(events, outcome)
    if reports:
        case["usage_seen"] = [FlowMap(report) for report in reports]
    case["expect"] = build_expect(outcome, cassette.body)
    first, *rest = dump(case, cassette.name).splitlines(keepends=True)
    return REMARK + "  - " + first + "".join("    " + line if line.strip() else line for line in rest)


def decode_cassette(cassette: Cassette) -> Outcome:
    """Return the reference's outcome for `cassette`. Raises `DraftRefused` if it does not support the API."""
    return decode.decode_outcome(_run_reference(cassette)[-1]["outcome"])


def _run_reference(cassette: Cassette) -> list[dict[str, Any]]:
    from streamconform_reference import adapter

    if cassette.api not in adapter.apis:
        raise DraftRefused(f"cannot draft a case: the bundled parser does not support {cassette.api}")
    stream = not is_document(cassette)
    chunks: tuple[bytes, ...] = (cassette.body,)
    if cassette.transport == "websocket":
        chunks = tuple(frame_lines(frame.payload for frame in split("ndjson", cassette.body)))
    run = ReferenceInput(
        cassette.api, cassette.status, cassette.headers, chunks, request=cassette.request.body, stream=stream
    )
    return [*adapter(run)]


def collect_usage_seen(events: Iterable[dict[str, Any]], outcome: Outcome) -> list[dict[str, int]]:
    """Return the distinct usage reports that differ from the final usage."""
    # A stream that is cut may end with one of them, so the spec must accept them.
    reports = (event["usage"] for event in events if event.get("type") == "usage")
    counts = ({name: n for name, n in report.items() if n is not None} for report in reports)
    distinct = {
        tuple(usage.items()): usage
        for usage in counts
        if usage and decode.decode_usage(usage) != outcome.usage
    }
    return list(distinct.values())


def build_expect(outcome: Outcome, body: bytes) -> dict[str, Any]:
    """Return `outcome` as a spec's `expect`, without null values.

    A tool call id that is not in `body` is left out: the parser generated it, and another parser may
    generate a different one.
    """
    blocks = align.normalize_received(outcome.content, CAPABILITIES, None, separators=align.SEPARATORS)
    expect: dict[str, Any] = {
        "status": outcome.status,
        "stop": _dump_stop(outcome.stop),
        "content": [_dump_block(block, body) for block in blocks],
    }
    usage = {name: getattr(outcome.usage, name) for name in outcome.usage.__slots__}
    counts = {name: count for name, count in usage.items() if count is not None}
    if counts:
        expect["usage"] = FlowMap(counts)
    if outcome.error is not None and outcome.status == "error":
        error = {name: getattr(outcome.error, name) for name in outcome.error.__slots__}
        expect["error"] = {name: value for name, value in error.items() if value is not None} or None
    return expect


def _read_spec(path: Path) -> tuple[str, list[str]]:
    """Return a spec's text and the ids of its cases; both are empty if the file does not exist."""
    if not path.exists():
        return "", []
    data = reader.read_file(path, str(path))
    document = reader.parse(data, str(path))
    problems = check_document("spec.v1", document)
    if problems:
        raise SourceError(problems)
    text = data.decode()
    if (path.parent.name, path.stem) != (document.value["api"], document.value["topic"]):
        raise SourceError((Problem(str(path), None, "`api` and `topic` do not match the file's path"),))
    return text if text.endswith("\n") else text + "\n", [case["id"] for case in document.value["cases"]]


def _dump_block(block: Block, body: bytes) -> dict[str, Any]:
    match block:
        case Text():
            return {"text": _dump_text(block)}
        case Refusal(text):
            return {"refusal": text}
        case Thinking(text, signature, redacted):
            if signature is None and not redacted:
                return {"thinking": text}
            fields: dict[str, Any] = {"text": text, "signature": signature}
            return {"thinking": fields | ({"redacted": True} if redacted else {})}
        case ToolCall():
            return {"tool_call": _dump_call(block, body)}
        case Other():
            raise AssertionError("`align.normalize_received` removes blocks of other kinds")


def _dump_stop(stop: Stop) -> dict[str, Any]:
    rest = {"sequence": stop.sequence, "details": stop.details}
    known = {name: value for name, value in rest.items() if value is not None}
    return FlowMap(reason=stop.reason, raw=stop.raw, **known)


def _dump_text(block: Text) -> Any:
    """Return the text as a string, or as a mapping if other fields have a value."""
    fields: dict[str, Any] = {"phase": block.phase, "signature": block.signature}
    known = {name: value for name, value in fields.items() if value is not None}
    if block.citations:
        names = ("source", "title", "quote", "start", "end")
        known["citations"] = [
            {name: citation[name] for name in names if citation.get(name) is not None}
            or {"data": citation.get("data")}
            for citation in block.citations
        ]
    return {"text": block.text, **known} if known else block.text


def _dump_call(call: ToolCall, body: bytes) -> dict[str, Any]:
    fields: dict[str, Any] = {"name": call.name}
    if call.id and call.id.encode() in body:
        fields["id"] = call.id
    if call.complete:
        fields["arguments"] = call.arguments
    else:
        fields["complete"] = call.complete
    if call.executor != "client":
        fields["executor"] = call.executor
    if call.signature is not None:
        fields["signature"] = call.signature
    return fields
