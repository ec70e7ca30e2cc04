"""Compare an outcome with an expectation: one check per judged leaf. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from streamconform.judge import align
from streamconform.judge.match import has_unsafe_integer, is_equal, matches_leaf
from streamconform.model.capability import Capability, Claims
from streamconform.model.case import Expectation, ExpectedBlock, Level
from streamconform.model.leaf import AnyOf, Leaf, Literally, list_preferred, list_values
from streamconform.model.outcome import Block, Outcome, Text, Thinking, ToolCall
from streamconform.model.trial import lower_level
from streamconform.model.verdict import Check, CheckVerdict
from streamconform.plural import format_count
from streamconform.printable import escape_line
from streamconform.suite.expectation import serialize_leaf

FAILED_VERDICT: Final[Mapping[Level, CheckVerdict]] = {"must": "fail", "should": "warn", "may": "may"}
"""The verdict of a failed check, by level."""

REQUIRED_CLAIMS: Final[Mapping[str, Capability]] = {
    "usage": "usage",
    "usage.input": "usage",
    "usage.output": "usage",
    "usage.reasoning": "usage_details",
    "usage.web_searches": "usage_details",
    "usage.cache_read": "cache_usage",
    "usage.cache_write": "cache_usage",
    "usage.cache_write_1h": "usage_details",
    "stop.raw": "raw_stop",
    "cost": "cost",
    "error": "errors",
}
"""The capability that must be claimed for a path and all paths below it to be judged."""

_BLOCK_REQUIRED_CLAIMS: Final[Mapping[str, Capability]] = {
    f"{type_}.signature": "signatures" for type_ in ("thinking", "text", "tool_call")
}

_INFERABLE_REASONS: Final = frozenset({"stop", "tool_use", "error", None})
"""The stop reasons that the rest of an outcome implies."""
_LOST_WITH_CONTENT: Final = frozenset({"usage", "cost", "model", "response_id", "continuation"})
"""The fields that a client that raises may drop with the content. `stop` and `error` describe the failure."""

MISLABELED: Final = "; calls that the provider ran are reported as the client's: "
"""A part of the message of `content.length`, before the calls."""
BLOCK_MISSING: Final = "content block missing"
"""The message for checks on a block that is absent from the outcome."""
UNCACHED: Final = (
    "this is the part of the prompt that was not cached; "
    "if the library counts the cached part separately, claim `cache_usage`"
)
"""The end of the message for an input count that lacks the cached tokens."""
INCLUDES: Final = "this includes the number of {}, which is not exposed"
"""The end of the message for an input count that includes tokens of a cache bucket that is left out."""
_HIDDEN_BUCKETS: Final[Mapping[str, str]] = {
    "usage.cache_read": "cache reads",
    "usage.cache_write": "cache writes",
}
SIGNATURE_AS_THINKING: Final = "the signature of another block is reported as a thinking block without text"
MARKED_UNFINISHED: Final = "must be left out, or have `complete: false` or `arguments: null`"
"""What a message demands of a call that must not be executed."""
_MAX_ARGUMENTS: Final = 80
"""The maximum number of characters of a call's arguments in a message."""
_MAX_TYPES: Final = 12
"""The maximum number of block types to list in a message."""


def compare_outcome(
    expect: Expectation,
    outcome: Outcome,
    claims: Claims,
    level: Level,
    *,
    ordered: bool = True,
    find_id: align.FindId = align.find_no_id,
) -> Iterator[Check]:
    """Yield a check for every leaf of `expect` that is judged for an implementation with `claims`.

    `find_id` finds the ids of calls in the stream, for cases that do not name them. Values that the
    implementation does not expose are not judged. `ordered` is False for an API whose messages do not record
    the order of text and calls. The content of a broken stream is compared by `compare_partial` instead.
    """
    tolerant = _may_lose_content(expect, outcome)
    for path, leaf in sum_cache_usage(expect.fields, claims).items():
        if is_claimed(path, claims) and not _is_hidden(path, outcome, claims):
            got = read_field(outcome, path)
            got = _select_echo(leaf, got) if path == "echo" else got
            is_lost = tolerant and got is None and path.partition(".")[0] in _LOST_WITH_CONTENT
            check = check_leaf(path, leaf, got, lower_level(level, "should") if is_lost else level)
            if path == "usage.input":
                check = _explain_uncached(check, expect.fields[path])
                check = _accept_hidden_buckets(check, expect.fields, outcome, claims)
            yield check
    if expect.content is not None and expect.partial is None:
        aligned = align.align(
            expect.content,
            outcome.content,
            claims,
            expect.content,
            ordered=ordered,
            find_id=find_id,
            separators=align.find_separators(expect.content, outcome.content, claims),
        )
        yield from check_call_order(aligned, level)
        mislabeled = align.find_mislabeled_calls(expect.content, aligned.expected, aligned.received)
        yield from _compare_content(aligned, claims, level, tolerant=tolerant, mislabeled=mislabeled)


