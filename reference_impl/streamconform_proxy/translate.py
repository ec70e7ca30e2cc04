"""The client's request in, the upstream's out.

The request goes through the neutral conversation. Few fields have no place in it and a counterpart all the
same; those are carried over by a table, as they came. Everything else is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from streamconform_reference.apis import REQUEST_BUILDERS, REQUEST_READERS
from streamconform_reference.json_text import codec
from streamconform_reference.outcome import Json
from streamconform_reference.requests.errors import invalid_request
from streamconform_reference.requests.fields import read_field
from streamconform_reference.tokens import count_tokens

from streamconform_proxy.model_capabilities import gated

ROUTES: Final = (
    ("anthropic-messages", "ollama-chat"),
    ("anthropic-messages", "openai-chat"),
    ("openai-chat", "anthropic-messages"),
)
"""The apis between which the proxy translates: the client's, the upstream's."""

ENDPOINTS: Final[Mapping[str, Mapping[str, Literal["answer", "count"]]]] = {
    "anthropic-messages": {"/v1/messages": "answer", "/v1/messages/count_tokens": "count"},
    "openai-chat": {"/v1/chat/completions": "answer"},
}
"""What is served to the clients of an api: `POST` to a path; all else is a refusal with status 404."""

KEYED: Final[Mapping[str, tuple[str, str]]] = {
    "anthropic-messages": ("x-api-key", "{key}"),
    "openai-chat": ("authorization", "Bearer {key}"),
    "ollama-chat": ("authorization", "Bearer {key}"),
}
"""The header that has the key of an upstream, and how."""

ABOUT_THINKING: Final[Mapping[str, tuple[str, ...]]] = {
    "ollama-chat": ("think",),
    "openai-chat": ("reasoning_effort", "reasoning", "thinking"),
    "anthropic-messages": ("thinking", "output_config.effort"),
}
"""The fields, at the top or one below, by which an upstream is told how to think."""

UNCHECKED: Final = "fine-grained-tool-streaming"
"""The beta of Anthropic's by which clients ask for arguments before they are checked."""


@dataclass(frozen=True, slots=True)
class Carried:
    """A field that goes over as it came, or by a function of its value that returns None to leave it out."""

    given: str
    kind: str
    to: str
    """A path, divided by dots."""
    by: Callable[[Any], Any] = lambda value: value


def listed(value: Any) -> Any:
    """Return stop sequences as a list: one may be a text."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise invalid_request("stop: expected text or a list of texts")
    return value


def texts(value: Any) -> Any:
    """Return stop sequences, none as nothing."""
    if not all(isinstance(each, str) for each in value):
        raise invalid_request("stop_sequences: expected a list of texts")
    return value or None


def schema_of(config: Any) -> Any:
    """Return the JSON Schema that an answer has to fit, None where none is asked for."""
    form = read_field(config, "format", "object", "output_config") or {}
    return read_field(form, "schema", "object", "output_config.format")


def response_format(config: Any) -> Any:
    """Return that schema as OpenAI's format."""
    schema = schema_of(config)
    named = {"name": "answer", "schema": schema, "strict": True}
    return schema and {"type": "json_schema", "json_schema": named}


def output_format(form: Any) -> Any:
    """Return OpenAI's format as Anthropic's; there is none for JSON of any kind."""
    named = read_field(form, "json_schema", "object", "response_format") or {}
    schema = read_field(named, "schema", "object", "response_format.json_schema")
    return schema and {"type": "json_schema", "schema": schema}


