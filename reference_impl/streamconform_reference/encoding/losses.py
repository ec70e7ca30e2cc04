"""Losses that several APIs share, as functions for the rows of their tables.

Each takes an outcome or a block and returns the part that can be expressed, in the normal form, independently
of the encoder. `arguments_text` contains the losses in call arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from typing import Final

from msgspec.structs import replace

from streamconform_reference.encoding.encoder import PLACEHOLDER, Loss
from streamconform_reference.outcome import (
    Block,
    Citation,
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
StopEncoder = Callable[[Stop, tuple[Block, ...]], tuple[str, StopReason]]
"""A function that maps a `Stop` and the written content to the API's stop reason and its meaning."""

TRUNCATED: Final = Error(None, "the answer broke off", None)
"""The error in the document for an incomplete answer."""


def map_blocks(change: Callable[[Block], Iterator[Block]]) -> Apply:
    """Return a function that replaces every block with the blocks that `change` yields for it."""

    def apply(outcome: Outcome) -> Outcome:
        return replace(outcome, content=tuple(new for block in outcome.content for new in change(block)))

    return apply


def keep_blocks(keep: Callable[[Block], bool]) -> Apply:
    """Return a function that removes every block that `keep` rejects."""
    return lambda outcome: replace(outcome, content=tuple(filter(keep, outcome.content)))


def filter_others(is_own: Callable[[Other], bool]) -> Apply:
    """Return a function that keeps only the API's own `other` blocks."""
    return keep_blocks(lambda block: not isinstance(block, Other) or is_own(block))


def make_extras_row(
    *,
    kept: Container[str] = (),
    cites: Callable[[Citation], bool],
) -> Loss:
    """Return the row for the optional fields that the API lacks.

    `kept` contains the fields that the API has: `call.signature`, `stop.sequence`, `stop.details`. `cites`
    returns whether the API can express a citation.
    """

    def change(block: Block) -> Iterator[Block]:
        if isinstance(block, Text):
            yield Text(block.text, citations=tuple(filter(cites, block.citations)))
        elif isinstance(block, ToolCall):
            yield replace(block, signature=block.signature if "call.signature" in kept else None, echo=None)
        else:
            yield block

    def apply(outcome: Outcome) -> Outcome:
        stop = replace(
            outcome.stop,
            sequence=outcome.stop.sequence if "stop.sequence" in kept else None,
            details=outcome.stop.details if "stop.details" in kept else None,
        )
        return replace(map_blocks(change)(outcome), stop=stop, continuation=None, echo=None)

    return Loss(
        "extras",
        "whichever of these the API has no field for: phases, signatures and citations of text, "
        "signatures of calls, what the next request repeats of a call or an answer, stop details, "
        "continuation tokens",
        "omitted",
        apply,
    )


# Names, cost, errors.


def _fill_names(outcome: Outcome) -> Outcome:
    """Return the outcome with a placeholder for a missing model or id."""
    return replace(
        outcome, model=outcome.model or PLACEHOLDER, response_id=outcome.response_id or PLACEHOLDER
    )


def _drop_cost(outcome: Outcome) -> Outcome:
    """Return the outcome without its cost."""
    return replace(outcome, cost=None)


def _drop_failed_reason(outcome: Outcome) -> Outcome:
    """Return a failed outcome without the provider's stop reason."""
    return replace(outcome, stop=Stop("error", None)) if outcome.status == "error" else outcome


def map_error(form: Callable[[Error], Error]) -> Apply:
    """Return a function that changes an outcome's error."""
    return lambda outcome: replace(outcome, error=outcome.error and form(outcome.error))


def keep_only_error(outcome: Outcome) -> Outcome:
    """Return the outcome of an error document if the outcome is not complete."""
    if outcome.status == "complete":
        return outcome
    return Outcome(
        status="error",
        content=(),
        stop=Stop("error", None),
        usage=None,
        cost=None,
        error=outcome.error or TRUNCATED,
        model=None,
        response_id=None,
    )


COST: Final = Loss("cost", "the cost of an answer", "omitted; it follows from usage and prices", _drop_cost)
NAMES: Final = Loss("names", "the absence of an id or a model", f"`{PLACEHOLDER}`", _fill_names)
FAILED_REASON: Final = Loss(
    "failed-word",
    "the stop reason that came before an error",
    "omitted: only the error is written",
    _drop_failed_reason,
)
DOCUMENT_ERROR: Final = Loss(
    "failed-document",
    "the content of an answer that failed or was cut off",
    "an error document",
    keep_only_error,
    forms=("document",),
)


# Blocks.


def _has_common_form(block: Block) -> bool:
    """Whether a block has a form that the APIs share, unlike `other` blocks."""
    return not isinstance(block, Other)


def _is_not_provider_call(block: Block) -> bool:
    """Whether a block is not a call that the provider runs."""
    return not (isinstance(block, ToolCall) and block.executor == "provider")