def list_unexposed(expect: Expectation, outcome: Outcome, claims: Claims) -> tuple[str, ...]:
    """Return the paths that are in `expect` but not in `outcome`, without indices, such as `tool_call.id`."""
    paths = {path for path in expect.fields if _is_hidden(path, outcome, claims) and is_claimed(path, claims)}
    reasons = list_values(expect.fields.get("stop.reason")) or ()
    if _INFERABLE_REASONS.issuperset(reasons):
        paths.discard("stop.reason")
    named = {(block.type, name) for block in expect.content or () for name in block.fields}
    for block in outcome.content:
        if isinstance(block, ToolCall | Thinking | Text):
            paths |= {f"{block.type}.{name}" for name in block.absent if (block.type, name) in named}
    return tuple(sorted(paths))


def _is_hidden(path: str, outcome: Outcome, claims: Claims) -> bool:
    """Return whether an outcome leaves out a value that it may leave out."""
    # A claim of `stop` promises a reason in every outcome. Without the claim, a reason that is reported is
    # still judged, because a wrong one misleads.
    return path in outcome.absent and not (path == "stop.reason" and "stop" in claims)


def is_claimed(path: str, claims: Claims) -> bool:
    """Return whether the field at `path` is judged for an implementation with `claims`."""
    need = get_required_claim(path)
    return need is None or need in claims


def get_required_claim(path: str) -> Capability | None:
    """Return the capability without which the field at `path` is not judged, or None."""
    return REQUIRED_CLAIMS.get(path) or REQUIRED_CLAIMS.get(path.partition(".")[0])


def sum_cache_usage(fields: Mapping[str, Leaf], claims: Claims) -> Mapping[str, Leaf]:
    """Adapt `fields` to `claims`: without `cache_usage`, `usage.input` includes cache reads and writes.

    Many libraries report a single number for the whole prompt. They claim `usage` but not `cache_usage`.
    """
    if "usage.input" not in fields or "cache_usage" in claims:
        return fields
    sums, preferred = _list_sums(fields, list_values), _list_sums(fields, list_preferred)
    if not sums:
        return fields
    narrower = preferred if preferred != sums else ()
    leaf: Leaf = Literally(sums[0]) if len(sums) == 1 else AnyOf(sums, preferred=narrower)
    return {**fields, "usage.input": leaf}


def _list_sums(
    fields: Mapping[str, Leaf], list_counts: Callable[[Leaf | None], tuple[int | None, ...] | None]
) -> tuple[int | None, ...]:
    """Return the possible sums of input, cache reads and cache writes."""
    sums = set(list_counts(fields["usage.input"]) or ())
    for path in ("usage.cache_read", "usage.cache_write"):
        # A bucket that is null or absent adds nothing to the sum, and neither does a matcher, which lists no
        # values.
        parts = list_counts(fields.get(path, Literally(0))) or (None,)
        sums = {None if one is None else one + (part or 0) for one in sums for part in parts}
    # Sort None first, because it cannot be compared with numbers.
    return tuple(sorted(sums, key=lambda value: (value is not None, value)))


def _explain_uncached(check: Check, uncached: Leaf) -> Check:
    """Return `check`, with a message if the count lacks exactly what `sum_cache_usage` has added."""
    is_sum = check.expected != serialize_leaf(uncached)
    if check.verdict == "pass" or not is_sum or not matches_leaf(uncached, check.got):
        return check
    expected, got = (json.dumps(value) for value in (check.expected, check.got))
    return replace(check, message=f"expected {expected}, got {got}; {UNCACHED}")


