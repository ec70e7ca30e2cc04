"""What is kept of a search: a cassette, and a spec with one draft case about it, ready to be committed."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from streamconform.errors import SourceError
from streamconform.model.cassette import Cassette, ChunkMark, Derived
from streamconform.printable import escape_line
from streamconform.schemas import check_document
from streamconform.suite import cassettes
from streamconform.tools.minimise.oracle import Candidate
from streamconform.tools.minimise.search import Search
from streamconform.tools.record import draft
from streamconform.yaml_text import reader
from streamconform.yaml_text.writer import FlowMap, dump

CASE: Final = "minimised"
NAME_MAX: Final = 80
REMARK: Final = """\
# DRAFT, made by `{command}`,
# where it fails at {what}. What is expected is what the bundled parser makes of the stream, not what is
# right: check every line against the provider's documentation, and take `reviewed: false` away.
"""


@dataclass(frozen=True, slots=True)
class Written:
    """Where it stands."""

    folder: Path
    cassette: Path
    spec: Path
    id: str


def write(folder: Path, search: Search, case: Candidate, command: str) -> Written:
    """Write cassette and spec of `case` below `folder`; what an earlier search wrote of the same is replaced.

    Raises `SourceError` where no YAML can carry the stream's text, and nothing is written then.
    """
    assert search.oracle is not None, "something was found"
    assert search.oracle.target is not None, "something failed"
    given = search.oracle.given.case
    name = _name(given.id.rpartition("/")[2], search.oracle.target.what)
    kept = _cassette(case, name, command)
    text = spec(case, kept, command, str(search.oracle.target))
    path = folder / "specs" / given.api / f"{name}.yaml"
    problems = check_document("spec.v1", reader.parse(text.encode(), str(path)))
    if problems:
        raise SourceError(tuple(problems))
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = cassettes.save(folder / "cassettes", kept)
    cassettes.write_atomically(path, text.encode())
    return Written(folder, metadata, path, f"{given.api}/{name}/{CASE}")


def recipe(order: Search, options: str) -> str:
    """Return the command that makes the same again."""
    given = order.oracle.given if order.oracle is not None else order.order.trials[0]
    check_ = f" --check {shlex.quote(order.order.check)}" if order.order.check else ""
    return f"conform minimise {given.id} -i {shlex.quote(order.order.connection.impl)}{check_}{options}"


def spec(case: Candidate, kept: Cassette, command: str, what: str) -> str:
    """Return the text of the spec."""
    own = case.trial.case
    entry: dict[str, Any] = {
        "id": CASE,
        "title": _title(f"Minimised: {own.title}"),
        "cassette": kept.name,
        "level": case.trial.level,
        "reviewed": False,
    }
    if own.tags:
        entry["tags"] = sorted(own.tags)
    for key, values in (("sources", own.sources), ("guards", own.guards)):
        if values:
            entry[key] = [*values]
    if own.pricing is not None:
        entry["pricing"] = _plain(own.pricing)
    seen = draft.collect_usage_seen(case.read.observation.events, case.read.outcome)
    if seen:
        entry["usage_seen"] = [FlowMap(each) for each in seen]
    if own.skip is not None:
        entry["skip"] = {
            "deliveries": sorted(own.skip.deliveries),
            "faults": sorted(own.skip.faults),
            "why": own.skip.why,
        }
    entry["expect"] = {
        key: FlowMap(value) if key in ("usage", "cost", "stop") and isinstance(value, dict) else value
        for key, value in case.expect.items()
    }
    head = f"spec: 1\napi: {own.api}\ntopic: {kept.name}\ncases:\n"
    first, *rest = dump(entry, kept.name).splitlines(keepends=True)
    indented = "".join("    " + line if line.strip() else line for line in rest)
    remark = REMARK.format(command=escape_line(command, 400), what=escape_line(what, 200))
    return f"{remark}{head}  - {first}{indented}"


def _cassette(case: Candidate, name: str, command: str) -> Cassette:
    """Return what is kept: marks only where a chunk a frame, which needs none, is not how it fails."""
    own = case.trial.case.cassette
    chunks = case.trial.chunks
    marks: list[ChunkMark] = []
    if chunks != case.framewise():
        offset = 0
        for chunk in chunks:
            marks.append(ChunkMark(offset, 0))
            offset += len(chunk)
    provenance = Derived(source=own.name, recipe=command)
    return replace(own, name=name, marks=tuple(marks), provenance=provenance)


def _name(case: str, what: str) -> str:
    """Return `case` and the leaf that fails as words joined by hyphens."""
    words = re.sub(r"[^a-z0-9]+", "-", what.removeprefix("content.").lower()).strip("-")
    return f"{case[: NAME_MAX - len(words) - 1].strip('-')}-{words}"[:NAME_MAX]


def _title(text: str) -> str:
    return text if len(text) <= draft.TITLE_MAX else text[: draft.TITLE_MAX - 1] + "…"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return FlowMap({key: _plain(each) for key, each in value.items()})
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value
