"""What more than one api cannot say: functions for the rows of their tables of losses.

Each takes an outcome, or a block, and returns it as it can be said, in terms of the normal form alone: none
knows how an encoder brings it about. `arguments_text` has those for the arguments of calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from streamconform_reference.encoding.encoder import NAMELESS, Loss
from streamconform_reference.outcome import (
    Block,
    Error,
    Other,
    Outcome,
    Refusal,
    Stop,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    Usage,
)

Apply = Callable[[Outcome], Outcome]
Word = Callable[[Stop, tuple[Block, ...]], tuple[str, StopReason]]
"""A stop and the content that was written, to the api's word and what that word means by itself."""

BROKE_OFF: Final = Error(None, "the answer broke off", None)
"""What a document says of an answer that is incomplete."""


def each_block(change: Callable[[Block], Iterator[Block]]) -> Apply:
    """Return the function that puts in the place of every block what `change` yields for it."""

    def apply(outcome: Outcome) -> Outcome:
        return replace(outcome, content=tuple(new for block in outcome.content for new in change(block)))

    return apply


def keep_blocks(keep: Callable[[Block], bool]) -> Apply:
    """Return the function that leaves out the other blocks."""
    return lambda outcome: replace(outcome, content=tuple(filter(keep, outcome.content)))


# Names, money, errors.


def nameless(outcome: Outcome) -> Outcome:
    """Return the outcome with a name for model and answer, where it has none."""
    return replace(outcome, model=outcome.model or NAMELESS, response_id=outcome.response_id or NAMELESS)


def without_cost(outcome: Outcome) -> Outcome:
    """Return the outcome without its cost."""
    return replace(outcome, cost=None)


def without_failed_word(outcome: Outcome) -> Outcome:
    """Return a failed outcome without the provider's word for why it stopped."""
    return replace(outcome, stop=Stop("error", None)) if outcome.status == "error" else outcome


def error_as(form: Callable[[Error], Error]) -> Apply:
    """Return the function that changes the error of an outcome."""
    return lambda outcome: replace(outcome, error=outcome.error and form(outcome.error))


def error_alone(outcome: Outcome) -> Outcome:
    """Return what the document of an answer says that did not become complete: an error, nothing else."""
    if outcome.status == "complete":
        return outcome
    return Outcome(
        status="error",
        content=(),
        stop=Stop("error", None),
        usage=None,
        cost=None,
        error=outcome.error or BROKE_OFF,
        model=None,
        response_id=None,
    )


COST: Final = Loss("cost", "what an answer costs", "left out; it follows from usage and prices", without_cost)
NAMES: Final = Loss("names", "an answer without a name, or of an unnamed model", f"`{NAMELESS}`", nameless)
FAILED_WORD: Final = Loss(
    "failed-word",
    "the word for the end that came before an error",
    "left out; the error is the end",
    without_failed_word,
)
DOCUMENT_ERROR: Final = Loss(
    "failed-document",
    "what there is of an answer that failed or broke off, in one document",
    "an error document",
    error_alone,
    forms=("document",),
)


# Blocks.


def not_other(block: Block) -> bool:
    """Whether a block has a common form."""
    return not isinstance(block, Other)


def not_provider_call(block: Block) -> bool:
    """Whether a block is anything but a call that the provider runs itself."""
    return not (isinstance(block, ToolCall) and block.executor == "provider")


def not_empty_prose(block: Block) -> bool:
    """Whether a block is anything but prose without text, and without a signature."""
    if isinstance(block, (ToolCall, Other)):
        return True
    return bool(block.text or (isinstance(block, Thinking) and block.signature))


def is_client_call(block: Block) -> bool:
    """Whether the client has to run a block, or would have to if it were complete."""
    return isinstance(block, ToolCall) and block.executor == "client"


def refusal_as_text(block: Block) -> Iterator[Block]:
    """Yield a block, a refusal as text."""
    yield Text(block.text) if isinstance(block, Refusal) else block


