"""Damage files of every format that can be imported: `python -m streamconform_dev.fuzz.imports`.

A file has three exchanges. One value of its structure is replaced by one that no recorder writes, or some
bytes are changed. Whatever the damage, no exception but `SourceError` may escape, nothing may take long or
need much memory, and every exchange must become a draft or a skipped exchange. With the same seed, the inputs
are the same.
"""

from __future__ import annotations

import argparse
import base64
import copy
import gzip
import json
import os
import random
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from streamconform.errors import SourceError
from streamconform.resources import find_bundled
from streamconform_capture.importers import import_file
from streamconform_capture.record import draft

EXCHANGES: Final = 3
PER_PROCESS: Final = 1000
SECONDS: Final = 5
MEMORY: Final = 256 * 1024 * 1024
"""Beyond what the process needs before the first input."""
URL: Final = "https://api.anthropic.com/v1/messages"
BODY: Final = (
    find_bundled("cassettes") / "anthropic-messages/end-turn-behind-an-empty-text.sse"
).read_bytes()
REQUEST: Final = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Hi."}]}
HALF: Final = "\ud800"
"""Half of a surrogate pair, which YAML cannot represent even escaped."""
HOSTILE: Final[tuple[Any, ...]] = (
    None, True, -1, 0, 10**30, 1e999, float("nan"), 0.5, "", "\x00\x1b", HALF, "\u202e", "http://[bad",
    "http://a\u2100b", "9" * 5000, [], {}, [[]], [None], {"a": {}}, ["x"] * 100, {"": ""}, "2020-99-99",
)  # fmt: skip
"""Values that no recorder writes in most places."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format: the name of its files, their exchange and the way in which they are written."""

    name: str
    exchange: Any
    write: Callable[[list[Any]], bytes]


def write_tnetstring(value: Any) -> bytes:
    """Return `value` as mitmproxy writes it."""
    match value:
        case dict():
            data = b"".join(write_tnetstring(key) + write_tnetstring(item) for key, item in value.items())
        case list():
            data = b"".join(map(write_tnetstring, value))
        case bytes():
            data = value
        case str():
            data = value.encode("utf-8", "replace")
        case None:
            data = b""
        case _:
            data = str(value).lower().encode()
    kinds = {dict: b"}", list: b"]", bytes: b",", str: b";", bool: b"!", int: b"#", float: b"^"}
    return b"%d:%s%s" % (len(data), data, kinds.get(type(value), b"~"))


def _write_yaml(value: Any) -> bytes:
    return yaml.dump(value, allow_unicode=False).encode()


TEXT: Final = BODY.decode()
_PAIRS: Final = [{"name": "content-type", "value": "text/event-stream"}]
_LISTS: Final = {"content-type": ["text/event-stream"]}
_VCR: Final = {
    "request": {"method": "POST", "uri": URL, "headers": {}, "body": json.dumps(REQUEST)},
    "response": {"status": {"code": 200, "message": "OK"}, "headers": _LISTS, "body": {"string": TEXT}},
}
FORMATS: Final = (
    Format(
        "a.har",
        {
            "request": {
                "url": URL, "method": "POST", "headers": [], "postData": {"text": json.dumps(REQUEST)},
            },
            "response": {"status": 200, "headers": _PAIRS, "content": {"size": len(BODY), "text": TEXT}},
        },
        lambda items: json.dumps({"log": {"entries": items}}).encode(),
    ),
    Format(
        "a.flow",
        {
            "type": "http",
            "request": {
                "method": b"POST", "scheme": b"https", "host": "api.anthropic.com", "path": b"/v1/messages",
                "headers": [[b"x-api-key", b"none"]], "content": json.dumps(REQUEST).encode(),
            },
            "response": {
                "status_code": 200, "headers": [[b"content-type", b"text/event-stream"]], "content": BODY,
            },
        },
        lambda items: b"".join(map(write_tnetstring, items)),
    ),
    Format("a.yaml", _VCR, lambda items: _write_yaml({"version": 1, "interactions": items})),
    Format("a.json", _VCR, lambda items: json.dumps({"version": 1, "interactions": items}).encode()),
    Format(
        "a.yaml.gz",
        _VCR,
        lambda items: gzip.compress(
            _write_yaml({key: [item.get(key[:-1]) for item in items] for key in ("requests", "responses")}), 1
        ),
    ),
)  # fmt: skip
LITELLM: Final = {
    "request": {"method": "POST", "path": "/anthropic/v1/messages", "headers": {}, "body": REQUEST},
    "response": {
        "kind": "streamed", "status_code": 200, "headers": {"content-type": "text/event-stream"},
        "chunks_b64": [base64.b64encode(BODY[:90]).decode(), base64.b64encode(BODY[90:]).decode()],
        "truncated": None,
    },
}  # fmt: skip