def _accept_hidden_buckets(
    check: Check, fields: Mapping[str, Leaf], outcome: Outcome, claims: Claims
) -> Check:
    """Return `check`, as a warning if the count includes exactly the cached tokens that are not exposed.

    An adapter cannot subtract a number that the library does not expose, and without `cache_usage`, the other
    bucket would not be compared either.
    """
    hidden = [path for path in _HIDDEN_BUCKETS if path in fields and path in outcome.absent]
    if check.verdict == "pass" or "cache_usage" not in claims or not hidden:
        return check
    named = {path: leaf for path, leaf in fields.items() if path == "usage.input" or path in hidden}
    if check.got is None or check.got not in _list_sums(named, list_values):
        return check
    level = lower_level(check.level, "should")
    names = " and ".join(_HIDDEN_BUCKETS[path] for path in hidden)
    expected, got = (json.dumps(value) for value in (check.expected, check.got))
    message = f"expected {expected}, got {got}; {INCLUDES.format(names)}"
    return replace(check, level=level, verdict=FAILED_VERDICT[level], message=message)


def _may_lose_content(expect: Expectation, outcome: Outcome) -> bool:
    """Return whether the outcome correctly reports that the stream broke or failed.

    Raising is safe even if the client drops the content and the counts received so far; keeping them is a
    `should`.
    """
    # Recordings without a spec expect nothing, and differential comparisons only some fields.
    status = expect.fields.get("status")
    return status is not None and outcome.status != "complete" and matches_leaf(status, outcome.status)


def check_call_order(aligned: align.Aligned, level: Level) -> Iterator[Check]:
    """Yield the check that the calls are in the order of the stream, if there are several."""
    # The order alone does not matter to an agent that runs the calls: results refer to them by id.
    if sum(block.type == "tool_call" for block in aligned.expected) > 1:
        former = aligned.former_ids
        message = f"the calls are in another order than in the stream: {', '.join(former[:_MAX_TYPES])}"
        yield check_rule("content.order", lower_level(level, "should"), message if former else None)


def _compare_content(
    aligned: align.Aligned,
    claims: Claims,
    level: Level,
    *,
    tolerant: bool,
    mislabeled: Iterable[ToolCall],
) -> Iterator[Check]:
    expected, got = aligned.expected, aligned.received
    pairs = align.pair_blocks(expected, got)
    # Leaving out a call that must not be executed is as safe as marking it.
    left_out = {i for i, position in enumerate(pairs) if position is None and must_not_run(expected[i])}
    # A client that raises may drop blocks, but a block that was never sent is still wrong.
    is_only_less = len(got) == len(pairs) - pairs.count(None)
    loss_level = lower_level(level, "should") if tolerant else level
    length = len(expected) - len(left_out)
    message = (
        f"expected {format_count(len(expected), 'block')} {_format_types(expected)},"
        f" got {len(got)} {_format_types(got)}"
    )
    length_check = check_rule(
        "content.length",
        loss_level if is_only_less else level,
        add_mislabeled_calls(None if length == len(got) else message, mislabeled),
        expected=len(expected),
        got=len(got),
    )
    yield warn_of_signatures(length_check, aligned.moved)
    for i, (block, position) in enumerate(zip(expected, pairs, strict=True)):
        if i in left_out:
            for name, leaf in block.fields.items():
                path = f"content.{i}.{format_block_path(block.type, name)}"
                # These checks always pass; they exist so that the ids of a trial's checks do not depend on
                # the answer.
                yield Check(path=path, level=level, verdict="pass", expected=serialize_leaf(leaf))
        elif position is None:
            # A missing block fails each of its leaves, so that check ids do not depend on the outcome.
            for name, leaf in block.fields.items():
                if _is_claimed_field(block, name, claims):
                    path = f"content.{i}.{format_block_path(block.type, name)}"
                    yield check_leaf(path, leaf, None, loss_level, absent=True)
        else:
            yield from _compare_block(i, block, got[position], claims, level, tolerant=tolerant)


def warn_of_signatures(check: Check, moved: int) -> Check:
    """Return the check on the number of blocks, as a warning if only `moved` signatures are in excess."""
    if check.verdict != "pass" or not moved:
        return check
    level = lower_level(check.level, "should")
    return check_rule(check.path, level, SIGNATURE_AS_THINKING, expected=check.expected, got=check.got)


def add_mislabeled_calls(message: str | None, calls: Iterable[ToolCall]) -> str | None:
    """Return a message about wrong blocks with the provider's `calls` that are reported as the client's."""
    named = ", ".join(map(format_call, islice(calls, _MAX_TYPES)))
    return message if message is None or not named else f"{message}{MISLABELED}{named}"


