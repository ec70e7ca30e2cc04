"""Strategies for legal answers, and for the pieces in which a server streams them.

Only answers that a provider may send are generated: the arguments of complete calls are JSON objects, and
only the last call of an answer that ended with `length` may be truncated. A client that reads an answer
differently is therefore wrong.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from hypothesis import strategies as st
from msgspec.structs import replace
from streamconform_reference.encoding.encoder import Piece
from streamconform_reference.events import (
    Done,
    ProseDelta,
    ProseStart,
    TextEnd,
    ThinkingEnd,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    UsageUpdate,
)
from streamconform_reference.outcome import Block, Outcome, Stop, Text, Thinking, ToolCall, Usage

# Each of these texts has line ends, strings, escapes or characters that some library misreads.
_WORDS: Final = (
    *(
        "Rice",
        " and ",
        "beans",
        ".",
        " ",
        "0",
        "{",
        "}",
        '{"a": 1}',
        "[DONE]",
        "data: x",
        "event: stop",
        ": ping",
    ),
    *(
        "\n",
        "\n\n",
        "\r\n",
        "\t",
        '"',
        "\\",
        "\\n",
        "\\u0041",
        "</think>",
        "é",
        "日本",
        "👩‍👩‍👧",
        "\u2028",
        "\u0085",
        "\ufeff",
    ),
)
_MAX_TEXT: Final = 12
_MAX_PIECES: Final = 6
_KEYS: Final = ("city", "text", "", "a b", "Größe", "x.y", 'quo"te')


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, and the pieces in which it is streamed, in order."""

    outcome: Outcome
    pieces: tuple[Piece, ...]


def texts(min_size: int = 1) -> st.SearchStrategy[str]:
    """Draw text made of words that are hard to parse."""
    return st.lists(st.sampled_from(_WORDS), min_size=min_size, max_size=_MAX_TEXT).map("".join)


def _values() -> st.SearchStrategy[Any]:
    # Integers that every JSON parser keeps, and no floats: JavaScript prints some of them differently.
    leaves = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | texts(0)
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=3)
        ),
        max_leaves=6,
    )


@st.composite
def _thinking(draw: st.DrawFn) -> Thinking:
    signature = draw(st.sampled_from(["c2lnbmVk", "RXJzdA=="]))
    return Thinking(text=draw(texts()), signature=signature, redacted=False)


@st.composite
def _call(draw: st.DrawFn, name: str, number: int) -> ToolCall:
    arguments = draw(st.dictionaries(st.sampled_from(_KEYS), _values(), max_size=3))
    text = json.dumps(arguments, ensure_ascii=draw(st.booleans()))
    return ToolCall(
        id=f"call_{number:04}",
        name=name,
        arguments=arguments,
        arguments_text=text,
        complete=True,
        executor="client",
    )


def _cut_call(call: ToolCall, size: int) -> ToolCall:
    text = (call.arguments_text or "")[:size]
    return replace(call, arguments=None, arguments_text=text, complete=False)


@st.composite
def _usage(draw: st.DrawFn) -> Usage:
    output = draw(st.integers(1, 5000))
    reasoning = draw(st.none() | st.integers(0, output))
    cached = draw(st.sampled_from([None, 0, 64, 1024]))
    return Usage(input=draw(st.integers(0, 10**6)), cache_read=cached, output=output, reasoning=reasoning)


@st.composite
def answers(draw: st.DrawFn, *, model: str, call_name: str) -> Answer:
    """Generate an answer from `model` that calls only the tool `call_name`."""
    blocks: list[Block] = []
    if draw(st.booleans()):
        blocks.append(draw(_thinking()))
    calls = [draw(_call(call_name, number)) for number in range(draw(st.sampled_from([0, 0, 1, 1, 2, 3])))]
    if not calls or draw(st.booleans()):
        blocks.append(Text(draw(texts())))
    stop = Stop("tool_use" if calls else "stop", None)
    if draw(st.integers(0, 4)) == 0:
        stop = Stop("length", None)
        if calls:
            # At least one character is missing, so the arguments can't be parsed.
            last = len(calls[-1].arguments_text or "")
            calls[-1] = _cut_call(calls[-1], draw(st.integers(1, last - 1)))
    blocks += calls
    outcome = Outcome(
        status="complete",
        content=tuple(blocks),
        stop=stop,
        usage=draw(_usage()),
        cost=None,
        error=None,
        model=model,
        response_id="answer_1",
    )
    return Answer(outcome, tuple(draw(_pieces(outcome))))


@st.composite
def _pieces(draw: st.DrawFn, outcome: Outcome) -> Sequence[Piece]:
    """Draw an answer's pieces: texts split anywhere, and parallel calls in sequence or interleaved."""
    parts = [[*_stream_block(draw, index, block)] for index, block in enumerate(outcome.content)]
    pieces: list[Piece] = []
    calls = [part for part, block in zip(parts, outcome.content, strict=True) if isinstance(block, ToolCall)]
    for part in parts:
        if part not in calls:
            pieces += part
    if len(calls) > 1 and draw(st.booleans()):
        pieces += _interleave(calls)
    else:
        pieces += [piece for part in calls for piece in part]
    if outcome.usage is not None:
        pieces.append(UsageUpdate(outcome.usage, None))
    return [*pieces, Done(outcome.stop)]


def _stream_block(draw: st.DrawFn, index: int, block: Block) -> Iterator[Piece]:
    match block:
        case Text(text=text):
            yield ProseStart(index, "text")
            yield from (ProseDelta(index, "text", piece) for piece in _cut(draw, text))
            yield TextEnd(index, "text", text)
        case Thinking(text=text, signature=signature, redacted=redacted):
            yield ProseStart(index, "thinking")
            yield from (ProseDelta(index, "thinking", piece) for piece in _cut(draw, text))
            yield ThinkingEnd(index, text, signature, redacted)
        case ToolCall():
            yield ToolCallStart(index, block.id, block.name)
            yield from (ToolCallDelta(index, piece) for piece in _cut(draw, block.arguments_text or ""))
            if block.complete:
                yield ToolCallEnd(index, block)
        case _:
            raise AssertionError(f"generated answers have no block of type {type(block).__name__}")


def _interleave(parts: Sequence[Sequence[Piece]]) -> Iterator[Piece]:
    """Yield the pieces of all parts in turn; the pieces of one part keep their order."""
    for position in range(max(map(len, parts))):
        yield from (part[position] for part in parts if position < len(part))


def _cut(draw: st.DrawFn, text: str) -> list[str]:
    """Draw the pieces of a text; none is empty."""
    if not text:
        return []
    cuts = (
        draw(st.lists(st.integers(1, len(text)), max_size=_MAX_PIECES, unique=True)) if len(text) > 1 else []
    )
    edges = sorted({0, *cuts, len(text)})
    return [text[start:end] for start, end in pairwise(edges)]
