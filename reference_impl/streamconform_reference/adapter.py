"""The in-process interface for a harness: it takes one exchange, and yields its events and outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, cast

from streamconform_reference.decoding.decoder import Decoder
from streamconform_reference.json_text.incremental import partial_value

from .apis import DECODERS, DOCUMENT_READERS, REQUEST_BUILDERS
from .document import DocumentReader, read_document
from .healing import heal_tool_arguments
from .outcome import Json
from .tokens import count_tokens
from .tool_buffer.buffer import ToolBuffer
from .tool_buffer.chunk import ADAPTERS

VERSION: Final = "0.1.0"

Function = Callable[[str | None, Any], Any]
"""A function for the protocol's `call`: it takes an API name (or None) and an input, and returns JSON."""

CAPABILITIES: Final = (
    "tool_calls",
    "parallel_tool_calls",
    "thinking",
    "signatures",
    "usage",
    "cache_usage",
    "usage_details",
    "cost",
    "events",
    "errors",
    "refusals",
    "provider_tools",
    "stop",
    "raw_stop",
)
"""The capabilities that every decoder has."""

WEBSOCKET: Final = "websocket"
"""The capability to read what a server sends over a WebSocket, for the APIs that have one."""

DOCUMENTS: Final = "documents"
"""The capability to read non-streaming answers."""

CAPABILITY_OF_FUNCTION: Final = {
    "heal": "heal",
    "partial": "partial_json",
    "assemble": "assemble",
    "count_tokens": "count_tokens",
    "build_request": "requests",
}
"""The capability that covers each function of the protocol's `call`."""

OF_REQUESTS: Final = ("stateful", "attachments", "system_messages", "custom_tools")
"""What conversations may contain, for an adapter that builds requests."""


class Run(Protocol):
    """One exchange: the API, and the response as it arrived. Header names are in lower case."""

    @property
    def api(self) -> str:
        """The wire format, for example `openai-chat`."""

    @property
    def status(self) -> int:
        """The HTTP status."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The response's headers."""

    @property
    def pricing(self) -> Mapping[str, Any] | None:
        """The model's prices as decimal strings; without prices, the cost is None."""

    @property
    def chunks(self) -> Iterable[bytes]:
        """The body, one chunk per network read."""

    # A run may also have `stream`; if it is False, the body is a non-streaming answer. On a WebSocket, the
    # lane is the `stream_id` in `request`, or `lane`.


@dataclass(frozen=True, slots=True)
class BytesRun:
    """A `Run` whose bytes are given; in the protocol's `push` mode it has no chunks yet."""

    api: str
    status: int
    headers: Mapping[str, str]
    pricing: Mapping[str, Any] | None
    chunks: tuple[bytes, ...]
    stream: bool = True
    """False if the body is a non-streaming answer."""
    lane: str | None = None
    """The lane of the answer on a WebSocket, if it has a name."""


class Adapter(Protocol):
    """A callable that a harness can test, with attributes that describe it."""

    info: Mapping[str, str]
    apis: Sequence[str]
    inputs: Sequence[str]
    capabilities: Sequence[str]

    def __call__(self, run: Run) -> Iterator[Json]:
        """Yield the run's events as they happen, then `{"outcome": ...}`."""


def heal(api: str | None, value: Any) -> Json:
    """Return tool arguments in any form as an object; see `healing`."""
    del api
    return heal_tool_arguments(value)


def partial_json(api: str | None, value: str) -> Any:
    """Return the best-effort value of a truncated JSON text; see `json_text.incremental`."""
    del api
    return partial_value(value)


def assemble(api: str | None, value: Mapping[str, Any]) -> list[Json]:
    """Return the calls in the payloads of one or more answers, in the order in which they start.

    The arguments are None for a call that must not be executed; see `tool_buffer`.
    """
    del api
    buffer = ToolBuffer()
    for entry in value["payloads"]:
        for chunk in ADAPTERS[entry["api"]](entry["payload"]):
            buffer.append(replace(chunk, turn_index=entry.get("answer", 0)))
    buffer.finish()
    return [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in buffer.calls]


def count_request_tokens(api: str | None, value: Mapping[str, Any]) -> int:
    """Return the estimated number of input tokens in a request to Anthropic's API; see `tokens`."""
    del api
    return count_tokens(value)


