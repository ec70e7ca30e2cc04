"""Add the scripts of `<specs>/behavior.yaml` to specs of kind `behavior`, which name their own streams.

A script is written once for all APIs. A spec of an API says which of them apply, and which of its other cases
have the streams.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from streamconform.errors import Problem, SourceError
from streamconform.schemas import parse_checked
from streamconform.suggestions import suggest
from streamconform.yaml_text import reader
from streamconform.yaml_text.reader import Document

KIND: Final = "behavior"
TOPIC: Final = KIND
"""The topic of every spec of this kind, so that others need no scripts."""
FILE: Final = f"{TOPIC}.yaml"
_REFERENCE: Final = re.compile(rb"\bcase:[ \t]*([a-z0-9-]+)/")
"""The topic of the case with a stream."""
_COPIED: Final = ("cassette", "expect", "pricing", "usage_seen", "models_seen")


def join_files(specs: Path, path: Path, data: bytes) -> bytes:
    """Return the content of a spec, together with that of the files that its cases are made from."""
    if path.name != FILE:
        return data
    topics = dict.fromkeys(name.decode() for name in _REFERENCE.findall(data))
    files = [specs / FILE, *(path.parent / f"{topic}.yaml" for topic in topics)]
    return b"\n".join([data, *(reader.read_file(file, str(file)) for file in files if file.exists())])


def add_scripts(specs: Path, document: Document) -> Document:
    """Return a spec of this kind whose cases have their scripts and streams. Raises `SourceError`."""
    spec = document.value
    path = specs / FILE
    scripts = parse_checked(reader.read_file(path, str(path)), str(path), "behavior.v1").value["scripts"]
    folder = Path(document.path).parent
    topics = {stream["case"].partition("/")[0] for stream in spec["streams"].values()}
    entries = {topic: _read_entries(folder / f"{topic}.yaml") for topic in topics}
    streams: dict[str, dict[str, Any]] = {}
    problems: list[Problem] = []
    for role, stream in spec["streams"].items():
        topic, _, name = stream["case"].partition("/")
        entry = entries[topic].get(name)
        if entry is None:
            message = f"no case `{stream['case']}` of this API{suggest(name, entries[topic])}"
            problems.append(document.problem(("streams", role, "case"), message))
            continue
        half = {"half": stream["half"]} if "half" in stream else {}
        streams[role] = {key: entry[key] for key in _COPIED if key in entry} | half
    cases = []
    for i, entry in enumerate(spec["cases"]):
        script = scripts.get(entry["id"])
        if script is None:
            message = f"no script `{entry['id']}` in `{FILE}`{suggest(entry['id'], scripts)}"
            problems.append(document.problem(("cases", i, "id"), message))
            continue
        needed = dict.fromkeys(("text", *_list_roles(script)))
        missing = [role for role in needed if role not in spec["streams"]]
        if missing:
            problems.append(document.problem(("cases", i, "id"), f"`streams` has no `{missing[0]}`"))
            continue
        used = {role: streams[role] for role in needed if role in streams}
        evidence = [*script.get("evidence", ()), *entry.get("evidence", ())]
        cases.append({**script, **entry, "evidence": evidence, "streams": used})
    if problems:
        raise SourceError(tuple(problems))
    others = {key: value for key, value in spec.items() if key != "streams"}
    return document._replace(value=others | {"cases": cases})


def _list_roles(script: Mapping[str, Any]) -> list[str]:
    """Return the roles of the streams that a script serves."""
    return [reply.get("stream", "error" if "status" in reply else "text") for reply in script["server"]]


def _read_entries(path: Path) -> Mapping[str, Mapping[str, Any]]:
    """Return the cases of another spec of the API, by the last component of their ids."""
    if not path.exists():
        return {}
    spec = parse_checked(reader.read_file(path, str(path)), str(path), "spec.v1").value
    return {entry["id"]: entry for entry in spec["cases"]}
