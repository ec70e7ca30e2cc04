"""Draft specs: a cassette and what the reference makes of it, as a case that somebody has to review.

A draft is a regression test at once, and an expectation only when it was checked: it says
`reviewed: false`, and `conform lint --strict` refuses it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from streamconform.errors import ConformError, Problem, SourceError
from streamconform.judge import align, decode
from streamconform.model.capability import CAPABILITIES
from streamconform.model.cassette import Cassette
from streamconform.model.outcome import Block, Other, Outcome, Refusal, Text, Thinking, ToolCall
from streamconform.run.blame import ReferenceInput
from streamconform.schemas import check_document
from streamconform.suite.cassettes import write_atomically
from streamconform.yaml_text import reader
from streamconform.yaml_text.writer import FlowMap, dump

REMARK: Final = """\
  # DRAFT: what the bundled parser made of the stream, not what is right. Check every line against the
  # provider's documentation, name that in `sources`, and take `reviewed: false` away.
"""
TITLE_MAX: Final = 160


class DraftRefused(ConformError):
    """No draft can be written: the case is there, or the spec cannot be added to."""


def add(specs: Path, cassette: Cassette, topic: str, title: str) -> Path:
    """Append a draft case about `cassette` to `specs/<api>/<topic>.yaml` and return that path.

    The case's id is the cassette's name. Raises `DraftRefused` where it is there already.
    """
    path = specs / cassette.api / f"{topic}.yaml"
    text = composed(specs, cassette, topic, title)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text.encode())
    return path


def composed(specs: Path, cassette: Cassette, topic: str, title: str) -> str:
    """Return the text of the spec with the draft in it, checked; nothing is written."""
    path = specs / cassette.api / f"{topic}.yaml"
    before, known = _present(path)
    if cassette.name in known:
        raise DraftRefused(f"`{path}` has a case `{cassette.name}` already; give another name")
    text = (before or f"spec: 1\napi: {cassette.api}\ntopic: {topic}\ncases:\n") + case_text(cassette, title)
    try:
        document = reader.parse(text.encode(), str(path))
        problems = check_document("spec.v1", document)
    except SourceError as error:
        problems = error.problems
    else:
        if not problems and [case["id"] for case in document.value["cases"]] == [*known, cassette.name]:
            return text
    words = "; ".join(each.message for each in problems[:3]) or "`cases` is not its last key"
    raise DraftRefused(f"no case can be appended to `{path}` ({words}); give another topic")


def case_text(cassette: Cassette, title: str) -> str:
    """Return the YAML of one draft case, indented as an item of `cases`."""
    case: dict[str, Any] = {
        "id": cassette.name,
        "title": title if len(title) <= TITLE_MAX else title[: TITLE_MAX - 1] + "…",
        "cassette": cassette.name,
        "reviewed": False,
    }
    said = _said(cassette)
    found = decode.decode_outcome(said[-1]["outcome"])
    seen = usage_seen(said, found)
    if seen:
        case["usage_seen"] = [FlowMap(each) for each in seen]
    case["expect"] = expected(found, cassette.body)
    first, *rest = dump(case, cassette.name).splitlines(keepends=True)
    return REMARK + "  - " + first + "".join("    " + line if line.strip() else line for line in rest)


def outcome(cassette: Cassette) -> Outcome:
    """Return what the reference makes of `cassette`; raises `DraftRefused` where it cannot read the api."""
    return decode.decode_outcome(_said(cassette)[-1]["outcome"])


def _said(cassette: Cassette) -> list[dict[str, Any]]:
    from streamconform_reference import adapter

    if cassette.api not in adapter.apis:
        raise DraftRefused(f"the bundled parser does not read {cassette.api} yet, so no draft can be made")
    return [*adapter(ReferenceInput(cassette.api, cassette.status, cassette.headers, (cassette.body,)))]


def usage_seen(said: Iterable[dict[str, Any]], found: Outcome) -> list[dict[str, int]]:
    """Return the usage reports that were no longer true in the end, each once: a cut may end with one."""
    reports = (each["usage"] for each in said if each.get("type") == "usage")
    counted = ({name: n for name, n in each.items() if n is not None} for each in reports)
    seen = {
        tuple(each.items()): each for each in counted if each and decode.decode_usage(each) != found.usage
    }
    return list(seen.values())


def expected(found: Outcome, body: bytes) -> dict[str, Any]:
    """Return `found` as the `expect` of a spec: what was reported, and nothing that is null anyway.

    An id that is not in `body` was made up by the parser; another one may make up another.
    """
    blocks = align.normalize_received(found.content, CAPABILITIES, frozenset())
    expect: dict[str, Any] = {
        "status": found.status,
        "stop": FlowMap(reason=found.stop.reason, raw=found.stop.raw),
        "content": [_block(each, body) for each in blocks],
    }
    usage = {name: getattr(found.usage, name) for name in found.usage.__slots__}
    counted = {name: count for name, count in usage.items() if count is not None}
    if counted:
        expect["usage"] = FlowMap(counted)
    if found.error is not None and found.status == "error":
        error = {name: getattr(found.error, name) for name in found.error.__slots__}
        expect["error"] = {name: value for name, value in error.items() if value is not None} or None
    return expect


def _present(path: Path) -> tuple[str, list[str]]:
    """Return the text of a spec and the ids of its cases; nothing where there is no file."""
    if not path.exists():
        return "", []
    document = reader.read(path)
    problems = check_document("spec.v1", document)
    if problems:
        raise SourceError(problems)
    text = path.read_bytes().decode()
    if (path.parent.name, path.stem) != (document.value["api"], document.value["topic"]):
        raise SourceError((Problem(str(path), None, "api and topic do not agree with where it stands"),))
    return text if text.endswith("\n") else text + "\n", [case["id"] for case in document.value["cases"]]


def _block(block: Block, body: bytes) -> dict[str, Any]:
    match block:
        case Text(text) | Refusal(text):
            return {block.type: text}
        case Thinking(text, signature, redacted):
            if signature is None and not redacted:
                return {"thinking": text}
            fields: dict[str, Any] = {"text": text, "signature": signature}
            return {"thinking": fields | ({"redacted": True} if redacted else {})}
        case ToolCall():
            return {"tool_call": _call(block, body)}
        case Other():
            raise AssertionError("blocks of other kinds were left out before")


def _call(call: ToolCall, body: bytes) -> dict[str, Any]:
    fields: dict[str, Any] = {"name": call.name}
    if call.id and call.id.encode() in body:
        fields["id"] = call.id
    if call.complete:
        fields["arguments"] = call.arguments
    else:
        fields["complete"] = call.complete
    if call.executor != "client":
        fields["executor"] = call.executor
    return fields
