"""The encoder interface: an answer's events in, the bytes of an API's stream out.

An encoder gets the answer's model and id, then its pieces in order, and returns the bytes to write after each
of them. It delays no output that could be written. `encode` writes a complete outcome.

Each API has a table of losses: the parts of an outcome that it cannot express, as functions on outcomes.
Tests use it to check every encoder: decoding an encoded outcome gives the result of `apply_losses`, which is
the outcome itself if no row applies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from msgspec import Struct

from streamconform_reference.events import (
    Done,
    Event,
    Failed,
    ProseDelta,
    ProseStart,
    TextEnd,
    ThinkingEnd,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    UsageUpdate,
)
from streamconform_reference.outcome import (
    Block,
    Citation,
    Json,
    Other,
    Outcome,
    Refusal,
    Text,
    Thinking,
    ToolCall,
)

PLACEHOLDER: Final = "unnamed"
"""The model or id for an outcome that has none, if an API requires one."""

Form = Literal["stream", "document"]
FORMS: Final[tuple[Form, ...]] = ("stream", "document")


@dataclass(frozen=True, slots=True)
class PlacedBlock:
    """A block without events, at its position in the content."""

    content_index: int
    block: Other


@dataclass(frozen=True, slots=True)
class PlacedCitation:
    """A citation of the text at a position in the content; it comes before the end of the text."""

    content_index: int
    citation: Citation


Piece = Event | PlacedBlock | PlacedCitation


class Encoder(Protocol):
    """Writes one answer."""

    def opening(self) -> bytes:
        """Return the bytes to write before any part of the answer is known.

        A `UsageUpdate` may precede this call; if the API's answers start with counts, the counts come from
        that update.
        """

    def piece(self, piece: Piece) -> bytes:
        """Return the bytes to write for the next piece; no pieces follow `Done` or `Failed`."""

    def ping(self) -> bytes:
        """Return bytes that keep an idle stream alive; empty if the framing has none."""


class EncoderFactory(Protocol):
    """Creates an encoder for one answer."""

    def __call__(self, *, model: str, response_id: str, created: int = 0) -> Encoder:
        """Return an encoder; `created` is in seconds since 1970."""


class DocumentWriter(Protocol):
    """A function that writes a non-streaming answer, or an error document for an incomplete outcome."""

    def __call__(self, outcome: Outcome, *, model: str, response_id: str, created: int = 0) -> Json:
        """Return the document."""


class Loss(Struct, frozen=True):
    """A property of outcomes that an API cannot express, and its replacement."""

    name: str
    description: str
    """The property, described for a table."""
    becomes: str
    """The replacement, described for a table."""
    apply: Callable[[Outcome], Outcome]
    """A function that returns the outcome as the API expresses it; unchanged if the row does not apply."""
    forms: tuple[Form, ...] = FORMS
    """The forms to which the row applies."""


def apply_losses(
    losses: Mapping[str, Sequence[Loss]], api: str, outcome: Outcome, *, form: Form = "stream"
) -> Outcome:
    """Return the outcome as the API expresses it, by applying every row of its table in order."""
    for loss in losses[api]:
        if form in loss.forms:
            outcome = loss.apply(outcome)
    return outcome


def to_pieces(outcome: Outcome) -> Iterator[Piece]:
    """Yield an outcome's pieces, block by block.

    The usage comes before the last event.
    """
    for index, block in enumerate(outcome.content):
        yield from _to_block_pieces(index, block)
    if outcome.usage is not None:
        yield UsageUpdate(outcome.usage, outcome.cost)
    if outcome.status == "complete":
        yield Done(outcome.stop)
    else:
        yield Failed(outcome.status, outcome.error)


def encode(encoders: Mapping[str, EncoderFactory], api: str, outcome: Outcome) -> bytes:
    """Return the body of a stream for `outcome`, as far as the API can express it.

    Raises:
        KeyError: the API has no encoder.
    """
    encoder = encoders[api](
        model=outcome.model or PLACEHOLDER, response_id=outcome.response_id or PLACEHOLDER
    )
    return encoder.opening() + b"".join(encoder.piece(piece) for piece in to_pieces(outcome))


def is_free_text(call: ToolCall) -> bool:
    """Whether a call's arguments are free text: only then does their value equal their text."""
    return bool(call.arguments_text) and call.arguments == call.arguments_text


def _to_block_pieces(index: int, block: Block) -> Iterator[Piece]:
    match block:
        case Text(text=text) | Refusal(text):
            kind: Literal["text", "refusal"] = "text" if isinstance(block, Text) else "refusal"
            yield ProseStart(index, kind, block.phase if isinstance(block, Text) else None)
            if text:
                yield ProseDelta(index, kind, text)
            if isinstance(block, Text):
                yield from (PlacedCitation(index, citation) for citation in block.citations)
            yield TextEnd(index, kind, text, block.signature if isinstance(block, Text) else None)
        case Thinking():
            yield ProseStart(index, "thinking")
            if block.text:
                yield ProseDelta(index, "thinking", block.text)
            yield ThinkingEnd(index, block.text, block.signature, block.redacted)
        case ToolCall():
            free_text = is_free_text(block)
            yield ToolCallStart(
                index, block.id, block.name, block.executor, free_text, signature=block.signature
            )
            if block.arguments_text:
                yield ToolCallDelta(index, block.arguments_text)
            if block.complete:
                yield ToolCallEnd(index, block)
        case Other():
            yield PlacedBlock(index, block)
