"""Cassettes on disk: load and verify, save. `cassettes/<api>/<name>.yaml` beside the raw body."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from streamconform.errors import Problem, SourceError
from streamconform.model.cassette import (
    Authored,
    Cassette,
    ChunkMark,
    Derived,
    Provenance,
    Recorded,
    Request,
)
from streamconform.schemas import check_document
from streamconform.yaml_text import reader
from streamconform.yaml_text.writer import Flow, dump

MAX_BODY = 16 * 1024 * 1024
"""The largest body that is read or saved: the largest answer a provider streams is under 4 MB."""

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")

MODELINE = "# yaml-language-server: $schema=../../harness/streamconform/schemas/cassette.v1.json\n"


def load(folder: Path, api: str, name: str) -> Cassette:
    """Return the cassette `name` of `api` under `folder`, its digest verified.

    Raises `SourceError` with every problem: a missing file, a wrong field, a wrong digest, chunk marks
    that do not fit the body.
    """
    path = folder / api / f"{name}.yaml"
    if not path.is_file():
        raise SourceError((Problem(str(path), None, "no such cassette"),))
    document = reader.read(path)
    problems = check_document("cassette.v1", document)
    if problems:
        raise SourceError(problems)
    meta = document.value
    response = meta["response"]
    found: list[Problem] = []
    body = _sidecar(path, document, "response", found)
    twin = _sidecar(path, document, "twin", found) if "twin" in meta else None
    marks = tuple(ChunkMark(offset, ms) for offset, ms in response.get("chunks", ()))
    if body is not None:
        found += _mark_problems(document, marks, len(body))
    if found or body is None:
        raise SourceError(tuple(found))
    return Cassette(
        api=api,
        name=name,
        request=Request(
            method=meta["request"]["method"],
            path=meta["request"]["path"],
            headers=meta["request"].get("headers", {}),
            body=meta["request"]["body"],
        ),
        status=response["status"],
        headers=response["headers"],
        body=body,
        suffix=response["body"].rpartition(".")[2],
        marks=marks,
        provenance=_provenance(meta["provenance"]),
        twin=twin,
    )


def save(folder: Path, cassette: Cassette) -> Path:
    """Write `cassette` under `folder` and return the path of its YAML file.

    The body is written first and each file is renamed into place, so that a crash never leaves
    metadata that speaks of bytes which are not there.
    """
    if len(cassette.body) > MAX_BODY:
        raise SourceError((Problem(cassette.name, None, f"body larger than {MAX_BODY} bytes"),))
    if not NAME.fullmatch(cassette.name):
        words = "a cassette's name is lower-case words and digits joined by hyphens"
        raise SourceError((Problem(cassette.name, None, words),))
    home = folder / cassette.api
    home.mkdir(parents=True, exist_ok=True)
    path = home / f"{cassette.name}.yaml"
    write_whole(home / f"{cassette.name}.{cassette.suffix}", cassette.body)
    twin = home / f"{cassette.name}.twin.json"
    if cassette.twin is not None:
        write_whole(twin, cassette.twin)
    else:
        twin.unlink(missing_ok=True)
    schema = folder.parent / "harness/streamconform/schemas/cassette.v1.json"
    modeline = MODELINE if schema.is_file() else ""  # a user's folder has no schema beside it
    write_whole(path, (modeline + dump(_meta(cassette), "request")).encode())
    return path


def _sidecar(path: Path, document: reader.Document, key: str, problems: list[Problem]) -> bytes | None:
    """Return the bytes of the file that `key` names, or None with the problem noted."""
    entry: dict[str, str] = document.value[key]
    beside = path.parent / entry["body"]
    stem = beside.name.partition(".")[0]
    if stem != path.stem:
        problems.append(document.problem((key, "body"), f"`{beside.name}` must begin with `{path.stem}.`"))
        return None
    try:
        with beside.open("rb") as file:
            data = file.read(MAX_BODY + 1)
    except OSError as error:
        problems.append(document.problem((key, "body"), f"`{beside.name}`: {error.strerror}"))
        return None
    if len(data) > MAX_BODY:
        problems.append(document.problem((key, "body"), f"`{beside.name}` is larger than {MAX_BODY} bytes"))
        return None
    digest = hashlib.sha256(data).hexdigest()
    if digest != entry["sha256"]:
        words = f"`{beside.name}` has SHA-256 {digest}, expected {entry['sha256']}: the bytes were changed"
        problems.append(document.problem((key, "sha256"), words))
    return data


def _mark_problems(document: reader.Document, marks: tuple[ChunkMark, ...], size: int) -> list[Problem]:
    if not marks:
        return []
    problems = []
    at = ("response", "chunks")
    if marks[0].offset != 0:
        problems.append(document.problem((*at, 0), f"the first chunk begins at 0, not {marks[0].offset}"))
    for i, (before, after) in enumerate(pairwise(marks), start=1):
        if after.offset <= before.offset or after.ms < before.ms:
            problems.append(
                document.problem((*at, i), "chunk marks must rise in offset and not fall in time")
            )
    if marks[-1].offset >= max(size, 1):
        problems.append(document.problem((*at, len(marks) - 1), f"beyond the body's {size} bytes"))
    return problems


def _provenance(entry: Mapping[str, Any]) -> Provenance:
    fields = {key: value for key, value in entry.items() if key != "kind"}
    match entry["kind"]:
        case "recorded":
            return Recorded(**fields)
        case "derived":
            return Derived(fields.pop("from"), **fields)
        case _:
            return Authored(**fields)


def _meta(cassette: Cassette) -> dict[str, Any]:
    """Return the mapping that `cassette.v1.json` describes, keys in the order of reading."""
    given = cassette.provenance
    provenance: dict[str, Any] = {"kind": given.kind}
    match given:
        case Recorded():
            provenance |= {
                "server": given.server,
                "model": given.model,
                "date": given.date,
                "tool": given.tool,
            }
        case Derived():
            provenance |= {"from": given.source, "recipe": given.recipe}
        case Authored():
            provenance |= {"source": given.source}
    if given.note is not None:
        provenance["note"] = given.note
    request: dict[str, Any] = {"method": cassette.request.method, "path": cassette.request.path}
    if cassette.request.headers:
        request["headers"] = dict(cassette.request.headers)
    response: dict[str, Any] = {
        "status": cassette.status,
        "headers": dict(cassette.headers),
        "body": f"{cassette.name}.{cassette.suffix}",
        "sha256": cassette.sha256,
    }
    if cassette.marks:
        response["chunks"] = Flow(Flow((mark.offset, mark.ms)) for mark in cassette.marks)
    meta: dict[str, Any] = {
        "cassette": 1,
        "provenance": provenance,
        "request": request | {"body": cassette.request.body},
        "response": response,
    }
    if cassette.twin is not None:
        digest = hashlib.sha256(cassette.twin).hexdigest()
        meta["twin"] = {"body": f"{cassette.name}.twin.json", "sha256": digest}
    return meta


def write_whole(path: Path, data: bytes) -> None:
    """Write `data` beside `path` and rename it into place: there is all of it, or what was there before."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
