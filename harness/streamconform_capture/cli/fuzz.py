"""`conform fuzz`: judge implementations on generated answers, and minimise failing streams."""

from __future__ import annotations

import asyncio
import base64
import json
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from msgspec.structs import replace

from streamconform._version import __version__
from streamconform.adapters.build import run_build
from streamconform.adapters.connect import Connection
from streamconform.adapters.preflight import make_connections
from streamconform.apis import APIS, NAMES
from streamconform.cli import commands, completion, options
from streamconform.config import ProjectSettings, read_settings
from streamconform.errors import ConformError, UsageError
from streamconform.install import format_install
from streamconform.model.result import Header, TrialResult
from streamconform.model.trial import FAULTS_OVER_HTTP, Trial
from streamconform.plural import format_count
from streamconform.printable import escape_line
from streamconform.reports.causes import Cause, Failure, describe_harm, group_by_cause
from streamconform.reports.style import StyledLine, make_console, make_text
from streamconform.reports.summary import describe_incomplete
from streamconform.reports.terminal import describe_implementation
from streamconform.run.exits import Exit, select_exit
from streamconform.run.plan import Settings
from streamconform.run.session import SILENT, FinishedRun, RunRequest, execute_run
from streamconform.run.workers import count_default_workers
from streamconform_capture.minimise.search import MinimiseJob, Search
from streamconform_capture.minimise.write import write_result

if TYPE_CHECKING:
    from streamconform_capture.compare.inputs import RecordingFolder

DEFAULT_FOLDER: Final = "fuzz"
ROUND: Final = 100
"""The number of answers to generate per API and round; all rounds before a run is stopped are judged."""
MAX_TRIALS: Final = 400
MAX_SECONDS: Final = 30.0
"""Limits for reducing one stream; when one is reached, the smallest stream so far is kept."""


@dataclass(frozen=True, slots=True)
class GeneratedTrial:
    """A trial in a round, and the options that generate that round."""

    trial: Trial
    options: str


@dataclass(frozen=True, slots=True)
class Found:
    """A cause, the smallest stream that reproduces it, and the command that runs that stream."""

    cause: Cause
    failure: Failure
    """The failure with the smallest stream among those with this cause."""
    trial: Trial
    command: str | None
    """None if the stream could not be reduced; `reason` says why."""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FuzzOptions:
    """The options of the command, by the names that click passes."""

    impl: tuple[str, ...]
    input: str | None
    api: tuple[str, ...]
    mode: str
    corpus: str | None
    examples: int
    time_limit: float | None
    seed: int | None
    workers: int | None
    timeout: float | None
    start_timeout: float | None
    out: str


@click.command("fuzz")
@click.option(
    "-i",
    "--impl",
    multiple=True,
    metavar="IMPL",
    shell_complete=completion.complete_impls,
    help="Implementation to judge, as for `conform run`. Repeatable.",
)
@options.input_option
@click.option("--api", multiple=True, type=commands.Choice(NAMES), help="Only this API. Repeatable.")
@click.option(
    "--mode",
    type=commands.Choice(("generated", "differential")),
    default="generated",
    show_default=True,
    help="Compare each implementation with the generated answer, or the implementations with each other.",
)
@click.option(
    "--corpus",
    metavar="PATH",
    help="With --mode differential: recordings to mutate, instead of generated answers.",
)
@click.option(
    "--examples", type=click.IntRange(min=1), default=ROUND, show_default=True, help="Answers per API."
)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    help="Keep generating answers, with further seeds, for this many seconds.",
)
@click.option("--seed", type=click.IntRange(min=0), help="Seed for the first answers. [default: 0]")
@click.option("-n", "--workers", type=click.IntRange(min=1), help="Number of parallel workers.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Timeout per trial, in seconds.")
@options.start_timeout_option
@click.option(
    "--out",
    metavar="DIR",
    default=DEFAULT_FOLDER,
    show_default=True,
    help="Folder for the failing streams.",
)
@click.pass_context
def command(ctx: click.Context, /, **arguments: Any) -> None:
    """Judge implementations on generated answers.

    Valid answers for each API are generated from a seed: thinking, text, calls, usage. They are split into
    random pieces and delivered like recordings in a run, including as broken streams and with unknown fields
    and events. The generated answer is the expectation. For each cause of failure, the stream is reduced and
    written to --out as a cassette and a spec, for `conform run`.

    \b
    conform fuzz -i mypkg
    conform fuzz -i mypkg --api openai-chat --examples 2000 --seed 7
    conform fuzz -i mypkg --time-limit 600
    conform fuzz -i reference -i mypkg --mode differential --corpus recordings

    The same seed generates the same streams. Exit codes: 0 no failures, 1 failures, 2 usage error, or a
    recording was not read, 3 implementation unusable, 4 a trial or a recording was lost, 130 interrupted.
    """
    given = FuzzOptions(**arguments)
    settings = read_settings(
        {key: arguments[key] for key in ("impl", "input", "seed", "workers", "timeout", "start_timeout")}
    )
    try:
        import hypothesis  # noqa: F401 - an extra
    except ModuleNotFoundError as error:
        raise UsageError(f"`conform fuzz` needs hypothesis: {format_install('fuzz')}") from error
    if given.corpus and given.mode != "differential":
        raise UsageError("`--corpus` needs `--mode differential`: a mutated recording has no expected answer")
    if given.mode == "differential":
        ctx.exit(_compare(ctx, given, settings))
    ctx.exit(_judge(given, settings))


