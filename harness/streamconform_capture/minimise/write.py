"""Write the result of a search: a cassette, and a spec with one draft case, ready to commit."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from streamconform.errors import SourceError
from streamconform.model.cassette import Cassette, ChunkMark, Derived
from streamconform.printable import escape_line
from streamconform.schemas import check_document
from streamconform.yaml_text import reader
from streamconform.yaml_text.writer import FlowMap, dump
from streamconform_capture.minimise.oracle import Candidate
from streamconform_capture.minimise.search import Search
from streamconform_capture.record import draft, save
from streamconform_capture.record.scanned import Scanned, Unscanned, scan_for_writing

CASE_ID: Final = "minimised"
MAX_NAME: Final = 80
REMARK: Final = """\
# DRAFT, made by `{command}`,
# which fails at {what}. The expectation is the bundled parser's outcome, which may be wrong:
# check every line against the provider's documentation, then remove `reviewed: false`.
"""


@dataclass(frozen=True, slots=True)
class WrittenFiles:
    """The files written, and the id of the case in them."""

    folder: Path
    cassette: Path
    spec: Path
    id: str


def scan_result(search: Search, candidate: Candidate, command: str, allowed: Collection[str] = ()) -> Scanned:
    """Return `candidate`'s cassette and spec in a form that may be printed and written.

    `allowed` contains the fields, and the fingerprints of possible secrets, that the scan ignores.

    Raises:
        SourceError: YAML cannot represent the stream's text.
        SecretsLeft: a possible secret remains.

    """
    assert search.oracle is not None, "the search found a failure"
    assert search.oracle.target is not None, "the search has a target"
    original = search.oracle.original.case
    name = _make_name(original.id.rpartition("/")[2], search.oracle.target.what)
    cassette = _make_cassette(candidate, name, command)
    text = _format_spec(candidate, cassette, command, str(search.oracle.target))
    problems = check_document("spec.v1", reader.parse(text.encode(), f"{name}.yaml"))
    if problems:
        raise SourceError(tuple(problems))
    unscanned = Unscanned(cassette=cassette, text=text, where=original.id)
    (scanned,) = scan_for_writing([unscanned], allowed, refuse_random_words=False)
    return scanned


def write_result(
    folder: Path, search: Search, candidate: Candidate, command: str, allowed: Collection[str] = ()
) -> WrittenFiles:
    """Write `candidate`'s cassette and spec to `folder`, replacing files from an earlier search.

    Raises the errors of `scan_result` before anything is written.
    """
    scanned = scan_result(search, candidate, command, allowed)
    cassette = scanned.cassette
    path = folder / "specs" / cassette.api / f"{cassette.name}.yaml"
    metadata = save.save_cassette(folder / "cassettes", scanned)
    save.write_spec(path, scanned)
    return WrittenFiles(folder, metadata, path, f"{cassette.api}/{cassette.name}/{CASE_ID}")


def format_command(search: Search, options: str) -> str:
    """Return the command that repeats the search."""
    job = search.job
    trial = search.oracle.original if search.oracle is not None else job.trials[0]
    check_option = f" --check {shlex.quote(job.check)}" if job.check else ""
    return f"conform minimise {trial.id} -i {shlex.quote(job.connection.impl)}{check_option}{options}"


def _format_spec(candidate: Candidate, cassette: Cassette, command: str, what: str) -> str:
    original = candidate.trial.case
    entry: dict[str, Any] = {
        "id": CASE_ID,
        "title": _shorten_title(f"Minimised: {original.title}"),
        "cassette": cassette.name,
        "level": candidate.trial.level,
        "reviewed": False,
    }
    if original.tags:
        entry["tags"] = sorted(original.tags)
    for key, values in (("sources", original.sources), ("guards", original.guards)):
        if values:
            entry[key] = [*values]
    if original.pricing is not None:
        entry["pricing"] = _convert_to_flow(original.pricing)
    usage_seen = draft.collect_usage_seen(candidate.reading.observation.events, candidate.reading.outcome)
    if usage_seen:
        entry["usage_seen"] = [FlowMap(usage) for usage in usage_seen]
    if original.skip is not None:
        entry["skip"] = {
            "deliveries": sorted(original.skip.deliveries),
            "faults": sorted(original.skip.faults),
            "why": original.skip.why,
        }
    entry["expect"] = {
        key: FlowMap(value) if key in ("usage", "cost", "stop") and isinstance(value, dict) else value
        for key, value in candidate.expect.items()
    }
    head = f"spec: 1\napi: {original.api}\ntopic: {cassette.name}\ncases:\n"
    first, *rest = dump(entry, cassette.name).splitlines(keepends=True)
    # Empty lines in a block of text stay empty, because indenting them would add trailing white space.
    indented = "".join("    " + line if line.strip() else line for line in rest)
    remark = REMARK.format(command=escape_line(command, 400), what=escape_line(what, 200))
    return f"{remark}{head}  - {first}{indented}"


def _make_cassette(candidate: Candidate, name: str, command: str) -> Cassette:
    """Return `candidate`'s cassette, without chunk marks if it has one chunk per frame."""
    original = candidate.trial.case.cassette
    chunks = candidate.trial.chunks
    marks: list[ChunkMark] = []
    if chunks != candidate.split_framewise():
        offset = 0
        for chunk in chunks:
            marks.append(ChunkMark(offset, 0))
            offset += len(chunk)
    provenance = Derived(source=original.name, recipe=command)
    return replace(original, name=name, marks=tuple(marks), provenance=provenance)


def _make_name(case: str, what: str) -> str:
    """Return the case id and the failing path, joined by hyphens."""
    words = re.sub(r"[^a-z0-9]+", "-", what.removeprefix("content.").lower()).strip("-")
    return f"{case[: MAX_NAME - len(words) - 1].strip('-')}-{words}"[:MAX_NAME]


def _shorten_title(text: str) -> str:
    return text if len(text) <= draft.TITLE_MAX else text[: draft.TITLE_MAX - 1] + "…"


def _convert_to_flow(value: Any) -> Any:
    if isinstance(value, dict):
        return FlowMap({key: _convert_to_flow(item) for key, item in value.items()})
    return [_convert_to_flow(item) for item in value] if isinstance(value, list | tuple) else value
