"""A table with the headline and the harm of each kind of difference. The first matching row applies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, get_args

from streamconform.printable import escape_line
from streamconform.reports.difference_kinds import Difference

Harm = Literal[
    "runs a wrong or unfinished call",
    "reports a broken stream as success",
    "crashes on a valid stream",
    "loses or changes content",
    "bills incorrectly",
    "wrong metadata",
    "exposes less",
]
"""The possible effects of a difference on the library's users, worst first."""
HARMS: Final[tuple[Harm, ...]] = get_args(Harm)

RUNS: Final[Harm] = "runs a wrong or unfinished call"
SUCCEEDS: Final[Harm] = "reports a broken stream as success"
CRASHES: Final[Harm] = "crashes on a valid stream"
LOSES: Final[Harm] = "loses or changes content"
BILLS: Final[Harm] = "bills incorrectly"
MISLEADS: Final[Harm] = "wrong metadata"
HIDES: Final[Harm] = "exposes less"


@dataclass(frozen=True, slots=True)
class Row:
    """A headline for the differences whose path and kind match."""

    path: str
    """A regular expression for the whole path, in which `*` stands for an index."""
    kinds: str
    """Kinds of difference, separated by spaces; empty for any kind."""
    headline: str
    """The headline, a sentence without a subject; may contain `{path}`, `{exception}` and named groups."""
    harm: Harm


RAISED: Final = "raised"
RAISED_ON_BROKEN: Final = "raised-on-broken"
RAISED_BEFORE_SENDING: Final = "raised-before-sending"
RAISED_ON_REFUSABLE: Final = "raised-on-refusable"
"""Kinds of wrong status that are attributed to an exception if the trial has one."""
CONTENT: Final = r"content\.\*\.(text|thinking|refusal|other)(\.text)?"
REQUEST: Final = r"(request\.)?(body|headers|path)(\..*)?"
CONVERSATION: Final = r"(request\.)?body(\.(messages|input|contents|system|instructions|tools)(\..*)?)?"
"""The parts of a request that hold the conversation and the tools; the others are options."""
CALL: Final = r"content\.\*\.tool_call"

