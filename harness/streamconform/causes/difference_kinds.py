"""Classify the difference in a failed check by its expected and actual values. Pure.

`cause_table.py` maps paths and kinds to headlines. A kind depends on the check and on the other checks in its
trial, never on other trials.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from itertools import combinations, permutations
from typing import Any, Final

from msgspec import Struct, field

from streamconform.judge.behavior import HAD_BEGUN
from streamconform.judge.compare import (
    BLOCK_MISSING,
    INCLUDES,
    MISLABELED,
    SIGNATURE_AS_THINKING,
    UNCACHED,
)
from streamconform.judge.partial import MAY_BE_CUT, MOVED_BLOCKS, SPLIT_BLOCKS, UNKNOWN_BLOCKS
from streamconform.model.result import TrialResult
from streamconform.model.verdict import Check

MAX_COMPARED: Final = 20_000
"""The maximum number of characters compared; the rest of a longer text is ignored."""
_INDEX: Final = re.compile(r"(?<=\.)\d+(?=\.|$)")
SEVERAL_CONTENTS: Final = "outcomes.content"
_ANSWER: Final = re.compile(r"^(first|outcome|answers\.\d+)\.")
_LATER_REQUEST: Final = re.compile(r"^requests\.\d+\.")
"""Path prefixes of the two outcomes of a round trip, which have the same kinds of differences."""
_SEVERAL: Final = re.compile(r"^outcomes\.[a-z]+\.(?!content\.)")
_CONTENT_OF_SEVERAL: Final = re.compile(r"^outcomes\.[a-z]+\.content\..*", re.DOTALL)
"""Paths in one of several outcomes of a script: only their contents show whether they are mixed."""
_BLOCK_TYPE: Final = re.compile(r"content\.(\d+)\.([a-z_]+)")
_BLOCK_LISTS: Final = re.compile(r"expected \d+ blocks? \[(.*?)\], got \d+ \[(.*?)\]")
"""Matches the message of `content.length`, with the types of the expected and received blocks."""
_UNPAIRED_BLOCKS: Final = re.compile(
    rf"(?:{'|'.join(map(re.escape, (UNKNOWN_BLOCKS, SPLIT_BLOCKS, MOVED_BLOCKS)))})(.*)"
)
_INCLUDED: Final = re.compile(re.escape(INCLUDES).replace(r"\{\}", "(.+)"))
"""Matches the message about an input count that includes a bucket, and the names of that bucket."""
_TYPES: Final = ("tool_call", "text", "refusal", "thinking")
"""Block types by precedence: if several are missing, the first one names the difference."""
BUCKET_NAMES: Final[Mapping[str, str]] = {
    "input": "input tokens",
    "cache_read": "cache-read tokens",
    "cache_write": "cache-write tokens",
    "cache_write_1h": "1-hour cache-write tokens",
    "output": "output tokens",
    "reasoning": "reasoning tokens",
    "web_searches": "web searches",
}
# Eight reports have 247 sums, and each additional report doubles that.
_MAX_REPORTS: Final = 8
"""The maximum number of usage reports whose sums are compared with a count."""
_MAX_BLOCKS: Final = 200
"""The maximum number of received blocks that are searched for the parts of an expected one."""
_CACHE_BUCKETS: Final = ("cache_read", "cache_write")


class Difference(Struct, frozen=True):
    """The kind of difference in a check."""

    path: str
    """The check's path with indices replaced by `*`."""
    kind: str
    words: Mapping[str, str] = field(default_factory=dict)
    """Values that a headline may name."""


Classify = Callable[[str, Check, TrialResult], Difference]
"""Returns the kind of difference in a failed check of a trial, whose generalized path comes first."""


def generalize_path(path: str) -> str:
    """Return `path` with indices replaced by `*`, and without the number of the answer or request."""
    path = _CONTENT_OF_SEVERAL.sub(SEVERAL_CONTENTS, _SEVERAL.sub("", path))
    return _INDEX.sub("*", _LATER_REQUEST.sub("request.", _ANSWER.sub("", path)))


def classify_check(check: Check, result: TrialResult) -> Difference:
    """Return the kind of difference in `check`, which is one of `result`'s failed checks."""
    path = generalize_path(check.path)
    if (check.message or "").endswith("which JSON cannot represent") and path != "output":
        return Difference(path, "not-json")
    if path == SEVERAL_CONTENTS:
        return Difference(path, "different")
    if check.message == SIGNATURE_AS_THINKING:
        return Difference("content.*.thinking", "signature")
    if check.message == BLOCK_MISSING:
        return _classify_blocks(path, check, result)
    return next(classify(path, check, result) for pattern, classify in _RULES if pattern.fullmatch(path))


