"""Load, verify and save cassettes: `cassettes/<api>/<name>.yaml`, with the raw body in a file next to it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from streamconform.errors import Problem, SourceError
from streamconform.files import read_regular, write_atomically
from streamconform.model.cassette import (
    Authored,
    Cassette,
    ChunkMark,
    Derived,
    Provenance,
    Pulled,
    Recorded,
    Request,
)
from streamconform.schemas import parse_checked
from streamconform.yaml_text import reader
from streamconform.yaml_text.writer import Flow, dump

MAX_BODY = 16 * 1024 * 1024
"""The maximum size of a body; the largest answer that a provider streams is under 4 MB."""

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")

_MODELINE = "# yaml-language-server: $schema=../../harness/streamconform/schemas/cassette.v1.json\n"


def load(folder: Path, api: str, name: str) -> Cassette:
    """Return the cassette `name` of `api` under `folder`, after verifying the digests of its files.

    Raises a `SourceError` that lists every problem: missing files, invalid fields, wrong digests, or chunk
    marks that do not match the body.
    """
    return build(api, name, read_metadata(folder, api, name).document)


class Metadata(NamedTuple):
    """The YAML file of a cassette."""

    document: reader.Document
    sha256: str


def read_metadata(folder: Path, api: str, name: str) -> Metadata:
    """Return the YAML file of a cassette. Raises a `SourceError` with everything wrong with it."""
    path = folder.joinpath(api, f"{name}.yaml")
    try:
        data = reader.read_file(path, str(path))
    except SourceError:
        if path.exists():
            raise
        raise SourceError((Problem(str(path), None, "no such cassette"),)) from None
    return Metadata(parse_checked(data, str(path), "cassette.v1"), hashlib.sha256(data).hexdigest())


def build(api: str, name: str, document: reader.Document) -> Cassette:
    """Return the cassette that `document` describes. Raises `SourceError` like `load`."""
    metadata = document.value
    file_problems: list[Problem] = []
    body = _read_sidecar(name, document, "response", file_problems)
    twin = _read_sidecar(name, document, "twin", file_problems) if "twin" in metadata else None
    if body is not None:
        file_problems += _check_marks(document, _parse_marks(metadata), len(body))
    if file_problems or body is None:
        raise SourceError(tuple(file_problems))
    return make_cassette(api, name, metadata, body, twin)


def make_cassette(
    api: str, name: str, metadata: Mapping[str, Any], body: bytes, twin: bytes | None
) -> Cassette:
    """Return the cassette with this metadata and these bytes, which match each other."""
    response = metadata["response"]
    return Cassette(
        api=api,
        name=name,
        request=Request(
            method=metadata["request"]["method"],
            path=metadata["request"]["path"],
            headers=metadata["request"].get("headers", {}),
            body=metadata["request"]["body"],
        ),
        status=response["status"],
        headers=response["headers"],
        body=body,
        suffix=response["body"].rpartition(".")[2],
        marks=_parse_marks(metadata),
        provenance=_parse_provenance(metadata["provenance"]),
        twin=twin,
    )


def _parse_marks(metadata: Mapping[str, Any]) -> tuple[ChunkMark, ...]:
    return tuple(ChunkMark(offset, ms) for offset, ms in metadata["response"].get("chunks", ()))


def save(folder: Path, cassette: Cassette) -> Path:
    """Write `cassette` under `folder` and return the path of its YAML file.

    Raises `SourceError` for a body larger than `MAX_BODY`, an invalid name, or text that YAML cannot
    represent.
    """
    if len(cassette.body) > MAX_BODY:
        raise SourceError((Problem(cassette.name, None, f"the body is larger than {MAX_BODY} bytes"),))
    if not _NAME.fullmatch(cassette.name):
        message = "a cassette's name consists of lower-case words and digits joined by hyphens"
        raise SourceError((Problem(cassette.name, None, message),))
    api_folder = folder / cassette.api
    api_folder.mkdir(parents=True, exist_ok=True)
    path = api_folder / f"{cassette.name}.yaml"
    # The body comes first, so that a crash never leaves metadata whose bytes are missing.
    write_atomically(api_folder / f"{cassette.name}.{cassette.suffix}", cassette.body)
    twin = api_folder / f"{cassette.name}.twin.json"
    if cassette.twin is not None:
        write_atomically(twin, cassette.twin)
    else:
        # Otherwise, the twin of an earlier recording would remain, although no metadata names it.
        twin.unlink(missing_ok=True)
    schema = folder.parent / "harness/streamconform/schemas/cassette.v1.json"
    modeline = _MODELINE if schema.is_file() else ""  # a user's folder has no schema next to it
    write_atomically(path, (modeline + format_metadata(cassette)).encode())
    return path


def format_metadata(cassette: Cassette) -> str:
    """Return the text of the YAML file. Raises `SourceError` if it would not be valid."""
    text = dump(_build_metadata(cassette), "request")
    parse_checked(text.encode(), cassette.name, "cassette.v1")
    return text


def _read_sidecar(name: str, document: reader.Document, key: str, problems: list[Problem]) -> bytes | None:
    """Return the bytes of the file that `key` names, or None after adding the error to `problems`."""
    entry: dict[str, str] = document.value[key]
    sidecar = entry["body"]
    # `conform lint` finds files that belong to no cassette by this part of their names.
    if sidecar.partition(".")[0] != name:
        problems.append(document.problem((key, "body"), f"`{sidecar}` must begin with `{name}.`"))
        return None
    try:
        data = read_regular(document.path.removesuffix(f"{name}.yaml") + sidecar, MAX_BODY)
    except OSError as error:
        problems.append(document.problem((key, "body"), f"`{sidecar}`: {error.strerror}"))
        return None
    digest = hashlib.sha256(data).hexdigest()
    # The bytes are returned even if the digest is wrong, so that the chunk marks are checked too.
    if digest != entry["sha256"]:
        message = f"`{sidecar}` was changed: its SHA-256 is {digest}, expected {entry['sha256']}"
        problems.append(document.problem((key, "sha256"), message))
    return data


def _check_marks(document: reader.Document, marks: tuple[ChunkMark, ...], size: int) -> list[Problem]:
    if not marks:
        return []
    problems = []
    path = ("response", "chunks")
    if marks[0].offset != 0:
        problems.append(
            document.problem((*path, 0), f"the first chunk must begin at 0, not {marks[0].offset}")
        )
    for i, (before, after) in enumerate(pairwise(marks), start=1):
        if after.offset <= before.offset or after.ms < before.ms:
            problems.append(
                document.problem(
                    (*path, i), "offsets of chunk marks must increase, and times must not decrease"
                )
            )
    # An empty body may have one mark, at 0.
    if marks[-1].offset >= max(size, 1):
        problems.append(
            document.problem(
                (*path, len(marks) - 1), f"the chunk begins after the end of the body ({size} bytes)"
            )
        )
    return problems


def _parse_provenance(entry: Mapping[str, Any]) -> Provenance:
    fields = dict(entry)
    match fields["kind"]:
        case "recorded":
            return Recorded(**fields)
        case "derived":
            return Derived(fields.pop("from"), **fields)
        case _:
            return Authored(**fields)


def _build_metadata(cassette: Cassette) -> dict[str, Any]:
    """Return the mapping that `cassette.v1.json` describes, with the keys in reading order."""
    origin = cassette.provenance
    provenance: dict[str, Any] = {"kind": origin.kind}
    match origin:
        case Recorded():
            provenance |= {
                "server": origin.server,
                "model": origin.model,
                "date": origin.date,
                "tool": origin.tool,
            }
        case Derived():
            provenance |= {"from": origin.source, "recipe": origin.recipe}
        case Authored():
            provenance |= {"source": origin.source}
        case Pulled():
            raise AssertionError("a pulled recording must stay in the user's cache, unchanged")
    if origin.note is not None:
        provenance["note"] = origin.note
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
    metadata: dict[str, Any] = {
        "cassette": 1,
        "provenance": provenance,
        "request": request | {"body": cassette.request.body},
        "response": response,
    }
    if cassette.twin is not None:
        digest = hashlib.sha256(cassette.twin).hexdigest()
        metadata["twin"] = {"body": f"{cassette.name}.twin.json", "sha256": digest}
    return metadata
