"""`Api`: everything the harness knows about one API, as one frozen record. Pure.

The parts are small, and are named after the code that reads them: `ending` is for faults, `endpoints` and
`canned_replies` are for the replay server, `requests` is for the judge, and the others are for tools. None of
them parses an answer, which is the implementation's task.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal

from msgspec import Struct, field

from streamconform.apis.payloads import Payload
from streamconform.apis.variants import Variants
from streamconform.model.capability import Capability
from streamconform.model.case import Case, Level
from streamconform.model.cassette import SWITCHED, Request
from streamconform.model.outcome import Reason
from streamconform.model.trial import Framing
from streamconform.wire import framings
from streamconform.wire.reframe import Writer

Json = dict[str, Any]
Path = tuple[str, ...]
"""The keys that lead to a value; `*` stands for every item of an array."""

CANNED_TEXT: Final = "OK"
"""The text of every canned reply."""
CREATED: Final = 1_760_000_000
"""The creation time in canned replies: an arbitrary date, in seconds since 1970."""
CREATED_AT: Final = "2025-10-09T08:53:20Z"
"""The same moment."""


class Extensions(Struct, frozen=True, kw_only=True):
    """New events and fields that may appear in a stream. The levels follow the provider's documentation."""

    event: Mapping[Framing, bytes]
    """For each of the API's framings, one frame with a type that does not exist."""
    event_level: Level
    objects: tuple[Path, ...]
    """The objects of a payload to which new fields may be added."""
    field_level: Level
    source: str
    """Link to the provider's statement that new events and fields may be added."""


def never_settled(payload: Payload) -> bool:
    """Return False: only the terminal event shows how the answer ended."""
    del payload
    return False


class Ending(Struct, frozen=True, kw_only=True):
    """How a stream ends: the terminal frame, the end of a tool call, and the error frame.

    The outcome of a broken stream is derived from this, without any parser.
    """

    is_terminal: Callable[[Payload], bool]
    """Whether a payload is the terminal event; an error frame counts as one."""
    count_ended_calls: Callable[[Sequence[Payload]], int]
    """The number of the client's tool calls that have ended by the end of these payloads; where the wire does
    not tell them from those that the provider runs, of all of them.
    """
    content: tuple[str, ...]
    """Members of a payload that contain content; some servers send such payloads after the terminal event."""
    kinds: tuple[Path, ...] = ()
    """The paths to the objects that show the kind of content in a payload, by their `type` or else by their
    members that are not empty. A step `*` is any item of a list.
    """
    text_keys: tuple[str, ...]
    """Keys, at any depth, whose values are parts of the visible text."""
    text_types: tuple[str, ...] = ()
    """The `type` of the payloads that contain these keys; empty if no other payload has them."""
    delta_keys: tuple[str, ...]
    """Keys, at any depth, whose values are parts of thinking, a refusal or a call."""
    error_frame: Mapping[Framing, bytes]
    """The provider's mid-stream error frame, for each framing that documents one."""
    error_type: str | None
    """The error type in that frame, if the provider sends one."""
    error_names: tuple[str, ...] = ()
    """Other names by which clients report that error: its shape in a service model, or a translation."""
    error_message: str
    source: str
    """Links to the provider's documentation of the terminal event and the error frame."""
    is_settled: Callable[[Payload], bool] = never_settled
    """Whether only the terminal event is missing: the stop reason and the final usage have arrived."""
    usage_follows: bool = False
    """Whether the usage may be in a frame after the terminal event, which is then the stop reason."""


class Target(Struct, frozen=True):
    """A request's target below the base URL, decoded."""

    path: str
    query: Mapping[str, Sequence[str]]


def accept_any_form(target: Target, recorded: Target, framed: Framing) -> str | None:
    """Return None: all endpoints answer in the same form."""
    del target, recorded, framed
    return None


def keep_path(path: str) -> str:
    """Return `path`: the body decides whether the answer is a stream."""
    return path