def _judge(given: FuzzOptions, settings: ProjectSettings) -> Exit:
    from streamconform_capture.fuzz.generate import Generator

    started = time.monotonic()
    console = make_console(sys.stdout)
    run_build(settings.build, settings.impl, options.print_note)
    connections = make_connections(settings.impl)
    apis = given.api or NAMES
    out = Path(given.out)
    trials: dict[str, GeneratedTrial] = {}
    failed: list[TrialResult] = []
    header: Header | None = None
    judged, code, lost = 0, Exit.EXPECTED, None
    for seed, size in _plan_rounds(settings.selection.seed, given.examples, given.time_limit, started):
        generated = [trial for api in apis for trial in Generator(api, seed).generate(size)]
        finished = _run(generated, connections, settings, out, seed)
        results = finished.results
        if header is None:
            header = results.header
            console.print(f"streamconform {__version__}, {_count_streams(generated)} per round, seed {seed}")
            for info in header.implementations:
                console.print(make_text(StyledLine(f"  {describe_implementation(info)}", "bold")))
        wrong = [result for result in results.trials if result.verdict in ("fail", "hang", "faulted")]
        kept = {result.id for result in wrong}
        words = f"--seed {seed} --examples {size}"
        # Only failures are kept, because with `--time-limit` all results would fill the memory.
        trials |= {trial.id: GeneratedTrial(trial, words) for trial in generated if trial.id in kept}
        failed += wrong
        judged += sum(result.verdict != "skipped" for result in results.trials)
        if finished.exit in (Exit.INTERRUPTED, Exit.BUG):
            code = finished.exit
            lost = describe_incomplete(results) if code is Exit.BUG else None
            break
    for number, cause in enumerate(group_by_cause(failed), 1):
        _print_cause(console, number, _reduce(cause, trials, connections, settings, out))
    seconds = time.monotonic() - started
    failures = f"{len(failed):,} of {format_count(judged, 'trial')} failed in {seconds:.1f} s"
    console.print(failures if lost is None else lost)
    return select_exit(
        code, Exit.UNEXPECTED if failed else Exit.EXPECTED, Exit.EXPECTED if judged else Exit.NOTHING
    )


def _plan_rounds(seed: int, examples: int, limit: float | None, started: float) -> Iterator[tuple[int, int]]:
    """Yield the seed and size of each round, until there are enough examples or the time is up."""
    for number in count():
        done = number * ROUND
        if limit is None and done >= examples:
            return
        if limit is not None and number and time.monotonic() - started > limit:
            return
        yield seed + number, ROUND if limit is not None else min(ROUND, examples - done)


def _count_streams(trials: Sequence[Trial]) -> str:
    return format_count(len({trial.case.id for trial in trials}), "answer")


def _run(
    trials: Sequence[Trial],
    connections: tuple[Connection, ...],
    settings: ProjectSettings,
    out: Path,
    seed: int,
) -> FinishedRun:
    """Judge the implementations; the last round's results are kept in `out`."""
    out.mkdir(parents=True, exist_ok=True)
    request = RunRequest(
        connections=connections,
        trials=tuple(trials),
        settings=Settings(
            workers=settings.workers or count_default_workers(),
            timeout=settings.timeout or 10.0,
            start_timeout=settings.start_timeout,
            seed=seed,
            input=settings.selection.input,
        ),
        selection={},
        # Causes do not need the relevant frames, which take time to find.
        blame=False,
    )
    return execute_run(
        request,
        out / "results.jsonl",
        replace(SILENT, on_long_wait=options.print_note),
    )