def accepted_values(expected: Any) -> tuple[Any, ...]:
    """Return the values that pass without a warning: those in `prefer` or `any_of`, or the value itself."""
    if isinstance(expected, dict):
        for key in ("prefer", "any_of"):
            if isinstance(expected.get(key), list) and expected[key]:
                return tuple(expected[key])
    return (expected,)


def _classify_output(_: str, check: Check, result: TrialResult) -> Difference:
    # Functions have one check each; the topic (`heal`, `partial`, `tokens`) says which function it is.
    parts = result.case.split("/")
    topic = parts[-2] if len(parts) > 1 else result.case
    return Difference(f"output.{topic}", _classify_value(check.expected, check.got))


def _classify_status(expected: Any, got: Any) -> str:
    accepted, tolerated = accepted_values(expected), _list_tolerated(expected)
    if got in tolerated:
        # Only a stream that lacks its end marker, but no content, may be reported as complete or as cut.
        if {"complete", "incomplete"} <= {*map(str, (*accepted, *tolerated))}:
            return f"{got}-instead-of-{accepted[0]}"
        if accepted == ("complete",):
            return "error-for-refusable"
        if got == "complete":
            return "complete-for-failed"
    values = (*accepted, *tolerated)
    if "complete" in values:
        return f"{got}-for-complete"
    return f"{got}-for-{'cut' if 'incomplete' in accepted else 'error'}"


def _list_tolerated(expected: Any) -> tuple[Any, ...]:
    """Return the values that pass with a warning: those in `any_of` that are not preferred."""
    match expected:
        case {"any_of": list(values), "prefer": list(preferred)} if preferred:
            return tuple(value for value in values if value not in preferred)
        case _:
            return ()


def _classify_stop(path: str, check: Check, _: TrialResult) -> Difference:
    accepted = accepted_values(check.expected)
    if check.got is None:
        return Difference(path, "null")
    if accepted == (None,):
        return Difference(path, "unexpected")
    if check.got == "other":
        return Difference(path, "other")
    expected = str(accepted[0])
    return Difference(path, f"{check.got}-for-{expected}", {"expected": expected, "got": str(check.got)})


def _classify_cost(_: str, check: Check, __: TrialResult) -> Difference:
    # The parts of a cost depend on each other, and on the usage.
    return Difference("cost", _classify_amount(check.expected, check.got))


def _classify_ids(path: str, check: Check, _: TrialResult) -> Difference:
    return Difference(path, "same" if "have the id" in (check.message or "") else "null")


def _classify_request(path: str, check: Check, _: TrialResult) -> Difference:
    kind = "missing" if check.message == "not sent" else _classify_value(check.expected, check.got)
    # One field of a request often differs in several places.
    part = ".".join(path.removeprefix("request.").split(".")[:2])
    return Difference(path, kind, {"part": part})


def _classify_count(path: str, check: Check, _: TrialResult) -> Difference:
    """Return whether an answer had begun, or the request was rejected, when the client sent another one."""
    if (check.message or "").endswith(HAD_BEGUN):
        return Difference(path, "repeated")
    return Difference(path, "rejected" if check.expected == 1 else "different")


def _classify_complete(path: str, check: Check, _: TrialResult) -> Difference:
    if check.got is None and accepted_values(check.expected) == (False,):
        # Without the mark, and with arguments, the call is executable.
        return Difference(path, "null-for-false")
    return Difference(path, _classify_value(check.expected, check.got))


def _classify_blocks(_: str, check: Check, result: TrialResult) -> Difference:
    """Return the kind for a missing, extra, merged or split block; its path contains the block's type."""
    expected, got = _read_block_types(check, result)
    # The messages about some blocks give only their types.
    missing = _list_missing_types(result) or [*(expected - got).elements()]
    extra = [*(got - expected).elements()]
    if missing:
        return _classify_missing(missing, extra, result)
    return _classify_extra(extra, check, result) if extra else Difference("content.length", "different")