def build_request(api: str | None, value: Mapping[str, Any]) -> Json:
    """Return the HTTP request for a conversation: `{"body": {...}, "headers": {...}, "path": ...}`.

    Raises:
        KeyError: the API is unknown.
    """
    return REQUEST_BUILDERS[api or ""](value)


FUNCTIONS: Final[Mapping[str, Function]] = {
    "heal": heal,
    "partial": partial_json,
    "assemble": assemble,
    "count_tokens": count_request_tokens,
    "build_request": build_request,
}


def adapter_for(
    decoders: Mapping[str, type[Decoder]],
    functions: Mapping[str, Function] | None = None,
    *,
    documents: Mapping[str, DocumentReader] | None = None,
    name: str = "streamconform-reference",
    claimed: Sequence[str] = (),
) -> Adapter:
    """Return an adapter that decodes with these classes; calling it raises KeyError for any other API.

    With `documents`, it also reads non-streaming answers. It claims the capabilities of decoders, of
    `functions` and in `claimed`.
    """

    def adapter(run: Run) -> Iterator[Json]:
        decoder = open_decoder(run, decoders)
        if documents is not None and not getattr(run, "stream", True):
            outcome = read_document(b"".join(run.chunks), decoder, documents[run.api])
            yield {"outcome": outcome.to_json()}
            return
        for chunk in run.chunks:
            for event in decoder.receive_data(chunk):
                yield event.to_json()
        for event in decoder.receive_eof():
            yield event.to_json()
        yield {"outcome": decoder.outcome.to_json()}

    claimed = (*claimed, *(() if documents is None else (DOCUMENTS,)))
    return describe_adapter(adapter, functions or {}, name=name, apis=decoders, claimed=claimed)


def describe_adapter(
    function: Callable[[Run], Iterator[Json]],
    functions: Mapping[str, Function] | None = None,
    *,
    name: str,
    apis: Iterable[str],
    claimed: Sequence[str] = (),
) -> Adapter:
    """Add an adapter's attributes to the function, and each of `functions` as an attribute; return it.

    It claims the capabilities of all decoders and of `functions`, and those in `claimed`.
    """
    function_table = functions or {}
    vars(function).update(
        function_table,
        info={"name": name, "version": VERSION, "language": "python"},
        apis=list(apis),
        inputs=["bytes"],
        capabilities=[
            *CAPABILITIES,
            *claimed,
            *(CAPABILITY_OF_FUNCTION[function_name] for function_name in function_table),
            *(OF_REQUESTS if "build_request" in function_table else ()),
        ],
    )
    return cast("Adapter", function)


adapter: Final = adapter_for(DECODERS, FUNCTIONS, documents=DOCUMENT_READERS, claimed=(WEBSOCKET,))


def snapshots(run: Run, at: Iterable[int]) -> Iterator[Json]:
    """Yield the outcome after each frame in `at`, which contains ascending frame numbers, counted from 0.

    The end of the body is not processed, so a truncated answer stays as it was after its last frame. For a
    number beyond the last frame, it also yields the outcome after the last frame.
    """
    decoder = open_decoder(run, DECODERS)
    states = _read_frames(decoder, run)
    last_frame = -1
    for number in at:
        while last_frame < number:
            last_frame = next(states, number)
        yield decoder.snapshot().to_json()


def open_decoder(run: Run, decoders: Mapping[str, type[Decoder]]) -> Decoder:
    """Return a decoder for this run's response."""
    return decoders[run.api](status=run.status, headers=run.headers, pricing=run.pricing, lane=find_lane(run))


def find_lane(run: Run) -> str | None:
    """Return the name of the lane that the answer has on a WebSocket, or None."""
    request: Mapping[str, Any] | None = getattr(run, "request", None)
    lane: str | None = getattr(run, "lane", None) if request is None else request.get("stream_id")
    return lane


def _read_frames(decoder: Decoder, run: Run) -> Iterator[int]:
    if decoder.failed:
        return
    number = -1
    for chunk in run.chunks:
        for frame in decoder.framing.receive(chunk):
            decoder.receive_frame(frame)
            number += 1
            yield number
    for frame in decoder.framing.end():
        decoder.receive_frame(frame)
        number += 1
        yield number
