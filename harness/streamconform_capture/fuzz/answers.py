"""Strategies for legal answers, and for the pieces in which a server streams them.

Only answers that a provider may send are generated: the arguments of complete calls are JSON objects, and
only the last call of an answer that ended with `length` may be truncated. A client that reads an answer
differently is therefore wrong.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final, Literal, get_args

from hypothesis import strategies as st

from streamconform.model.outcome import Outcome, Stop, Text, Thinking, ToolCall, Usage

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


Block = Thinking | Text | ToolCall
StopReason = Literal["stop", "tool_use", "length"]
STOPS: Final[tuple[StopReason, ...]] = get_args(StopReason)


@dataclass(frozen=True, slots=True)
class Piece:
    """The start of the block at `index`, some of its text, or its end; a truncated call has no end."""

    index: int
    kind: Literal["start", "text", "end"]
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer, and the pieces in which it is streamed, in order."""

    model: str
    blocks: tuple[Block, ...]
    stop: StopReason
    usage: Usage
    pieces: tuple[Piece, ...]
    id: str = "answer_1"

    @property
    def outcome(self) -> Outcome:
        """Return what a client reads, if the API can express all of it."""
        return Outcome(
            status="complete",
            content=self.blocks,
            stop=Stop(self.stop),
            usage=self.usage,
            model=self.model,
            response_id=self.id,
        )

    def list_texts(self, index: int) -> list[str]:
        """Return the texts of the block at `index`."""
        return [piece.text for piece in self.pieces if piece.index == index and piece.kind == "text"]


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
    stop: StopReason = "tool_use" if calls else "stop"
    if draw(st.integers(0, 4)) == 0:
        stop = "length"
        if calls:
            # At least one character is missing, so the arguments can't be parsed.
            last = len(calls[-1].arguments_text or "")
            calls[-1] = _cut_call(calls[-1], draw(st.integers(1, last - 1)))
    blocks += calls
    usage = draw(_usage())
    return Answer(
        model=model, blocks=tuple(blocks), stop=stop, usage=usage, pieces=tuple(draw(_pieces(blocks)))
    )


@st.composite
def _pieces(draw: st.DrawFn, blocks: Sequence[Block]) -> Sequence[Piece]:
    """Draw an answer's pieces: texts split anywhere, and parallel calls in sequence or interleaved."""
    parts = [[*_stream_block(draw, index, block)] for index, block in enumerate(blocks)]
    calls = [part for part, block in zip(parts, blocks, strict=True) if isinstance(block, ToolCall)]
    pieces = [piece for part in parts if part not in calls for piece in part]
    if len(calls) > 1 and draw(st.booleans()):
        return [*pieces, *_interleave(calls)]
    return [*pieces, *(piece for part in calls for piece in part)]


def _stream_block(draw: st.DrawFn, index: int, block: Block) -> Iterator[Piece]:
    text, ends = (
        (block.arguments_text or "", block.complete) if isinstance(block, ToolCall) else (block.text, True)
    )
    yield Piece(index, "start")
    yield from (Piece(index, "text", piece) for piece in _cut(draw, text))
    if ends:
        yield Piece(index, "end")


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