def _classify_missing(missing: Sequence[str], extra: Sequence[str], result: TrialResult) -> Difference:
    type_ = min(missing, key=_rank_type)
    path, words = f"content.*.{type_}", {"block": type_}
    if not any(check.path.endswith("content.length") for check in result.checks):
        # The number and the types of the blocks are as expected.
        return Difference(path, "elsewhere", words)
    if _is_merged(type_, result):
        return Difference(path, "merged", words)
    if extra and extra[0] not in missing:
        return Difference(path, "as-other", {**words, "other": extra[0]})
    return Difference(path, "missing", words)


def _classify_extra(extra: Sequence[str], check: Check, result: TrialResult) -> Difference:
    type_ = extra[0]
    path, words = f"content.*.{type_}", {"block": type_}
    if any((other.message or "").startswith(MOVED_BLOCKS) for other in (check, *result.checks)):
        return Difference(path, "elsewhere", words)
    if type_ == "tool_call" and any(MISLABELED in (other.message or "") for other in result.checks):
        return Difference(path, "of-provider")
    if _repeats(type_, result):
        return Difference(path, "twice", words)
    for name, count in Counter(extra).items():
        if not _is_split(name, count, result):
            return Difference(f"content.*.{name}", "extra", {"block": name})
    return Difference(path, "split", words)


def _repeats(type_: str, result: TrialResult) -> bool:
    """Return whether a received block of a type has the text of another, alone or with more."""
    texts = [block["text"] for block in _list_blocks(type_, result) if isinstance(block.get("text"), str)]
    texts = [text[:MAX_COMPARED] for text in texts[:_MAX_BLOCKS] if text]
    return any(one in other for one, other in permutations(texts, 2))


def _rank_type(type_: str) -> int:
    return _TYPES.index(type_) if type_ in _TYPES else len(_TYPES)


def _list_missing_types(result: TrialResult) -> list[str]:
    """Return the types of the missing blocks, by position."""
    missing: dict[int, str] = {}
    for check in result.checks:
        match = _BLOCK_TYPE.search(check.path) if check.message == BLOCK_MISSING else None
        if match:
            missing.setdefault(int(match[1]), match[2])
    return [*missing.values()]


def _read_block_types(check: Check, result: TrialResult) -> tuple[Counter[str], Counter[str]]:
    """Return the types of the expected and the received blocks that the checks name."""
    # The check of a missing block does not have these lists, but `content.length` in the same trial does.
    texts = [check.message or "", *(other.message or "" for other in result.checks)]
    for text in texts:
        lists = _BLOCK_LISTS.search(text)
        if lists:
            return _parse_types(lists[1]), _parse_types(lists[2])
        unpaired = _UNPAIRED_BLOCKS.search(text)
        if unpaired:
            return Counter(), _parse_types(unpaired[1].partition(";")[0])
    return Counter(), Counter()


def _parse_types(text: str) -> Counter[str]:
    return Counter(name for name in text.split(", ") if name and name != "…")


def _get_outcome(result: TrialResult) -> Mapping[str, Any]:
    outcome = (result.observation or {}).get("outcome")
    return outcome if isinstance(outcome, dict) else {}


def _list_blocks(type_: str, result: TrialResult) -> list[Mapping[str, Any]]:
    content = _get_outcome(result).get("content")
    blocks = content if isinstance(content, list) else []
    return [block for block in blocks if isinstance(block, dict) and block.get("type") == type_]


def _has_nameless_call(result: TrialResult) -> bool:
    return any(not call.get("name") for call in _list_blocks("tool_call", result))


def _is_split(type_: str, extra: int, result: TrialResult) -> bool:
    """Return whether the `extra` received blocks of a type contain nothing that is not in the stream."""
    if type_ == "tool_call":
        return _has_nameless_call(result)
    if any((check.message or "").startswith(SPLIT_BLOCKS) for check in result.checks):
        return True
    texts = [block["text"] for block in _list_blocks(type_, result) if isinstance(block.get("text"), str)]
    if len(texts) > _MAX_BLOCKS or sum(map(len, texts)) > MAX_COMPARED:
        return False
    # A signature alone in a block of its own adds no text.
    if texts.count("") >= extra:
        return True
    path = re.compile(rf"content\.\d+\.{re.escape(type_)}(\.text)?")
    expected = (check.expected for check in result.checks if path.search(check.path))
    return any(_is_joined(text, texts) for text in expected if isinstance(text, str) and text)


def _is_joined(whole: str, parts: Sequence[str]) -> bool:
    """Return whether two or more adjacent `parts`, joined, are `whole`."""
    for start in range(len(parts)):
        joined = ""
        for count, part in enumerate(parts[start:], start=1):
            joined += part
            if joined == whole and count > 1:
                return True
            if not whole.startswith(joined):
                break
    return False


