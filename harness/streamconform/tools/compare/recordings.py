"""Load a folder of recorded streams as cases without expectations, by its manifest or its subfolders."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from streamconform.apis import APIS, find_api
from streamconform.errors import Problem, SourceError, UsageError
from streamconform.model.case import NOTHING_EXPECTED, Case
from streamconform.model.cassette import Cassette, Derived, Request
from streamconform.model.trial import Framing
from streamconform.suite import cassettes
from streamconform.wire.framings import MEDIA_TYPES
from streamconform.wire.reframe import NotPayloadError, restore_framing

MANIFEST: Final = "manifest.jsonl"
REQUEST: Final = ".request.json"
PAYLOADS: Final = ".jsonl"
SUFFIXES: Final = (".sse", ".ndjson", ".json", PAYLOADS, ".eventstream")
FRAMINGS: Final[Mapping[str, Framing]] = {
    ".sse": "sse",
    ".ndjson": "ndjson",
    ".json": "json_array",
    ".eventstream": "eventstream",
}
"""The framing of a file without a content type, by its suffix; payloads get the usual one of their API."""


@dataclass(frozen=True, slots=True)
class UnreadRecording:
    """A recording that is not compared, and the reason."""

    file: str
    api: str
    reason: str


@dataclass(frozen=True, slots=True)
class RecordingFolder:
    """The contents of a folder of recordings; every file is in one of the two lists."""

    cases: tuple[Case, ...]
    unread: tuple[UnreadRecording, ...]


@dataclass(frozen=True, slots=True)
class _Entry:
    """A file, and what is known of it."""

    file: str
    api: str
    status: int
    media_type: str | None
    sha256: str | None


def read(folder: Path, apis: Collection[str], limit: int | None) -> RecordingFolder:
    """Return the recordings under `folder`, at most `limit` per API; an empty `apis` selects every API.

    A recording that cannot be read, or whose API is unknown, is listed with the reason. Raises
    `SourceError` for an invalid manifest, and `UsageError` if there are no recordings.
    """
    if not folder.is_dir():
        raise UsageError(f"`{folder}` is not a folder")
    manifest = folder / MANIFEST
    entries = _read_manifest(manifest) if manifest.is_file() else _list_files(folder)
    cases: list[Case] = []
    unread: list[UnreadRecording] = []
    taken: Counter[str] = Counter()
    for entry in entries:
        if apis and entry.api not in apis:
            continue
        if limit is not None and taken[entry.api] >= limit:
            continue
        taken[entry.api] += 1
        try:
            cases.append(_make_case(folder, entry))
        except _UnreadableRecording as error:
            unread.append(UnreadRecording(entry.file, entry.api, str(error)))
    if not cases and not unread:
        wanted = f" of {', '.join(apis)}" if apis else ""
        raise UsageError(
            f"`{folder}` holds no recording{wanted}; expected `{MANIFEST}`, or <api>/<name>.sse in it"
        )
    return RecordingFolder(tuple(cases), tuple(unread))


class _UnreadableRecording(ValueError):
    """The reason why one recording cannot be read."""


def _read_manifest(path: Path) -> Iterator[_Entry]:
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            given = json.loads(line)
            api, status, media_type = given["api"], given.get("status"), given.get("content_type")
            yield _Entry(
                file=str(given["file"]),
                api=_api_name(api),
                status=status if isinstance(status, int) else 200,
                media_type=media_type if isinstance(media_type, str) else None,
                sha256=given.get("sha256"),
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            words = "expected a JSON object with `file` and `api`"
            raise SourceError((Problem(str(path), number, words),)) from error


def _list_files(folder: Path) -> Iterator[_Entry]:
    """Yield the recordings in subfolders; each is named after an API."""
    for home in sorted(each for each in folder.iterdir() if each.is_dir()):
        api = _api_name(home.name)
        for path in sorted(home.iterdir()):
            aside = path.name.endswith((REQUEST, ".twin.json")) or path.name.startswith(".")
            if path.suffix in SUFFIXES and not aside:
                yield _Entry(f"{home.name}/{path.name}", api, 200, None, None)


def _api_name(name: str) -> str:
    """Return the name of the API that a corpus calls `name`; `name` itself where it is unknown."""
    api = find_api(name)
    return name if api is None else api.name


def _make_case(folder: Path, entry: _Entry) -> Case:
    if entry.api not in APIS:
        raise _UnreadableRecording(f"the api {entry.api} is not known to this version")
    path = folder / entry.file
    if not path.resolve().is_relative_to(folder.resolve()):
        raise _UnreadableRecording("it lies outside the folder")
    cassette = _load_cassette(folder, path, entry) or _read_recording(path, entry)
    return Case(id=entry.file, api=entry.api, title=entry.file, cassette=cassette, expect=NOTHING_EXPECTED)


def _load_cassette(folder: Path, path: Path, entry: _Entry) -> Cassette | None:
    """Return the cassette whose body `path` is, where its metadata lies beside it."""
    if entry.sha256 is not None or not path.with_suffix(".yaml").is_file():
        return None
    try:
        return cassettes.load(folder, path.parent.name, path.stem)
    except SourceError as error:
        raise _UnreadableRecording(error.problems[0].message) from error


def _read_recording(path: Path, entry: _Entry) -> Cassette:
    try:
        with path.open("rb") as file:
            body = file.read(cassettes.MAX_BODY + 1)
    except OSError as error:
        raise _UnreadableRecording(f"it cannot be read: {error.strerror}") from error
    if len(body) > cassettes.MAX_BODY:
        raise _UnreadableRecording(f"it is larger than {cassettes.MAX_BODY} bytes")
    if entry.sha256 is not None and hashlib.sha256(body).hexdigest() != entry.sha256:
        raise _UnreadableRecording("its bytes are not those that the manifest names")
    stripped = path.suffix == PAYLOADS
    if stripped:
        try:
            body = restore_framing(body, APIS[entry.api].write)
        except NotPayloadError as error:
            raise _UnreadableRecording(str(error)) from error
    guessed = MEDIA_TYPES[APIS[entry.api].framing if stripped else FRAMINGS.get(path.suffix, "sse")]
    return Cassette(
        api=entry.api,
        name=path.stem,
        request=Request(method="POST", path="/", headers={}, body=_read_request(path)),
        status=entry.status,
        headers={"content-type": guessed if stripped else entry.media_type or guessed},
        body=body,
        suffix=path.suffix.removeprefix("."),
        marks=(),
        provenance=Derived(entry.file, "read from a folder of recordings"),
    )


def _read_request(path: Path) -> dict[str, Any]:
    """Return the body of the request that was recorded beside `path`; empty where none was."""
    try:
        value = json.loads(path.with_name(path.stem + REQUEST).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
