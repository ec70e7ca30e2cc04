"""How servers of chat completions send the same calls: with and without ids, indexes and names. Pure.

Only calls as OpenAI sends them are rewritten: each has an index, its first fragment has an id and a name, and
later ones have neither.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

from streamconform.apis.api import Json
from streamconform.apis.payloads import Payload, as_object, as_objects
from streamconform.apis.variants import (
    Payloads,
    Place,
    Rewrite,
    Rewritten,
    Variant,
    add_empty_deltas,
    drop,
    expect_any_id,
    map_payloads,
    read_at,
    set_at,
    split_pairs,
)

_DELTA: Final = ("choices", 0, "delta")
_CALLS: Final = (*_DELTA, "tool_calls")
_ARGUMENTS: Final = (*_CALLS, 0, "function", "arguments")


class CallFragment(NamedTuple):
    """An entry of `tool_calls`, with its place in the answer."""

    call: int
    """The position of the call in the answer."""
    number: int
    """The position of the fragment in its call."""
    first: Json
    """The first fragment of the call."""
    entry: Json


Change = Callable[[CallFragment], Sequence[Json]]
Calls = Mapping[int, Sequence[CallFragment]]
"""The fragments of each call, by its position in the answer."""
Accept = Callable[[Sequence[CallFragment]], bool]


def _rewrite(change: Change, accept: Accept = bool) -> Rewrite:
    """Return a rewrite that replaces each fragment by those that `change` returns, if `accept` is true."""

    def rewrite(payloads: Payloads) -> Rewritten | None:
        fragments = _read_fragments(payloads)
        if fragments is None or not accept(fragments):
            return None
        left = iter(fragments)
        return [(_replace_entries(payload, left, change),) for payload in payloads]

    return rewrite


def _replace_entries(payload: Payload, left: Iterable[CallFragment], change: Change) -> Payload:
    entries = as_objects(read_at(payload, _CALLS))
    if not entries:
        return payload
    fragments = [fragment for _, fragment in zip(entries, left, strict=False)]
    return set_at(payload, _CALLS, [entry for fragment in fragments for entry in change(fragment)])


def _read_fragments(payloads: Payloads) -> Sequence[CallFragment] | None:
    """Return the fragments of all calls in order, or None if some call is not as OpenAI sends it."""
    found: list[CallFragment] = []
    calls: dict[int, list[CallFragment]] = {}
    for payload in payloads:
        choices = as_objects(payload.get("choices"))
        if len(choices) > 1 or any(choice.get("index") != 0 for choice in choices):
            return None
        for entry in as_objects(read_at(payload, _CALLS)):
            index, function = entry.get("index"), as_object(entry.get("function"))
            if type(index) is not int or not isinstance(function.get("arguments", ""), str):
                return None
            earlier = calls.setdefault(index, [])
            has_id, has_name = bool(entry.get("id")), bool(function.get("name"))
            if (has_id, has_name) != (not earlier, not earlier):
                return None
            first = earlier[0].entry if earlier else dict(entry)
            if not (isinstance(first["id"], str) and isinstance(first["function"]["name"], str)):
                return None
            fragment = CallFragment(list(calls).index(index), len(earlier), first, dict(entry))
            earlier.append(fragment)
            found.append(fragment)
    ids = [fragments[0].entry["id"] for fragments in calls.values()]
    is_regular = len(set(ids)) == len(ids) and list(calls) == list(range(len(calls)))
    return found if is_regular else None


def _are_in_turn(fragments: Sequence[CallFragment]) -> bool:
    """Return whether each call ends before the next one begins."""
    order = [fragment.call for fragment in fragments]
    return bool(order) and order == sorted(order)


def _are_several_in_turn(fragments: Sequence[CallFragment]) -> bool:
    return _are_in_turn(fragments) and fragments[-1].call > 0


def _are_several_whole_in_turn(fragments: Sequence[CallFragment]) -> bool:
    # An id under several indexes may also be one call, whose arguments are in all of them.
    return _are_several_in_turn(fragments) and _do_parse(fragments)


def _do_parse(fragments: Sequence[CallFragment]) -> bool:
    """Return whether the joined arguments of each call are JSON."""
    texts: dict[int, str] = {}
    for fragment in fragments:
        text = as_object(fragment.entry.get("function")).get("arguments") or ""
        texts[fragment.call] = texts.get(fragment.call, "") + text
    return bool(texts) and all(map(_is_json, texts.values()))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _have_second_fragments(fragments: Sequence[CallFragment]) -> bool:
    """Return whether every call has a second fragment, for what the first one does not say."""
    calls = {fragment.call for fragment in fragments}
    return bool(calls) and {fragment.call for fragment in fragments if fragment.number == 1} == calls


def _set_name(entry: Json, name: str | None) -> Json:
    return {**entry, "function": {**as_object(entry.get("function")), "name": name}}


def _get_name(fragment: CallFragment) -> str:
    name: str = fragment.first["function"]["name"]
    return name


def _rotate_id(fragment: CallFragment) -> Sequence[Json]:
    suffix = f"_{fragment.number}" if fragment.number else ""
    return ({**fragment.entry, "id": fragment.first["id"] + suffix},)


def _share_ids(payloads: Payloads) -> Rewritten | None:
    """Give every call the id of the first one."""
    known = _read_fragments(payloads)
    if not known:
        return None
    id_ = known[0].entry["id"]

    def share(fragment: CallFragment) -> Sequence[Json]:
        return ({**fragment.entry, "id": id_} if fragment.number == 0 else fragment.entry,)

    return _rewrite(share, _are_several_whole_in_turn)(payloads)


def _leave_bare(fragment: CallFragment) -> Sequence[Json]:
    return (fragment.entry if fragment.number == 0 else drop(fragment.entry, "index", "id"),)


def _repeat_name(fragment: CallFragment) -> Sequence[Json]:
    return (_set_name(fragment.entry, _get_name(fragment)),)


def _empty_later_name(fragment: CallFragment) -> Sequence[Json]:
    return (_set_name(fragment.entry, "") if fragment.number else fragment.entry,)


def _write_later_nulls(fragment: CallFragment) -> Sequence[Json]:
    return ({**_set_name(fragment.entry, None), "id": None} if fragment.number else fragment.entry,)


def _name_late(fragment: CallFragment) -> Sequence[Json]:
    entry = fragment.entry
    if fragment.number == 0:
        return ({**entry, "function": drop(entry["function"], "name")},)
    return (_set_name(entry, _get_name(fragment)) if fragment.number == 1 else entry,)


def _split_name(fragment: CallFragment) -> Sequence[Json]:
    name = _get_name(fragment)
    if fragment.number > 1:
        return (fragment.entry,)
    middle = (len(name) + 1) // 2
    return (_set_name(fragment.entry, name[middle:] if fragment.number else name[:middle]),)


def _have_names_to_split(fragments: Sequence[CallFragment]) -> bool:
    """Return whether each first fragment can be followed by the rest of its name, before any arguments."""
    if not _have_second_fragments(fragments):
        return False
    for fragment, later in pairwise(fragments):
        name = _get_name(fragment)
        middle = (len(name) + 1) // 2
        # The second half must be neither a repetition of the first one nor empty.
        is_clear = (later.call, later.number) == (fragment.call, 1) and name[:middle] != name[middle:] != ""
        if fragment.number == 0 and (fragment.first["function"].get("arguments") or not is_clear):
            return False
    return True


def _split_entry(fragment: CallFragment) -> Sequence[Json]:
    """Send the arguments of an entry in two entries of one chunk."""
    function = as_object(fragment.entry.get("function"))
    text = function.get("arguments") or ""
    if len(text) < 2:
        return (fragment.entry,)
    middle = len(text) // 2
    return (
        {**fragment.entry, "function": {**function, "arguments": text[:middle]}},
        {"index": fragment.entry["index"], "function": {"arguments": text[middle:]}},
    )


def find_piece(payload: Payload) -> Place | None:
    """Return the place of the text in a chunk that has only a piece of the answer's text, or of arguments."""
    choices = as_objects(payload.get("choices"))
    if payload.get("usage") or len(choices) != 1 or choices[0].get("index") != 0:
        return None
    if any(choices[0].get(name) for name in ("finish_reason", "logprobs", "error")):
        return None
    members = _list_members(choices[0].get("delta")) - {"role"}
    if members == {"content"}:
        place: Place = (*_DELTA, "content")
    else:
        entries = as_objects(read_at(payload, _CALLS))
        if (
            members != {"tool_calls"}
            or len(entries) != 1
            or _list_members(entries[0].get("function")) != {"arguments"}
        ):
            return None
        if _list_members(entries[0]) - {"index", "type", "function"}:
            return None
        place = _ARGUMENTS
    return place if isinstance(read_at(payload, place), str) else None