ROWS: Final[tuple[Row, ...]] = (
    # The status comes first, because everything else in a trial depends on it (`FOLDS`).
    Row("status", RAISED_BEFORE_SENDING, "Raises {exception} before it sends a request", CRASHES),
    Row("status", RAISED, "Raises {exception} on a valid stream", CRASHES),
    Row("status", RAISED_ON_BROKEN, "Raises {exception} on a broken stream", MISLEADS),
    Row("status", "timeout", "Does not answer before the timeout", CRASHES),
    Row("status", "timeout-on-broken", "Does not answer after the stream breaks", LOSES),
    Row(
        "status",
        "error-instead-of-complete incomplete-instead-of-complete",
        "Reports a stream that lacks only its end marker as broken",
        MISLEADS,
    ),
    Row(
        "status",
        "complete-instead-of-incomplete complete-instead-of-error",
        "Does not notice that the end marker is missing",
        MISLEADS,
    ),
    Row("status", RAISED_ON_REFUSABLE, "Raises {exception} on an answer that it may refuse", HIDES),
    Row("status", "error-for-refusable", "Reports an answer that it may refuse as an error", HIDES),
    Row("status", "complete-for-failed", "Reports a failed answer as complete", MISLEADS),
    Row("status", "complete-for-cut", "Reports a cut stream as complete", SUCCEEDS),
    Row("status", "complete-for-error", "Reports an error as a complete answer", SUCCEEDS),
    Row("status", "error-for-complete", "Reports a valid stream as an error", CRASHES),
    Row("status", "incomplete-for-complete", "Reports a complete stream as cut", LOSES),
    Row("status", "error-for-cut", "Reports a cut stream as an error", MISLEADS),
    Row("status", "incomplete-for-error", "Reports an error as a cut stream", MISLEADS),
    Row("status", "", "Reports a wrong status", MISLEADS),
    # Calls
    Row(r"content\.complete_calls", "", "Reports an unfinished call as executable", RUNS),
    Row(
        rf"{CALL}\.complete",
        "true-for-false null-for-false",
        "Reports an unfinished call as executable",
        RUNS,
    ),
    Row(rf"{CALL}\.complete", "null", "Does not say whether a call is complete", HIDES),
    Row(rf"{CALL}\.complete", "", "Does not mark a finished call as complete", LOSES),
    Row("body|output", RAISED, "Raises {exception} when called", CRASHES),
    Row(CALL, "merged", "Merges several tool calls into one", RUNS),
    Row(CALL, "split", "Splits a tool call into several", RUNS),
    Row(CALL, "extra", "Reports a tool call that is not in the stream", RUNS),
    Row(f"{CONTENT}|{CALL}", "elsewhere", "Reports the blocks in a different order", LOSES),
    Row(CALL, "as-other", "Reports a tool call as {other}", LOSES),
    Row(CALL, "", "Loses tool calls", LOSES),
    Row(rf"{CALL}\.arguments", "null", "Loses the arguments of a call", LOSES),
    Row(rf"{CALL}\.arguments", "empty", "Returns a call with empty arguments", RUNS),
    Row(rf"{CALL}\.arguments", "unparsed", "Returns arguments as unparsed text", LOSES),
    Row(rf"{CALL}\.arguments", "repaired", "Repairs arguments that do not parse", RUNS),
    Row(rf"{CALL}\.arguments", "parts-missing", "Loses parts of a call's arguments", RUNS),
    Row(rf"{CALL}\.arguments", "", "Returns a call with wrong arguments", RUNS),
    Row(rf"{CALL}\.arguments_text", "null", "Does not expose the text of a call's arguments", HIDES),
    Row(rf"{CALL}\.arguments_text", "", "Changes the text of a call's arguments", MISLEADS),
    Row(rf"{CALL}\.name", "null empty", "Loses the name of a call", LOSES),
    Row(rf"{CALL}\.name", "", "Returns a call with a wrong name", RUNS),
    Row(rf"{CALL}\.id", "null empty", "Loses the id of a call", MISLEADS),
    Row(rf"{CALL}\.id", "", "Changes the id of a call", MISLEADS),
    Row(rf"{CALL}\.executor", "", "Confuses client calls with calls that the provider runs", RUNS),
    # Content
    Row(".*", "not-json", "Returns numbers that JSON cannot represent", LOSES),
    Row(r"content\.kept", "", "Drops content that arrived before the stream broke", LOSES),
    Row(r"content\.length", "", "Reports a wrong number of content blocks", LOSES),
    Row(r"content\.\*\.thinking\.signature", "null empty", "Loses the signature of thinking", LOSES),
    Row(r"content\.\*\.thinking\.signature", "", "Changes the signature of thinking", LOSES),
    Row(
        r"content\.\*\.thinking\.redacted",
        "",
        "Confuses redacted with unredacted thinking",
        MISLEADS,
    ),
    Row(CONTENT, "missing", "Loses {block}", LOSES),
    Row(CONTENT, "merged", "Merges several blocks of {block} into one", LOSES),
    Row(CONTENT, "as-other", "Reports {block} as {other}", LOSES),
    Row(CONTENT, "split", "Splits {block} into several blocks", MISLEADS),
    Row(CONTENT, "extra", "Reports {block} that is not in the stream", LOSES),
    Row(CONTENT, "empty null", "Loses {block}", LOSES),
    Row(CONTENT, "truncated", "Truncates {block}", LOSES),
    Row(CONTENT, "start-lost", "Loses the beginning of {block}", LOSES),
    Row(CONTENT, "part-lost", "Loses parts of {block}", LOSES),
    Row(CONTENT, "twice", "Repeats {block}", LOSES),
    Row(CONTENT, "added", "Adds extra content to {block}", LOSES),
    Row(CONTENT, "garbled", "Garbles characters in {block}", LOSES),
    Row(CONTENT, "reordered", "Changes the order of {block}", LOSES),
    Row(CONTENT, "", "Changes {block}", LOSES),
    Row(r"content\.\*\..*", "null empty", "Loses `{path}`", LOSES),
    Row(r"content\..*", "", "Reports a wrong `{path}`", LOSES),
    # Usage and cost
    Row(r"usage\.input", "without-cache", "Reports only the uncached part of the prompt", BILLS),
    Row(r"usage\.input", "with-cache", "Counts cached tokens again as input", BILLS),
    Row(r"usage\.output", "with-reasoning", "Counts reasoning tokens twice", BILLS),
    Row(r"usage\.output", "without-reasoning", "Leaves reasoning tokens out of the output", BILLS),
    Row(r"usage\.(input|output)", "null", "Loses usage", BILLS),
    Row(r"usage\.[a-z_0-9]+", "null", "Does not expose the number of {bucket}", HIDES),
    Row(r"usage\.[a-z_0-9]+", "zero", "Reports 0 {bucket}", BILLS),
    Row(
        r"usage\.[a-z_0-9]+",
        "zero-for-null",
        "Reports 0 {bucket}, although the stream has no count",
        MISLEADS,
    ),
    Row(r"usage\.[a-z_0-9]+", "unexpected", "Reports {bucket}, although the stream has no count", BILLS),
    Row(r"usage\.(input|output)", "too-large", "Reports too many tokens", BILLS),
    Row(r"usage\.(input|output)", "too-small", "Reports too few tokens", BILLS),
    Row(r"usage\.[a-z_0-9]+", "sum", "Adds up usage reports instead of using the last one", BILLS),
    Row(r"usage\.[a-z_0-9]+", "too-large", "Reports too many {bucket}", BILLS),
    Row(r"usage\.[a-z_0-9]+", "too-small", "Reports too few {bucket}", BILLS),
    Row("usage", "unexpected", "Reports usage, although the stream has none", BILLS),
    Row(r"usage.*", "", "Reports wrong usage", BILLS),
    Row("cost", "null", "Does not compute the cost", BILLS),
    Row("cost", "too-large", "Computes too high a cost", BILLS),
    Row("cost", "too-small", "Computes too low a cost", BILLS),
    Row("cost", "unexpected", "Computes a cost that cannot be known", BILLS),
    Row("cost", "", "Computes a wrong cost", BILLS),
    # Metadata
    Row(r"stop\.reason", "null", "Does not report why the answer ended", MISLEADS),
    Row(r"stop\.reason", "unexpected", "Reports a stop reason that the stream does not have", MISLEADS),
    Row(r"stop\.reason", "other", "Reports a known stop reason as `other`", MISLEADS),
    Row(r"stop\.reason", "", "Reports stop reason `{got}` instead of `{expected}`", MISLEADS),
    Row(r"stop\.raw", "null", "Does not expose the provider's own stop reason", HIDES),
    Row(r"stop\.raw", "", "Changes the provider's own stop reason", MISLEADS),
    Row("error", "unexpected", "Reports an error along with a complete answer", MISLEADS),
    Row(r"error(\..*)?", "null empty", "Does not expose the provider's `{path}`", HIDES),
    Row(r"error(\..*)?", "", "Reports a wrong `{path}`", MISLEADS),
    Row("model|response_id", "null empty", "Does not expose `{path}`", HIDES),
    # Rules for every stream
    Row(r"invariant\.unique-ids", "null", "Returns a call without an id", MISLEADS),
    Row(r"invariant\.unique-ids", "", "Gives two calls the same id", MISLEADS),
    Row(r"invariant\.outcome-schema", "", "Returns an outcome that is not in the normal form", LOSES),
    Row(r"invariant\.event-schema", "", "Sends no events, or events that are not in the normal form", LOSES),
    Row(r"invariant\.streaming", "", "Holds back the answer until the stream ends", HIDES),
    Row(
        r"invariant\.(deltas-sum|every-block-told)",
        "",
        "Streams different content from what it returns",
        LOSES,
    ),
    Row(r"invariant\.last-usage", "", "Streams different usage from what it returns", BILLS),
    Row(r"invariant\..*", "", "Sends events that contradict each other (`{path}`)", MISLEADS),
    # Rules for proxies and servers, whose checks have a message instead of values
    Row(r"grammar\..*|(document|answer|count)\..+", "", "Breaks a rule of the API (`{path}`)", MISLEADS),
    Row(r"http\.content-type", "", "Answers with a wrong content type", MISLEADS),
    Row(r"http\..*", "", "Answers with a wrong status or an incomplete body (`{path}`)", MISLEADS),
    Row(
        r"refusal\..*",
        "",
        "Answers with an error that is not in the client's format (`{path}`)",
        MISLEADS,
    ),
    Row(r"upstream\.prompt", "", "Changes the prompt on the way to the upstream server", LOSES),
    Row(r"upstream\.tools", "", "Changes the tools on the way to the upstream server", LOSES),
    Row(r"upstream\..*", "", "Sends the upstream server a request without model or messages", LOSES),
    # Requests and functions
    Row(r"requests\..*", "", "Does not send the requests that the conversation needs", LOSES),
    Row(CONVERSATION, "missing", "Omits parts of `{part}` from a request", LOSES),
    Row(CONVERSATION, "unexpected", "Sends forbidden parts of `{part}`", LOSES),
    Row(CONVERSATION, "", "Sends a wrong `{part}`", LOSES),
    Row(REQUEST, "missing", "Omits `{part}` from a request", MISLEADS),
    Row(REQUEST, "unexpected", "Sends `{part}`, which must be absent", MISLEADS),
    Row(REQUEST, "", "Sends a wrong `{part}`", MISLEADS),
    Row(r"output\.heal", "", "Repairs arguments incorrectly", RUNS),
    Row(r"output\.partial", "", "Parses partial JSON incorrectly", LOSES),
    Row(r"output\.assemble", "", "Assembles tool calls incorrectly", RUNS),
    Row(r"output\..*", "", "Counts tokens incorrectly", BILLS),
    # Any other path
    Row(".*", "null empty", "Does not expose `{path}`", HIDES),
    Row(".*", "", "Reports a wrong `{path}`", MISLEADS),
)