def _is_merged(type_: str, result: TrialResult) -> bool:
    """Return whether another block contains the missing content, in its text or as a second JSON document."""
    types = ((check, _BLOCK_TYPE.search(check.path)) for check in result.checks)
    checks = [check for check, match in types if match and match[2] == type_]
    lost = [
        (check.path.rpartition(".")[2], check.expected)
        for check in checks
        if check.message == BLOCK_MISSING and isinstance(check.expected, str) and check.expected
    ]
    wrong = [check for check in checks if check.message is None]
    blocks = _list_blocks(type_, result)
    received = [str(block.get("text"))[:MAX_COMPARED] for block in blocks]
    return (
        # All of these blocks are missing, but one received block has their texts.
        (len(lost) > 1 and any(all(text in block for _, text in lost[:_MAX_BLOCKS]) for block in received))
        # A merged text contains both texts; finding the text in a correct block proves nothing.
        or any(
            check.path.endswith(f".{name}") and _contains_both(check, text)
            for name, text in lost
            for check in wrong
        )
        or any(map(_holds_two_documents, blocks))
    )


def _contains_both(check: Check, text: str) -> bool:
    got, expected = check.got, check.expected
    if not isinstance(got, str) or not isinstance(expected, str) or len(got) < len(expected) + len(text):
        return False
    return text in got and expected in got


def _holds_two_documents(call: Mapping[str, Any]) -> bool:
    text = call.get("arguments_text")
    if not isinstance(text, str):
        return False
    stripped = text.strip()
    try:
        # A client that joins the fragments of two calls returns `{…}{…}`.
        _, end = json.JSONDecoder().raw_decode(stripped)
    except (ValueError, RecursionError):
        return False
    return stripped[end:].lstrip().startswith("{")


def _classify_arguments(path: str, check: Check, _: TrialResult) -> Difference:
    is_cut = (check.message or "").startswith(MAY_BE_CUT)
    return Difference(path, "cut" if is_cut else _compare_arguments(check.expected, check.got))


def _compare_arguments(expected: Any, got: Any) -> str:
    if got is None:
        return "null"
    if accepted_values(expected) == (None,):
        return "repaired"
    if isinstance(got, str) and not isinstance(expected, str):
        return "unparsed"
    if got in ({}, []) and expected != got:
        return "empty"
    if isinstance(expected, dict) and isinstance(got, dict):
        is_part = got.keys() < expected.keys() and all(expected[key] == got[key] for key in got)
        return "parts-missing" if is_part else "different"
    return "different"


def _classify_usage(path: str, check: Check, result: TrialResult) -> Difference:
    bucket = path.removeprefix("usage.")
    if bucket == "input" and (hidden := _INCLUDED.search(check.message or "")):
        return Difference(path, "with-hidden", {"hidden": hidden[1]})
    kind = _classify_bucket(bucket, check, result)
    return Difference(path, kind, {"bucket": BUCKET_NAMES.get(bucket, bucket)})


def _classify_bucket(bucket: str, check: Check, result: TrialResult) -> str:
    """Return the kind for a token count."""
    accepted = [value for value in accepted_values(check.expected) if _is_number(value)]
    if check.got is None:
        return "null"
    if not _is_number(check.got):
        return "different"
    if check.got == 0 and (not accepted or None in accepted_values(check.expected)):
        return "zero-for-null"
    if not accepted:
        return "unexpected"
    if bucket == "input" and (check.message or "").endswith(UNCACHED):
        return "without-cache"
    excesses = {check.got - value for value in accepted}
    for kind, counts in _list_confusions(bucket, result).items():
        if excesses & counts:
            return kind
    if check.got == 0:
        return "zero"
    return "sum" if _is_sum(check.got, accepted) else _compare_size(check.got, accepted)


def _list_confusions(bucket: str, result: TrialResult) -> Mapping[str, set[int]]:
    """Return how much too large a count is if a client mixes up what belongs to its bucket, by kind."""
    if bucket == "input":
        # OpenAI and Google count cached tokens as part of the prompt, Anthropic does not.
        return {"with-cache": _list_sums(_CACHE_BUCKETS, result)}
    if bucket == "output":
        # Google counts thoughts separately from the answer, OpenAI as part of it.
        reasoning = _list_sums(("reasoning",), result)
        return {"with-reasoning": reasoning, "without-reasoning": {-count for count in reasoning}}
    return {}