def _list_members(value: Any) -> set[str]:
    """Return the members of an object that have a value."""
    return {name for name, item in as_object(value).items() if item not in (None, "", [], {})}


def _stop_behind_pieces(payload: Payload) -> Sequence[Payload]:
    """Send another chunk, which has only a reason, after each piece of the answer."""
    choices = as_objects(payload.get("choices"))
    if len(choices) != 1 or choices[0].get("index") != 0 or choices[0].get("finish_reason"):
        return (payload,)
    if not (_list_members(choices[0].get("delta")) & {"content", "tool_calls"}):
        return (payload,)
    stop = {"index": 0, "delta": {}, "finish_reason": "stop"}
    return (payload, {**drop(payload, "usage"), "choices": [stop]})


CHAT_VARIANTS: Final[Mapping[str, Variant]] = {
    "half-pairs": Variant(level="should", sources=("elie222/rakazo#416",), rewrite=split_pairs(find_piece)),
    "empty-deltas": Variant(
        level="must", sources=("deltas-are-joined",), rewrite=add_empty_deltas(find_piece)
    ),
    "ids-absent": Variant(
        level="should",
        sources=("anomalyco/opencode#47954", "anomalyco/opencode#30247"),
        rewrite=_rewrite(lambda fragment: (drop(fragment.entry, "id"),)),
        expect=expect_any_id,
    ),
    "ids-empty": Variant(
        level="should",
        sources=("aaif-goose/goose#8991",),
        rewrite=_rewrite(lambda fragment: ({**fragment.entry, "id": ""},)),
        expect=expect_any_id,
    ),
    "ids-repeated": Variant(
        level="should",
        sources=("run-llama/llama_index#21693", "timbal-ai/timbal#27"),
        rewrite=_rewrite(lambda fragment: ({**fragment.entry, "id": fragment.first["id"]},)),
    ),
    "ids-rotate": Variant(
        level="should",
        sources=("kimi-changes-the-id", "NousResearch/hermes-agent#5331"),
        rewrite=_rewrite(_rotate_id),
        expect=expect_any_id,
    ),
    "ids-shared": Variant(
        level="should", sources=("HKUDS/nanobot#3943",), rewrite=_share_ids, expect=expect_any_id
    ),
    "nulls-repeated": Variant(
        level="should", sources=("anomalyco/opencode#43328",), rewrite=_rewrite(_write_later_nulls)
    ),
    "indexes-absent": Variant(
        level="should",
        sources=("AstrBotDevs/AstrBot#6692", "sgl-project/sglang#5661", "THU-MAIC/OpenMAIC#1556"),
        rewrite=_rewrite(lambda fragment: (drop(fragment.entry, "index"),), _are_in_turn),
    ),
    "indexes-from-one": Variant(
        level="should",
        sources=("aws-samples/bedrock-access-gateway#134",),
        rewrite=_rewrite(lambda fragment: ({**fragment.entry, "index": fragment.call + 1},)),
    ),
    "indexes-shared": Variant(
        level="should",
        sources=("langchain-ai/langchain#35281", "huggingface/smolagents#1958"),
        rewrite=_rewrite(lambda fragment: ({**fragment.entry, "index": 0},), _are_several_in_turn),
    ),
    "names-repeated": Variant(
        level="should",
        sources=("NousResearch/hermes-agent#8259", "NousResearch/hermes-agent#11984"),
        rewrite=_rewrite(_repeat_name),
    ),
    "names-empty": Variant(
        level="should", sources=("0xPlaygrounds/rig#423",), rewrite=_rewrite(_empty_later_name)
    ),
    "names-late": Variant(
        level="should",
        sources=("anomalyco/opencode#24137",),
        rewrite=_rewrite(_name_late, _have_second_fragments),
    ),
    "names-in-pieces": Variant(
        level="may",
        sources=("NVIDIA-NeMo/Switchyard#785",),
        rewrite=_rewrite(_split_name, _have_names_to_split),
    ),
    "fragments-bare": Variant(
        level="should",
        sources=("AstrBotDevs/AstrBot#6692",),
        rewrite=_rewrite(_leave_bare, _are_in_turn),
    ),
    "reasons-early": Variant(
        level="should",
        sources=("1jehuang/jcode#1326", "songquanpeng/one-api#1408"),
        rewrite=map_payloads(_stop_behind_pieces),
    ),
    "fragments-together": Variant(
        level="should",
        sources=("openai/openai-python#3201", "openai/openai-python#3438"),
        rewrite=_rewrite(_split_entry, _do_parse),
    ),
}
"""The variants of chat completions."""