def _reduce(
    cause: Cause,
    trials: dict[str, GeneratedTrial],
    connections: tuple[Connection, ...],
    settings: ProjectSettings,
    out: Path,
) -> Found:
    """Return the cause with the smallest stream that reproduces it; that stream is written to `out`."""
    failures = [failure for failure in cause.failures if failure.first.id in trials]
    smallest = min(failures, key=lambda failure: len(trials[failure.first.id].trial.body))
    generated, connection = trials[smallest.first.id], connections[cause.implementation]
    trial = generated.trial
    kind = trial.delivery.partition(".")[0]
    if kind in FAULTS_OVER_HTTP:
        return Found(cause, smallest, trial, None, "a cassette cannot represent a broken connection")
    job = MinimiseJob(
        connection,
        (trial,),
        check=smallest.check.path if smallest.check is not None else None,
        input=settings.selection.input,
        timeout=settings.timeout or 10.0,
        start_timeout=settings.start_timeout,
        max_trials=MAX_TRIALS,
        seconds=MAX_SECONDS,
    )
    search = Search(job)
    recipe = f"conform fuzz -i {shlex.quote(connection.impl)} --api {trial.case.api} {generated.options}"
    try:
        asyncio.run(search.run())
        if search.best is None:
            return Found(cause, smallest, trial, None, "the search was interrupted")
        written = write_result(out, search, search.best, recipe)
    except ConformError as error:
        return Found(cause, smallest, trial, None, str(error))
    folders = f"--specs {shlex.quote(str(out / 'specs'))} --cassettes {shlex.quote(str(out / 'cassettes'))}"
    return Found(
        cause, smallest, trial, f"conform run -i {shlex.quote(connection.impl)} {folders} -k {written.id}"
    )


def _print_cause(console: Any, number: int, found: Found) -> None:
    cause = found.cause
    size = f"{format_count(cause.cases, 'answer')}, {format_count(cause.trials, 'trial')}"
    lines = [
        StyledLine(""),
        StyledLine(f"{number}. {cause.title}  {size}", "bold"),
        StyledLine(f"   {describe_harm(cause)}"),
    ]
    check = found.failure.check
    if check is not None:
        message = check.message or f"expected {check.expected!r}, got {check.got!r}"
        lines.append(StyledLine(f"   {found.trial.id}: {check.path}: {escape_line(message, 200)}"))
    if found.command is None:
        reason = escape_line(found.reason, 200)
        lines.append(StyledLine(f"   {found.trial.id} was not minimised: {reason}"))
    else:
        lines.append(StyledLine(f"   reproduce: {found.command}"))
    for line in lines:
        console.print(make_text(line))


def _compare(ctx: click.Context, given: FuzzOptions, settings: ProjectSettings) -> Exit:
    """Write the streams as JSON lines, compare the implementations on them, and return the exit code."""
    from streamconform_capture.cli import compare

    names = settings.impl or ("reference",)
    out = Path(given.out)
    out.mkdir(parents=True, exist_ok=True)
    path = out / "streams.jsonl"
    recordings = _read_corpus(given.corpus, given.api or NAMES) if given.corpus else None
    with path.open("w", encoding="utf-8") as file:
        for line in _list_streams(given, settings.selection.seed, recordings):
            file.write(json.dumps(line) + "\n")
    try:
        ctx.invoke(
            compare.command,
            impls=names,
            corpus=(str(path),),
            api=given.api,
            seed=settings.selection.seed,
            workers=settings.workers,
            timeout=settings.timeout,
            start_timeout=settings.start_timeout,
            minimise=str(out),
        )
    except click.exceptions.Exit as ended:
        is_read = recordings is None or not recordings.unread
        return select_exit(Exit(ended.exit_code), Exit.EXPECTED if is_read else Exit.USAGE)
    raise AssertionError("`conform compare` ends with an exit code")


def _read_corpus(location: str, apis: Sequence[str]) -> RecordingFolder:
    """Return the recordings to mutate, and list the others. Raises `UsageError` if there are none."""
    from streamconform_capture.compare import inputs

    found = inputs.read(location, apis)
    for unread in found.unread:
        click.echo(escape_line(f"not read: {unread.file}: {unread.reason}", 400), err=True)
    if not found.cases:
        raise UsageError(inputs.describe_nothing(location, apis))
    return found


def _list_streams(
    given: FuzzOptions, seed: int, recordings: RecordingFolder | None
) -> Iterator[dict[str, Any]]:
    from streamconform_capture.fuzz.generate import Generator
    from streamconform_capture.fuzz.mutate import mutate_body

    apis = given.api or NAMES
    if recordings is not None:
        for number in range(given.examples * len(apis)):
            case = recordings.cases[number % len(recordings.cases)]
            body = mutate_body(case.api, case.cassette.body, f"{seed}:{number}")
            yield _to_line(case.api, body, case.cassette.content_type)
    else:
        for api in apis:
            for trial in Generator(api, seed).generate(given.examples):
                # Two clients may rightly differ on a broken stream: one raises, another reports it as
                # incomplete.
                if trial.derived is None:
                    yield _to_line(api, trial.body, trial.case.cassette.content_type)


def _to_line(api: str, body: bytes, media_type: str) -> dict[str, Any]:
    encoded = base64.b64encode(body).decode()
    return {"api": APIS[api].name, "status": 200, "content_type": media_type, "body_base64": encoded}
