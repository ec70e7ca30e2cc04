"""Match requests against an API's endpoints, below a base URL. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal
from urllib.parse import parse_qs, unquote

from streamconform.apis import APIS
from streamconform.apis.api import Target
from streamconform.model.cassette import Cassette, Transport

AnswerKind = Literal["stream", "document"]


@dataclass(frozen=True, slots=True)
class RequestMatch:
    """The kind of answer that a request asks for: a stream, a document or neither."""

    kind: AnswerKind | None
    note: str | None = None
    """A complaint about the request, which is reported if the outcome is not as expected."""
    mismatch: str | None = None
    """The reason why the recording does not fit this request, although the request is valid."""


def match_request(
    cassette: Cassette, method: str, target: str, stream: object, *, document: bool = False
) -> RequestMatch:
    """Return the match for a request with `method` and `target` (the path below the base URL, and the query).

    `stream` is the body's member of that name, or None if it is absent. `document` is True if the
    cassette is a non-streaming answer.
    """
    endpoints = APIS[cassette.api].endpoints
    is_stream = is_stream_target(cassette, target)
    is_document = _matches_any(read_target(target).path, endpoints.documents)
    if method != "POST" or not (is_stream or is_document):
        expected = describe_endpoint(cassette.api, document=document)
        return RequestMatch(None, f"the server got `{method} {target}`; expected {expected}")
    # If the recording does not fit a valid request, the trial is skipped, because the client has not failed.
    # A wrong path is answered with 404 and becomes the reason for the result.
    as_recorded = not is_stream or target == cassette.request.path
    mismatch = None if as_recorded else _find_mismatch(cassette, target, document=document)
    if mismatch is not None:
        return RequestMatch(None, mismatch=mismatch)
    if endpoints.documents:
        return RequestMatch("document" if is_document else "stream")
    if stream is False:
        return RequestMatch("document")
    if stream is None and not endpoints.streams_by_default:
        if document:
            return RequestMatch("document")
        return RequestMatch("stream", "the request has no `stream: true`, so the provider would not stream")
    return RequestMatch("stream")


def is_stream_target(cassette: Cassette, target: str) -> bool:
    """Return whether a stream is requested at `target`."""
    path = read_target(target).path
    # The recording's own path is also accepted, because some vendors serve the API at a different path, such
    # as Gemini's `/v1beta/openai/…`.
    return path == read_target(cassette.request.path).path or _matches_any(
        path, APIS[cassette.api].endpoints.streams
    )


def refuse_transport(cassette: Cassette, method: str, target: str) -> RequestMatch:
    """Return the match for a request over HTTP, or for another path, in a trial over a WebSocket."""
    expected = describe_endpoint(cassette.api, transport="websocket")
    return RequestMatch(None, f"the server got `{method} {target}`; expected {expected}")


def require_opt_ins(match: RequestMatch, cassette: Cassette, body: Any) -> RequestMatch:
    """Return `match`, or a mismatch if the body requests no feature that the recording has."""
    if match.kind is None:
        return match
    missing = APIS[cassette.api].find_missing_opt_in(cassette.request.body, body)
    return match if missing is None else RequestMatch(None, mismatch=f"the client does not request {missing}")


def describe_endpoint(api: str, *, document: bool = False, transport: Transport = "http") -> str:
    """Return the request line that a client of `api` is expected to send for a stream or a document."""
    endpoints = APIS[api].endpoints
    if transport == "websocket":
        return f"a WebSocket to `BASE_URL{endpoints.usual}`, and the message `response.create`"
    paths = (endpoints.documents if document else ()) or endpoints.streams
    return f"`POST BASE_URL{paths[0]}`"


def read_target(target: str) -> Target:
    """Return the decoded path and query of a request target."""
    path, _, query = target.partition("?")
    return Target(unquote(path), parse_qs(query))


def _find_mismatch(cassette: Cassette, target: str, *, document: bool) -> str | None:
    """Return the reason why a request for `target` cannot be answered with this recording, or None."""
    api = APIS[cassette.api]
    framed = "document" if document else api.detect_framing(cassette.status, cassette.body)
    # An error document fits any form; an answer without streaming has its own path, or that of its version.
    if framed == "document" and (api.endpoints.documents or not document):
        return None
    recorded = read_target(cassette.request.path)
    return api.endpoints.find_mismatch(read_target(target), recorded, framed)


def _matches_any(path: str, templates: tuple[str, ...]) -> bool:
    return any(_compile_template(template).fullmatch(path) for template in templates)


@cache
def _compile_template(template: str) -> re.Pattern[str]:
    kinds = {"": "[^/]+", "+": ".+"}
    parts = re.split(r"\{[a-z]+(\+?)\}", template)
    return re.compile("".join(kinds[part] if i % 2 else re.escape(part) for i, part in enumerate(parts)))