CARRIED: Final[Mapping[tuple[str, str], tuple[Carried, ...]]] = {
    ("anthropic-messages", "ollama-chat"): (
        Carried("stop_sequences", "list", "options.stop", texts),
        Carried("top_p", "number", "options.top_p"),
        Carried("top_k", "count", "options.top_k"),
        Carried("output_config", "object", "format", schema_of),
    ),
    ("anthropic-messages", "openai-chat"): (
        Carried("stop_sequences", "list", "stop", texts),
        Carried("top_p", "number", "top_p"),
        Carried("output_config", "object", "response_format", response_format),
    ),
    ("openai-chat", "anthropic-messages"): (
        Carried("stop", "any", "stop_sequences", listed),
        Carried("top_p", "number", "top_p"),
        Carried("top_k", "count", "top_k"),  # servers of open models take it
        Carried("user", "text", "metadata.user_id"),
        Carried("response_format", "object", "output_config.format", output_format),
    ),
}
"""What the neutral conversation has no place for, by the apis of client and upstream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """From which api to which the proxy translates, and what it says to the upstream.

    `models` is the upstream's name for a client's; `*` stands for every other, and without it the names are
    the same. `host` is the upstream's name, since some fields are only for some hosts. `key` is the
    upstream's; without it no key is sent, and never the client's.
    """

    client: str
    upstream: str
    models: Mapping[str, str] = field(default_factory=dict)
    host: str | None = None
    key: str | None = None

    def model(self, asked: str) -> str:
        """Return the upstream's name of the model."""
        return self.models.get(asked, self.models.get("*", asked))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request, as the upstream gets it, and what of the client's the answer depends on."""

    route: Route
    path: str
    headers: Mapping[str, str]
    body: Json
    model: str
    """As the client names it; so does the answer."""
    stream: bool
    """Whether the client asked for a stream; the upstream is asked for the same."""
    thinking: bool
    """Whether thinking is shown: the client asked for it."""
    usage: bool
    """Whether the client asked to be told of the usage, where its api has to be asked."""
    eager: bool
    """Whether the client asked for arguments as they come, unchecked."""
    input_tokens: int
    """An estimate, for what is told before the upstream has counted."""
    method: str = "POST"

    @property
    def content(self) -> bytes:
        """The body as it is sent."""
        return codec.dumps(self.body)

    @property
    def asks_thinking(self) -> bool:
        """Whether the upstream is told anything about thinking, so that it can be asked without."""
        return without_thinking(self).body != self.body


def ask(route: Route, body: bytes, headers: Mapping[str, str]) -> Asked:
    """Return what the upstream is asked for this request; header names are in lower case.

    Raises:
        RefusedError: the request is not valid, or the model does not do what it asks for.
        KeyError: there is no such route.
    """
    given = read_body(body)
    carried = CARRIED[route.client, route.upstream]
    said = REQUEST_READERS[route.client](given, headers)
    facts = {"facts": {"host": route.host}} if route.host else {}
    named = gated({**said, **facts, "model": route.model(said["model"])}, route.upstream)
    request = REQUEST_BUILDERS[route.upstream](named)
    sent: Json = request["body"]
    for each in carried:
        carry(each, given, sent)
    return Asked(
        route=route,
        path=request["path"],
        headers=keyed(request["headers"], route),
        body=sent,
        model=said["model"],
        stream=said["stream"],
        thinking=shows_thinking(given, said),
        usage=asks_usage(given),
        eager=asks_unchecked(given, headers),
        input_tokens=count_tokens(given),
    )


def without_thinking(asked: Asked) -> Asked:
    """Return the same request without a word about thinking."""
    body = dict(asked.body)
    for path in ABOUT_THINKING[asked.route.upstream]:
        key, _, below = path.partition(".")
        kept = {name: value for name, value in body.pop(key, {}).items() if name != below} if below else {}
        if kept:
            body[key] = kept
        elif not below:
            body.pop(key, None)
    return replace(asked, body=body)


def read_body(body: bytes) -> Json:
    """Return the object that the body of a request is; raises RefusedError where it is none."""
    try:
        given = codec.loads(body)
    except codec.NotJsonError as error:
        raise invalid_request(f"the body is not JSON: {error}") from None
    if not isinstance(given, dict):
        raise invalid_request("the body is not a JSON object")
    return given


def carry(what: Carried, given: Mapping[str, Any], to: Json) -> None:
    """Set the field of the upstream's body, where the client's has it."""
    value = given.get(what.given) if what.kind == "any" else read_field(given, what.given, what.kind)
    value = None if value is None else what.by(value)
    if value is None:
        return
    *path, last = what.to.split(".")
    for key in path:
        to = to.setdefault(key, {})
    to[last] = value


def keyed(headers: Mapping[str, str], route: Route) -> dict[str, str]:
    """Return the headers with the upstream's key, or without any."""
    name, form = KEYED[route.upstream]
    kept = {key: value for key, value in headers.items() if key != name}
    return kept | ({name: form.format(key=route.key)} if route.key else {})


def shows_thinking(given: Mapping[str, Any], said: Json) -> bool:
    """Whether the client asked for thinking, and not to be spared its text."""
    asked = given.get("thinking")
    omitted = isinstance(asked, dict) and asked.get("display") == "omitted"
    return said.get("thinking", "off") != "off" and not omitted


def asks_usage(given: Mapping[str, Any]) -> bool:
    """Whether the client wants to be told of the usage: OpenAI's clients ask for it when they stream."""
    options = given.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True


def asks_unchecked(given: Mapping[str, Any], headers: Mapping[str, str]) -> bool:
    """Whether the client wants arguments at once, checked or not, by a tool or by the older header.

    Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/fine-grained-tool-streaming
    """
    tools = given.get("tools") or ()
    eager = any(isinstance(tool, dict) and tool.get("eager_input_streaming") is True for tool in tools)
    return eager or UNCHECKED in headers.get("anthropic-beta", "")
