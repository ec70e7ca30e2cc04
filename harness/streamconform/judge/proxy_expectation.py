"""A trial of one api whose stream is seen through another: what can still be expected of it. Pure.

A proxy reads the stream of a trial and writes one of another api, which is decoded to the outcome that is
judged. What that API cannot express (`Api.proxy`) is not judged.

- Ids of calls and of answers, and the model's name, are the proxy's own.
- Usage is judged where numbers are expected of a good answer: a proxy has to write some before it knows any.
- Of a stream that broke, the client may be told by an error as well as by a connection that breaks.
- Arguments that are no object: a proxy may wrap them, mend them, or pass them on.
- Of such a call nobody can say before its end that it is one: a proxy may keep it back until then.
- A call that had not ended may be ended, as long as its arguments are none that anybody could run it with. In
  an answer that failed or broke off a call may have ended or not: nobody runs it either way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final

from streamconform.apis import APIS
from streamconform.apis.api import ProxyLimits
from streamconform.judge.compare import FAILED
from streamconform.model.case import Expectation, ExpectedBlock
from streamconform.model.leaf import AnyOf, Leaf, Literally
from streamconform.model.trial import ProxyView, Trial, lower_level
from streamconform.model.verdict import Check

CACHE: Final = frozenset({"cache_read", "cache_write"})
"""Counts of which nothing may be said where nothing was cached."""
FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "text": ("text",),
    "refusal": ("text",),
    "thinking": ("text",),
    "tool_call": ("name", "arguments", "complete", "executor"),
}
"""What is judged of a block."""
PARSE: Final = "grammar.arguments-parse"
"""The rule that a proxy cannot keep which passes on what the model wrote, piece by piece."""
REDACTED: Final = Literally(value=True)


def seen_through(trial: Trial, through: ProxyView) -> Trial:
    """Return `trial` with what is expected of it where its stream is seen through another api."""
    api = APIS.get(through.api)  # a program may name any API in its greeting
    limits = ProxyLimits() if api is None else api.proxy
    case = replace(trial.case, expect=_expected(trial.case.expect, limits))
    derived = None if trial.derived is None else _expected(trial.derived, limits)
    if _malformed(trial.expect):
        kept = {name: level for name, level in through.rules.items() if name != PARSE}
        through = replace(through, rules=kept, held=True)
    return replace(trial, case=case, derived=derived, through=through)


def rules(trial: Trial, broken: tuple[tuple[str, str], ...]) -> Iterator[Check]:
    """Yield a check for every rule that the stream was held to; `broken` are those that it breaks."""
    if trial.through is None:
        return
    told: dict[str, str] = {}
    for rule, how in broken:
        told[rule] = f"{told[rule]}; {how}" if rule in told else how
    for rule, own in trial.through.rules.items():
        level = lower_level(trial.level, own)
        words = told.get(rule)
        verdict = "pass" if words is None else FAILED[level]
        yield Check(path=rule, level=level, verdict=verdict, message=words)


def _expected(expect: Expectation, limits: ProxyLimits) -> Expectation:
    broke = expect.partial is not None
    good = expect.fields.get("status") == Literally("complete")
    fields = dict(_fields(expect.fields, limits, counted=good and not broke))
    if expect.content is None:
        return replace(expect, fields=fields)
    content = [block for each in expect.content for block in _block(each, limits, ended=good or broke)]
    if limits.joins_thinking:
        content = [*_joined(content)]
    return replace(expect, fields=fields, content=tuple(content))


def _fields(fields: Mapping[str, Leaf], limits: ProxyLimits, *, counted: bool) -> Iterator[tuple[str, Leaf]]:
    for path, leaf in fields.items():
        group, _, name = path.partition(".")
        if path == "status":
            yield path, AnyOf(("incomplete", "error")) if leaf == Literally("incomplete") else leaf
        elif path == "stop.reason":
            yield path, _reason(leaf, limits)
        elif group == "usage" and counted and name in limits.usage and _counted(leaf):
            none = name in CACHE and leaf == Literally(0)
            yield path, AnyOf((0, None)) if none else leaf


def _reason(leaf: Leaf, limits: ProxyLimits) -> Leaf:
    if leaf == Literally(None):
        return AnyOf((None, "error"))
    given = leaf.values if isinstance(leaf, AnyOf) else (leaf.value,) if isinstance(leaf, Literally) else ()
    words = [word for each in given for word in limits.reasons.get(each, (each,))]
    return AnyOf(tuple(dict.fromkeys(words))) if len(words) > 1 else leaf


def _counted(leaf: Leaf) -> bool:
    return isinstance(leaf, Literally) and leaf.value is not None


def _malformed(expect: Expectation) -> bool:
    """Return whether arguments of a call are none: the model wrote no object, or did not come to its end."""
    calls = (each.fields for each in expect.content or () if each.type == "tool_call")
    return any(not _is_object(each.get("arguments")) for each in calls)


def _block(block: ExpectedBlock, limits: ProxyLimits, *, ended: bool) -> Iterator[ExpectedBlock]:
    if block.type == "other" or block.fields.get("redacted") == REDACTED:
        return
    kept = {name: leaf for name, leaf in block.fields.items() if name in FIELDS[block.type]}
    if not _is_object(kept.get("arguments")):
        kept.pop("arguments", None)
    if "complete" in kept and not ended:
        kept["complete"] = AnyOf((True, False))
    elif kept.get("complete") == Literally(value=False):
        kept |= {"complete": AnyOf((False, True)), "arguments": Literally(None)}
    type_ = "text" if block.type == "refusal" and limits.refusal_is_text else block.type
    yield ExpectedBlock(type_, kept)


def _joined(content: Sequence[ExpectedBlock]) -> Iterator[ExpectedBlock]:
    """Yield the blocks, neighbouring thoughts as one; its text is not judged where one of them has none."""
    for type_, group in groupby(content, key=lambda each: each.type):
        run = list(group)
        if type_ != "thinking" or len(run) == 1:
            yield from run
            continue
        texts = [text.value for each in run if isinstance(text := each.fields.get("text"), Literally)]
        yield ExpectedBlock(type_, {"text": Literally("".join(texts))} if len(texts) == len(run) else {})


def _is_object(leaf: Leaf | None) -> bool:
    return isinstance(leaf, Literally) and isinstance(leaf.value, dict)
