"""Folders of recordings with things that are not files, and with damaged manifests and cassettes."""

from __future__ import annotations

import json
import os
import random
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from streamconform.model.cassette import Cassette, Derived, Request
from streamconform.suite.cassettes import format_metadata
from streamconform_dev.fuzz.damage import Damaged, Ending, damage_bytes, damage_file, damage_value
from streamconform_dev.fuzz.recordings import (
    PARTITION_SIZES,
    Collection,
    Recording,
    check_path,
    count_lines,
    make_recordings,
)


@dataclass(frozen=True, slots=True)
class Folder:
    """The files of a folder; a file that is no regular one is described by a word."""

    files: dict[str, bytes | str]
    collection: Collection


def make_folder(rng: random.Random) -> Folder:
    """Return a folder of recordings with one odd file."""
    recordings = make_recordings(rng)
    count = len(recordings)
    files: dict[str, bytes | str] = {
        f"{each.api}/{each.name}.sse": rng.choice((each.body, each.body, rng.choice(SPECIAL)))
        for each in recordings
    }
    for each in recordings:
        if rng.random() < 0.3:
            data = json.dumps(damage_value([{"model": "m"}], rng)[0]).encode()
            files[f"{each.api}/{each.name}.request.json"] = rng.choice(
                (data, damage_bytes(data, rng), "fifo")
            )
        elif rng.random() < 0.2:
            data = _describe_cassette(each)
            files[f"{each.api}/{each.name}.yaml"] = rng.choice((data, damage_bytes(data, rng), "fifo"))
    count -= sum(value == "folder" for value in files.values())
    size = rng.choice(PARTITION_SIZES)
    return Folder(files, Collection(Damaged(data=b"", count=count, exact=True), None, size))


SPECIAL: Final = ("fifo", "folder", "link to nothing", "link outside", "link to itself", "socket")
"""Things that are not files."""


def _describe_cassette(each: Recording) -> bytes:
    request = Request(method="POST", path="/", headers={}, body={"model": "m"})
    cassette = Cassette(
        api=each.api, name=each.name, request=request, status=200, body=each.body, suffix="sse", marks=(),
        headers={"content-type": "text/event-stream"}, provenance=Derived("elsewhere", "converted by hand"),
    )  # fmt: skip
    return format_metadata(cassette).encode()


def make_manifest(rng: random.Random) -> Folder:
    """Return a folder with a manifest that is damaged."""
    recordings = make_recordings(rng)
    rows: list[Any] = [
        {"file": f"{each.name}.sse", "api": each.api, "status": 200, "content_type": "text/event-stream"}
        for each in recordings
    ]
    files: dict[str, bytes | str] = {f"{each.name}.sse": each.body for each in recordings}
    at = rng.randrange(len(rows))
    files[f"{recordings[at].name}.sse"] = rng.choice((recordings[at].body, rng.choice(SPECIAL)))
    if rng.random() < 0.6:
        (damaged,) = damage_value([rows[at]], rng)
        rows[at] = rng.choice((damaged, rows[at] | {"file": rng.choice(FILES)}))
        # A line that does not describe a file makes the whole manifest invalid.
        file = Damaged(data=b"\n".join(json.dumps(row).encode() for row in rows), count=len(rows))
    else:
        files = {name: data for name, data in files.items() if isinstance(data, bytes)}
        lines = [json.dumps(row).encode() + b"\n" for row in rows]
        file = damage_file(lines, len(rows), rng, tail=b"\n", is_marked=False, fragile=count_lines)
        file = Damaged(data=file.data, count=file.count, told=file.told)
    files["manifest.jsonl"] = file.data
    return Folder(files, Collection(file, None, rng.choice(PARTITION_SIZES)))


FILES: Final = (
    "../../etc/passwd",
    "/etc/passwd",
    "\x00",
    "x" * 5000,
    ".",
    "..",
    "",
    "~/x",
    "r0.sse/",
    "a" * 255 + "/x",
)
"""Names of files that are not in the folder."""


def check_folder(made: Folder, folder: Path) -> Ending:
    """Read a folder."""
    home = folder / "recordings"
    try:
        for name, data in made.files.items():
            _put_file(home / name, data)
        return check_path(home, made.collection)
    finally:
        shutil.rmtree(home)


def _put_file(path: Path, data: bytes | str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    match data:
        case bytes():
            path.write_bytes(data)
        case "fifo" | "socket":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "link to itself":
            path.symlink_to(path.name)
        case "link outside":
            path.symlink_to("/proc/self/maps")
        case _:
            path.symlink_to("nothing")
