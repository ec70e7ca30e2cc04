"""Damaged files of every format that can be imported.

One value in the structure of an exchange is replaced by one that no recorder writes, or the bytes of the file
are damaged. Every exchange must become a draft or be named with a reason.
"""

from __future__ import annotations

import base64
import gzip
import json
import random
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from streamconform.errors import SourceError
from streamconform_capture.importers import import_file
from streamconform_capture.record import draft
from streamconform_dev.fuzz import bombs
from streamconform_dev.fuzz.damage import (
    BOMBS,
    Damaged,
    Ending,
    Loss,
    check_kept,
    check_refused,
    cut_bytes,
    damage_bytes,
    damage_file,
    damage_value,
)
from streamconform_dev.fuzz.streams import Stream, choose_streams
from streamconform_dev.fuzz.target import Target

SNIPPETS: Final = (
    "*a", "&a [*a]", "&a {x: *a}", "!!binary 'eA=='", "!!binary '\\x'", "!!python/object:os.system {}",
    "!!python/tuple [1]", "!!python/object/new:_io.BytesIO {state: [!!binary eA==, 0, null]}", "!!set {a}",
    "!!timestamp '2020-99-99'", "!!int x", "!!float .nan", "{<<: {a: b}}", "{? [a] : b}", "0o17", "- x", "%",
    '"\\x00"', "!<x> y", "&a !!omap [a: b]", "[" * 70, "'\\ud800'", "---", "? ", "!!pairs [a: b]",
)  # fmt: skip
"""YAML that no recorder writes in place of a value."""
NOT_IN_YAML: Final = re.compile("[\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")
MARK: Final = "a value to be replaced"


@dataclass(frozen=True, slots=True)
class Format:
    """A format: the name of its files, the form of an exchange, and how exchanges are written."""

    name: str
    describe: Callable[[Stream, random.Random], dict[str, Any]]
    write: Callable[[list[Any]], list[bytes]]
    """Returns the pieces of a file: one per exchange, or the whole file."""
    share: int
    is_marked: bool = True
    """Whether the end of a file is marked."""
    many: bool = True
    """Whether a file may have several exchanges."""
    is_body: bool = False
    """Whether a file is the body of an answer, each part of which is one too."""
    bombs: tuple[Callable[[], bytes], ...] = ()
    """Files that could need much more memory or time than others."""


@dataclass(frozen=True, slots=True)
class Import:
    """A file to import, and whether drafts are written too, which takes most of the time."""

    file: Damaged
    is_drafted: bool


def make_input(form: Format, rng: random.Random) -> Import:
    """Return a damaged file."""
    if form.bombs and rng.random() < BOMBS:
        return Import(Damaged(data=rng.choice(form.bombs)(), count=0), is_drafted=False)
    streams = choose_streams(rng, rng.choice((1, 1, 1, 2, 2, 3)) if form.many else 1)
    items: list[Any] = [form.describe(stream, rng) for stream in streams]
    is_drafted = rng.random() < 0.05
    if rng.random() < 0.4:
        pieces = form.write(items)
        if form.is_body:
            damaged = rng.choice((cut_bytes, damage_bytes))(pieces[0], rng)
            return Import(Damaged(data=damaged, count=0), is_drafted)
        return Import(damage_file(pieces, len(items), rng, is_marked=form.is_marked), is_drafted)
    count = len(items)
    items = damage_value(items, rng)
    if ".yaml" in form.name and rng.random() < 0.4:
        data = _insert_snippet(form, items, rng)
        return Import(Damaged(data=data, count=0), is_drafted)
    data = b"".join(form.write(items))
    # YAML cannot have all characters, and flows are recognised by the first one.
    is_no_yaml = ".yaml" in form.name and NOT_IN_YAML.search(json.dumps(items, ensure_ascii=False))
    if form.is_body or is_no_yaml or not (isinstance(items[0], dict) and items[0]):
        return Import(Damaged(data=data, count=0), is_drafted)
    return Import(Damaged(data=data, count=count, exact=True, intact=count - 1), is_drafted)


def check_input(form: Format, made: Import, folder: Path) -> Ending:
    """Import a file. Raises for everything that must not happen."""
    del folder
    try:
        found = import_file(Path(form.name), made.file.data, None, None)
    except SourceError as error:
        return check_refused(made.file, error)
    if not found.count:
        return check_refused(made.file, ValueError("nothing was imported"))
    if found.count != len(found.cassettes) + len(found.skipped):
        raise Loss(f"{found.count} read, {len(found.cassettes)} drafts, {len(found.skipped)} skipped")
    for cassette in found.cassettes if made.is_drafted else ():
        try:
            draft.format_case(cassette, "A title")
        except SourceError:
            continue  # the command lists it as not imported
    return check_kept(made.file, len(found.cassettes), len(found.skipped))


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


def _insert_snippet(form: Format, items: list[Any], rng: random.Random) -> bytes:
    """Return a file with odd YAML in place of a value."""
    place: Any = rng.choice(items)
    while isinstance(place, dict) and place:
        key = rng.choice([*place])
        if not isinstance(place[key], dict) or rng.random() < 0.3:
            place[key] = MARK
            break
        place = place[key]
    (data,) = form.write(items)
    text = gzip.decompress(data) if form.name.endswith(".gz") else data
    text = text.replace(json.dumps(MARK).encode(), rng.choice(SNIPPETS).encode())
    return gzip.compress(text, 1) if form.name.endswith(".gz") else text


def _encode(stream: Stream, rng: random.Random) -> tuple[bytes, dict[str, str]]:
    """Return a body and its headers, sometimes with a content coding."""
    headers = {"content-type": stream.media_type}
    match rng.randrange(8):
        case 0:
            return gzip.compress(stream.body, 1), headers | {"content-encoding": "gzip"}
        case 1:
            return zlib.compress(stream.body, 1), headers | {"content-encoding": "deflate"}
        case _:
            return stream.body, headers


def _pair(headers: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in headers.items()]


def _describe_har(stream: Stream, rng: random.Random) -> dict[str, Any]:
    del rng
    binary = stream.media_type.startswith("application/vnd")
    text = base64.b64encode(stream.body).decode() if binary else stream.body.decode()
    content = {"size": len(stream.body), "text": text, "encoding": "base64" if binary else None}
    return {
        "request": {
            "url": stream.url, "method": "POST", "headers": _pair({"x-api-key": "none"}),
            "postData": {"text": stream.request},
        },
        "response": {
            "status": 200, "headers": _pair({"content-type": stream.media_type}), "content": content,
        },
    }  # fmt: skip


def _describe_flow(stream: Stream, rng: random.Random) -> dict[str, Any]:
    body, headers = _encode(stream, rng)
    return {
        "type": "http",
        "request": {
            "method": b"POST", "scheme": b"https", "host": "gateway.example", "path": stream.path.encode(),
            "headers": [[b"x-api-key", b"none"]], "content": stream.request.encode(),
        },
        "response": {
            "status_code": 200, "content": body,
            "headers": [[name.encode(), value.encode()] for name, value in headers.items()],
        },
    }  # fmt: skip


def _describe_vcr(stream: Stream, rng: random.Random) -> dict[str, Any]:
    body, headers = _encode(stream, rng)
    try:
        stored = {"string": body.decode()}
    except UnicodeDecodeError:
        stored = {"base64_string": base64.b64encode(body).decode()}
    return {
        "request": {"method": "POST", "uri": stream.url, "headers": {}, "body": stream.request},
        "response": {
            "status": {"code": 200, "message": "OK"}, "body": stored,
            "headers": {name: [value] for name, value in headers.items()},
        },
    }  # fmt: skip


def _describe_litellm(stream: Stream, rng: random.Random) -> dict[str, Any]:
    at = rng.randrange(len(stream.body))
    chunks = [base64.b64encode(part).decode() for part in (stream.body[:at], stream.body[at:])]
    return {
        "request": {
            "method": "POST", "path": stream.path, "headers": {}, "body": json.loads(stream.request),
        },
        "response": {
            "kind": "streamed", "status_code": 200, "headers": {"content-type": stream.media_type},
            "chunks_b64": chunks, "truncated": None,
        },
    }  # fmt: skip


