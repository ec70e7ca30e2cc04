"""Translate a client's request to the upstream's API.

The request is decoded into a neutral conversation and encoded again. Options that the conversation lacks are
passed on from body to body if both APIs have them. `request_fields` lists all other fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from streamconform_proxy.model_capabilities import check_thinking
from streamconform_proxy.request_fields import OPTIONS, list_ignored_fields, reject_fields
from streamconform_reference.apis import REQUEST_BUILDERS, REQUEST_READERS
from streamconform_reference.json_text import codec
from streamconform_reference.outcome import Json
from streamconform_reference.requests.errors import invalid_request
from streamconform_reference.requests.option_table import CONVERSATION, read_options, write_options
from streamconform_reference.tokens import count_tokens

ROUTES: Final = (
    ("anthropic-messages", "ollama-chat"),
    ("anthropic-messages", "openai-chat"),
    ("openai-chat", "anthropic-messages"),
)
"""The supported pairs of APIs: the client's, the upstream's."""

ENDPOINTS: Final[Mapping[str, Mapping[str, Literal["answer", "count"]]]] = {
    "anthropic-messages": {"/v1/messages": "answer", "/v1/messages/count_tokens": "count"},
    "openai-chat": {"/v1/chat/completions": "answer"},
}
"""By the client's API: the paths that are served with POST, and what they return."""

KEY_HEADERS: Final[Mapping[str, tuple[str, str]]] = {
    "anthropic-messages": ("x-api-key", "{key}"),
    "openai-chat": ("authorization", "Bearer {key}"),
    "ollama-chat": ("authorization", "Bearer {key}"),
}
"""By the upstream's API: the header that carries the key, and a template for its value."""

THINKING_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "ollama-chat": ("think",),
    "openai-chat": ("reasoning_effort", "reasoning", "thinking"),
    "anthropic-messages": ("thinking", "output_config.effort"),
}
"""By the upstream's API: the fields that control thinking, at the top level or one level deeper."""

UNCHECKED_ARGUMENTS_BETA: Final = "fine-grained-tool-streaming"
"""The Anthropic beta that clients use to request arguments before they are checked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The client's and the upstream's APIs, and the upstream's settings."""

    client: str
    upstream: str
    models: Mapping[str, str] = field(default_factory=dict)
    """Maps the client's model to the upstream's; `*` covers all others; without it, they are unchanged."""
    host: str | None = None
    """The upstream's host name; some fields exist only for some hosts."""
    key: str | None = None
    """The upstream's key; if it is None, no key is sent."""
    has_client_key: bool = False
    """Whether the key is the client's own, and not the proxy's."""

    def map_model(self, model: str) -> str:
        """Return the upstream's name for the client's model."""
        return self.models.get(model, self.models.get("*", model))


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamRequest:
    """A request to the upstream, and the client's settings that affect the answer."""

    route: Route
    path: str
    headers: Mapping[str, str]
    body: Json
    model: str
    """The client's name for the model, which the answer repeats."""
    stream: bool
    """Whether both the client's and the upstream's answers are streams."""
    wants_thinking: bool
    """Whether the client requested thinking, including its text."""
    wants_usage: bool
    """Whether the client requested usage in the stream, if its API makes that optional."""
    wants_unchecked_arguments: bool
    """Whether the client requested arguments as they arrive, unchecked."""
    input_tokens: int
    """An estimate of the input tokens, for events sent before the upstream reports its count."""
    ignored: tuple[str, ...] = ()
    """The fields of the client's request that have no effect."""
    method: str = "POST"

    @property
    def content(self) -> bytes:
        """The body as bytes."""
        return codec.dumps(self.body)

    @property
    def requests_thinking(self) -> bool:
        """Whether the request has fields for thinking, so that it can be retried without them."""
        return remove_thinking(self).body != self.body


def translate_request(route: Route, body: bytes, headers: Mapping[str, str]) -> UpstreamRequest:
    """Translate a client's request to the upstream's; header names are in lower case.

    Raises:
        RequestError: the request is invalid, or the model does not support it.
        KeyError: the route's pair of APIs is not supported.
    """
    client_body = read_body(body)
    reject_fields(route.client, client_body)
    conversation = REQUEST_READERS[route.client](client_body, headers)
    facts = {"facts": {"host": route.host}} if route.host else {}
    model = route.map_model(conversation["model"])
    supported = check_thinking({**conversation, **facts, "model": model}, route.upstream)
    request = REQUEST_BUILDERS[route.upstream](supported)
    upstream_body: Json = request["body"]
    carry_options(route, client_body, upstream_body)
    return UpstreamRequest(
        route=route,
        path=request["path"],
        headers=set_key(request["headers"], route),
        body=upstream_body,
        model=conversation["model"],
        stream=conversation["stream"],
        wants_thinking=wants_thinking(client_body, conversation),
        wants_usage=wants_usage(client_body),
        wants_unchecked_arguments=wants_unchecked_arguments(client_body, headers),
        input_tokens=count_tokens(client_body),
        ignored=list_ignored_fields(route.client, route.upstream, client_body, conversation, upstream_body),
    )


def remove_thinking(request: UpstreamRequest) -> UpstreamRequest:
    """Return the same request without any field for thinking."""
    body = dict(request.body)
    for path in THINKING_FIELDS[request.route.upstream]:
        key, _, subkey = path.partition(".")
        rest = {name: value for name, value in body.pop(key, {}).items() if name != subkey} if subkey else {}
        if rest:
            body[key] = rest
        elif not subkey:
            body.pop(key, None)
    return replace(request, body=body)


def read_body(body: bytes) -> Json:
    """Return the JSON object in the body of a request. Raises `RequestError` if it is not one."""
    try:
        value = codec.loads(body)
    except codec.NotJsonError as error:
        raise invalid_request(f"the body is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise invalid_request("the body is not a JSON object")
    return value


def carry_options(route: Route, source: Mapping[str, Any], target: Json) -> None:
    """Add the options that both APIs have and the neutral conversation lacks; existing members stay."""
    options = OPTIONS[route.upstream]
    names = {option.name for option in options if option.written} - CONVERSATION
    write_options(options, read_options(OPTIONS[route.client], source, names), target)


def set_key(headers: Mapping[str, str], route: Route) -> dict[str, str]:
    """Return the headers with the route's key, or with no key if the route has none."""
    name, form = KEY_HEADERS[route.upstream]
    others = {header: value for header, value in headers.items() if header != name}
    return others | ({name: form.format(key=route.key)} if route.key else {})


def wants_thinking(body: Mapping[str, Any], conversation: Json) -> bool:
    """Return whether the client requested thinking and did not ask to omit its text."""
    thinking = body.get("thinking")
    omitted = isinstance(thinking, dict) and thinking.get("display") == "omitted"
    return conversation.get("thinking", "off") != "off" and not omitted


def wants_usage(body: Mapping[str, Any]) -> bool:
    """Return whether the client requested usage in the stream, as OpenAI's clients can."""
    options = body.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True


def wants_unchecked_arguments(body: Mapping[str, Any], headers: Mapping[str, str]) -> bool:
    """Return whether a tool, or the older header, requests arguments immediately and unchecked.

    Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/fine-grained-tool-streaming
    """
    tools = body.get("tools") or ()
    eager = any(isinstance(tool, dict) and tool.get("eager_input_streaming") is True for tool in tools)
    return eager or UNCHECKED_ARGUMENTS_BETA in headers.get("anthropic-beta", "")