class Endpoints(Struct, frozen=True, kw_only=True):
    """Where clients send their requests. In a path, `{x}` is one component, `{x+}` one or more.

    A base URL is the provider's host, or the host plus the version. Clients differ in which of the two they
    expect, so both paths are listed.
    """

    streams: tuple[str, ...]
    """The paths for requesting a stream, with the usual one first."""
    documents: tuple[str, ...] = ()
    """The paths for non-streaming requests, if the path rather than the body selects streaming."""
    document_path: Callable[[str], str] = keep_path
    """Returns the path and query for the non-streaming version of the request."""
    streams_by_default: bool = False
    """Whether a body without `stream` requests a stream."""
    find_mismatch: Callable[[Target, Target, Framing], str | None] = accept_any_form
    """Returns the reason why a request to this target cannot be answered with that recording, if any."""

    @property
    def usual(self) -> str:
        """Return the usual path for requesting a stream."""
        return self.streams[0]

    @property
    def names_model(self) -> bool:
        """Return whether the path contains the model."""
        return "{model" in self.usual


def match_any_target(target: Target) -> bool:
    """Return True: the API has only one form of answer."""
    del target
    return True


class CannedReply(Struct, frozen=True, kw_only=True):
    """The shortest answer in one form, the text `OK`. It only has to be valid for every client."""

    matches: Callable[[Target], bool] = match_any_target
    """Whether a request to this target is answered in this form."""
    path: str
    """The request target in a recording of this form."""
    content_type: str
    write: Writer
    payloads: Callable[[str], Iterable[Json]]
    """Returns the payloads of the stream, given the model's name."""
    document: Callable[[str], Json]
    """Returns the non-streaming answer, given the model's name."""


class RequestForm(Struct, frozen=True, kw_only=True):
    """Request bodies: which forms are equivalent, and where to find the ids of tool calls."""

    canonical: Callable[[Json], Json]
    """Returns a body in the canonical form, which is the form used in cases.

    Clients write the same body in different ways: text or a list with one part, null or an absent member.
    Only forms that the provider's documentation calls equivalent are unified, each with a link to its source;
    user data (arguments, results, schemas) is left unchanged.
    """
    messages: str = "messages"
    """The member of a body that contains its messages."""
    instructions: tuple[str, ...]
    """The dotted paths to what a provider reads before the messages: the system prompt and the tools."""
    thoughts: frozenset[str]
    """The types or members of blocks and messages that are thinking, in the canonical form."""
    marks: frozenset[str] = frozenset()
    """The members that mark where the provider shall cache; they move from request to request."""
    previous: tuple[str, ...] = ()
    """The members of a body that identify the answer to continue, or contain its token."""
    kept_answer: str | None = None
    """The body member with the id of a stored answer, which the client then need not send back."""
    call_ids: tuple[Path, ...]
    """The paths to the ids that a body sends back only once, those of calls and of some items. A step after
    `*` is a key, or the `type` of the item."""

    def continues(self, first: Any, later: Any) -> bool:
        """Return whether the body `later` sends back the answer to `first`, rather than retrying it."""
        if not (isinstance(first, Mapping) and isinstance(later, Mapping)):
            return False
        if any(first.get(name) != later.get(name) for name in self.previous):
            return True
        before, after = first.get(self.messages), later.get(self.messages)
        # `input` of Responses may be a string in the first request.
        count = len(before) if isinstance(before, list) else 1
        return isinstance(after, list) and len(after) > count


class OptIn(Struct, frozen=True):
    """A feature that the provider uses only in answers to requests for it.

    Over HTTP, a client that does not request it is not judged on a stream that has it, because no provider
    sends that client such a stream. A feature belongs here if no capability stands for it, and a client that
    ignores everything it does not know would still misread the answer.
    """

    name: str
    """The feature, with the field that requests it, for messages."""
    is_requested: Callable[[Payload], bool]
    """Returns whether a body in canonical form requests the feature."""


class Key(Struct, frozen=True, kw_only=True):
    """How a request carries the API key."""

    header: str
    prefix: str = ""
    """The text that precedes the key in its header."""
    variable: str
    """The name of the environment variable that contains the key by default."""
    addresses: Mapping[str, str] = field(default_factory=dict)
    """Environment variables from which SDKs read the base URL, each with the path the URL must include."""

    def headers(self, key: str) -> dict[str, str]:
        """Return the header that carries `key`."""
        return {self.header: f"{self.prefix}{key}"}


class Recording(Struct, frozen=True, kw_only=True):
    """How `conform record` sends a request. An API whose paths contain the model has no such record."""

    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers to send by default."""
    streaming_only: tuple[str, ...] = ()
    """Fields in the body that the provider rejects if `stream` is false."""
    host: str | None = None
    """The provider's public host, which may be named in the provenance. Other hosts may be private."""