def make_input(rng: random.Random) -> tuple[str, bytes, int | None]:
    """Return a file's name and contents, and its number of exchanges; None if the damage may change that."""
    form = rng.choice(FORMATS)
    items = [copy.deepcopy(form.exchange) for _ in range(EXCHANGES)]
    if rng.random() < 0.1:
        return "a.json", json.dumps(_damage(LITELLM, rng)).encode(), 1
    at = rng.randrange(EXCHANGES)
    items[at] = _damage(items[at], rng)
    if form.name == "a.yaml.gz" and not isinstance(items[at], dict):
        items[at] = {}
    data = form.write(items)
    if rng.random() < 0.3:
        return form.name, _damage_bytes(data, rng), None
    return form.name, data, None if "yaml" in form.name and r"\ud800" in json.dumps(items) else EXCHANGES


def _damage(value: Any, rng: random.Random) -> Any:
    """Return a copy of `value` with one value in its structure replaced, removed or doubled."""
    value = copy.deepcopy(value)
    parent, key = rng.choice([*_iter_places(value)])
    if rng.random() < 0.2 and isinstance(parent, dict):
        del parent[key]
    elif isinstance(parent[key], str | bytes) and rng.random() < 0.5:
        whole = parent[key]
        data = _damage_bytes(whole if isinstance(whole, bytes) else whole.encode(), rng)
        parent[key] = data if isinstance(whole, bytes) else data.decode("utf-8", "replace")
    else:
        parent[key] = copy.deepcopy(rng.choice(HOSTILE))
    return value


def _iter_places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from _iter_places(value[key])


def _damage_bytes(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data) + 1)
    end = min(len(data), start + rng.choice((0, 1, 4, 50)))
    match rng.randrange(4):
        case 0:
            return data[:start]
        case 1:
            return data[:start] + data[end:]
        case 2:
            return data[:start] + rng.randbytes(rng.choice((1, 3, 20))) + data[end:]
        case _:
            return data[:start] + data[start:end] * 3 + data[end:]


def check_input(name: str, data: bytes, count: int | None) -> str:
    """Import one file; return what became of it. Raises for everything that must not happen."""
    began = time.process_time()
    try:
        found = import_file(Path(name), data, None, None)
    except SourceError:
        if count is not None:
            raise
        return "refused"
    for cassette in found.cassettes:
        try:
            draft.format_case(cassette, "A title")
        except SourceError:
            continue  # the command lists it as not imported
    if found.count != len(found.cassettes) + len(found.skipped) or count not in (None, found.count):
        raise AssertionError(
            f"{count} exchanges: {len(found.cassettes)} drafts, {len(found.skipped)} skipped"
        )
    if count == EXCHANGES and len(found.cassettes) < EXCHANGES - 1:
        raise AssertionError("a good exchange was lost")
    if time.process_time() - began > SECONDS:
        raise AssertionError(f"more than {SECONDS} s of CPU time")
    return "partly imported" if found.skipped else "imported"


def run_inputs(seed: int, inputs: int) -> tuple[Counter[str], list[str]]:
    """Return how many inputs ended in each way, and the failures."""
    tally: Counter[str] = Counter()
    failures = []
    for number in range(seed, seed + inputs):
        name, data, count = make_input(random.Random(number))  # noqa: S311 - repeatable
        try:
            tally[check_input(name, data, count)] += 1
        except Exception as error:  # noqa: BLE001 - it is what is looked for
            failures.append(f"seed {number}, {name}: {type(error).__name__}: {str(error)[:300]}")
    return tally, failures


def _run_child(seed: int, inputs: int) -> tuple[Counter[str], list[str]]:
    """Run the inputs in a process of its own, whose memory and CPU time are limited."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (inputs, inputs + 1))
        os.write(writer, json.dumps(run_inputs(seed, inputs)).encode()[:60_000])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        text = file.read()
    status = os.waitpid(pid, 0)[1]
    if status:
        return Counter(), [f"seeds {seed} to {seed + inputs - 1}: {signal.strsignal(status & 127)}"]
    tally, failures = json.loads(text)
    return Counter(tally), failures


def main() -> int:
    """Run a campaign, and print its tally and failures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    tally: Counter[str] = Counter()
    failures: list[str] = []
    for start in range(0, arguments.inputs, PER_PROCESS):
        part = _run_child(arguments.seed + start, min(PER_PROCESS, arguments.inputs - start))
        tally += part[0]
        failures += part[1]
    ways = ", ".join(f"{count} {way}" for way, count in tally.most_common())
    lines = [f"{tally.total()} inputs: {ways}; {len(failures)} failures", *failures[:50]]
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
