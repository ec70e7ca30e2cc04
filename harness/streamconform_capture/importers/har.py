"""Read HAR 1.2, as browsers, mitmproxy and Charles write it (http://www.softwareishard.com/blog/har-12-spec/).

The bodies in a HAR are already decoded, without content coding; binary bodies are in base64.
"""

from __future__ import annotations

import binascii
import json
from base64 import b64decode
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from streamconform.errors import Problem, SourceError
from streamconform_capture.importers.exchange import (
    Entry,
    ImportedExchange,
    NotImportable,
    encode_text,
    join_headers,
    require,
)

RECIPE: Final = "Imported from a HAR with `conform import`; content and transfer encodings removed"
CODING: Final = ("content-encoding", "transfer-encoding", "content-length")


def is_har(data: bytes) -> bool:
    """Return whether `data` should be read as a HAR."""
    head = data[:4096]
    return head.lstrip(b"\xef\xbb\xbf \r\n\t")[:1] == b"{" and b'"log"' in head and b'"entries"' in data


def read(path: Path, data: bytes) -> Iterator[Entry]:
    """Yield the exchanges in the HAR `data`. Raises `SourceError` if it is not a HAR."""
    try:
        document = json.loads(data.decode("utf-8-sig"))
        log = require(require(document, dict, "the file").get("log"), dict, "`log`")
        entries = require(log.get("entries"), list, "`log.entries`")
    except (ValueError, RecursionError) as error:
        raise SourceError((Problem(str(path), None, f"not a HAR: {error}"),)) from error
    for number, entry in enumerate(entries, start=1):
        where = f"{path.name}, entry {number} of {len(entries)}"
        yield Entry(where, partial(_read_entry, where, entry))


def _read_entry(where: str, entry: Any) -> ImportedExchange:
    require(entry, dict, "the entry")
    request = require(entry.get("request"), dict, "`request`")
    response = require(entry.get("response"), dict, "`response`")
    text = require(request.get("postData") or {}, dict, "`postData`").get("text")
    # They describe the body on the wire, but a HAR contains the decoded one.
    headers = {key: value for key, value in _read_headers(response).items() if key not in CODING}
    return ImportedExchange(
        origin=where,
        recipe=RECIPE,
        status=require(response.get("status"), int, "its status"),
        headers=headers,
        body=_read_content(require(response.get("content") or {}, dict, "`content`")),
        url=require(request.get("url"), str, "`url`"),
        method=require(request.get("method"), str, "`method`").upper(),
        request_headers=_read_headers(request),
        request_body=text.encode("utf-8", "replace") if isinstance(text, str) else None,
    )


def _read_content(content: Mapping[str, Any]) -> bytes:
    text = content.get("text")
    if not isinstance(text, str):
        raise NotImportable("its response body was not kept")
    try:
        body = b64decode(text, validate=True) if content.get("encoding") == "base64" else encode_text(text)
    except binascii.Error as error:
        raise NotImportable(f"its body is not base64: {error}") from error
    # Some tools write the size before decompression, which a negative `compression` corrects.
    size, saved = (value if type(value) is int else 0 for value in map(content.get, ("size", "compression")))
    if len(body) < size + min(saved, 0):
        raise NotImportable(f"its body was cut: `content.size` is {size} bytes, but `text` has {len(body)}")
    return body


def _read_headers(message: Mapping[str, Any]) -> dict[str, str]:
    headers = require(message.get("headers") or [], list, "`headers`")
    pairs = (require(header, dict, "a header") for header in headers)
    return join_headers((pair.get("name"), pair.get("value")) for pair in pairs)