def _compare_block(
    i: int, expected: ExpectedBlock, got: Block, claims: Claims, level: Level, *, tolerant: bool
) -> Iterator[Check]:
    unfinished = _is_unfinished(expected, got) or (
        tolerant and isinstance(got, ToolCall) and got.complete is False
    )
    for name, leaf in expected.fields.items():
        value = getattr(got, name)
        if name == "signature" and value == "":
            value = None  # the two are equivalent (POLICY)
        if not _is_claimed_field(expected, name, claims) or (name == "arguments" and unfinished):
            continue
        path = f"content.{i}.{format_block_path(expected.type, name)}"
        if isinstance(got, ToolCall) and name in ("complete", "arguments") and must_not_run(expected):
            yield _check_not_executable(path, name, leaf, got, level)
        elif _is_left_out(expected, name, got):
            continue
        elif name == "echo":
            yield check_leaf(path, leaf, _select_echo(leaf, value), level)
        elif name == "citations" and isinstance(leaf, Literally):
            yield _check_citations(path, leaf, value, lower_level(level, "should") if tolerant else level)
        else:
            is_loss = tolerant and _is_part(leaf, name, value)
            yield check_leaf(path, leaf, value, lower_level(level, "should") if is_loss else level)


def _select_echo(leaf: Leaf, got: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return the members that a case names; the provider may add others at any time."""
    if got is None or not isinstance(leaf, Literally):
        return got
    return {name: got[name] for name in leaf.value if name in got}


def _check_not_executable(path: str, name: str, leaf: Leaf, got: ToolCall, level: Level) -> Check:
    """Return the check that a truncated or malformed call is not executable.

    It passes for both `complete: false` and `arguments: null`, whichever the case expects, because libraries
    use one or the other. A failure is reported for the leaf that the case expects.
    """
    value = getattr(got, name)
    says_so = leaf == Literally(value=False) if name == "complete" else leaf == Literally(None)
    if not (says_so and got.is_executable):
        return Check(path=path, level=level, verdict="pass", expected=serialize_leaf(leaf), got=value)
    message = (
        f"a call that must not be executed is reported as executable: {format_call(got)};"
        f" it {MARKED_UNFINISHED}"
    )
    return check_rule(path, level, message, expected=serialize_leaf(leaf), got=value)


def _check_citations(path: str, leaf: Literally, got: Sequence[Mapping[str, Any]], level: Level) -> Check:
    """Return the check on a text's citations; a key that the implementation leaves out is not judged."""
    judged = {key for named in leaf.value for key in named}
    shown = [{key: value for key, value in citation.items() if key in judged} for citation in got]
    same = len(leaf.value) == len(shown) and all(
        is_equal(value, citation[key])
        for named, citation in zip(leaf.value, shown, strict=True)
        for key, value in named.items()
        if key in citation
    )
    return Check(
        path=path,
        level=level,
        verdict="pass" if same else FAILED_VERDICT[level],
        expected=leaf.value,
        got=shown,
    )


def _is_left_out(expected: ExpectedBlock, name: str, got: Block) -> bool:
    """Return whether an implementation does not expose a block's field `name`."""
    if not isinstance(got, ToolCall | Thinking | Text):
        return False
    if name in got.absent:
        return True
    # Many libraries expose only the parsed arguments.
    if name == "arguments_text" and isinstance(got, ToolCall) and got.arguments_text is None:
        arguments = expected.fields.get("arguments")
        if arguments is None:
            return _is_text_in(got.arguments, expected.fields[name])
        return matches_leaf(arguments, got.arguments)
    # Libraries that return only complete calls have no such flag.
    return name == "complete" and getattr(got, name) is None


def _is_text_in(arguments: Any, text: Leaf) -> bool:
    """Return whether arguments have a text in some form: as it is, as JSON, or in an object.

    The case leaves the form open, because a custom tool's text is not JSON.
    """
    if not isinstance(text, Literally):
        return True
    forms = [text.value]
    with suppress(ValueError):
        forms.append(json.loads(text.value))
    held = arguments.values() if isinstance(arguments, Mapping) else ()
    return any(is_equal(form, value) for form in forms for value in (arguments, *held))


def _is_part(leaf: Leaf, name: str, value: Any) -> bool:
    """Return whether `value` is a part of the expected value that can remain if content was lost."""
    if name == "complete":
        return value is False
    if value is None:
        return True
    whole = leaf.value if isinstance(leaf, Literally) else None
    return isinstance(whole, str) and isinstance(value, str) and whole.startswith(value)


def must_not_run(block: ExpectedBlock) -> bool:
    """Return whether a call must not be executed, because it did not end or its arguments are not JSON."""
    if block.type != "tool_call":
        return False
    return block.fields.get("complete") == Literally(value=False) or (
        block.fields.get("arguments") == Literally(None)
    )


def _is_claimed_field(block: ExpectedBlock, name: str, claims: Claims) -> bool:
    need = _BLOCK_REQUIRED_CLAIMS.get(format_block_path(block.type, name))
    return need is None or need in claims


def check_leaf(path: str, leaf: Leaf, got: Any, level: Level, *, absent: bool = False) -> Check:
    """Return the check on one leaf; `absent` means that its block is missing."""
    # JavaScript cannot represent such an integer exactly, so a difference is at most a warning.
    if isinstance(leaf, Literally) and has_unsafe_integer(leaf.value):
        level = lower_level(level, "should")
    money = path.startswith("cost.") and path != "cost.currency"
    holds = not absent and matches_leaf(leaf, got, money=money)
    preferred = leaf.preferred if isinstance(leaf, AnyOf) else ()
    if holds and preferred and not matches_leaf(AnyOf(preferred), got, money=money):
        holds, level = False, lower_level(level, "should")
    return Check(
        path=path,
        level=level,
        verdict="pass" if holds else FAILED_VERDICT[level],
        expected=serialize_leaf(leaf),
        got=got,
        message=BLOCK_MISSING if absent else None,
    )


def check_rule(
    path: str, level: Level, message: str | None, *, expected: Any = None, got: Any = None
) -> Check:
    """Return the check for a rule: failed with `message`, or passed if `message` is None."""
    if message is None:
        return Check(path=path, level=level, verdict="pass")
    return Check(
        path=path, level=level, verdict=FAILED_VERDICT[level], expected=expected, got=got, message=message
    )


def read_field(outcome: Outcome, path: str) -> Any:
    """Return the value at `path` (`stop.reason`, `usage.input`, `error`), or None if it is absent."""
    group, _, name = path.partition(".")
    value = getattr(outcome, group)
    if group == "usage" and not name:
        # An outcome's usage is never None, so a case's `usage: null` stands for usage without any count.
        buckets = {bucket: getattr(value, bucket) for bucket in value.__slots__}
        return buckets if any(count is not None for count in buckets.values()) else None
    if name:
        return None if value is None else getattr(value, name)
    # As a mapping, because the value of a failed check is written to the results as JSON.
    if group in ("cost", "error") and value is not None:
        return {slot: getattr(value, slot) for slot in value.__slots__}
    return value


def format_block_path(type_: str, name: str) -> str:
    """Return the name that check paths use for a block's field: `text`, `tool_call.arguments`."""
    return type_ if name == "text" and type_ in align.JOINED_TYPES else f"{type_}.{name}"


def format_call(call: ToolCall) -> str:
    """Return a call for a message, on one line with its arguments shortened: `get_time({"city": "Oslo"})`."""
    try:
        arguments = json.dumps(call.arguments, ensure_ascii=False)
    except RecursionError:  # an implementation may answer with any JSON, however deep
        arguments = call.arguments_text or "…"
    return f"{escape_line(call.name or 'a call without a name')}({escape_line(arguments, _MAX_ARGUMENTS)})"


def count_client_calls(expect: Expectation) -> int:
    """Return the number of calls that the client is expected to run."""
    client = Literally("client")
    return sum(
        block.type == "tool_call" and block.fields["executor"] == client for block in expect.content or ()
    )


def _is_unfinished(block: ExpectedBlock, got: Block) -> bool:
    """Return whether a call did not end, in which case its arguments are not checked."""
    complete = block.fields.get("complete")
    if complete == Literally(value=False):
        return True
    # If the case accepts a call that did not end, the client may report it as open, without final arguments.
    is_open = isinstance(got, ToolCall) and not got.is_executable
    return is_open and complete is not None and matches_leaf(complete, got=False)


def _format_types(blocks: Sequence[ExpectedBlock] | Sequence[Block]) -> str:
    """Return the types of blocks, abbreviated: `[text, tool_call]`."""
    types = [block.type for block in blocks[:_MAX_TYPES]]
    return f"[{', '.join(types)}{', …' if len(blocks) > _MAX_TYPES else ''}]"
