"""What an encoder is: an answer's events in, the bytes of an api's stream out.

An encoder is given what an answer is called, then its pieces in the order in which they came, and says after
each what is to be written. Nothing is held back that could be written. `encode` writes a whole outcome.

What an api cannot say is in its table of losses, and `expressed` applies it: what is decoded from an encoded
outcome is `expressed` of it, and the outcome itself where no row applies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

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
from streamconform_reference.outcome import Block, Json, Other, Outcome, Refusal, Text, Thinking, ToolCall

NAMELESS: Final = "unnamed"
"""The model, or the answer, of an outcome that names none, where an api needs a name."""

Form = Literal["stream", "document"]
FORMS: Final[tuple[Form, ...]] = ("stream", "document")


@dataclass(frozen=True, slots=True)
class Placed:
    """A block without events, at its place in the content."""

    content_index: int
    block: Other


Piece = Event | Placed


class Encoder(Protocol):
    """Writes one answer."""

    def opening(self) -> bytes:
        """Return what is written before anything of the answer is known.

        A `UsageUpdate` may be given before it: where an answer begins with counts, they are those.
        """

    def piece(self, piece: Piece) -> bytes:
        """Return what is written for the next piece; nothing comes after `Done` or `Failed`."""

    def ping(self) -> bytes:
        """Return what keeps an idle stream alive, nothing where the framing has nothing for it."""


class Maker(Protocol):
    """Makes an encoder for one answer."""

    def __call__(
        self, *, model: str, response_id: str, framing: str | None = None, created: int = 0
    ) -> Encoder:
        """Return an encoder.

        `framing` is one of the api's, None the usual one; `created` is in seconds since 1970.
        """


class Answerer(Protocol):
    """Writes a whole answer without streaming; one that did not become complete is an error document."""

    def __call__(self, outcome: Outcome, *, model: str, response_id: str, created: int = 0) -> Json:
        """Return the document."""


@dataclass(frozen=True, slots=True)
class Loss:
    """Something that an api cannot say, and what it says instead."""

    name: str
    what: str
    """What the api has no way to say, as words of a table."""
    becomes: str
    """What an encoder makes of it."""
    apply: Callable[[Outcome], Outcome]
    """Returns the outcome as the api says it, the same value where the row does not apply."""
    forms: tuple[Form, ...] = FORMS
    """Where it holds."""


def expressed(
    losses: Mapping[str, Sequence[Loss]], api: str, outcome: Outcome, *, form: Form = "stream"
) -> Outcome:
    """Return the outcome as the api says it: every row of its table applied, in their order."""
    for loss in losses[api]:
        if form in loss.forms:
            outcome = loss.apply(outcome)
    return outcome


def pieces(outcome: Outcome) -> Iterator[Piece]:
    """Yield the pieces that amount to `outcome`.

    One block comes after the other. Blocks without events that stand directly behind prose come before its
    end, as citations do; the last report of usage comes before the last event.
    """
    content = list(enumerate(outcome.content))
    while content:
        index, block = content.pop(0)
        behind: list[Piece] = []
        if not isinstance(block, (ToolCall, Other)):
            while content and isinstance(content[0][1], Other):
                behind.append(Placed(content[0][0], content[0][1]))
                content.pop(0)
        yield from _of_block(index, block, behind)
    if outcome.usage is not None:
        yield UsageUpdate(outcome.usage, outcome.cost)
    if outcome.status == "complete":
        yield Done(outcome.stop)
    else:
        yield Failed(outcome.status, outcome.error)


def encode(encoders: Mapping[str, Maker], api: str, outcome: Outcome, *, framing: str | None = None) -> bytes:
    """Return the body of a stream that says `outcome`, as far as the api can say it.

    Raises:
        KeyError: no such api can be encoded.
    """
    encoder = encoders[api](
        model=outcome.model or NAMELESS, response_id=outcome.response_id or NAMELESS, framing=framing
    )
    return encoder.opening() + b"".join(encoder.piece(piece) for piece in pieces(outcome))


def is_free_text(call: ToolCall) -> bool:
    """Whether the arguments of a call are its text as it is; JSON text is never its own value."""
    return bool(call.arguments_text) and call.arguments == call.arguments_text


def _of_block(index: int, block: Block, behind: list[Piece]) -> Iterator[Piece]:
    match block:
        case Text(text) | Refusal(text):
            kind: Literal["text", "refusal"] = "text" if isinstance(block, Text) else "refusal"
            yield ProseStart(index, kind)
            if text:
                yield ProseDelta(index, kind, text)
            yield from behind
            yield TextEnd(index, kind, text)
        case Thinking():
            yield ProseStart(index, "thinking")
            if block.text:
                yield ProseDelta(index, "thinking", block.text)
            yield from behind
            yield ThinkingEnd(index, block.text, block.signature, block.redacted)
        case ToolCall():
            yield ToolCallStart(index, block.id, block.name, block.executor, is_free_text(block))
            if block.arguments_text:
                yield ToolCallDelta(index, block.arguments_text)
            if block.complete:
                yield ToolCallEnd(index, block)
        case Other():
            yield Placed(index, block)
