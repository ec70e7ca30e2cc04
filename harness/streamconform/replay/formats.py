"""Write cassettes in the formats of other tools. Pure."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from streamconform._version import __version__
from streamconform.apis import APIS
from streamconform.errors import UsageError
from streamconform.model.cassette import Cassette
from streamconform.wire.framings import split

DEFAULT_HOST: Final = "localhost"
"""The host for an API whose providers all have different addresses."""
EMPTY_DATE: Final = "1970-01-01T00:00:00.000Z"
"""The start time of an exchange, which HAR requires; cassettes contain only the date."""


def find_base_url(cassette: Cassette) -> str:
    """Return the scheme and host of the request that a client sends by default."""
    recording = APIS[cassette.api].recording
    return f"https://{(recording and recording.host) or DEFAULT_HOST}"


def export_raw(cassette: Cassette, base_url: str) -> bytes:
    """Return the body."""
    del base_url
    return cassette.body


def export_jsonl(cassette: Cassette, base_url: str) -> bytes:
    """Return the payloads, one per line. Raises `UsageError` if one is not a single line of text."""
    del base_url
    framed = APIS[cassette.api].detect_framing(cassette.status, cassette.body)
    payloads = [frame.payload for frame in split(framed, cassette.body)]
    payloads = [payload for payload in payloads if payload not in (b"", b"[DONE]")]
    if not payloads or any(b"\n" in payload for payload in payloads):
        name = f"{cassette.api}/{cassette.name}"
        raise UsageError(f"`{name}` has payloads that are not one line each; use `--to raw`")
    return b"".join(payload + b"\n" for payload in payloads)


def export_har(cassette: Cassette, base_url: str) -> bytes:
    """Return a HAR 1.2 with one entry."""
    request = cassette.request
    sent = json.dumps(request.body, ensure_ascii=False)
    common = {"httpVersion": "HTTP/1.1", "cookies": [], "headersSize": -1}
    entry = {
        "startedDateTime": EMPTY_DATE,
        "time": 0,
        "request": common
        | {
            "method": request.method,
            "url": base_url + request.path,
            "headers": _list_headers(request.headers),
            "queryString": [],
            "postData": {"mimeType": "application/json", "text": sent},
            "bodySize": len(sent.encode()),
        },
        "response": common
        | {
            "status": cassette.status,
            "statusText": "",
            "headers": _list_headers(cassette.headers),
            "content": {
                "size": len(cassette.body),
                "mimeType": cassette.content_type,
                # A body may be binary, or end inside a character, and HAR is text.
                "encoding": "base64",
                "text": base64.b64encode(cassette.body).decode(),
            },
            "redirectURL": "",
            "bodySize": len(cassette.body),
        },
        "cache": {},
        "timings": {"send": 0, "wait": 0, "receive": 0},
    }
    creator = {"name": "streamconform", "version": __version__}
    log = {"version": "1.2", "creator": creator, "entries": [entry]}
    return json.dumps({"log": log}, indent=1, ensure_ascii=False).encode() + b"\n"


def export_vcr(cassette: Cassette, base_url: str) -> bytes:
    """Return a vcrpy cassette, in YAML, with one interaction."""
    from vcr.serialize import serialize
    from vcr.serializers import yamlserializer

    requests, responses = build_vcr(cassette, base_url)
    text: str = serialize({"requests": requests, "responses": responses}, yamlserializer)
    return text.encode()


def build_vcr(cassette: Cassette, base_url: str) -> tuple[list[Any], list[dict[str, Any]]]:
    """Return the requests and responses in vcrpy's in-memory form."""
    from vcr.request import Request  # vcrpy imports every HTTP library that is installed

    sent = cassette.request
    body = json.dumps(sent.body, ensure_ascii=False).encode()
    request = Request(sent.method, base_url + sent.path, body, dict(sent.headers))
    response = {
        "status": {"code": cassette.status, "message": ""},
        "headers": {name: [value] for name, value in cassette.headers.items()},
        "body": {"string": cassette.body},
    }
    return [request], [response]


FORMATS: Final[Mapping[str, tuple[Callable[[Cassette, str], bytes], str | None]]] = {
    "raw": (export_raw, None),
    "jsonl": (export_jsonl, "jsonl"),
    "har": (export_har, "har"),
    "vcr": (export_vcr, "yaml"),
}
"""Each format with its function and file suffix; None stands for the cassette body's suffix."""


def _list_headers(headers: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in headers.items()]