def _is_sum(got: Any, reports: Sequence[Any]) -> bool:
    """Return whether `got` is the sum of several usage reports in the stream."""
    chosen = reports[:_MAX_REPORTS]
    return any(got == sum(part) for n in range(2, len(chosen) + 1) for part in combinations(chosen, n))


def _list_sums(buckets: Sequence[str], result: TrialResult) -> set[int]:
    """Return the nonzero counts in `buckets`, both expected and reported, and the sum of all of them."""
    usage = _get_outcome(result).get("usage")
    reported = usage if isinstance(usage, dict) else {}
    expected = {check.path: check.expected for check in result.checks}
    values = [
        side.get(key) for name in buckets for side, key in ((expected, f"usage.{name}"), (reported, name))
    ]
    counts = [value for value in values if isinstance(value, int) and not isinstance(value, bool)]
    return {*counts, sum(counts)} - {0}


def _classify_amount(expected: Any, got: Any) -> str:
    """Return the kind for an amount of money or a complete cost."""
    if got is None:
        return "null"
    accepted = [value for value in accepted_values(expected) if value is not None]
    if not accepted:
        return "unexpected"
    try:
        return _compare_size(Decimal(got), [Decimal(value) for value in accepted])
    except (InvalidOperation, TypeError, ValueError):
        return "different"


def _compare_size(got: Any, accepted: Sequence[Any]) -> str:
    return "too-large" if got > max(accepted) else "too-small" if got < min(accepted) else "different"


def _is_number(value: Any) -> bool:
    # `True` is an `int`, but not a count.
    return isinstance(value, int | float) and not isinstance(value, bool)


def _classify_value(expected: Any, got: Any) -> str:
    """Return the kind for any other value."""
    accepted = accepted_values(expected)
    if got is None:
        return "null"
    if accepted == (None,) or expected == {"present": False}:
        return "unexpected"
    if isinstance(got, bool):
        return f"{str(got).lower()}-for-{str(not got).lower()}"
    if isinstance(got, str):
        prefix = expected.get("prefix_of") if isinstance(expected, dict) else None
        text = prefix if isinstance(prefix, str) else expected
        return _classify_text(text, got) if isinstance(text, str) else "empty" if not got else "different"
    if got in ({}, []):
        return "empty"
    return "different"


def _classify_text(expected: str, got: str) -> str:
    expected, got = expected[:MAX_COMPARED], got[:MAX_COMPARED]
    if not got:
        return "empty"
    # A decoder inserts this character where a chunk boundary splits a character.
    if "\ufffd" in got and "\ufffd" not in expected:
        return "garbled"
    half = got[: len(got) // 2]
    # The most specific kinds come first: a truncated text, for example, is also one that lost parts.
    if half * 2 == got and (expected.startswith(half) and expected != got):
        return "twice"
    if expected.startswith(got):
        return "truncated"
    if expected.endswith(got):
        return "start-lost"
    if _is_subsequence(got, expected):
        return "part-lost"
    if _is_subsequence(expected, got):
        return "added"
    return "reordered" if Counter(expected) == Counter(got) else "different"


def _is_subsequence(part: str, whole: str) -> bool:
    """Return whether `part` is `whole` with some characters missing."""
    # `in` consumes the iterator up to the match, so the characters must be in the same order.
    characters = iter(whole)
    return all(character in characters for character in part)


def _by_values(classify: Callable[[Any, Any], str]) -> Classify:
    return lambda path, check, _: Difference(path, classify(check.expected, check.got))


_RULES: Final[Sequence[tuple[re.Pattern[str], Classify]]] = tuple(
    (re.compile(path, re.DOTALL), classify)
    for path, classify in (
        (r"output", _classify_output),
        (r"content\.length", _classify_blocks),
        (r"status", _by_values(_classify_status)),
        (r"stop\.reason", _classify_stop),
        (r"usage\.[^.]*", _classify_usage),
        (r"cost(\..*)?", _classify_cost),
        (r"invariant\.unique-ids", _classify_ids),
        (r"requests\.count", _classify_count),
        (r"(body|request|headers|path|requests)(\..*)?", _classify_request),
        (r"(.*\.)?complete", _classify_complete),
        (r"(.*\.)?arguments", _classify_arguments),
        (r".*", _by_values(_classify_value)),
    )
)
"""The function for each path that `generalize_path` returns; the first that fits is used."""
