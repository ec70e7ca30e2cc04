"""A proxy's client: it sends a trial's prompt and tools in a different API, and receives the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

from streamconform.adapters import request_reader
from streamconform.adapters.proxy_address import ProxyAddress
from streamconform_reference.apis import REQUEST_BUILDERS

MAX_BYTES: Final = 32 * 1024 * 1024
"""The maximum size of an answer; no case has an answer that large."""
CONNECT_SECONDS: Final = 5.0
MAX_TOKENS: Final = 8192
THINKING_BUDGET: Final = 2048
"""The token budget for thinking. Thinking is always requested; upstreams that cannot think send none."""

DEFAULT_PROMPT: Final = "Hello"


class NoHttpAnswerError(Exception):
    """The proxy sent no HTTP answer; the message says what happened."""


@dataclass(frozen=True, slots=True)
class ProxyRequest:
    """A request to the proxy, and the prompt and tools that its upstream must receive."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    prompt: str
    tools: tuple[str, ...]


@dataclass(slots=True)
class ProxyAnswer:
    """The answer received so far."""

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytearray = field(default_factory=bytearray)
    """The body of an error, which is checked as a document."""
    incomplete: str | None = None
    """Why the body is incomplete, if it is."""


def build_request(address: ProxyAddress, recorded: Mapping[str, Any] | None) -> ProxyRequest:
    """Return a request with the prompt and the tools of the `recorded` request."""
    prompt, tools = request_reader.read_prompt(recorded), request_reader.read_tools(recorded)
    if not prompt.strip():
        prompt = DEFAULT_PROMPT  # a request can have no messages, if it only loads a model
    conversation: dict[str, Any] = {
        "model": address.model,
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": MAX_TOKENS,
        "thinking": {"budget": THINKING_BUDGET},
        "stream": True,
    }
    if tools:
        conversation["tools"] = [
            {"name": name, "description": description, "parameters": dict(parameters)}
            for name, description, parameters in tools
        ]
    request = REQUEST_BUILDERS[address.from_api](conversation)
    names = tuple(name for name, _, _ in tools)
    return ProxyRequest(request["path"], request["headers"], request["body"], prompt, names)


def send_request(
    client: httpx.Client,
    address: ProxyAddress,
    request: ProxyRequest,
    answer: ProxyAnswer,
    headers: Mapping[str, str],
) -> Iterator[bytes]:
    """Yield the body's chunks and fill in the rest of `answer`. Raises `NoHttpAnswerError`.

    `headers`, with lower-case names, are sent in addition to the request's own, or instead of them.
    """
    url, size = address.url + request.path, 0
    # The grammar and the decoder read raw bytes, so a compressed body would fail both.
    own = {name.lower(): value for name, value in request.headers.items()}
    headers = {**own, **headers, "accept-encoding": "identity"}
    try:
        with client.stream("POST", url, headers=headers, json=dict(request.body)) as response:
            answer.status = response.status_code
            answer.headers = {name.lower(): value for name, value in response.headers.items()}
            for chunk in response.iter_raw():
                size += len(chunk)
                if size > MAX_BYTES:
                    answer.incomplete = f"it exceeds {MAX_BYTES} bytes"
                    return
                yield chunk
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        message = str(error).rstrip(".") or type(error).__name__
        if not answer.status:
            raise NoHttpAnswerError(message) from error
        answer.incomplete = message


def make_client() -> httpx.Client:
    """Return a client that ignores proxy settings and has no read timeout, since the trial has one."""
    return httpx.Client(trust_env=False, timeout=httpx.Timeout(None, connect=CONNECT_SECONDS))
