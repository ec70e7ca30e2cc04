"""Read the cassettes of LangChain's own vcrpy serializer: gzipped YAML with two lists.

`requests` and `responses` are paired by position. Header values, and in some projects the address, are
replaced by a marker; if the address was replaced, the request body shows which of OpenAI's APIs was called.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from streamconform.errors import Problem, SourceError
from streamconform.files.compressed import GZIP, decompress
from streamconform_capture.importers import vcr
from streamconform_capture.importers.exchange import Entry, ImportedExchange, NotImportable, require

MAX_UNPACKED: Final = 64 * 1024 * 1024
"""The maximum size of a decompressed file in bytes."""
REMOVED: Final = "**REDACTED**"
_OPENAI: Final = "https://api.openai.com/v1"
_ANTHROPIC: Final = "https://api.anthropic.com/v1/messages"


def read(path: Path, data: bytes) -> Iterator[Entry]:
    """Yield the exchanges in `data`.

    Raises `SourceError` if `data` is not such a cassette, or is larger than `MAX_UNPACKED` when decompressed.
    """
    text = vcr.decode_utf8(path, _decompress(path, data))
    try:
        requests, responses = vcr.load_lists(path, text, "requests", "responses")
    except vcr.BROKEN as error:
        raise vcr.explain_error(path, "LangChain", error) from error
    count = max(len(requests), len(responses))
    for index in range(count):
        where = f"{path.name}, interaction {index + 1} of {count}"
        yield Entry(
            where, partial(_read_pair, where, requests[index : index + 1], responses[index : index + 1])
        )


def _read_pair(
    where: str, request: list[Callable[[], Any]], response: list[Callable[[], Any]]
) -> ImportedExchange:
    if not request or not response:
        raise NotImportable(f"it has no {'response' if request else 'request'}")
    return vcr.read_exchange(
        where,
        _restore_request(require(request[0](), dict, "the request")),
        _drop_removed(require(response[0](), dict, "the response")),
    )


def _decompress(path: Path, data: bytes) -> bytes:
    try:
        return decompress(io.BytesIO(data), GZIP, MAX_UNPACKED).read()
    except OSError as error:
        raise SourceError((Problem(str(path), None, str(error)),)) from error


def _restore_request(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request without the removed values."""
    body = request.get("body")
    uri = request.get("uri")
    if uri == REMOVED:
        try:
            sent = json.loads(body) if isinstance(body, str | bytes) else {}
        except (ValueError, RecursionError):
            sent = {}
        uri = _guess_address(sent if isinstance(sent, dict) else {})
    return _drop_removed(request) | {"uri": uri}


def _guess_address(sent: Mapping[str, Any]) -> str:
    """Return the address to which a client would send this body; the key `messages` is not enough to tell."""
    if str(sent.get("model")).startswith("claude"):
        return _ANTHROPIC
    return f"{_OPENAI}/{'chat/completions' if 'messages' in sent else 'responses'}"


def _drop_removed(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request or response without the headers whose value was removed."""
    headers = require(message.get("headers") or {}, dict, "`headers`")
    kept = {name: value for name, value in headers.items() if value not in ([REMOVED], REMOVED)}
    return {**message, "headers": kept}