def _describe_http(stream: Stream, rng: random.Random) -> dict[str, Any]:
    body, headers = _encode(stream, rng)
    return {
        "request line": f"POST {stream.path} HTTP/1.1",
        "request headers": {"Host": "gateway.example", "Content-Length": str(len(stream.request))},
        "request": stream.request,
        "status line": rng.choice(("HTTP/1.1 200 OK", "HTTP/2.0 200 OK", "HTTP/1.1 200")),
        "headers": headers | ({"Content-Length": str(len(body))} if rng.random() < 0.5 else {}),
        "body": body,
    }


def _write_har(items: list[Any]) -> list[bytes]:
    return [json.dumps({"log": {"entries": items}}).encode()]


def _write_vcr(items: list[Any]) -> list[bytes]:
    return [_write_yaml({"version": 1, "interactions": items})]


def _write_yaml(value: object) -> bytes:
    # JSON is YAML but for its surrogate pairs, and PyYAML needs more time than the importer.
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _write_langchain(items: list[Any]) -> list[bytes]:
    lists = {
        f"{key}s": [item.get(key) if isinstance(item, dict) else item for item in items]
        for key in ("request", "response")
    }
    return [gzip.compress(_write_yaml(lists), 1)]


def _write_part(line: object, headers: object, body: object) -> bytes:
    items = headers.items() if isinstance(headers, dict) else [(headers, headers)]
    head = [str(line), *(f"{name}: {value}" for name, value in items)]
    content = body if isinstance(body, bytes) else str(body).encode("utf-8", "replace")
    return "\r\n".join(head).encode("utf-8", "replace") + b"\r\n\r\n" + content


def _write_response(item: Any) -> bytes:
    item = item if isinstance(item, dict) else {}
    return _write_part(item.get("status line"), item.get("headers"), item.get("body"))


def _write_trace(items: list[Any]) -> list[bytes]:
    pieces = [b""]
    for item in items:
        given = item if isinstance(item, dict) else {}
        sent = _write_part(given.get("request line"), given.get("request headers"), given.get("request"))
        answer = _write_response(item)
        pieces.append(b"%d %d\n%s%s" % (len(sent), len(answer), sent, answer))
    return [b"httprr trace v1\n" + pieces[1], *pieces[2:]]


def _write_strings(items: list[Any]) -> list[bytes]:
    body = str(items[0]).splitlines(keepends=True)
    return [b"\n".join(json.dumps(part).encode() for part in body)]


FORMATS: Final = (
    Format("a.har", _describe_har, _write_har, 6, bombs=(bombs.make_entries, bombs.make_nesting)),
    Format(
        "a.flow",
        _describe_flow,
        lambda items: [*map(write_tnetstring, items)],
        6,
        is_marked=False,
        bombs=(bombs.make_nulls,),
    ),
    Format("a.yaml", _describe_vcr, _write_vcr, 4, bombs=(bombs.make_aliases, bombs.make_interactions)),
    Format("a.json", _describe_vcr, lambda items: [json.dumps({"interactions": items}).encode()], 5),
    Format("a.yaml.gz", _describe_vcr, _write_langchain, 4, bombs=(bombs.make_zeros,)),
    Format(
        "b.json",
        _describe_litellm,
        lambda items: [json.dumps(items[0]).encode()],
        5,
        many=False,
        bombs=(bombs.make_codings,),
    ),
    Format("a.httprr", _describe_http, _write_trace, 5, bombs=(bombs.make_exchanges,), is_marked=False),
    Format("a.sse", _describe_http, lambda items: [_write_response(items[0])], 5, many=False, is_body=True),
    Format("a.jsonl", _describe_http, _write_strings, 5, many=False, is_body=True),
)
TARGETS: Final = tuple(
    Target(f"import {form.name}", partial(make_input, form), partial(check_input, form), form.share)
    for form in FORMATS
)