class Sockets(Struct, frozen=True, kw_only=True):
    """How a client asks for an answer over a WebSocket."""

    request: str
    """The type of the message that asks; its other members are the body of a request."""
    lane: str
    """The member with the name of a lane, in a request and in the events of its answer."""
    warm_up: Mapping[str, Any]
    """The members of a request that only prepares the next one, and whose answer has no content."""
    fits_http: Callable[[Json, Sequence[Payload]], bool]
    """Whether HTTP has a request's body and the events of its whole answer, too."""


class Importing(Struct, frozen=True, kw_only=True):
    """How captures made by other tools are recognized."""

    stream: re.Pattern[str]
    """Matches text in the path of a streaming request."""
    document: re.Pattern[str] | None = None
    """Matches text in the path of a non-streaming request, if the path selects streaming."""
    path: str
    """The path to assume for a capture that does not contain the request."""
    # Matches nothing, for an API whose payloads have no type.
    types: re.Pattern[str] = re.compile(r"(?!)")
    """Matches payload types, object types or event names that only this API has."""
    members: tuple[frozenset[str], ...] = ()
    """Sets of members: a payload without a type that has all members of one set belongs to this API."""
    corpus_names: tuple[str, ...] = ()
    """Names that corpora use for versions of the API."""


FieldKind = Literal["text", "name", "text or null", "count", "number", "true or false", "object", "list"]
"""The kind of a field's value: `name` is non-empty text, and `count` a non-negative integer."""


class DocumentField(Struct, frozen=True):
    """A required field of a JSON document; in its path, `[]` stands for every item of a list."""

    path: str
    kind: FieldKind | str
    """The kind of value, or the required text in double quotes."""
    level: Level = "must"


def require(kind: FieldKind | str, *paths: str, level: Level = "must") -> tuple[DocumentField, ...]:
    """Return the fields at `paths`, all of one kind."""
    return tuple(DocumentField(path, kind, level) for path in paths)


class TokenCounting(Struct, frozen=True, kw_only=True):
    """The endpoint that counts a request's tokens."""

    path: str
    """Appended to the path of the messages endpoint."""
    members: frozenset[str]
    """The members of a request whose tokens are counted."""
    count: str
    """The member of the answer that contains the number."""


class Probing(Struct, frozen=True, kw_only=True):
    """What `conform probe` can ask a server with this API, and the documents that the server returns."""

    answer: tuple[DocumentField, ...]
    """The fields of a non-streaming answer."""
    error: tuple[DocumentField, ...]
    """The fields of an error document."""
    stop_sequences: Path = ()
    """The path of a request's stop sequences; empty if the API has none."""
    tool_by_name: bool = False
    """Whether a request can require a tool by name."""
    parallel_calls_off: bool = False
    """Whether a request can limit an answer to one call."""
    tool_types: bool = False
    """Whether tools have types."""
    token_counting: TokenCounting | None = None


class ProxyLimits(Struct, frozen=True, kw_only=True):
    """The values that are lost when a proxy translates another API's stream into this API.

    They follow from the stop reasons and fields that the provider documents. Only values that the API can
    express are judged.
    """

    reasons: Mapping[Reason, tuple[Reason, ...]] = field(default_factory=dict)
    """Stop reasons that the API cannot express, each with the reasons accepted in its place."""
    usage: tuple[str, ...] = ()
    """The usage buckets for which the API has a field."""
    joins_thinking: bool = False
    """Whether adjacent thinking blocks cannot be distinguished."""
    refusal_is_text: bool = False
    """Whether a refusal is sent as text."""


class SmokeStreams(Struct, frozen=True, kw_only=True):
    """The two bundled recordings that `conform smoke` sends, and their contents."""

    text_cassette: str
    text: str
    call_cassette: str
    call_name: str
    call_arguments: Mapping[str, Any]
    values: tuple[Capability, ...] = ("usage", "cost", "raw_stop")
    """Capabilities of which both recordings have a value, whose keys an adapter could leave out."""


class RepeatedText(Struct, frozen=True):
    """Where an item repeats the text of its deltas: in a list of parts, or directly in the item."""

    parts: str | None
    """The member of the item that lists the parts."""
    member: str


