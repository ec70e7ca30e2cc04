"""A proxy's client: what a trial asks for in the words of another api, and what came back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import httpx
from streamconform_reference.apis import REQUEST_BUILDERS

from streamconform.adapters.proxy_address import ProxyAddress
from streamconform.peers import request_reader

MAX_BYTES: Final = 32 * 1024 * 1024
"""Bound of an answer: no case has one as long."""
CONNECT_SECONDS: Final = 5.0
MOST_TOKENS: Final = 8192
BUDGET: Final = 2048
"""Tokens that the model may think: that is always asked for, and upstreams that do not think send none."""

HELLO: Final = "Hello"


class NotHttp(Exception):
    """No HTTP answer came; the text says what came instead."""


@dataclass(frozen=True, slots=True)
class Question:
    """A request of the proxy's client, and what the proxy has to ask its upstream for."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    prompt: str
    tools: tuple[str, ...]


@dataclass(slots=True)
class Answer:
    """What has come so far."""

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytearray = field(default_factory=bytearray)
    """Of a refusal, which is judged as a document."""
    broken: str | None = None
    """Why the body is not whole, where the connection broke."""


def question(address: ProxyAddress, recorded: Mapping[str, Any] | None) -> Question:
    """Return what the client asks, of the prompt and the tools of the `recorded` request."""
    prompt, tools = request_reader.read_prompt(recorded), request_reader.read_tools(recorded)
    if not prompt.strip():
        prompt = HELLO  # as a request that only loads a model has none
    conversation: dict[str, Any] = {
        "model": address.model,
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": MOST_TOKENS,
        "thinking": {"budget": BUDGET},
        "stream": True,
    }
    if tools:
        conversation["tools"] = [
            {"name": name, "description": description, "parameters": dict(parameters)}
            for name, description, parameters in tools
        ]
    request = REQUEST_BUILDERS[address.from_api](conversation)
    names = tuple(name for name, _, _ in tools)
    return Question(request["path"], request["headers"], request["body"], prompt, names)


def chunks(client: httpx.Client, address: ProxyAddress, asking: Question, answer: Answer) -> Iterator[bytes]:
    """Yield the body as it comes, and put the rest into `answer`; raises `NotHttp`."""
    url, size = address.url + asking.path, 0
    headers = {**asking.headers, "accept-encoding": "identity"}
    try:
        with client.stream("POST", url, headers=headers, json=dict(asking.body)) as response:
            answer.status = response.status_code
            answer.headers = {name.lower(): value for name, value in response.headers.items()}
            for chunk in response.iter_raw():
                size += len(chunk)
                if size > MAX_BYTES:
                    answer.broken = f"it is longer than {MAX_BYTES} bytes"
                    return
                yield chunk
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        words = str(error).rstrip(".") or type(error).__name__
        if not answer.status:
            raise NotHttp(words) from error
        answer.broken = words


def client() -> httpx.Client:
    """Return a client without environment, redirects and timeouts of its own: the trial has one."""
    return httpx.Client(trust_env=False, timeout=httpx.Timeout(None, connect=CONNECT_SECONDS))
