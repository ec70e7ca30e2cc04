"""Adapt a trial's expectation to a proxy that translates its stream into another API. Pure.

The proxy reads the trial's stream and writes a stream in another API, which is decoded into the outcome to be
judged. Values that the other API cannot express (`Api.proxy`) are not judged. Nothing in this module comes
from the reference.

- The proxy chooses the ids of calls and answers, and the model's name, so they are not judged.
- Usage is judged only in complete answers for which the case expects numbers, because some APIs require a
  proxy to send numbers before it knows them.
- Arguments that are not an object may be wrapped, repaired or passed on.
- Until a call with such arguments ends, it cannot be recognized as a tool call, so a proxy may hold it back.
- A proxy may end a call that did not end, as long as the call's arguments are not valid. In an answer that
  failed or broke off, a call may or may not have ended, since no client runs it either way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final

from streamconform.apis import APIS
from streamconform.apis.api import ProxyLimits
from streamconform.judge.compare import check_rule
from streamconform.model.case import Expectation, ExpectedBlock
from streamconform.model.leaf import AnyOf, Leaf, Literally, list_values
from streamconform.model.trial import Delivered, ProxyView, Trial, lower_level
from streamconform.model.verdict import Check

_CACHE_BUCKETS: Final = frozenset({"cache_read", "cache_write"})
"""Usage counts that a proxy may omit if nothing was cached."""
_JUDGED_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "text": ("text",),
    "refusal": ("text",),
    "thinking": ("text",),
    "tool_call": ("name", "arguments", "complete", "executor"),
}
"""The judged fields of each block type."""
_PARSE_RULE: Final = "grammar.arguments-parse"
"""The rule that a proxy violates if it passes on malformed arguments as they arrive."""
_REDACTED: Final = Literally(value=True)


def adapt_to_proxy(trial: Trial, through: ProxyView) -> Trial:
    """Return `trial` with its expectation adapted to the proxy in `through`."""
    api = APIS.get(through.api)  # a program may name any API in its greeting
    limits = ProxyLimits() if api is None else api.proxy
    case = replace(trial.case, expect=_adapt_expectation(trial.case.expect, limits))
    derived = None if trial.derived is None else _adapt_expectation(trial.derived, limits)
    if _has_malformed_arguments(trial.expect):
        rules = {name: level for name, level in through.rules.items() if name != _PARSE_RULE}
        through = replace(through, rules=rules, held=True)
    return replace(trial, case=case, plan=Delivered(trial.chunks, derived), through=through)


def check_rules(trial: Trial, broken: tuple[tuple[str, str], ...]) -> Iterator[Check]:
    """Yield a check per grammar rule that applies to the stream; `broken` contains (rule, message) pairs."""
    if trial.through is None:
        return
    messages: dict[str, str] = {}
    for rule, message in broken:
        messages[rule] = f"{messages[rule]}; {message}" if rule in messages else message
    for rule, rule_level in trial.through.rules.items():
        yield check_rule(rule, lower_level(trial.level, rule_level), messages.get(rule))


def _adapt_expectation(expect: Expectation, limits: ProxyLimits) -> Expectation:
    is_complete = expect.fields.get("status") == Literally("complete")  # never the case for a broken stream
    fields = dict(_adapt_fields(expect.fields, limits, judges_usage=is_complete))
    if expect.content is None:
        return replace(expect, fields=fields)
    judges_ends = is_complete or expect.partial is not None
    content = [
        adapted
        for block in expect.content
        for adapted in _adapt_block(block, limits, judges_ends=judges_ends)
    ]
    if limits.joins_thinking:
        content = [*_join_thinking(content)]
    return replace(expect, fields=fields, content=tuple(content))


def _adapt_fields(
    fields: Mapping[str, Leaf], limits: ProxyLimits, *, judges_usage: bool
) -> Iterator[tuple[str, Leaf]]:
    for path, leaf in fields.items():
        group, _, name = path.partition(".")
        if path == "status":
            yield path, leaf
        elif path == "stop.reason":
            yield path, _adapt_reason(leaf, limits)
        elif group == "usage" and judges_usage and name in limits.usage and _is_count(leaf):
            may_be_absent = name in _CACHE_BUCKETS and leaf == Literally(0)
            yield path, AnyOf((0, None)) if may_be_absent else leaf


def _adapt_reason(leaf: Leaf, limits: ProxyLimits) -> Leaf:
    expected = list_values(leaf) or ()
    # Several expected reasons may have the same replacement; the check shows each value only once.
    accepted = [value for reason in expected for value in limits.reasons.get(reason, (reason,))]
    return AnyOf(tuple(dict.fromkeys(accepted))) if len(accepted) > 1 else leaf


def _is_count(leaf: Leaf) -> bool:
    return isinstance(leaf, Literally) and leaf.value is not None


def _has_malformed_arguments(expect: Expectation) -> bool:
    """Return whether a call lacks valid arguments: the model wrote no object, or the call did not end."""
    calls = (block.fields for block in expect.content or () if block.type == "tool_call")
    return any(not _is_object(fields.get("arguments")) for fields in calls)


def _adapt_block(block: ExpectedBlock, limits: ProxyLimits, *, judges_ends: bool) -> Iterator[ExpectedBlock]:
    if block.type == "other" or block.fields.get("redacted") == _REDACTED:
        return
    fields = {name: leaf for name, leaf in block.fields.items() if name in _JUDGED_FIELDS[block.type]}
    if not _is_object(fields.get("arguments")):
        fields.pop("arguments", None)
    if "complete" in fields and not judges_ends:
        fields["complete"] = AnyOf((True, False))
    elif fields.get("complete") == Literally(value=False):
        fields |= {"complete": AnyOf((False, True)), "arguments": Literally(None)}
    type_ = "text" if block.type == "refusal" and limits.refusal_is_text else block.type
    yield ExpectedBlock(type_, fields)


def _join_thinking(content: Sequence[ExpectedBlock]) -> Iterator[ExpectedBlock]:
    """Yield the blocks with adjacent thinking joined; its text is judged only if all parts have text."""
    for type_, group in groupby(content, key=lambda block: block.type):
        run = list(group)
        if type_ != "thinking" or len(run) == 1:
            yield from run
            continue
        texts = [text.value for block in run if isinstance(text := block.fields.get("text"), Literally)]
        yield ExpectedBlock(type_, {"text": Literally("".join(texts))} if len(texts) == len(run) else {})


def _is_object(leaf: Leaf | None) -> bool:
    return isinstance(leaf, Literally) and isinstance(leaf.value, dict)
