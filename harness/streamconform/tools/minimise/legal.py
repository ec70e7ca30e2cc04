"""What is not legal about the order of a stream's frames, as far as the apis' documents tell it. Pure.

A stream is reduced only to streams in which nothing is wrong that was not wrong in it before. This is the
order of frames; the reference says the rest. A `grammar` in an api's folder would replace this table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from streamconform.wire.endings import ENDINGS, Payload, read

Action = Literal["begin", "open", "inside", "touch", "close", "settle", "end"]
Step = tuple[Action, tuple[Any, ...]]
"""What a payload does to the message, or to a block of it. `touch` opens a block that nothing opened."""

DONE: Final = b"[DONE]"


def illegal(api: str, payloads: Sequence[bytes]) -> frozenset[str]:
    """Return what is not legal about these payloads, in words without places; empty for a legal stream."""
    return frozenset(_problems(api, payloads))


def _problems(api: str, payloads: Sequence[bytes]) -> Iterator[str]:
    read_ = [read(each) for each in payloads]
    ending = ENDINGS[api]
    ends = [i for i, each in enumerate(read_) if ending.terminal(each)]
    if not ends:
        yield "no terminal frame"
    else:
        behind = read_[ends[0] + 1 :]
        if any(each.get(name) for each in behind for name in ending.content):
            yield "content behind the terminal frame"
    if api == "openai-chat":
        marks = [i for i, each in enumerate(payloads) if each.strip() == DONE]
        if marks != [len(payloads) - 1]:
            yield "no [DONE] at the end"
        yield from _chat(read_)
    if api in STEPS:
        yield from _ordered([step for each in read_ for step in STEPS[api](each)])
    if api == "openai-responses":
        yield from _responses(read_)


def _ordered(steps: Sequence[Step]) -> Iterator[str]:
    """Yield what is wrong with an order of steps: blocks lie inside the message, pieces inside blocks."""
    opened: dict[tuple[Any, ...], bool] = {}
    begun = settled = ended = False
    for action, block in steps:
        if ended:
            yield "a frame behind the last one"
        if action == "begin" and begun:
            yield "two beginnings"
        if action != "begin" and not begun and not ended:
            yield "no beginning"
        begun = True
        is_open = opened.get(block)
        match action:
            case "open":
                if is_open is not None:
                    yield "a block begins twice"
                opened[block] = True
            case "touch" if is_open is None:
                opened[block] = True
            case "inside" | "touch" | "close":
                if not is_open:
                    yield f"{action} of a block that is not open"
                if action == "close":
                    opened[block] = False
            case "settle":
                settled = True
            case "end":
                ended = True
                if any(opened.values()):
                    yield "a block that does not end"
                if not settled:
                    yield "an end without its reason"
            case _:
                pass
    groups: dict[object, list[int]] = {}
    for group, *rest in opened:
        groups.setdefault((group, *rest[:-1]), []).append(rest[-1] if rest else 0)
    for indices in groups.values():
        numbered = all(isinstance(each, int) for each in indices)
        if numbered and indices != list(range(len(indices))):
            yield "blocks that are not counted from 0"


def _anthropic(payload: Payload) -> Iterator[Step]:
    block = ("block", payload.get("index"))
    match payload.get("type"):
        case "message_start":
            yield "begin", ("message", 0)
        case "content_block_start":
            yield "open", block
        case "content_block_delta":
            yield "inside", block
        case "content_block_stop":
            yield "close", block
        case "message_delta":
            yield "settle", ("message", 0)
        case "message_stop":
            yield "end", ("message", 0)
        case _:
            pass


def _bedrock(payload: Payload) -> Iterator[Step]:
    block = ("block", payload.get("contentBlockIndex"))
    if "role" in payload:
        yield "begin", ("message", 0)
    elif "start" in payload:
        yield "open", block
    elif "delta" in payload:
        yield "touch", block
    elif "contentBlockIndex" in payload:
        yield "close", block
    elif "stopReason" in payload:
        yield "settle", ("message", 0)
        yield "end", ("message", 0)


def _cohere(payload: Payload) -> Iterator[Step]:
    type_ = str(payload.get("type") or payload.get("event_type") or "")
    block = (type_.rpartition("-")[0], payload.get("index"))
    match type_:
        case "message-start" | "stream-start":
            yield "begin", ("message", 0)
        case "content-start" | "tool-call-start" | "citation-start":
            yield "open", block
        case "content-delta" | "tool-call-delta":
            yield "inside", block
        case "content-end" | "tool-call-end" | "citation-end":
            yield "close", block
        case "message-end" | "stream-end":
            yield "settle", ("message", 0)
            yield "end", ("message", 0)
        case _:
            pass


def _of_responses(payload: Payload) -> Iterator[Step]:
    type_ = str(payload.get("type"))
    # a server that sends no index names the item
    own = payload.get("output_index", payload.get("item_id", (payload.get("item") or {}).get("id")))
    item = ("item", own)
    numbered = next((name for name in ("content_index", "summary_index") if name in payload), None)
    part = (numbered, own, payload.get(numbered or ""))
    match type_:
        case "response.created":
            yield "begin", ("message", 0)
        case "response.output_item.added":
            yield "open", item
        case "response.output_item.done":
            yield "close", item
        case "response.content_part.added" | "response.reasoning_summary_part.added":
            yield "inside", item
            yield "open", part
        case "response.content_part.done" | "response.reasoning_summary_part.done":
            yield "close", part
        case "response.completed" | "response.incomplete" | "response.failed":
            yield "settle", ("message", 0)
            yield "end", ("message", 0)
        case _ if own is not None:
            yield "inside", part if numbered else item
        case _:
            pass


def _responses(payloads: Sequence[Payload]) -> Iterator[str]:
    """Yield where the answer at the end is another than the one that was streamed."""
    done = [each for each in payloads if each.get("type") == "response.output_item.done"]
    for each in payloads:
        answer = each.get("response")
        if str(each.get("type")) == "response.completed" and isinstance(answer, dict):
            output = answer.get("output")
            ids = [item.get("id") for item in output or () if isinstance(item, dict)]
            if ids != [(one.get("item") or {}).get("id") for one in done]:
                yield "an output that was not streamed"
    for one in done:
        fragments = [
            each.get("delta")
            for each in payloads
            if each.get("type") == "response.function_call_arguments.delta"
            and one.get("output_index", (one.get("item") or {}).get("id"))
            == each.get("output_index", each.get("item_id"))
        ]
        item = one.get("item") or {}
        if fragments and "".join(map(str, fragments)) != item.get("arguments"):
            yield "arguments that are not their fragments"


def _chat(payloads: Sequence[Payload]) -> Iterator[str]:
    """Yield what is wrong with the fragments of calls: the first of each index has id and name."""
    seen: list[Any] = []
    begun = False
    for payload in payloads:
        for choice in payload.get("choices") or ():
            delta = choice.get("delta") if isinstance(choice, dict) else None
            if not isinstance(delta, dict):
                continue
            if not begun and "role" not in delta:
                yield "no role in the first choice"
            begun = True
            for call in delta.get("tool_calls") or ():
                function = call.get("function") or {} if isinstance(call, dict) else {}
                if call.get("index") not in seen:
                    seen.append(call.get("index"))
                    if not (call.get("id") and function.get("name")):
                        yield "a call that begins without id and name"
    if seen != list(range(len(seen))):
        yield "calls that are not counted from 0"


STEPS: Final[Mapping[str, Callable[[Payload], Iterator[Step]]]] = {
    "anthropic-messages": _anthropic,
    "openai-responses": _of_responses,
    "cohere-chat": _cohere,
    "bedrock-converse": _bedrock,
}
"""What a payload does, for the apis that have blocks with a beginning and an end."""
