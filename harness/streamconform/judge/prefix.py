"""Check that a request begins with the one before it, to which providers bind thinking and caches. Pure.

The system prompt, the tools and the messages of the request before must come again unchanged, in the API's
canonical form; further messages may follow. Marks that tell the provider where to cache may move.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any, Final

from streamconform.apis.api import RequestForm
from streamconform.judge.compare import check_rule
from streamconform.model.case import Level
from streamconform.model.trial import lower_level
from streamconform.model.verdict import Check

_SHOWN: Final = 60
"""The number of characters to show from the first difference on."""
_THOUGHTS: Final = "prefix.thinking"


def list_prefix_paths(form: RequestForm) -> Iterator[str]:
    """Yield the path of every check that may be made on the beginning of a request."""
    names = (*form.instructions, form.messages)
    yield from (f"{check}.{name}" for check in ("prefix", "bytes") for name in names)
    yield _THOUGHTS


def compare_prefix(
    form: RequestForm, earlier: Any, later: Any, level: Level, *, bound: bool, kept: bool, edited: bool
) -> Iterator[Check]:
    """Yield the checks that the body `later` begins with the body `earlier`.

    If the provider binds thinking to what comes before it (`bound`), a different value fails at `level`, and
    thinking is part of the value, unless `later` has none. Otherwise a different value costs the cache, which
    is a warning, and a client may leave thinking out. A different order of keys costs the cache, too. If the
    server keeps the history (`kept`) or the client edits it on purpose (`edited`), its messages are not
    compared, or only recorded.
    """
    if not (isinstance(earlier, Mapping) and isinstance(later, Mapping)):
        return
    before, after = (form.canonical(dict(body)) for body in (earlier, later))
    value_level = level if bound else lower_level(level, "should")
    for name in form.instructions:
        pair = _find(before, name), _find(after, name)
        yield from _compare_member(name, *pair, value_level, form.marks)
    if kept:
        return
    messages = before.get(form.messages), after.get(form.messages)
    removed = form.marks if bound and _thinks(form, messages[1]) else form.marks | form.thoughts
    yield from _compare_member(
        form.messages, *messages, "may" if edited else value_level, removed, continued=True
    )
    if form.thoughts <= removed:
        sent, again = (_list_texts(value, form.marks, in_order=False) for value in messages)
        is_left_out = _thinks(form, messages[0]) and again[: len(sent)] != sent
        yield check_rule(_THOUGHTS, "may", "thinking was sent, but not again" if is_left_out else None)


def _thinks(form: RequestForm, messages: Any) -> bool:
    """Return whether some message has thinking."""
    kept, bare = (_remove(messages, names) for names in (form.marks, form.marks | form.thoughts))
    return bool(kept != bare)


def _find(body: Mapping[str, Any], path: str) -> Any:
    value: Any = body
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _compare_member(
    name: str, before: Any, after: Any, level: Level, removed: frozenset[str], *, continued: bool = False
) -> Iterator[Check]:
    """Yield the check of a member's value, and the check of its text, which has the keys in their order.

    With `continued`, the member is a list that may have gained items.
    """
    text_level = lower_level(level, "should")
    is_same = True
    for check, check_level, in_order in (("prefix", level, False), ("bytes", text_level, True)):
        old, new = (_list_texts(value, removed, in_order=in_order) for value in (before, after))
        new = new[: len(old)] if continued else new
        difference = None if old == new or not is_same else _describe(name, old, new, continued=continued)
        # A different value has a different text, which needs no check of its own.
        is_same = difference is None
        yield check_rule(f"{check}.{name}", check_level, difference)


def _list_texts(value: Any, removed: frozenset[str], *, in_order: bool) -> list[str]:
    """Return the JSON text of each item of a list, or of the value; none for an absent value."""
    kept = _remove(value, removed)
    items = kept if isinstance(kept, list) else [] if kept is None else [kept]
    return [
        json.dumps(item, ensure_ascii=False, separators=(",", ":"), sort_keys=not in_order) for item in items
    ]


def _remove(value: Any, names: frozenset[str]) -> Any:
    """Return `value` without the members in `names`, and without the items that are such a block."""
    if isinstance(value, Mapping):
        return {key: _remove(member, names) for key, member in value.items() if key not in names}
    if isinstance(value, list):
        return [_remove(item, names) for item in value if not _is_block(item, names)]
    return value


def _is_block(item: Any, names: frozenset[str]) -> bool:
    """Return whether an item has a type in `names`, or a member that says the same (`thought: true`)."""
    if not isinstance(item, Mapping):
        return False
    # In a message, and in a block with a type, such a member is one of several.
    is_whole = "role" not in item and "type" not in item
    return item.get("type") in names or (is_whole and any(item.get(name) for name in names))


def _describe(name: str, old: list[str], new: list[str], *, continued: bool) -> str:
    """Return where and how the texts of a member differ first."""
    place = next((i for i, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), None)
    if place is None:
        place = min(len(old), len(new))
        one, other = (texts[place] if place < len(texts) else "nothing" for texts in (old, new))
        offset = 0
    else:
        one, other = old[place], new[place]
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
        offset = len(one[:shared].encode("utf-8", "surrogatepass"))
        one, other = one[shared:], other[shared:]
    where = f"{name}.{place}" if continued or len(old) > 1 else name
    rule = "does not begin as in the request before" if continued else "is not as in the request before"
    return f"{name} {rule}: {where}, byte {offset}: {one[:_SHOWN]} became {other[:_SHOWN]}"
