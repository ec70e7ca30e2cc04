"""Where clients of each api send their requests, under a base URL. Pure.

A base URL stands for the provider's host, or for the host and the version behind it: clients differ in
which of them they append, so both are here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal
from urllib.parse import parse_qs, unquote

from streamconform.model.cassette import Cassette
from streamconform.wire.apis import framing

Asks = Literal["stream", "document"]

GOOGLE: Final = (
    "/{version}/models/{model}",
    "/models/{model}",
    "/{version}/publishers/{publisher}/models/{model}",
    "/{version}/projects/{project}/locations/{location}/publishers/{publisher}/models/{model}",
)

STREAMS: Final[Mapping[str, tuple[str, ...]]] = {
    "anthropic-messages": ("/v1/messages", "/messages"),
    "openai-chat": (
        "/v1/chat/completions",
        "/chat/completions",
        "/openai/v1/chat/completions",
        "/openai/deployments/{deployment}/chat/completions",
        "/api/v1/chat/completions",
    ),
    "openai-responses": ("/v1/responses", "/responses", "/openai/v1/responses", "/openai/responses"),
    "google-generate": tuple(f"{path}:streamGenerateContent" for path in GOOGLE),
    "ollama-chat": ("/api/chat",),
    "cohere-chat": ("/v2/chat", "/v1/chat"),
    "bedrock-converse": ("/model/{model+}/converse-stream",),
}
"""The paths of each api, the usual one first; `{x}` is one component, `{x+}` one or more."""

DOCUMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "google-generate": tuple(f"{path}:generateContent" for path in GOOGLE),
    "bedrock-converse": ("/model/{model+}/converse",),
}
"""The paths that ask for an answer in one piece, where the path says so and not the body."""

STREAMS_BY_DEFAULT: Final = frozenset({"ollama-chat"})
"""The apis that stream where the body does not say."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request asks for: an answer as a stream, or in one piece; or why it asks for neither."""

    kind: Asks | None
    note: str | None = None
    """What is to be known of it, where the answer is not what was expected."""
    unfit: str | None = None
    """Why the recorded answer is none to this request, though it is a right one."""


def asked(cassette: Cassette, method: str, target: str, stream: object) -> Asked:
    """Return what is asked for with `method` and `target`, the path under the base URL with its query.

    `stream` is that member of the body; None where it has none.
    """
    api, path, own = cassette.api, _path(target), _path(cassette.request.path)
    streams = path == own or _any(path, STREAMS[api])
    documents = _any(path, DOCUMENTS.get(api, ()))
    if method != "POST" or not (streams or documents):
        return Asked(None, f"the server got `{method} {target}`; expected {expected(api)}")
    as_recorded = not streams or target == cassette.request.path
    unfit = None if as_recorded else _unfit(cassette, target, own, path)
    if unfit is not None:
        return Asked(None, unfit=unfit)
    if api in DOCUMENTS:
        return Asked("document" if documents else "stream")
    if stream is False:
        return Asked("document")
    if stream is None and api not in STREAMS_BY_DEFAULT:
        return Asked("stream", "the request does not say `stream: true`; the provider would not stream")
    return Asked("stream")


def expected(api: str) -> str:
    """Return in words what a client of `api` sends, below its base URL."""
    return f"`POST BASE_URL{STREAMS[api][0]}`"


def _unfit(cassette: Cassette, target: str, own: str, path: str) -> str | None:
    """Return why a client that asks so never gets this recording: it was made with the other form."""
    framed = framing(cassette.api, cassette.status, cassette.body)
    if framed == "document":
        return None
    if cassette.api == "google-generate":
        sse = parse_qs(target.partition("?")[2]).get("alt") == ["sse"]
        if sse != (framed == "sse"):
            other = "SSE (`alt=sse`)" if sse else "a JSON array (no `alt=sse`)"
            return f"the client asks for {other}; the recording is {'SSE' if not sse else 'a JSON array'}"
    if cassette.api == "cohere-chat" and path != own:
        return f"the client asks `{path}`; the recording is of `{own}`"
    return None


def _path(target: str) -> str:
    return unquote(target.partition("?")[0])


def _any(path: str, templates: tuple[str, ...]) -> bool:
    return any(_pattern(each).fullmatch(path) for each in templates)


@cache
def _pattern(template: str) -> re.Pattern[str]:
    kinds = {"": "[^/]+", "+": ".+"}
    parts = re.split(r"\{[a-z]+(\+?)\}", template)
    return re.compile("".join(kinds[part] if i % 2 else re.escape(part) for i, part in enumerate(parts)))
