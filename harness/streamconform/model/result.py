"""The lines of `results.jsonl`: these types define the format.

The reader, the writer and the JSON Schema `results.v1` follow the types; descriptions go into the schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from streamconform.errors import Problem
from streamconform.model.case import Level
from streamconform.model.trial import Input
from streamconform.model.verdict import UNEXPECTED, Check, Count, Culprit, Verdict

REFUSED: Final = "refused to send"
"""The beginning of the reason for a trial that is skipped because the client refused to send the request."""
CRASHED: Final = "crashes before it sends"
"""The beginning of the reason for a trial in which the client raised anything else before it sent."""
RULES: Final = 2
"""The version of the rules for verdicts. CHANGELOG lists what each version changes."""
SUITE_FIELDS: Final = ("version", "rules", "cases", "trials", "digest")
"""Fields of `Header` that the file nests in `suite`."""
WRITTEN_ALWAYS: Final = frozenset(
    {"kind", "schema", "rules", "checks", "passed", "expected", "got", "frames", "where"}
)
"""Fields that are written even if they have their default value; other fields are then left out."""

Positive = Annotated[int, Meta(ge=1)]
Index = Annotated[Count, "Index into the header's list."]


@dataclass(frozen=True, slots=True)
class Raised:
    """The exception that the library raised; each text is a single line of limited length."""

    type: Annotated[str, "Its class, for example `openai.APIError`."]
    message: Annotated[str, "Its message on one line, shortened to 500 characters before escaping."]
    where: Annotated[
        str | None,
        "The innermost frame inside the library, for example `openai/_streaming.py:61 in __stream__`.",
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What the client's processes used for one trial; reported, and never judged."""

    stream: Annotated[Count, "Bytes of the stream."]
    memory: Annotated[Count | None, "Peak of their resident memory in bytes; null where the system hides it."]
    cpu_ms: Annotated[Count | None, "Milliseconds of CPU time; null where the system hides it."]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImplementationInfo:
    """An implementation: its own name and version, and how the suite reached it."""

    name: Annotated[str, "The implementation's own name."]
    version: Annotated[str | None, "Its version."]
    language: Annotated[str | None, "Its programming language."]
    issues: Annotated[str | None, "Where to report bugs."]
    impl: Annotated[str, "The value of --impl."]
    input: Annotated[Input, "The input mode."]
    claims: Annotated[
        Mapping[str, tuple[str, ...]] | None,
        "The claimed capabilities per API; `common` contains those for functions.",
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The first line: the suite, the implementations and the selection."""

    kind: Literal["header"] = "header"
    schema: Literal["results.v1"] = "results.v1"
    date: Annotated[
        Annotated[str, Meta(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$")] | None, "The day the run began, in UTC."
    ] = None
    command: Annotated[str | None, "The command line of the run."] = None
    platform: Annotated[
        str | None, "Where the run took place: Python version, operating system and processor."
    ] = None
    version: Annotated[str, "Version of streamconform."]
    rules: Annotated[Positive, "Version of the rules for verdicts; results without it have version 1."] = 1
    cases: Annotated[int, "Number of selected cases."]
    trials: Annotated[int, "Number of planned trials, over all implementations."]
    digest: Annotated[
        str | None, "Digest of the selected trials, their specs and their cassettes; --resume compares it."
    ] = None
    implementations: Annotated[
        tuple[ImplementationInfo, ...], "The implementations; trials refer to them by index."
    ]
    selection: Annotated[
        Mapping[str, Any], "The options that selected the trials: patterns, APIs, levels, deliveries."
    ]
    seed: Annotated[int, "Seed of the delivery `random`."]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """One line per trial, written as the trial ends."""

    kind: Literal["trial"] = "trial"
    implementation: Index
    id: Annotated[str, "api/topic/case@delivery; for a case without bytes, common/topic/case"]
    case: Annotated[str, "api/topic/case"]
    delivery: Annotated[str | None, "Delivery or fault; null for a case without bytes."]
    level: Annotated[Level, "The level of the case."]
    verdict: Annotated[Verdict, "The verdict; faulted: no valid answer; stale: a known failure that passed."]
    culprit: Annotated[Culprit | None, "Who is at fault; null if nothing is wrong."]
    ms: Annotated[float, Meta(ge=0), "Milliseconds until the answer arrived."]
    checks: Annotated[tuple[Check, ...], "The checks that did not pass."] = ()
    passed: Annotated[Count, "Number of checks that passed."] = 0
    reason: Annotated[
        str | None, "Why it was skipped, faulted or timed out; over HTTP, what was wrong with the requests."
    ] = None
    observation: Annotated[
        Mapping[str, Any] | None,
        "The implementation's answer; absent if the verdict is pass. `raised` is a `Raised`; `left_out` maps "
        "the members that are too large for the results to their sizes in bytes.",
    ] = None
    resources: Annotated[
        Resources | None, "What the client used; absent unless the case is about a size."
    ] = None
    known: Annotated[str | None, "The reason in the known-failures file."] = None
    tracked: Annotated[tuple[str, ...], "The issue of each known-failures entry that matches."] = ()
    title: Annotated[str | None, "The case's title; absent if everything passed."] = None
    guards: Annotated[
        tuple[str, ...], "The real bugs that the case catches; absent if everything passed."
    ] = ()
    not_exposed: Annotated[
        tuple[str, ...],
        "Paths, without indices, that the case names but the implementation leaves out; they are not judged.",
    ] = ()
    compared: Annotated[
        tuple[str, ...],
        "The claimed capabilities of which the case expects a value and at least one was compared. Recorded "
        "only for capabilities whose values can be absent, such as usage and signatures.",
    ] = ()
    uncompared: Annotated[
        tuple[str, ...],
        "The claimed capabilities of which the case expects a value, but the answer leaves out every one.",
    ] = ()
    unknown_keys: Annotated[
        tuple[str, ...],
        Meta(max_length=16),
        "Paths, without indices, of unknown keys in the outcome; they are not judged.",
    ] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UncomparedClaim:
    """A claimed capability of which no trial of a run compared a value, although some expected one."""

    implementation: Index
    capability: Annotated[str, "The claimed capability."]
    trials: Annotated[Positive, "Number of trials that expected a value, without known failures."]


@dataclass(frozen=True, slots=True, kw_only=True)
class Footer:
    """The last line; a file without it is truncated."""

    kind: Literal["footer"] = "footer"
    counts: Annotated[Mapping[str, int], "Trials by verdict."]
    exit: Annotated[int, "Exit code of the run."]
    complete: Annotated[bool, "false if the run was interrupted."]
    problems: Annotated[
        tuple[Problem, ...],
        "Entries of the known-failures files that are out of date. A message begins with stale, too-wide, "
        "unmatched, expired or duplicate, and says what to do.",
    ] = ()
    seconds: Annotated[
        float | None, "Duration of the run in seconds, from the start of the first program."
    ] = None
    lost: Annotated[
        tuple[str, ...],
        "Ids of planned trials without exactly one result, although the run ended by itself. At most 100.",
    ] = ()
    stopped: Annotated[str | None, "Why the run was stopped early, unless by --maxfail or a signal."] = None
    imported_reference: Annotated[
        tuple[bool | None, ...],
        "For each implementation, whether its process imported the bundled parser; null: unknown.",
    ] = ()
    claims: Annotated[
        tuple[UncomparedClaim, ...],
        "Claims that fail the run: some trial expected a value, but none compared one. Absent if the run "
        "ended early.",
    ] = ()


def is_unexpected(result: TrialResult, *, strict: bool) -> bool:
    """Return whether a result makes the run fail; if `strict`, a warning also does."""
    return result.verdict in UNEXPECTED or (strict and result.verdict == "warn")
