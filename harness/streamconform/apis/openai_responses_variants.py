"""How servers of the Responses API identify the same items and end them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from streamconform.apis.api import Json
from streamconform.apis.payloads import Payload, as_object, as_objects
from streamconform.apis.variants import (
    Payloads,
    Place,
    Rewrite,
    Rewritten,
    Variant,
    add_empty_deltas,
    change_blocks,
    drop,
    leave_out,
    split_pairs,
)
from streamconform.model.case import Expectation, ExpectedBlock
from streamconform.model.leaf import Literally

_ADDED: Final = "response.output_item.added"
_DONE: Final = "response.output_item.done"


def _find_piece(payload: Payload) -> Place | None:
    """Return the place of the text in a delta."""
    is_delta = str(payload.get("type")).endswith(".delta") and not payload.get("logprobs")
    return ("delta",) if is_delta and isinstance(payload.get("delta"), str) else None


def _find_arguments(payload: Payload) -> Place | None:
    return _find_piece(payload) if _is_of_arguments(payload, "delta") else None


def _count_again(rewrite: Rewrite) -> Rewrite:
    """Return a rewrite whose events have consecutive sequence numbers, if those of the stream do."""

    def rewrite_and_count(payloads: Payloads) -> Rewritten | None:
        rewritten = rewrite(payloads)
        numbers = [payload["sequence_number"] for payload in payloads if "sequence_number" in payload]
        if rewritten is None or numbers != list(range(len(payloads))):
            return rewritten
        sent = iter(range(sum(map(len, rewritten))))
        return [[{**payload, "sequence_number": next(sent)} for payload in frame] for frame in rewritten]

    return rewrite_and_count


def _have_own_indexes(payloads: Payloads) -> bool:
    """Return whether each item has an index of its own, and each event of an item has it."""
    added = [payload for payload in payloads if payload.get("type") == _ADDED]
    indexes = [payload.get("output_index") for payload in added]
    events = [payload for payload in payloads if "item_id" in payload or "item" in payload]
    return indexes == list(range(len(added))) and all(
        payload.get("output_index") in indexes for payload in events
    )


def _have_own_ids(payloads: Payloads) -> bool:
    """Return whether each item has an id of its own, which each of its events has."""
    ids = [_read_item_id(payload) for payload in payloads if payload.get("type") == _ADDED]
    events = [payload for payload in payloads if "output_index" in payload]
    return (
        all(isinstance(id_, str) for id_ in ids)
        and len(set(ids)) == len(ids)
        and all(_read_item_id(payload) in ids for payload in events)
    )


def _read_item_id(payload: Payload) -> Any:
    return payload.get("item_id") or as_object(payload.get("item")).get("id")


def _rotate_ids(payloads: Payloads) -> Rewritten | None:
    """Give the response and each item another id in every event, as GitHub Copilot does."""
    if not _have_own_indexes(payloads):
        return None
    return [(_renew_ids(payload, number),) for number, payload in enumerate(payloads)]


def _renew_ids(payload: Payload, number: int) -> Payload:
    made = _renew(payload, "item_id", number)
    for name in ("item", "response"):
        if name in made:
            made[name] = _renew(as_object(made[name]), "id", number)
    output = as_objects(as_object(made.get("response")).get("output"))
    if output:
        made["response"] = {**made["response"], "output": [_renew(item, "id", number) for item in output]}
    return made


def _renew(holder: Payload, name: str, number: int) -> Json:
    return {**holder, name: f"{holder[name]}_{number}"} if holder.get(name) else dict(holder)


def _leave_out_item_ids(payloads: Payloads) -> Rewritten | None:
    return [(drop(payload, "item_id"),) for payload in payloads] if _have_own_indexes(payloads) else None


def _leave_out_indexes(payloads: Payloads) -> Rewritten | None:
    names = ("sequence_number", "output_index", "content_index")
    return [(drop(payload, *names),) for payload in payloads] if _have_own_ids(payloads) else None


def _leave_out_deltas(payloads: Payloads) -> Rewritten | None:
    """Leave out the deltas of arguments, if the events that end them repeat them."""
    deltas = [payload for payload in payloads if _is_of_arguments(payload, "delta")]
    ends = [payload for payload in payloads if _is_of_arguments(payload, "done")]
    streamed = sum(len(str(payload.get("delta"))) for payload in deltas)
    if streamed != sum(len(str(payload.get("arguments"))) for payload in ends):
        return None
    return [[] if _is_of_arguments(payload, "delta") else [payload] for payload in payloads]


def _is_of_arguments(payload: Payload, end: str) -> bool:
    return payload.get("type") == f"response.function_call_arguments.{end}"


def _end_unknown_item(payloads: Payloads) -> Rewritten | None:
    """End a message that never began, after the last call of an answer that has only calls."""
    ended = [number for number, payload in enumerate(payloads) if payload.get("type") == _DONE]
    items = [as_object(payloads[number].get("item")) for number in ended]
    if not items or any(item.get("type") != "function_call" for item in items):
        return None
    part = {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}
    message = {"id": "chatcmpl-4osF5x5pOMMnyuzhDQKf", "type": "message", "status": "completed"}
    item = {**message, "content": [part], "role": "assistant"}
    end = {**payloads[ended[-1]], "output_index": 0, "item": item}
    return [(payload, end) if number == ended[-1] else (payload,) for number, payload in enumerate(payloads)]


def _expect_any_id_of_items(expect: Expectation) -> Expectation:
    """Judge neither the response's id nor those of items: a provider's call, or one that is kept whole."""
    fields = {path: leaf for path, leaf in expect.fields.items() if path != "response_id"}
    kept = change_blocks(expect, "other", lambda block: leave_out(block, "data"))
    return replace(change_blocks(kept, "tool_call", _leave_out_id_of_item), fields=fields)


def _leave_out_id_of_item(call: ExpectedBlock) -> ExpectedBlock:
    """Return a call without its id if that is its item's; a client's call has another one."""
    return leave_out(call, "id") if call.fields.get("executor") == Literally("provider") else call


RESPONSES_VARIANTS: Final[Mapping[str, Variant]] = {
    "half-pairs": Variant(
        level="may",
        sources=("text-delta",),
        rewrite=_count_again(split_pairs(_find_piece)),
    ),
    "empty-deltas": Variant(
        level="must",
        sources=("BerriAI/litellm#39288", "BerriAI/litellm#40207", "BerriAI/litellm#40069"),
        rewrite=_count_again(add_empty_deltas(_find_arguments)),
    ),
    "deltas-absent": Variant(
        level="should",
        sources=("badlogic/pi-mono#917", "lidge-jun/opencodex#4652"),
        rewrite=_count_again(_leave_out_deltas),
    ),
    "ids-absent": Variant(level="should", sources=("Oaklight/llm-rosetta#86",), rewrite=_leave_out_item_ids),
    "ids-rotate": Variant(
        level="should",
        sources=("vercel/ai#18548", "BerriAI/litellm#30072", "duolahypercho/codex-router#814"),
        rewrite=_rotate_ids,
        expect=_expect_any_id_of_items,
    ),
    "indexes-absent": Variant(level="should", sources=("litellm-stream",), rewrite=_leave_out_indexes),
    "ends-unknown": Variant(
        level="should", sources=("BerriAI/litellm#37859",), rewrite=_count_again(_end_unknown_item)
    ),
}
"""The variants of the Responses API."""