def has_content(block: Block) -> bool:
    """Whether a block has content; false only for prose with neither text nor signature."""
    if isinstance(block, (ToolCall, Other)):
        return True
    return bool(block.text or (isinstance(block, Thinking) and block.signature))


def is_client_call(block: Block) -> bool:
    """Whether a block is a call for the client, complete or not."""
    return isinstance(block, ToolCall) and block.executor == "client"


def _convert_refusal(block: Block) -> Iterator[Block]:
    """Yield the block; a refusal becomes text."""
    yield Text(block.text) if isinstance(block, Refusal) else block


def _drop_signature(block: Block) -> Iterator[Block]:
    """Yield the block; thinking loses its signature, and is dropped if it has no text."""
    if not isinstance(block, Thinking):
        yield block
    elif block.text:
        yield Thinking(text=block.text, signature=None, redacted=False)


def _join_prose(outcome: Outcome) -> Outcome:
    """Return the outcome with adjacent prose of the same kind joined.

    A call separates prose; an `other` block does not, so the prose continues after it.
    """
    blocks: list[Block] = []
    index = -1  # the index of the prose block that can continue
    for block in outcome.content:
        if isinstance(block, (ToolCall, Other)):
            index = -1 if isinstance(block, ToolCall) else index
            blocks.append(block)
            continue
        previous = blocks[index] if index >= 0 else None
        if isinstance(previous, (Text, Refusal, Thinking)) and type(previous) is type(block):
            joined = replace(previous, text=join_surrogates(previous.text + block.text))
            if isinstance(joined, Text) and isinstance(block, Text):
                joined = replace(joined, citations=joined.citations + block.citations)
            blocks[index] = joined
        else:
            index = len(blocks)
            blocks.append(block)
    return replace(outcome, content=tuple(blocks))


def join_surrogates(text: str) -> str:
    """Return the text with adjacent halves of surrogate pairs joined."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


_FIELD_ORDER: Final[tuple[type[Block], ...]] = (Thinking, Text, Refusal, Other, ToolCall)


def _order_by_field(outcome: Outcome) -> Outcome:
    """Return the outcome with its blocks sorted by type, in the order of a message's fields."""
    return replace(
        outcome, content=tuple(sorted(outcome.content, key=lambda block: _FIELD_ORDER.index(type(block))))
    )


PROVIDER_CALLS: Final = Loss(
    "provider-calls",
    "a call that the provider ran",
    "omitted, because the client would run it again",
    keep_blocks(_is_not_provider_call),
)
OTHERS: Final = Loss(
    "other",
    "a provider-specific block, such as an image or a result",
    "omitted",
    keep_blocks(_has_common_form),
)
REFUSALS: Final = Loss("refusal", "the fact that text is a refusal", "text", map_blocks(_convert_refusal))
SIGNATURES: Final = Loss(
    "signature",
    "the signature of thinking, and thinking that has only a signature",
    "omitted",
    map_blocks(_drop_signature),
)
EMPTY_PROSE: Final = Loss(
    "empty-prose",
    "an empty text, thinking or refusal block",
    "omitted",
    keep_blocks(has_content),
)
FIELD_ORDER: Final = Loss(
    "document-order",
    "the order of text, thinking and calls",
    "the fixed order thinking, text, refusal, calls",
    _order_by_field,
    forms=("document",),
)
JOINED: Final = Loss(
    "joined",
    "the boundary between adjacent blocks of the same kind: text, thinking or refusal",
    "one block",
    _join_prose,
)


# Stop reason and usage.


def map_stop(word: StopEncoder) -> Apply:
    """Return a function that sets a complete outcome's stop to the API's reason and its meaning."""

    def apply(outcome: Outcome) -> Outcome:
        if outcome.status != "complete":
            return outcome
        raw, reason = word(outcome.stop, outcome.content)
        adjusted = replace(outcome.stop, reason=_adjust_reason(outcome.content, reason), raw=raw)
        return replace(outcome, stop=adjusted)

    return apply


def _adjust_reason(content: tuple[Block, ...], reason: StopReason) -> StopReason:
    """Return the stop reason of a complete answer, adjusted to its content."""
    calls = [block for block in content if isinstance(block, ToolCall)]
    if reason == "stop" and any(call.complete and call.executor == "client" for call in calls):
        return "tool_use"
    if reason == "stop" and any(isinstance(block, Refusal) and block.text for block in content):
        return "refusal"
    if reason == "tool_use" and calls and all(call.executor == "provider" for call in calls):
        return "stop"
    return reason


def map_usage(form: Callable[[Usage | None], Usage | None]) -> Apply:
    """Return a function that changes a complete outcome's usage; other outcomes lose theirs."""

    def apply(outcome: Outcome) -> Outcome:
        usage = outcome.usage if outcome.status == "complete" else None
        return replace(outcome, usage=form(usage))

    return apply
