"""Read the cassettes of LangChain's own vcrpy serializer: gzipped YAML with two lists.

`requests` and `responses` are paired by position. Header values, and in some projects the address, are
replaced by a marker; if the address was replaced, the request body shows which of OpenAI's APIs was called.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import yaml

from streamconform.errors import Problem, SourceError
from streamconform_capture.importers import vcr
from streamconform_capture.importers.exchange import ImportedExchange, SkippedExchange

MAX_UNPACKED: Final = 64 * 1024 * 1024
"""The maximum size of a decompressed file in bytes."""
REMOVED: Final = "**REDACTED**"
_OPENAI: Final = "https://api.openai.com/v1"
_ANTHROPIC: Final = "https://api.anthropic.com/v1/messages"


def read(path: Path, data: bytes) -> Iterator[ImportedExchange | SkippedExchange]:
    """Yield the exchanges in `data`; one that cannot be read becomes a `SkippedExchange`.

    Raises `SourceError` if `data` is not such a cassette, or is larger than `MAX_UNPACKED` when decompressed.
    """
    text = vcr.decode_utf8(path, _decompress(path, data))
    try:
        vcr.reject_hostile(path, text)
        document = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe
        pairs = list(zip(document["requests"], document["responses"], strict=True))
    except vcr.BROKEN as error:
        message = f"not a LangChain cassette: {vcr.describe_error(error)}"
        raise SourceError((Problem(str(path), vcr.find_line(error), message),)) from error
    for number, (request, response) in enumerate(pairs, start=1):
        where = f"{path.name}, interaction {number} of {len(pairs)}"
        try:
            yield vcr.read_exchange(where, _restore_request(request), _drop_removed(response))
        except vcr.BROKEN as error:
            yield SkippedExchange(where, vcr.describe_error(error))


def _decompress(path: Path, data: bytes) -> bytes:
    try:
        with gzip.open(io.BytesIO(data)) as file:
            text = file.read(MAX_UNPACKED + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise SourceError((Problem(str(path), None, f"not gzip: {error}"),)) from error
    if len(text) > MAX_UNPACKED:
        message = f"larger than {MAX_UNPACKED} bytes when decompressed"
        raise SourceError((Problem(str(path), None, message),))
    return text


def _restore_request(request: Mapping[str, Any]) -> Any:
    """Return the request, without the removed values, as an object with a vcrpy request's attributes."""
    uri, body = str(request["uri"]), request.get("body")
    if uri == REMOVED:
        sent = json.loads(body) if isinstance(body, str | bytes) else {}
        uri = _guess_address(sent)
    headers = _drop_removed(request)["headers"]
    return SimpleNamespace(uri=uri, method=request["method"], headers=headers, body=body)


def _guess_address(sent: Mapping[str, Any]) -> str:
    """Return the address to which a client would send this body; the key `messages` is not enough to tell."""
    if str(sent.get("model")).startswith("claude"):
        return _ANTHROPIC
    return f"{_OPENAI}/{'chat/completions' if 'messages' in sent else 'responses'}"


def _drop_removed(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request or response without the headers whose value was removed."""
    headers = message.get("headers") or {}
    kept = {name: value for name, value in headers.items() if value not in ([REMOVED], REMOVED)}
    return {**message, "headers": kept}