BLOCK_NAMES: Final = {
    "refusal": "a refusal",
    "other": "blocks of other types",
    "tool_call": "a tool call",
}
"""How headlines refer to block types whose own names do not work as nouns."""

WRONG_BLOCKS: Final = "missing|merged|extra|split|as-other|elsewhere"

FOLDS: Final[tuple[tuple[str, str, str], ...]] = (
    ("status", "complete-.*", r"(?!content\.).*"),
    ("status", ".*", ".*"),
    (r"content\.length", ".*", r"content\..*|invariant\..*"),
    # What is wrong with blocks of other types is not a consequence of a split block.
    *(
        (rf"content\.\*\.{type_}", "split", rf"content\.(length|\*\.{type_}(\..*)?)|invariant\..*")
        for type_ in ("thinking", "text", "refusal")
    ),
    (r"content\.\*\.[a-z_]+", WRONG_BLOCKS, r"content\..*|invariant\..*"),
    (r"content\.complete_calls", ".*", rf"{CALL}\..*"),
    (rf"{CALL}\.name", ".*", rf"{CALL}\.(arguments|arguments_text|complete)"),
    (rf"{CALL}\.complete", ".*", rf"{CALL}\.arguments(_text)?"),
    (rf"{CALL}\.arguments", ".*", rf"{CALL}\.arguments_text"),
    (r"usage\.(input|output)", ".*", r"usage\..*|cost|invariant\.last-usage"),
    (r"usage.*", ".*", r"cost|invariant\.last-usage"),
    (r"stop\.reason", ".*", r"stop\.raw"),
)
"""(path, kind, paths of consequences) as regular expressions. The first row whose path and kind match a
difference is the difference's rank.

A failed check that is a consequence of another failed check in the same trial is listed below it and is never
the cause. A cause has a lower rank than its consequences, so of any set of checks at least one is a cause. A
client that reports a broken stream as complete may also run an unfinished call; that is not a consequence.
"""