def unsigned(block: Block) -> Iterator[Block]:
    """Yield a block, thinking without its signature, and nothing of thinking that has no text."""
    if not isinstance(block, Thinking):
        yield block
    elif block.text:
        yield Thinking(text=block.text, signature=None, redacted=False)


def joined(outcome: Outcome) -> Outcome:
    """Return the outcome with neighbouring prose of one kind joined.

    A call parts prose, and a block without a common form does not: the prose goes on behind it.
    """
    blocks: list[Block] = []
    at = -1  # where the prose is that can go on
    for block in outcome.content:
        if isinstance(block, (ToolCall, Other)):
            at = -1 if isinstance(block, ToolCall) else at
            blocks.append(block)
            continue
        last = blocks[at] if at >= 0 else None
        if isinstance(last, (Text, Refusal, Thinking)) and type(last) is type(block):
            blocks[at] = replace(last, text=whole_characters(last.text + block.text))
        else:
            at = len(blocks)
            blocks.append(block)
    return replace(outcome, content=tuple(blocks))


def whole_characters(text: str) -> str:
    """Return the text with the halves of a character joined that stand together."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


_ORDER: Final[tuple[type[Block], ...]] = (Thinking, Text, Refusal, Other, ToolCall)


def in_fields(outcome: Outcome) -> Outcome:
    """Return the outcome with its blocks as the fields of one message: by type, else in their order."""
    return replace(
        outcome, content=tuple(sorted(outcome.content, key=lambda block: _ORDER.index(type(block))))
    )


PROVIDER_CALLS: Final = Loss(
    "provider-calls",
    "a call that the provider ran itself",
    "left out: the client would run it again",
    keep_blocks(not_provider_call),
)
OTHERS: Final = Loss(
    "other", "a block without a common form: a citation, a result", "left out", keep_blocks(not_other)
)
REFUSALS: Final = Loss("refusal", "that text is a refusal", "text", each_block(refusal_as_text))
SIGNATURES: Final = Loss(
    "signature",
    "the signature of thinking, and thinking that has nothing else",
    "left out",
    each_block(unsigned),
)
EMPTY_PROSE: Final = Loss(
    "empty-prose",
    "a block of text, thinking or refusal without text",
    "left out",
    keep_blocks(not_empty_prose),
)
FIELDS: Final = Loss(
    "document-order",
    "the order of text, thinking and calls, in one document",
    "thinking, text, refusal, calls",
    in_fields,
    forms=("document",),
)
JOINED: Final = Loss(
    "joined", "where a block of prose ends and another of its kind begins", "one block", joined
)


# The end, and what was used.


def stop_as(word: Word) -> Apply:
    """Return the function that gives a complete outcome the api's word, and the reason that it means here."""

    def apply(outcome: Outcome) -> Outcome:
        if outcome.status != "complete":
            return outcome
        raw, reason = word(outcome.stop, outcome.content)
        return replace(outcome, stop=Stop(in_light_of(outcome.content, reason), raw))

    return apply


def in_light_of(content: tuple[Block, ...], reason: StopReason) -> StopReason:
    """Return why a complete answer ended, in the light of its content."""
    calls = [block for block in content if isinstance(block, ToolCall)]
    if reason == "stop" and any(call.complete and call.executor == "client" for call in calls):
        return "tool_use"
    if reason == "stop" and any(isinstance(block, Refusal) and block.text for block in content):
        return "refusal"
    if reason == "tool_use" and calls and all(call.executor == "provider" for call in calls):
        return "stop"
    return reason


def usage_as(form: Callable[[Usage | None], Usage | None]) -> Apply:
    """Return the function that changes the usage of a complete outcome; any other cannot say its own."""

    def apply(outcome: Outcome) -> Outcome:
        usage = outcome.usage if outcome.status == "complete" else None
        return replace(outcome, usage=form(usage))

    return apply
