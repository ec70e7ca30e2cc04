"""Folders of recordings, described by `manifest.jsonl` or by the names of their subfolders."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from streamconform.errors import Problem, SourceError
from streamconform.files.json_text import check_values
from streamconform.model.case import Case
from streamconform.suite import cassettes
from streamconform_capture.compare.inputs.partition import Partition
from streamconform_capture.compare.inputs.recording import (
    SUFFIXES,
    Entry,
    Recordings,
    UnreadableRecordingError,
    UnreadRecording,
    check_entry,
    make_case,
    name_api,
    read_status,
    wrap_cassette,
)
from streamconform_capture.compare.inputs.storage import is_local, open_file, open_storage

MANIFEST: Final = "manifest.jsonl"
REQUEST: Final = ".request.json"
MAX_ENTRIES: Final = 5_000
"""The maximum number of files in a partition, regardless of their size."""
MAX_LINE: Final = 64 * 1024
"""The maximum size of a line in a manifest."""
UNKNOWN_SIZE: Final = 8 * 1024
"""The assumed size of a file listed in a manifest; finding the real size would take one request per file."""


def split_folder(url: str, size: int) -> Iterator[Partition]:
    """Yield partitions of about `size` bytes. Raises `SourceError` for an invalid manifest."""
    entries: list[Entry] = []
    total = 0
    for entry, length in _list_entries(url):
        entries.append(entry)
        total += length
        if total >= size or len(entries) >= MAX_ENTRIES:
            yield Partition(url=url, format="folder", size=total, entries=tuple(entries))
            entries, total = [], 0
    if entries:
        yield Partition(url=url, format="folder", size=total, entries=tuple(entries))


def read_folder(partition: Partition) -> Recordings:
    """Yield the recordings of `partition`."""
    only = partition.only
    # Selected here too, so that the files of other recordings are not read.
    entries = [entry for entry in partition.entries if only is None or entry.file in only]
    for entry in entries:
        try:
            yield _read_entry(partition.url, entry)
        except UnreadableRecordingError as error:
            yield UnreadRecording(entry.file, entry.api, str(error))
    return len(entries)


def parse_manifest_line(line: bytes) -> Entry:
    """Return the entry in a manifest line. Raises `ValueError`, `KeyError` or `TypeError`."""
    given = json.loads(line)
    media_type = given.get("content_type")
    file, api = str(given["file"]), given["api"]
    if not isinstance(api, str):
        raise TypeError("`api` is not text")
    return Entry(
        file=file,
        api=name_api(api),
        status=read_status(given.get("status")),
        media_type=media_type if isinstance(media_type, str) else None,
        sha256=given.get("sha256"),
        suffix=posixpath.splitext(file)[1],
    )


def is_recording(name: str) -> bool:
    """Return whether a file with this name is a recording, rather than a recording's metadata."""
    aside = name.endswith((REQUEST, ".twin.json")) or name.startswith(".")
    return posixpath.splitext(name)[1] in SUFFIXES and not aside


def _list_entries(url: str) -> Iterator[tuple[Entry, int]]:
    """Yield the recordings in a folder, with their sizes in bytes if the listing provides them."""
    storage, folder = open_storage(url)
    if storage.isfile(posixpath.join(folder, MANIFEST)):
        with open_file(url, MANIFEST) as lines:
            # A longer line is incomplete, and so no JSON.
            for number, line in enumerate(iter(lambda: lines.readline(MAX_LINE), b""), start=1):
                if line.strip():
                    yield _parse_entry(url, number, line), UNKNOWN_SIZE
        return
    for home in sorted(each["name"] for each in storage.ls(folder, detail=True) if _is_folder(each)):
        name = posixpath.basename(home.rstrip("/"))
        api = name_api(name)
        for found in sorted(storage.ls(home, detail=True), key=lambda each: str(each["name"])):
            file = posixpath.basename(found["name"])
            if is_recording(file) and not _is_folder(found):
                suffix = posixpath.splitext(file)[1]
                yield Entry(file=f"{name}/{file}", api=api, suffix=suffix), int(found.get("size") or 0)


def _is_folder(listed: Any) -> bool:
    return bool(listed["type"] == "directory")


def _parse_entry(url: str, number: int, line: bytes) -> Entry:
    try:
        return parse_manifest_line(line)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        words = "expected a JSON object with `file` and `api`"
        raise SourceError((Problem(posixpath.join(url, MANIFEST), number, words),)) from error


def _read_entry(url: str, entry: Entry) -> Case:
    check_entry(entry)
    try:
        _check_inside(url, entry.file)
        if is_local(url) and entry.sha256 is None:
            found = Path(url, entry.file)
            if found.with_suffix(".yaml").is_file():
                # Our own cassettes contain more metadata than a manifest.
                return wrap_cassette(entry, cassettes.load(Path(url), found.parent.name, found.stem))
        with open_file(url, entry.file) as file:
            # One byte more than allowed, so that a larger body is detected without reading all of it.
            body = file.read(cassettes.MAX_BODY + 1)
    except UnreadableRecordingError:
        raise
    except SourceError as error:
        raise UnreadableRecordingError(error.problems[0].message) from error
    # Python raises the last two for a loop of links, and for a name that no file can have.
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise UnreadableRecordingError(f"it cannot be read: {reason}") from error
    request = _read_request(url, posixpath.splitext(entry.file)[0] + REQUEST)
    return make_case(
        Entry(
            file=entry.file,
            api=entry.api,
            status=entry.status,
            media_type=entry.media_type,
            sha256=entry.sha256,
            request=request,
            suffix=entry.suffix,
        ),
        body,
    )


def _check_inside(url: str, name: str) -> None:
    path = posixpath.normpath(name)
    outside = path.startswith(("../", "/")) or path == ".."
    # A link inside the folder may lead outside it.
    if outside or (is_local(url) and not Path(url, name).resolve().is_relative_to(Path(url).resolve())):
        raise UnreadableRecordingError("it lies outside the folder")


def _read_request(url: str, name: str) -> dict[str, Any]:
    """Return the request body that was recorded with a response; empty if there is none."""
    try:
        with open_file(url, name) as file:
            text = file.read(cassettes.MAX_BODY)
        check_values(text)
        value = json.loads(text)
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
