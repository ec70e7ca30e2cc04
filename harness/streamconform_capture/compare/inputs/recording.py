"""A recording as a case without expectations, built from its bytes and metadata."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from streamconform.apis import APIS, find_api
from streamconform.model.case import NOTHING_EXPECTED, Case
from streamconform.model.cassette import Cassette, Derived, Request
from streamconform.model.trial import Framing
from streamconform.suite.cassettes import MAX_BODY
from streamconform.wire.framings import MEDIA_TYPES, split
from streamconform.wire.reframe import NotPayloadError, restore_framing

PAYLOADS: Final = ".jsonl"
"""The suffix of a body without its framing: one payload per line."""
FRAMINGS: Final[Mapping[str, Framing]] = {
    ".sse": "sse",
    ".ndjson": "ndjson",
    ".json": "json_array",
    ".eventstream": "eventstream",
}
"""The framing of a body without a content type, by its suffix; payloads get their API's usual framing."""
MAX_NAME: Final = 100
"""The maximum length of the name of an unknown API; each name is a row of the report."""
SUFFIXES: Final = (*FRAMINGS, PAYLOADS)
_SUFFIX_OF: Final = {framing: suffix for suffix, framing in FRAMINGS.items()}


@dataclass(frozen=True, slots=True)
class UnreadRecording:
    """A recording that is not compared, and the reason."""

    file: str
    api: str
    reason: str


UNKNOWN: Final = "unknown"
"""The API of a recording from which not even its API could be read."""
Recordings = Generator[Case | UnreadRecording, None, int]
"""Yields recordings, and returns how many there should be, counted before they were read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A recording that has not been read from its input yet, with its metadata."""

    file: str
    """The name in reports: a path, or a file and a position in it."""
    api: str
    status: int = 200
    media_type: str | None = None
    sha256: str | None = None
    request: Mapping[str, Any] = field(default_factory=dict)
    suffix: str = ".sse"


def is_wanted(recording: Case | UnreadRecording, apis: Collection[str]) -> bool:
    """Return whether a recording is of one of `apis`, or could be; an empty `apis` stands for every API."""
    return not apis or recording.api in (*apis, UNKNOWN)


class UnreadableRecordingError(ValueError):
    """A recording cannot be read; the message is the reason."""


def name_api(name: str) -> str:
    """Return our name for the API that a corpus calls `name`, or `name` itself if it is unknown."""
    api = find_api(name)
    return name[:MAX_NAME] if api is None else api.name


def make_case(entry: Entry, body: bytes) -> Case:
    """Return the case for `body`. Raises `UnreadableRecordingError`."""
    check_entry(entry)
    if len(body) > MAX_BODY:
        raise UnreadableRecordingError(f"it is larger than {MAX_BODY} bytes")
    if entry.sha256 is not None and hashlib.sha256(body).hexdigest() != entry.sha256:
        raise UnreadableRecordingError("its bytes do not match the digest in the manifest")
    stripped = entry.suffix == PAYLOADS
    suffix = _SUFFIX_OF.get(APIS[entry.api].framing, ".eventstream") if stripped else entry.suffix
    if stripped:
        try:
            body = restore_framing(body, APIS[entry.api].write)
        except NotPayloadError as error:
            raise UnreadableRecordingError(str(error)) from error
    guessed = MEDIA_TYPES[APIS[entry.api].framing if stripped else FRAMINGS.get(entry.suffix, "sse")]
    cassette = Cassette(
        api=entry.api,
        name=entry.file.rpartition("/")[2].removesuffix(entry.suffix),
        request=Request(method="POST", path="/", headers={}, body=entry.request),
        status=entry.status,
        headers={"content-type": guessed if stripped else entry.media_type or guessed},
        body=body,
        suffix=suffix.removeprefix("."),
        marks=(),
        provenance=Derived(entry.file, "read from a collection of recordings"),
    )
    return wrap_cassette(entry, cassette)


def wrap_cassette(entry: Entry, cassette: Cassette) -> Case:
    """Return the case for a cassette in our own format."""
    return Case(
        id=entry.file,
        api=entry.api,
        title=entry.file,
        cassette=cassette,
        expect=NOTHING_EXPECTED,
        stream=not holds_document(cassette),
    )


def holds_document(cassette: Cassette) -> bool:
    """Return whether the body is an answer that does not stream, although its request may not be known.

    An error document is read like the stream that it replaces.
    """
    media = cassette.headers.get("content-type", "").partition(";")[0].strip().lower()
    if cassette.status >= 400 or media != "application/json" or cassette.request.body.get("stream") is True:
        return False
    # Where a stream consists of JSON lines, a document looks like a stream of one line.
    framed = APIS[cassette.api].detect_framing(cassette.status, cassette.body)
    one_line = framed == "ndjson" and len(split(framed, cassette.body)) == 1
    return (framed == "document" or one_line) and cassette.body.lstrip()[:1] == b"{"


def check_entry(entry: Entry) -> None:
    """Raise `UnreadableRecordingError` for a recording of an unknown API."""
    if entry.api not in APIS:
        raise UnreadableRecordingError(f"the API {entry.api} is not known to this version")


def read_case(entry: Entry, body: bytes) -> Case | UnreadRecording:
    """Return the case for `body`, or the reason why there is none."""
    try:
        return make_case(entry, body)
    except UnreadableRecordingError as error:
        return UnreadRecording(entry.file, entry.api, str(error))


def read_status(value: object) -> int:
    """Return `value` as an HTTP status, or 200 if it is not one."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 200
