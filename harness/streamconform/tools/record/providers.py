"""How the server of each api is asked: path, headers, and the variable that holds its key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where and how a request of one api is sent."""

    path: str
    key_variable: str
    """Name of the environment variable that holds the key by default."""
    key_header: str
    key_prefix: str = ""
    """Stands before the key in its header."""
    headers: Mapping[str, str]
    """Sent unless others are given."""
    streaming_only: tuple[str, ...] = ()
    """Fields of the body that the provider refuses where `stream` is false."""

    def key_headers(self, key: str) -> dict[str, str]:
        """Return the header that carries `key`."""
        return {self.key_header: f"{self.key_prefix}{key}"}


ENDPOINTS: Final[Mapping[str, Endpoint]] = {
    "anthropic-messages": Endpoint(
        path="/v1/messages",
        key_variable="ANTHROPIC_API_KEY",
        key_header="x-api-key",
        headers={"anthropic-version": "2023-06-01"},
    ),
    "openai-chat": Endpoint(
        path="/v1/chat/completions",
        key_variable="OPENAI_API_KEY",
        key_header="authorization",
        key_prefix="Bearer ",
        headers={},
        streaming_only=("stream_options",),
    ),
    "openai-responses": Endpoint(
        path="/v1/responses",
        key_variable="OPENAI_API_KEY",
        key_header="authorization",
        key_prefix="Bearer ",
        headers={},
        streaming_only=("stream_options",),
    ),
    "ollama-chat": Endpoint(
        path="/api/chat",
        key_variable="OLLAMA_API_KEY",  # a local server asks for none
        key_header="authorization",
        key_prefix="Bearer ",
        headers={},
    ),
    "cohere-chat": Endpoint(
        path="/v2/chat",
        key_variable="COHERE_API_KEY",
        key_header="authorization",
        key_prefix="Bearer ",
        headers={},
    ),
}
"""The apis that can be recorded; the others name the model in the path, and ask elsewhere for a stream."""

CREDENTIALS: Final = frozenset(
    [
        "api-key",
        "authorization",
        "cookie",
        "proxy-authorization",
        "x-api-key",
        "x-auth-token",
        "x-goog-api-key",
    ]
)
"""Headers that carry keys, and therefore never come from the command line."""


def streaming(body: Mapping[str, Any], model: str) -> Json:
    """Return `body` as it is sent: for `model`, and with `stream: true`."""
    return {"model": model} | dict(body) | {"model": model, "stream": True}


def at_once(api: str, body: Mapping[str, Any]) -> Json:
    """Return the same request for an answer that does not stream."""
    left_out = ENDPOINTS[api].streaming_only
    return {key: value for key, value in body.items() if key not in left_out} | {"stream": False}