class Reducing(Struct, frozen=True, kw_only=True):
    """What `conform minimise` needs in addition to the grammar to remove parts of a stream."""

    kept: frozenset[str] = frozenset()
    """Members that the provider always sends, in objects that the grammar does not describe."""
    block_index: tuple[str | int, ...] = ()
    """The path of a payload's block or call index, which counts from 0; empty if payloads have none."""
    repeated: Mapping[str, RepeatedText] = field(default_factory=dict)
    """Maps a delta's type to the place where its complete text is repeated."""
    final_items: Path = ()
    """The path, in the terminal event, to the list that repeats the items by index."""


class Api(Struct, frozen=True, kw_only=True):
    """One wire format and everything the harness knows about it."""

    name: str
    """The name used in specs, cassettes and options, such as `openai-chat`."""
    title: str
    """The name in the provider's documentation."""
    bodies_of: str | None = None
    """The API whose bodies this one carries in a framing of its own."""
    extensions: Extensions
    write: Writer
    """Puts payloads back into the usual framing."""
    ending: Ending
    endpoints: Endpoints
    canned_replies: tuple[CannedReply, ...]
    """The canned replies; the first one that matches the target is sent."""
    requests: RequestForm
    opt_ins: tuple[OptIn, ...] = ()
    """The features that clients must request, and that change how an answer must be read."""
    key: Key
    recording: Recording | None = None
    importing: Importing
    probing: Probing
    proxy: ProxyLimits = field(default_factory=ProxyLimits)
    smoke: SmokeStreams
    ordered_content: bool = True
    """Whether messages record the order of text and calls; one text plus one list of calls does not."""
    thoughts_on_request: bool = False
    """Whether thoughts are sent only to clients that request them. A client that does not support thinking
    never receives any, so it is not judged on thoughts.
    """
    reducing: Reducing = field(default_factory=Reducing)
    sockets: Sockets | None = None
    """None if the API has no WebSocket."""
    variants: Variants = field(default_factory=dict)
    """The deliveries of `VARIANTS` that servers of the API really send."""
    vendor_payloads: Mapping[str, Json] = field(default_factory=dict)
    """For vendors that document a restricted form of the API: a JSON Schema of the payloads in their answers.
    Their own clients are judged only on streams that match it."""
    vendor_errors: Mapping[str, Json] = field(default_factory=dict)
    """For these vendors: a JSON Schema of the documents of their HTTP errors."""

    @property
    def framing(self) -> Framing:
        """Return the usual framing."""
        return next(iter(self.extensions.event))

    def detect_framing(self, status: int, body: bytes) -> Framing:
        """Return the framing of `body`, or `document` if it is not a stream of this API."""
        # The document of an HTTP error is never a stream, even if it looks like one frame.
        if status < 400:
            for framed in self.extensions.event:
                if framings.is_stream(framed, body):
                    return framed
        # A cassette of a WebSocket has its messages, one per line.
        return "ndjson" if status == SWITCHED else "document"

    def frame_case(self, case: Case, body: bytes) -> Framing:
        """Return the framing of `body`, which contains the bytes of `case` as they are delivered."""
        # In a framing with one frame per line, a one-line document is also a stream of one frame.
        return self.detect_framing(case.cassette.status, body) if case.stream else "document"

    def requests_stream(self, request: Request) -> bool:
        """Return whether the provider answers `request` with a stream."""
        if self.endpoints.documents:
            document = self.importing.document
            return document is None or document.search(request.path.partition("?")[0]) is None
        return bool(request.body.get("stream", self.endpoints.streams_by_default))

    def find_missing_opt_in(self, recorded: Any, received: Any) -> str | None:
        """Return the feature that the body `recorded` requests and the body `received` does not, or None."""
        if not self.opt_ins or not isinstance(recorded, Mapping):
            return None
        asked = self.requests.canonical(dict(recorded))
        needed = [feature for feature in self.opt_ins if feature.is_requested(asked)]
        # Most recordings need nothing, so the received body is read only for the others.
        body = self.requests.canonical(dict(received)) if needed and isinstance(received, Mapping) else {}
        return next((feature.name for feature in needed if not feature.is_requested(body)), None)

    def write_document_body(self, body: Mapping[str, Any]) -> Json:
        """Return the body for the non-streaming version of the request."""
        if self.endpoints.documents:
            return dict(body)
        dropped = self.recording.streaming_only if self.recording is not None else ()
        return {key: value for key, value in body.items() if key not in dropped} | {"stream": False}

    def choose_reply(self, target: Target) -> CannedReply:
        """Return the canned reply to a request for `target`."""
        return next(reply for reply in self.canned_replies if reply.matches(target))
