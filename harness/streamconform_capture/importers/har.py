"""Read HAR 1.2, as browsers, mitmproxy and Charles write it (http://www.softwareishard.com/blog/har-12-spec/).

The bodies in a HAR are already decoded, without content coding; binary bodies are in base64.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from streamconform.errors import Problem, SourceError
from streamconform_capture.importers.exchange import ImportedExchange, SkippedExchange

RECIPE: Final = "Imported from a HAR with `conform import`; content and transfer encodings removed"
CODING: Final = ("content-encoding", "transfer-encoding", "content-length")
BROKEN: Final = (ValueError, KeyError, TypeError, AttributeError)


def is_har(data: bytes) -> bool:
    """Return whether `data` should be read as a HAR."""
    head = data[:4096]
    return head.lstrip(b"\xef\xbb\xbf \r\n\t")[:1] == b"{" and b'"log"' in head and b'"entries"' in data


def read(path: Path, data: bytes) -> Iterator[ImportedExchange | SkippedExchange]:
    """Yield the exchanges in the HAR `data`. Raises `SourceError` if it is not a HAR."""
    try:
        entries = json.loads(data.decode("utf-8-sig"))["log"]["entries"]
        if not isinstance(entries, list):
            raise TypeError("`log.entries` is not a list")
    except (*BROKEN, RecursionError) as error:
        raise SourceError((Problem(str(path), None, f"not a HAR: {error}"),)) from error
    for number, entry in enumerate(entries, start=1):
        where = f"{path.name}, entry {number} of {len(entries)}"
        try:
            yield _read_entry(where, entry)
        except BROKEN as error:
            yield SkippedExchange(where, f"not an entry of a HAR: {error}")


def _read_entry(where: str, entry: Mapping[str, Any]) -> ImportedExchange | SkippedExchange:
    request, response = entry["request"], entry["response"]
    body = _read_content(response.get("content") or {})
    if body is None:
        return SkippedExchange(where, "its response body was not kept")
    text = (request.get("postData") or {}).get("text")
    # They describe the body on the wire, but a HAR contains the decoded one.
    headers = {key: value for key, value in _read_headers(response).items() if key not in CODING}
    return ImportedExchange(
        origin=where,
        recipe=RECIPE,
        status=int(response["status"]),
        headers=headers,
        body=body,
        url=str(request["url"]),
        method=str(request["method"]).upper(),
        request_headers=_read_headers(request),
        request_body=text.encode("utf-8", "replace") if isinstance(text, str) else None,
    )


def _read_content(content: Mapping[str, Any]) -> bytes | None:
    text = content.get("text")
    if not isinstance(text, str):
        return None
    if content.get("encoding") != "base64":
        return text.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"its body is not base64: {error}") from error


def _read_headers(message: Mapping[str, Any]) -> dict[str, str]:
    """Return headers by lower-case name; repeated values are joined with commas, as in HTTP."""
    headers: dict[str, str] = {}
    for header in message.get("headers") or ():
        name, value = str(header["name"]).lower(), str(header["value"])
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers
