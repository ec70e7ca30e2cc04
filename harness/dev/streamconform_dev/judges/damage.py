"""Damage outcomes in ways that implementations do, so that answers reach every branch of a judge. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import deepcopy
from random import Random
from typing import Any, Final

from streamconform.model.capability import Claims
from streamconform_dev.judges.answers import ALL, Json

Raised = dict[str, str]
Damage = Callable[[Random, Json], Raised | None]
"""Changes an outcome in place, and returns the exception that the library raises, if any."""

CLAIMS: Final[tuple[Claims, ...]] = (
    ALL,
    frozenset(),
    *(
        ALL - without
        for without in (
            {"usage_details"},
            {"cache_usage"},
            {"cache_usage", "usage_details"},
            {"usage"},
            {"cost"},
            {"signatures"},
            {"thinking"},
            {"stop"},
            {"raw_stop"},
            {"errors"},
            {"refusals"},
            {"provider_tools"},
            {"tool_calls", "parallel_tool_calls"},
        )
    ),
)
"""Sets of claims that leave out different parts of an expectation."""
_WRONG: Final[tuple[Any, ...]] = (None, True, -1, 1.5, 7, "text", [], ["text"], {"x": 1}, 2**53 + 1)
_TEXTS: Final = ("text", "refusal", "thinking")


def damage(name: str, seed: str, outcome: Any) -> tuple[Json, Raised | None]:
    """Return a damaged copy of `outcome`, and the exception beside it; `seed` decides about details."""
    damaged = deepcopy(outcome)
    raised = DAMAGES[name](Random(seed), damaged)  # noqa: S311 - always the same damage
    return damaged, raised


def _drop_key(random: Random, outcome: Json) -> None:
    entry = random.choice(_list_objects(outcome))
    if keys := sorted(entry.keys() - {"type"}):
        del entry[random.choice(keys)]


def _set_wrong_value(random: Random, outcome: Json) -> None:
    entry = random.choice(_list_objects(outcome))
    if keys := sorted(entry):
        entry[random.choice(keys)] = deepcopy(random.choice(_WRONG))


def _change_value(random: Random, outcome: Json) -> None:
    """Change a value so that only a comparison notices it."""
    entry = random.choice(_list_objects(outcome))
    keys = sorted(key for key in entry if key != "type" and entry[key] not in (None, [], {}))
    if keys:
        key = random.choice(keys)
        entry[key] = _change(random, entry[key])


def _change(random: Random, value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int():
            return random.choice((value + 1, 0, float(value), None))
        case str():
            cut = random.randrange(len(value) + 1)
            return random.choice((value[:cut], f"{value}!", f"{value[:cut]}~{value[cut:]}", ""))
        case list():
            return random.choice((value[:-1], value[::-1], value + value[:1]))
        case dict():
            return random.choice((value | {"x": 1}, dict([*value.items()][1:]), {}))
        case _:
            return value


def _empty_a_group(random: Random, outcome: Json) -> None:
    name = random.choice(("usage", "cost", "error", "stop"))
    outcome[name] = random.choice(({}, None, {"input_tokens": 9}, {"currency": "USD"}, {"message": "no"}))


def _hide_cached_tokens(random: Random, outcome: Json) -> None:
    """Count cached tokens as input, as libraries do that have only one number for the prompt."""
    usage = outcome.get("usage") or {}
    for key in random.choice((("cache_read",), ("cache_write",), ("cache_read", "cache_write"))):
        if usage.get("input") is not None:
            usage["input"] += usage.pop(key, None) or 0


def _report_zero(_: Random, outcome: Json) -> None:
    outcome["usage"] = {key: value or 0 for key, value in (outcome.get("usage") or {"input": 0}).items()}


def _change_cost(random: Random, outcome: Json) -> None:
    cost = outcome.get("cost") or {"total": "0.5"}
    amounts = sorted(key for key in cost if isinstance(cost[key], str) and key != "currency")
    if amounts:
        key = random.choice(amounts)
        amount = cost[key] if "." in cost[key] else f"{cost[key]}.0"
        ends = ("0", "000000000000001", "1", "e-3", "x", "0" * 31)
        cost[key] = random.choice((*(amount + end for end in ends), "-0.00001", "1000000000000000", None))
    outcome["cost"] = cost


def _change_status(random: Random, outcome: Json) -> None:
    outcome["status"] = random.choice(("complete", "incomplete", "error", "done"))


def _change_reason(random: Random, outcome: Json) -> None:
    reasons = ("stop", "length", "tool_use", "refusal", "pause", "error", "other", "end_turn", None)
    outcome["stop"] = {**(outcome.get("stop") or {}), "reason": random.choice(reasons)}


def _split_a_text(random: Random, outcome: Json) -> None:
    """Hand out a text or thought in pieces; the signature is on the last, on the first or on all of them."""
    blocks = outcome["content"]
    places = [i for i, block in enumerate(blocks) if block["type"] in _TEXTS and block["text"]]
    if not places:
        return
    place = random.choice(places)
    block, text = blocks[place], blocks[place]["text"]
    size = random.choice((1, max(1, len(text) // 2), max(1, len(text) // 5)))
    pieces = [{**block, "text": text[start : start + size]} for start in range(0, len(text), size)]
    signed = random.choice(("last", "first", "all"))
    for i, piece in enumerate(pieces):
        if "signature" in piece and signed != "all" and i != (0 if signed == "first" else len(pieces) - 1):
            piece["signature"] = None
    blocks[place : place + 1] = pieces


def _join_neighbors(_: Random, outcome: Json) -> None:
    joined: list[Json] = []
    for block in outcome["content"]:
        if joined and block["type"] in _TEXTS and joined[-1]["type"] == block["type"]:
            joined[-1] = {**block, "text": joined[-1]["text"] + block["text"]}
        else:
            joined.append(block)
    outcome["content"] = joined


def _reorder_blocks(random: Random, outcome: Json) -> None:
    random.shuffle(outcome["content"])


def _reorder_calls(random: Random, outcome: Json) -> None:
    blocks = outcome["content"]
    places = [i for i, block in enumerate(blocks) if block["type"] == "tool_call"]
    calls = [blocks[i] for i in random.sample(places, len(places))]
    for place, call in zip(places, calls, strict=True):
        blocks[place] = call


def _drop_blocks(random: Random, outcome: Json) -> None:
    outcome["content"] = [block for block in outcome["content"] if random.random() < 0.5]


def _repeat_a_block(random: Random, outcome: Json) -> None:
    if blocks := outcome["content"]:
        blocks.insert(random.randrange(len(blocks) + 1), deepcopy(random.choice(blocks)))


def _add_a_block(random: Random, outcome: Json) -> None:
    call = {"type": "tool_call", "id": "x", "name": "search", "arguments": {}, "executor": "provider"}
    added = (
        {"type": "text", "text": "more"},
        {"type": "text", "text": ""},
        {"type": "thinking", "text": "", "signature": "made-up"},
        {"type": "thinking", "text": "hm"},
        {"type": "refusal", "text": "no"},
        {"type": "other", "kind": "image"},
        {"type": "image"},
        call,
        call | {"executor": "client"},
        call | {"executor": "server"},
        "text",
    )
    outcome["content"].insert(random.randrange(len(outcome["content"]) + 1), random.choice(added))


def _move_signatures(random: Random, outcome: Json) -> None:
    """Hand out each signature of a text or call in a thinking block of its own before it."""
    blocks: list[Json] = []
    for block in outcome["content"]:
        if block["type"] in ("text", "tool_call") and block.get("signature"):
            blocks.append({"type": "thinking", "text": "", "signature": block["signature"]})
            if random.random() < 0.5:
                del block["signature"]
        blocks.append(block)
    outcome["content"] = blocks


def _change_a_call(random: Random, outcome: Json) -> None:
    calls = [block for block in outcome["content"] if block["type"] == "tool_call"]
    if not calls:
        return
    call = random.choice(calls)
    text = call.get("arguments_text")
    changes = (
        {"complete": random.choice((True, False, None))},
        {"arguments": None},
        {"arguments": None, "complete": False},
        {"arguments": {}, "complete": True},
        {"arguments": json.dumps(call.get("arguments"))},
        {"arguments": text, "arguments_text": None},
        {"arguments": {"input": text}, "arguments_text": None},
        {"arguments": _convert_numbers(call.get("arguments"), random.choice((float, bool, str)))},
        {"arguments_text": random.choice((None, "", "{}", f" {text}"))},
        {"executor": random.choice(("client", "provider", None))},
        {"id": random.choice((None, "", "x", random.choice(calls).get("id")))},
        {"name": random.choice((None, "", "x", random.choice(calls).get("name")))},
    )
    call.update(random.choice(changes))


def _convert_numbers(value: Any, kind: Callable[[Any], Any]) -> Any:
    match value:
        case dict():
            return {key: _convert_numbers(item, kind) for key, item in value.items()}
        case list():
            return [_convert_numbers(item, kind) for item in value]
        case int() if abs(value) < 2**1000:  # larger ones are no float
            return kind(value)
        case _:
            return value


def _hide_a_key_of_all(random: Random, outcome: Json) -> None:
    """Leave out a key of all blocks, as a library does that does not expose it."""
    key = random.choice(
        ("id", "signature", "complete", "arguments_text", "redacted", "phase", "citations", "echo")
    )
    for block in outcome["content"]:
        block.pop(key, None)


def _change_citations(random: Random, outcome: Json) -> None:
    cited = [block for block in outcome["content"] if block.get("citations")]
    if not cited:
        return
    citations = random.choice(cited)["citations"]
    citation = random.choice(citations)
    key = random.choice(sorted(citation))
    change = random.choice(("drop", "wrong", "change", "unknown"))
    if change == "drop":
        del citation[key]
    else:
        wrong = {"wrong": random.choice(_WRONG), "change": _change(random, citation[key]), "unknown": 1}
        citation["page" if change == "unknown" else key] = wrong[change]


def _break_off(random: Random, outcome: Json) -> None:
    """Keep the beginning of the content, as after a broken stream."""
    blocks = outcome["content"][: random.randrange(len(outcome["content"]) + 1)]
    if blocks:
        last = blocks[-1]
        for key in ("text", "arguments_text"):
            if last.get(key):
                last[key] = last[key][: random.randrange(len(last[key]) + 1)]
        if last["type"] == "tool_call":
            last.update(random.choice(({}, {"arguments": None}, {"complete": False}, {"arguments": {}})))
    outcome["content"] = blocks
    outcome["status"] = random.choice(("incomplete", "error"))
    outcome["stop"] = {"reason": random.choice((None, "error", "other"))}
    for key in ("usage", "cost", "model", "response_id", "error"):
        if random.random() < 0.5:
            outcome[key] = None


def _raise(random: Random, outcome: Json) -> Raised:
    """Raise, with or without the provider's message; an adapter may report the content beside it."""
    error = outcome.pop("error", None) or {}
    outcome["status"] = random.choice(("error", "incomplete", outcome["status"]))
    if random.random() < 0.5:
        outcome["content"] = []
    if random.random() < 0.5:
        outcome["stop"] = {"reason": "error"}
    for group in ("usage", "cost"):
        if random.random() < 0.5:
            outcome.pop(group, None)
    message = error.get("message") or "connection lost"
    # An exception's message is one line.
    line = f"500: {message}".encode("unicode_escape").decode() if not message.isprintable() else message
    return {"type": "library.APIError", "message": random.choice((line, "stream ended", f"error: {line}"))}


def _damage_twice(random: Random, outcome: Json) -> Raised | None:
    raised = None
    for name in random.sample([name for name in DAMAGES if name != "twice"], 2):
        # The first damage may leave nothing that the second one knows.
        with suppress(TypeError, KeyError, AttributeError, ValueError):
            raised = DAMAGES[name](random, outcome) or raised
    return raised


DAMAGES: Final[Mapping[str, Damage]] = {
    "drop-key": _drop_key,
    "wrong-value": _set_wrong_value,
    "value": _change_value,
    "group": _empty_a_group,
    "cached-tokens": _hide_cached_tokens,
    "zero": _report_zero,
    "cost": _change_cost,
    "status": _change_status,
    "reason": _change_reason,
    "split": _split_a_text,
    "join": _join_neighbors,
    "order": _reorder_blocks,
    "order-of-calls": _reorder_calls,
    "drop-blocks": _drop_blocks,
    "repeat-block": _repeat_a_block,
    "add-block": _add_a_block,
    "signatures": _move_signatures,
    "call": _change_a_call,
    "key-of-all": _hide_a_key_of_all,
    "citations": _change_citations,
    "break": _break_off,
    "raise": _raise,
    "twice": _damage_twice,
}
"""Every way to damage an outcome, by name."""


def _list_objects(outcome: Json) -> list[Json]:
    """Return the objects of an outcome whose keys the judge knows."""
    groups = [outcome.get(name) for name in ("stop", "usage", "cost", "error")]
    return [outcome, *(entry for entry in (*groups, *outcome["content"]) if isinstance(entry, dict))]
