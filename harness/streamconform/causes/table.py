"""A table with the id, the headline and the harm of each kind of difference; the first match applies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, Literal, get_args

from msgspec import Struct

from streamconform.causes.difference_kinds import Difference
from streamconform.printable import escape_line

Harm = Literal[
    "runs a wrong or unfinished call",
    "gives an answer to the wrong user",
    "reports a broken stream as success",
    "crashes on a valid stream",
    "loses or changes content",
    "keeps the provider generating, and billing, after the user pressed stop",
    "pays for an answer twice",
    "hangs, or keeps an overloaded server busy",
    "runs out of memory with many slow users",
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
KEEPS_BILLING: Final[Harm] = "keeps the provider generating, and billing, after the user pressed stop"
PAYS_TWICE: Final[Harm] = "pays for an answer twice"
NEVER_ENDS: Final[Harm] = "hangs, or keeps an overloaded server busy"
FILLS_MEMORY: Final[Harm] = "runs out of memory with many slow users"
LEAKS: Final[Harm] = "gives an answer to the wrong user"
BILLS: Final[Harm] = "bills incorrectly"
MISLEADS: Final[Harm] = "wrong metadata"
HIDES: Final[Harm] = "exposes less"


class Row(Struct, frozen=True):
    """A headline for the differences whose path and kind match."""

    path: str
    """A regular expression for the whole path, in which `*` stands for an index."""
    kinds: str
    """Kinds of difference, separated by spaces; empty for any kind."""
    id: str
    """Names the cause in known-failures files, so it must not change; may contain placeholders."""
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
    Row(
        "status",
        RAISED_BEFORE_SENDING,
        "raises-before-sending",
        "Raises {exception} before it sends a request",
        CRASHES,
    ),
    Row("status", RAISED, "raises-on-valid-stream", "Raises {exception} on a valid stream", CRASHES),
    Row(
        "status",
        RAISED_ON_BROKEN,
        "raises-on-broken-stream",
        "Raises {exception} on a broken stream",
        MISLEADS,
    ),
    Row(
        "status",
        "timeout-on-error",
        "no-answer-after-http-error",
        "Does not answer after an HTTP error, as if it waits to retry",
        MISLEADS,
    ),
    Row("status", "timeout", "no-answer", "Does not answer before the timeout", CRASHES),
    Row(
        "status",
        "timeout-on-broken",
        "no-answer-after-break",
        "Does not answer after the stream breaks",
        LOSES,
    ),
    Row(
        "status",
        "error-instead-of-complete incomplete-instead-of-complete",
        "missing-end-marker-as-broken",
        "Reports a stream that lacks only its end marker as broken",
        MISLEADS,
    ),
    Row(
        "status",
        "complete-instead-of-incomplete complete-instead-of-error",
        "missing-end-marker-unnoticed",
        "Does not notice that the end marker is missing",
        MISLEADS,
    ),
    Row(
        "status",
        RAISED_ON_REFUSABLE,
        "raises-on-refusable",
        "Raises {exception} on an answer that it may refuse",
        HIDES,
    ),
    Row(
        "status",
        "error-for-refusable",
        "refusable-as-error",
        "Reports an answer that it may refuse as an error",
        HIDES,
    ),
    Row(
        "status", "complete-for-failed", "failed-as-complete", "Reports a failed answer as complete", MISLEADS
    ),
    Row("status", "complete-for-cut", "cut-as-complete", "Reports a cut stream as complete", SUCCEEDS),
    Row(
        "status", "complete-for-error", "error-as-complete", "Reports an error as a complete answer", SUCCEEDS
    ),
    Row("status", "error-for-complete", "valid-as-error", "Reports a valid stream as an error", CRASHES),
    Row("status", "incomplete-for-complete", "complete-as-cut", "Reports a complete stream as cut", LOSES),
    Row("status", "error-for-cut", "cut-as-error", "Reports a cut stream as an error", MISLEADS),
    Row("status", "incomplete-for-error", "error-as-cut", "Reports an error as a cut stream", MISLEADS),
    Row("status", "", "wrong-status", "Reports a wrong status", MISLEADS),
    # Calls
    Row(
        r"content\.complete_calls",
        "",
        "unfinished-call-executable",
        "Reports an unfinished call as executable",
        RUNS,
    ),
    Row(
        rf"{CALL}\.complete",
        "true-for-false null-for-false",
        "unfinished-call-executable",
        "Reports an unfinished call as executable",
        RUNS,
    ),
    Row(
        rf"{CALL}\.complete",
        "null",
        "call-completeness-hidden",
        "Does not say whether a call is complete",
        HIDES,
    ),
    Row(
        rf"{CALL}\.complete",
        "",
        "finished-call-incomplete",
        "Does not mark a finished call as complete",
        LOSES,
    ),
    Row("body|output", RAISED, "raises-when-called", "Raises {exception} when called", CRASHES),
    Row(CALL, "merged", "calls-merged", "Merges several tool calls into one", RUNS),
    Row(CALL, "split", "call-split", "Splits a tool call into several", RUNS),
    Row(
        CALL,
        "of-provider",
        "executor-confused",
        "Confuses client calls with calls that the provider runs",
        RUNS,
    ),
    Row(CALL, "extra", "call-invented", "Reports a tool call that is not in the stream", RUNS),
    Row(
        f"{CONTENT}|{CALL}", "elsewhere", "blocks-reordered", "Reports the blocks in a different order", LOSES
    ),
    Row(CALL, "as-other", "call-as-{other}", "Reports a tool call as {other}", LOSES),
    Row(CALL, "", "calls-lost", "Loses tool calls", LOSES),
    Row(
        rf"{CALL}\.arguments",
        "cut",
        "unfinished-call-executable",
        "Reports an unfinished call as executable",
        RUNS,
    ),
    Row(rf"{CALL}\.arguments", "null", "arguments-lost", "Loses the arguments of a call", LOSES),
    Row(rf"{CALL}\.arguments", "empty", "arguments-empty", "Returns a call with empty arguments", RUNS),
    Row(rf"{CALL}\.arguments", "unparsed", "arguments-unparsed", "Returns arguments as unparsed text", LOSES),
    Row(rf"{CALL}\.arguments", "repaired", "arguments-repaired", "Repairs arguments that do not parse", RUNS),
    Row(
        rf"{CALL}\.arguments",
        "parts-missing",
        "arguments-partly-lost",
        "Loses parts of a call's arguments",
        RUNS,
    ),
    Row(rf"{CALL}\.arguments", "", "arguments-wrong", "Returns a call with wrong arguments", RUNS),
    Row(
        rf"{CALL}\.arguments_text",
        "null",
        "arguments-text-hidden",
        "Does not expose the text of a call's arguments",
        HIDES,
    ),
    Row(
        rf"{CALL}\.arguments_text",
        "",
        "arguments-text-changed",
        "Changes the text of a call's arguments",
        MISLEADS,
    ),
    Row(rf"{CALL}\.name", "null empty", "call-name-lost", "Loses the name of a call", LOSES),
    Row(rf"{CALL}\.name", "", "call-name-wrong", "Returns a call with a wrong name", RUNS),
    Row(rf"{CALL}\.id", "null empty", "call-id-lost", "Loses the id of a call", MISLEADS),
    Row(rf"{CALL}\.id", "", "call-id-wrong", "Reports a different id for a call", MISLEADS),
    Row(
        rf"{CALL}\.executor",
        "",
        "executor-confused",
        "Confuses client calls with calls that the provider runs",
        RUNS,
    ),
    # Content
    Row(".*", "not-json", "number-not-json", "Returns numbers that JSON cannot represent", LOSES),
    Row(
        r"content\.kept",
        "",
        "content-dropped-at-break",
        "Drops content that arrived before the stream broke",
        LOSES,
    ),
    Row(r"content\.length", "", "block-count-wrong", "Reports a wrong number of content blocks", LOSES),
    Row(
        r"content\.\*\.thinking\.signature",
        "null empty",
        "signature-lost",
        "Loses the signature of thinking",
        LOSES,
    ),
    Row(
        r"content\.\*\.thinking\.signature",
        "",
        "signature-changed",
        "Changes the signature of thinking",
        LOSES,
    ),
    Row(
        r"content\.\*\.thinking\.redacted",
        "",
        "redaction-confused",
        "Confuses redacted with unredacted thinking",
        MISLEADS,
    ),
    Row(
        CONTENT,
        "signature",
        "signature-as-thinking",
        "Reports another block's signature as thinking",
        MISLEADS,
    ),
    Row(CONTENT, "missing", "{block}-lost", "Loses {block}", LOSES),
    Row(CONTENT, "merged", "{block}-merged", "Merges several blocks of {block} into one", LOSES),
    Row(CONTENT, "as-other", "{block}-as-{other}", "Reports {block} as {other}", LOSES),
    Row(CONTENT, "split", "{block}-split", "Splits {block} into several blocks", MISLEADS),
    Row(CONTENT, "extra", "{block}-invented", "Reports {block} that is not in the stream", LOSES),
    Row(CONTENT, "empty null", "{block}-lost", "Loses {block}", LOSES),
    Row(CONTENT, "truncated", "{block}-truncated", "Truncates {block}", LOSES),
    Row(CONTENT, "start-lost", "{block}-start-lost", "Loses the beginning of {block}", LOSES),
    Row(CONTENT, "part-lost", "{block}-partly-lost", "Loses parts of {block}", LOSES),
    Row(CONTENT, "twice", "{block}-repeated", "Repeats {block}", LOSES),
    Row(CONTENT, "added", "{block}-added", "Adds extra content to {block}", LOSES),
    Row(CONTENT, "garbled", "{block}-garbled", "Garbles characters in {block}", LOSES),
    Row(CONTENT, "reordered", "{block}-reordered", "Changes the order of {block}", LOSES),
    Row(CONTENT, "", "{block}-changed", "Changes {block}", LOSES),
    Row(r"content\.\*\..*", "null empty", "{path}-lost", "Loses `{path}`", LOSES),
    Row(r"content\..*", "", "{path}-wrong", "Reports a wrong `{path}`", LOSES),
    # Usage and cost
    Row(
        r"usage\.input",
        "without-cache",
        "input-without-cache",
        "Reports only the uncached part of the prompt",
        BILLS,
    ),
    Row(r"usage\.input", "with-hidden", "{hidden}-hidden", "Does not expose {hidden}", HIDES),
    Row(r"usage\.input", "with-cache", "cached-tokens-twice", "Counts cached tokens again as input", BILLS),
    Row(r"usage\.output", "with-reasoning", "reasoning-tokens-twice", "Counts reasoning tokens twice", BILLS),
    Row(
        r"usage\.output",
        "without-reasoning",
        "output-without-reasoning",
        "Leaves reasoning tokens out of the output",
        BILLS,
    ),
    Row(r"usage\.(input|output)", "null", "usage-lost", "Loses usage", BILLS),
    Row(r"usage\.[a-z_0-9]+", "null", "{bucket}-hidden", "Does not expose the number of {bucket}", HIDES),
    Row(r"usage\.[a-z_0-9]+", "zero", "{bucket}-zero", "Reports 0 {bucket}", BILLS),
    Row(
        r"usage\.[a-z_0-9]+",
        "zero-for-null",
        "zero-for-no-count",
        "Reports 0 tokens, although the stream has no count",
        MISLEADS,
    ),
    Row(
        r"usage\.[a-z_0-9]+",
        "unexpected",
        "count-invented",
        "Reports a token count that the stream does not have",
        BILLS,
    ),
    Row(r"usage\.(input|output)", "too-large", "tokens-too-many", "Reports too many tokens", BILLS),
    Row(r"usage\.(input|output)", "too-small", "tokens-too-few", "Reports too few tokens", BILLS),
    Row(
        r"usage\.[a-z_0-9]+",
        "sum",
        "usage-summed",
        "Adds up usage reports instead of using the last one",
        BILLS,
    ),
    Row(r"usage\.[a-z_0-9]+", "too-large", "{bucket}-too-many", "Reports too many {bucket}", BILLS),
    Row(r"usage\.[a-z_0-9]+", "too-small", "{bucket}-too-few", "Reports too few {bucket}", BILLS),
    Row("usage", "unexpected", "usage-invented", "Reports usage, although the stream has none", BILLS),
    Row(r"usage.*", "", "usage-wrong", "Reports wrong usage", BILLS),
    Row("cost", "null", "cost-missing", "Does not compute the cost", BILLS),
    Row("cost", "too-large", "cost-too-high", "Computes too high a cost", BILLS),
    Row("cost", "too-small", "cost-too-low", "Computes too low a cost", BILLS),
    Row("cost", "unexpected", "cost-invented", "Computes a cost that cannot be known", BILLS),
    Row("cost", "", "cost-wrong", "Computes a wrong cost", BILLS),
    # Metadata
    Row(r"stop\.reason", "null", "stop-reason-missing", "Does not report why the answer ended", MISLEADS),
    Row(
        r"stop\.reason",
        "unexpected",
        "stop-reason-invented",
        "Reports a stop reason that the stream does not have",
        MISLEADS,
    ),
    Row(r"stop\.reason", "other", "stop-reason-other", "Reports a known stop reason as `other`", MISLEADS),
    Row(r"stop\.reason", "", "stop-reason-wrong", "Reports a wrong stop reason", MISLEADS),
    Row(
        r"stop\.raw",
        "null",
        "raw-stop-reason-hidden",
        "Does not expose the provider's own stop reason",
        HIDES,
    ),
    Row(r"stop\.raw", "", "raw-stop-reason-changed", "Changes the provider's own stop reason", MISLEADS),
    Row(
        "error",
        "unexpected",
        "error-beside-complete",
        "Reports an error along with a complete answer",
        MISLEADS,
    ),
    Row(r"error(\..*)?", "null empty", "{path}-hidden", "Does not expose the provider's `{path}`", HIDES),
    Row(r"error(\..*)?", "", "{path}-wrong", "Reports a wrong `{path}`", MISLEADS),
    Row("model|response_id", "null empty", "{path}-hidden", "Does not expose `{path}`", HIDES),
    # Rules for every stream
    Row(r"invariant\.unique-ids", "null", "call-without-id", "Returns a call without an id", MISLEADS),
    Row(r"invariant\.unique-ids", "", "call-ids-repeated", "Gives two calls the same id", MISLEADS),
    Row(
        r"invariant\.outcome-schema",
        "",
        "outcome-malformed",
        "Returns an outcome that is not in the normal form",
        LOSES,
    ),
    Row(
        r"invariant\.event-schema",
        "",
        "events-malformed",
        "Sends no events, or events that are not in the normal form",
        LOSES,
    ),
    Row(
        r"invariant\.streaming", "", "answer-held-back", "Holds back the answer until the stream ends", HIDES
    ),
    Row(
        r"invariant\.(deltas-sum|every-block-told)",
        "",
        "streamed-content-differs",
        "Streams different content from what it returns",
        LOSES,
    ),
    Row(
        r"invariant\.last-usage",
        "",
        "streamed-usage-differs",
        "Streams different usage from what it returns",
        BILLS,
    ),
    Row(r"invariant\..*", "", "{path}", "Sends events that contradict each other (`{path}`)", MISLEADS),
    # Rules for proxies and servers, whose checks have a message instead of values
    Row(
        r"grammar\..*|(document|answer|count)\..+",
        "",
        "{path}",
        "Breaks a rule of the API (`{path}`)",
        MISLEADS,
    ),
    Row(r"http\.content-type", "", "content-type-wrong", "Answers with a wrong content type", MISLEADS),
    Row(r"http\..*", "", "{path}", "Answers with a wrong status or an incomplete body (`{path}`)", MISLEADS),
    Row(r"websocket\..*", "", "{path}", "Breaks a rule of WebSockets (`{path}`)", MISLEADS),
    Row(
        r"refusal\..*",
        "",
        "{path}",
        "Answers with an error that is not in the client's format (`{path}`)",
        MISLEADS,
    ),
    Row(
        r"upstream\.prompt",
        "",
        "upstream-prompt-changed",
        "Changes the prompt on the way to the upstream server",
        LOSES,
    ),
    Row(
        r"upstream\.tools",
        "",
        "upstream-tools-changed",
        "Changes the tools on the way to the upstream server",
        LOSES,
    ),
    Row(
        r"upstream\..*",
        "",
        "upstream-request-incomplete",
        "Sends the upstream server a request without model or messages",
        LOSES,
    ),
    # Connections and retries
    Row(
        r"connection\.closed",
        "",
        "connection-left-open",
        "Does not close the connection of an answer that it leaves",
        KEEPS_BILLING,
    ),
    Row(
        r"connection\.not-reused",
        "",
        "left-connection-reused",
        "Sends a request on the connection of an answer that has not ended",
        LEAKS,
    ),
    Row(
        r"connection\.reused",
        "",
        "connection-not-reused",
        "Opens a connection for each request",
        HIDES,
    ),
    Row(r"requests\.same", "", "retry-changed", "Sends another body when it retries", PAYS_TWICE),
    Row(
        r"requests\.count",
        "repeated",
        "answer-asked-for-again",
        "Asks again for an answer that had begun",
        PAYS_TWICE,
    ),
    Row(
        r"requests\.count",
        "rejected",
        "rejected-request-retried",
        "Retries a request that was rejected",
        NEVER_ENDS,
    ),
    Row(r"requests\.count", "", "retried-endlessly", "Sends more requests than it should", NEVER_ENDS),
    Row(r"buffer\.bounded", "", "buffer-unbounded", "Reads ahead without a limit", FILLS_MEMORY),
    Row(r"outcomes?", "", "answer-never-ends", "Neither ends nor fails", NEVER_ENDS),
    Row(r"outcomes\.length", "", "answers-missing", "Does not report an outcome for each request", LOSES),
    Row(r"outcomes\.content", "", "answers-mixed", "Changes an answer when it reads several", LEAKS),
    # Requests and functions
    Row(
        r"requests\.length",
        "",
        "requests-missing",
        "Does not send the requests that the conversation needs",
        LOSES,
    ),
    Row(r"request\.prefix\..*", "", "{part}-changed", "Does not repeat the request before (`{part}`)", LOSES),
    Row(r"request\.bytes\..*", "", "{part}-changed", "Rewrites the request before (`{part}`)", BILLS),
    Row(CONVERSATION, "missing", "{part}-missing", "Omits parts of `{part}` from a request", LOSES),
    Row(CONVERSATION, "unexpected", "{part}-forbidden", "Sends forbidden parts of `{part}`", LOSES),
    Row(CONVERSATION, "", "{part}-wrong", "Sends a wrong `{part}`", LOSES),
    Row(REQUEST, "missing", "{part}-missing", "Omits `{part}` from a request", MISLEADS),
    Row(REQUEST, "unexpected", "{part}-forbidden", "Sends `{part}`, which must be absent", MISLEADS),
    Row(REQUEST, "", "{part}-wrong", "Sends a wrong `{part}`", MISLEADS),
    Row(r"output\.heal", "", "healing-wrong", "Repairs arguments incorrectly", RUNS),
    Row(r"output\.partial", "", "partial-json-wrong", "Parses partial JSON incorrectly", LOSES),
    Row(r"output\.assemble", "", "assembly-wrong", "Assembles tool calls incorrectly", RUNS),
    Row(r"output\..*", "", "token-count-wrong", "Counts tokens incorrectly", BILLS),
    # Any other path
    Row(".*", "null empty", "{path}-hidden", "Does not expose `{path}`", HIDES),
    Row(".*", "", "{path}-wrong", "Reports a wrong `{path}`", MISLEADS),
)

MAX_SLUG: Final = 80
"""The maximum length of a word in an id; paths and names may come from a hostile answer."""
_NOT_IN_ID: Final = re.compile(r"(?:[^a-z0-9.]|(?<![a-z0-9])\.|\.(?![a-z0-9]))+")
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


def format_id(row: Row, difference: Difference) -> str:
    """Return the id of the cause of `difference`, which has only lower-case letters, digits, `.` and `-`."""
    block = difference.path.split(".")[2] if difference.path.startswith("content.*.") else "content"
    values = {"path": difference.path, "block": block, **difference.words}
    id_ = row.id.format_map({name: slugify(word) for name, word in values.items()})
    return id_ or "unknown"


def slugify(text: str) -> str:
    """Return `text` in lower case, with `-` for everything that is neither a letter, a digit nor a dot."""
    return _NOT_IN_ID.sub("-", text[:MAX_SLUG].lower()).strip("-.")


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