def find_row(difference: Difference) -> Row:
    """Return the first row that matches `difference`; the last row matches everything."""
    return next(
        row
        for row in ROWS
        if _matches(row.path, difference.path) and (not row.kinds or difference.kind in row.kinds.split())
    )


def format_row(row: Row, difference: Difference, exception: str = "an exception") -> str:
    """Return the headline of `row` for `difference`, on one line."""
    words = {name: escape_line(word, 80) for name, word in difference.words.items()}
    block = difference.path.split(".")[2] if difference.path.startswith("content.*.") else "content"
    values = {
        "path": escape_line(difference.path, 120),
        "exception": escape_line(exception, 120),
        "block": escape_line(block, 80),
        **words,
    }
    for name in ("block", "other"):
        values[name] = BLOCK_NAMES.get(values.get(name, ""), values.get(name, ""))
    return row.headline.format_map(values)


def find_roots(differences: Sequence[Difference]) -> list[bool]:
    """Return for each difference whether it is a root: not a consequence of any of the others."""
    ranks = [_find_rank(difference.path, difference.kind) for difference in differences]
    causes = sorted(set(ranks) - {len(FOLDS)})
    return [
        not any(cause < rank and _may_follow(cause, difference.path) for cause in causes)
        for difference, rank in zip(differences, ranks, strict=True)
    ]


# Cached, because a results file has tens of thousands of checks and few distinct paths; bounded, because a
# file may have others.
@lru_cache(1024)
def _find_rank(path: str, kind: str) -> int:
    """Return the index of the first row of `FOLDS` that matches, or the number of rows if none does."""
    rows = enumerate(FOLDS)
    return next((rank for rank, row in rows if _matches(row[0], path) and _matches(row[1], kind)), len(FOLDS))


@lru_cache(1024)
def _may_follow(cause: int, path: str) -> bool:
    return _matches(FOLDS[cause][2], path)


def _matches(pattern: str, text: str) -> bool:
    # With DOTALL, because a path in a results file can hold a line end.
    return re.fullmatch(pattern, text, re.DOTALL) is not None
