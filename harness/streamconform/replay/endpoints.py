"""What a request asks for, by the endpoints of its API, below a base URL. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal
from urllib.parse import parse_qs, unquote

from streamconform.apis import APIS
from streamconform.apis.api import Target
from streamconform.model.cassette import Cassette

AnswerKind = Literal["stream", "document"]


@dataclass(frozen=True, slots=True)
class RequestMatch:
    """What a request asks for: an answer as a stream, or in one piece; or why it asks for neither."""

    kind: AnswerKind | None
    note: str | None = None
    """What is to be known of it, where the answer is not what was expected."""
    unfit: str | None = None
    """Why the recorded answer is none to this request, though it is a right one."""


def match_request(cassette: Cassette, method: str, target: str, stream: object) -> RequestMatch:
    """Return what is asked for with `method` and `target`, the path under the base URL with its query.

    `stream` is that member of the body; None where it has none.
    """
    endpoints = APIS[cassette.api].endpoints
    path = read_target(target).path
    streams = path == read_target(cassette.request.path).path or _matches_any(path, endpoints.streams)
    documents = _matches_any(path, endpoints.documents)
    if method != "POST" or not (streams or documents):
        return RequestMatch(
            None, f"the server got `{method} {target}`; expected {describe_endpoint(cassette.api)}"
        )
    as_recorded = not streams or target == cassette.request.path
    unfit = None if as_recorded else _find_mismatch(cassette, target)
    if unfit is not None:
        return RequestMatch(None, unfit=unfit)
    if endpoints.documents:
        return RequestMatch("document" if documents else "stream")
    if stream is False:
        return RequestMatch("document")
    if stream is None and not endpoints.streams_by_default:
        return RequestMatch(
            "stream", "the request does not say `stream: true`; the provider would not stream"
        )
    return RequestMatch("stream")


def describe_endpoint(api: str) -> str:
    """Return in words what a client of `api` sends, below its base URL."""
    return f"`POST BASE_URL{APIS[api].endpoints.usual}`"


def read_target(target: str) -> Target:
    """Return the path and the query of a request's target."""
    path, _, query = target.partition("?")
    return Target(unquote(path), parse_qs(query))


def _find_mismatch(cassette: Cassette, target: str) -> str | None:
    """Return why a client that sends `target` never gets this recording: it was made with the other form."""
    api = APIS[cassette.api]
    framed = api.detect_framing(cassette.status, cassette.body)
    if framed == "document":
        return None
    recorded = read_target(cassette.request.path)
    return api.endpoints.find_mismatch(read_target(target), recorded, framed)


def _matches_any(path: str, templates: tuple[str, ...]) -> bool:
    return any(_compile_template(each).fullmatch(path) for each in templates)


@cache
def _compile_template(template: str) -> re.Pattern[str]:
    kinds = {"": "[^/]+", "+": ".+"}
    parts = re.split(r"\{[a-z]+(\+?)\}", template)
    return re.compile("".join(kinds[part] if i % 2 else re.escape(part) for i, part in enumerate(parts)))
