"""`conform compare`: run implementations over a folder of recordings, without expectations."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console

from streamconform import reports
from streamconform._version import __version__
from streamconform.adapters.build import run_build
from streamconform.adapters.connect import connect
from streamconform.cli import commands, completion, options
from streamconform.config import ProjectSettings, read_settings
from streamconform.conservation import Balance, require_balance
from streamconform.errors import UsageError
from streamconform.model.case import Case
from streamconform.model.result import ImplementationInfo
from streamconform.model.trial import DELIVERIES, DELIVERY_SETS, VARIANTS, find_transport
from streamconform.printable import escape_line
from streamconform.reports.style import PlainConsole, StyledLine, make_console, make_text
from streamconform.reports.terminal import describe_implementation
from streamconform.run.exits import Exit, RunSummary, choose_exit, select_exit
from streamconform.run.workers import count_default_workers
from streamconform_capture.cli.examine_progress import ExamineProgress
from streamconform_capture.cli.pulling import cache_option, pull_missing
from streamconform_capture.compare import drive, store, work
from streamconform_capture.compare.comparison import Comparison, to_json
from streamconform_capture.compare.engines import Engine
from streamconform_capture.compare.engines.local import InlineEngine, ProcessEngine
from streamconform_capture.compare.findings import Finding
from streamconform_capture.compare.inputs import describe_nothing, measure_input
from streamconform_capture.compare.inputs.partition import PARTITION_BYTES, Partition
from streamconform_capture.compare.inputs.storage import make_absolute
from streamconform_capture.compare.job import Job
from streamconform_capture.compare.part import Part, add_parts
from streamconform_capture.compare.report import format_lines, format_markdown
from streamconform_capture.compare.sample import By, SampleRequest
from streamconform_capture.corpus import cache
from streamconform_capture.corpus.sources import SOURCES

REPORTS: Final[Mapping[str, Callable[[Comparison, bool], str]]] = {
    "json": lambda comparison, text: to_json(comparison, text=text),
    "markdown": lambda comparison, text: format_markdown(comparison, text=text),
}
WITHOUT_TEXT: Final = frozenset({"markdown"})
"""Reports that omit recorded values by default: they often get committed, but recordings may be private."""
DEFAULT_EXAMPLES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """The options of the command, by the names that click passes."""

    impls: tuple[str, ...]
    corpus: tuple[str, ...]
    pull: bool
    where: str | None
    api: tuple[str, ...]
    deliver: str
    sample: int | None
    by: By
    examples: int
    report: tuple[str, ...]
    text: bool | None
    engine: str
    scheduler: str | None
    results: str | None
    minimise: str | None
    resume: bool
    partition_size: float
    seed: int | None
    workers: int | None
    timeout: float | None
    start_timeout: float | None
    quiet: int


@click.command("compare")
@click.argument("impls", nargs=-1, metavar="[IMPL]...", shell_complete=completion.complete_impls)
@click.option(
    "--corpus",
    required=True,
    multiple=True,
    metavar="PATH|URL|NAME",
    help="Recordings: a folder, a tar, zip, JSONL, Parquet or WARC file, the URL of one, or the name of a "
    "source that publishes some (docs/recorded.md). Repeatable.",
)
@click.option("--pull", is_flag=True, help="Fetch the recordings of named sources without a question.")
@cache_option
@click.option("--api", multiple=True, metavar="API", help="Only this API. Repeatable.")
@click.option(
    "--deliver",
    default="whole,random,windows",
    show_default=True,
    help="Deliveries or sets of them (fast, standard, full), separated by commas.",
)
@click.option("--sample", type=click.IntRange(min=1), help="Examine only this many recordings.")
@click.option(
    "--by",
    type=commands.Choice(["random", "shape"]),
    default="random",
    show_default=True,
    help="With --sample: select recordings at random, or with as many different shapes as possible.",
)
@click.option(
    "--examples",
    type=click.IntRange(min=0),
    default=DEFAULT_EXAMPLES,
    show_default=True,
    help="Number of recordings to list per cause, smallest first.",
)
@click.option(
    "--report",
    multiple=True,
    metavar="KIND=PATH",
    help="Also write a json or markdown report; a PATH of - means stdout.",
)
@click.option(
    "--text/--no-text",
    default=None,
    help="Show recorded values. [default: on the terminal and in json, but not in markdown]",
)
@click.option("--engine", type=commands.Choice(["local", "dask"]), default="local", show_default=True)
@click.option(
    "--scheduler", metavar="ADDRESS", help="Dask scheduler, as tcp://host:8786. [default: a local one]"
)
@click.option("--results", metavar="PATH|URL", help="Keep every finding in this folder, as Parquet files.")
@click.option(
    "--minimise",
    metavar="FOLDER",
    help="Minimise the examples, and write them here as cassettes and draft specs.",
)
@click.option("--resume", is_flag=True, help="Continue the run whose findings are in --results.")
@click.option(
    "--partition-size",
    type=click.FloatRange(min=0.001),
    default=PARTITION_BYTES / 2**20,
    show_default=True,
    help="Amount of data that a worker reads at a time, in MiB.",
)
@click.option("--seed", type=click.IntRange(min=0), help="Seed for the random chunk boundaries. [default: 0]")
@click.option("-n", "--workers", type=click.IntRange(min=1), help="Number of parallel workers.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Timeout per trial, in seconds.")
@options.start_timeout_option
@click.option("-q", "--quiet", count=True, help="Print only the last line; with -qq, nothing.")
@click.pass_context
def command(ctx: click.Context, /, **arguments: Any) -> None:
    """Run implementations over recordings, and show where they differ.

    \b
    conform compare mypkg --corpus recordings             against itself: deliveries, invariants
    conform compare reference mypkg --corpus recordings   against each other; the first is the baseline
    conform compare mypkg --corpus mirascope              recordings that mirascope publishes
    conform compare mypkg --corpus s3://bucket/a.parquet --engine dask --scheduler tcp://host:8786

    No expectation is needed: two implementations that differ cannot both be right, and an implementation
    whose outcome depends on the delivery is wrong. Exit codes: 0 no difference and no broken invariant, 1
    otherwise, 2 usage or input error, or a recording was not read, 3 implementation unusable, 4 a recording
    was lost, 130 interrupted.
    """
    given = CompareOptions(**arguments)
    started = time.perf_counter()
    settings = read_settings({key: arguments[key] for key in ("seed", "workers", "timeout", "start_timeout")})
    report_targets = [_parse_report(option) for option in given.report]
    job = _make_job(given, settings)
    given_inputs = _find_inputs(given)
    if job.results is not None:
        store.prepare(job, resume=given.resume)
    # A report on stdout is for a machine, so nothing else is printed there.
    quiet = 2 if any(path == "-" for _, path in report_targets) else given.quiet
    console = None if quiet else make_console(sys.stdout)
    # Before the workers start, so that an unusable implementation is reported once rather than once per
    # worker.
    implementations = work.get_examiner(job).implementations
    if console is not None:
        _print_head(console, implementations, job.seed)
    workers = settings.workers or count_default_workers()
    with ExamineProgress(console, given_inputs.total) as progress:
        examined = _examine(given, job, given_inputs, workers, progress)
    _check_found(examined, given_inputs.first, given.api)
    comparison = Comparison(
        version=__version__,
        implementations=implementations,
        deliveries=job.deliveries,
        seed=job.seed,
        found=examined.found,
        complete=examined.complete,
        minimised=_minimise(given, job, examined),
    )
    _report(comparison, report_targets, given.text, quiet, time.perf_counter() - started)
    # Not `quiet`: a report on stdout does not suppress a note on stderr.
    if not examined.complete and job.results is not None and given.quiet < 2:
        click.echo("`--resume` continues this run.", err=True)
    ctx.exit(_choose_exit(comparison))


def _make_job(given: CompareOptions, settings: ProjectSettings) -> Job:
    if given.resume and given.results is None:
        raise UsageError("`--resume` needs the `--results` of the run to continue")
    if given.scheduler is not None and given.engine != "dask":
        raise UsageError("`--scheduler` needs `--engine dask`")
    names = given.impls or settings.impl or ("reference",)
    run_build(settings.build, names, options.print_note)
    return Job(
        connections=tuple(connect(name) for name in names),
        deliveries=_parse_deliveries(given.deliver),
        seed=settings.selection.seed,
        timeout=settings.timeout or 10.0,
        start_timeout=settings.start_timeout,
        examples=given.examples,
        apis=frozenset(given.api),
        results=make_absolute(given.results) if given.results else None,
    )


@dataclass(frozen=True, slots=True)
class _Inputs:
    """The recordings to read."""

    first: str
    """The first input, as a path or a URL."""
    urls: tuple[str, ...]
    total: int
    """The size of all of them, in bytes."""
    partition: int
    """The size of a partition, in bytes."""


def _find_inputs(given: CompareOptions) -> _Inputs:
    """Return the inputs; sources that publish recordings are fetched, if the user agrees."""
    named = [name for name in given.corpus if name in SOURCES]
    pull_missing(named, given.where, agreed=given.pull)
    places = [_find_corpus(name, given.where) for name in given.corpus]
    return _Inputs(
        places[0],
        tuple(map(make_absolute, places)),
        sum(map(measure_input, places)),
        int(given.partition_size * 2**20),
    )


@dataclass(frozen=True, slots=True)
class _Examined:
    """What was found, and the cases of the examples to minimise."""

    found: Part
    complete: bool = True
    cases: Mapping[str, Case] = field(default_factory=dict)


def _examine(
    given: CompareOptions, job: Job, inputs: _Inputs, workers: int, progress: ExamineProgress
) -> _Examined:
    """Examine the recordings, until Ctrl-C."""

    def split(only: frozenset[str] | None = None) -> Iterator[Partition]:
        return drive.split_inputs(inputs.urls, inputs.partition, only)

    try:
        with _sigterm_as_ctrl_c(), _make_engine(given, workers, inputs) as engine:
            only, unread = None, Part()
            if given.sample is not None:
                request = SampleRequest(given.sample, given.by, job.seed, job.apis)
                sample = drive.choose_sample(request, engine, split())
                only, unread = sample.names, Part(listed=sample.not_read, unread=sample.unread)
            found = drive.examine_inputs(job, engine, split(only), progress.advance, resume=given.resume)
            if only is not None and not found.unread:
                # At most, because recordings of two inputs may have the same name.
                counts = {"examined": min(found.listed, len(only))}
                require_balance(Balance("recording", "selected for the sample", len(only), counts))
            found = add_parts((found, unread), job.examples)
            if given.minimise is None:
                return _Examined(found)
            return _Examined(found, cases=drive.fetch_recordings(found.examples, engine, split()))
    except KeyboardInterrupt:
        # Findings made before Ctrl-C are still reported.
        return _Examined(progress.found, complete=False)


def _check_found(examined: _Examined, location: str, apis: tuple[str, ...]) -> None:
    """Raise `LostError` if a recording was lost, and `UsageError` if there was none."""
    found = examined.found
    require_balance(found.balance)
    if examined.complete and not found.listed:
        raise UsageError(describe_nothing(location, apis))


def _minimise(given: CompareOptions, job: Job, examined: _Examined) -> Mapping[Finding, str]:
    """Minimise the examples, if the user asked for it; return the cassette of each one."""
    if given.minimise is None:
        return {}
    # Imported here, because it imports the grammars of all APIs and the importers.
    from streamconform_capture.compare.minimise_examples import minimise_examples

    return minimise_examples(examined.found, examined.cases, job, Path(given.minimise))


def _print_head(
    console: Console | PlainConsole, implementations: Iterable[ImplementationInfo], seed: int
) -> None:
    console.print(f"streamconform {__version__}, seed {seed}")
    for info in implementations:
        console.print(make_text(StyledLine(f"  {describe_implementation(info)}", "bold")))


def _make_engine(given: CompareOptions, workers: int, inputs: _Inputs) -> Engine:
    # For a single partition, starting a process takes longer than it saves.
    if given.engine == "local" and (workers == 1 or inputs.total <= inputs.partition):
        return InlineEngine()
    work.close_examiners()  # each worker starts its own programs
    if given.engine == "local":
        return ProcessEngine(workers)
    from streamconform_capture.compare.engines.dask import DaskEngine  # an extra

    return DaskEngine(given.scheduler, workers)


@contextmanager
def _sigterm_as_ctrl_c() -> Iterator[None]:
    # CI systems send SIGTERM, which must not leave workers running.
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _report(
    comparison: Comparison,
    targets: Sequence[tuple[str, str]],
    text: bool | None,  # noqa: FBT001 - an option with three values
    quiet: int,
    seconds: float,
) -> None:
    console = make_console(sys.stdout)
    if quiet < 2:
        *details, summary = format_lines(comparison, text=text is not False)
        for line in (summary,) if quiet else details:
            console.print(make_text(StyledLine(escape_line(line, 400))))
        if not quiet:
            console.print(make_text(StyledLine(f"{summary} in {seconds:.1f} s")))
    for kind, path in targets:
        with_text = kind not in WITHOUT_TEXT if text is None else text
        reports.write_text(path, REPORTS[kind](comparison, with_text))


def _choose_exit(comparison: Comparison) -> Exit:
    found = comparison.found
    code = choose_exit(
        RunSummary(
            interrupted=not comparison.complete,
            unexpected=bool(found.causes),
            attempted=frozenset(index for index, count in found.attempted.items() if count),
            answered=frozenset(index for index, count in found.answered.items() if count),
        )
    )
    return select_exit(code, Exit.USAGE if found.unread else Exit.EXPECTED)


def _find_corpus(name: str, cache_folder: str | None) -> str:
    """Return the path or URL of the recordings: a pulled source's folder, or else `name` itself.

    A source's name takes precedence; pass a folder of the same name as `./NAME`.
    """
    if name in SOURCES:
        return str(cache.locate_recordings(cache.locate_root(cache_folder), SOURCES[name]))
    return name


def _parse_deliveries(option: str) -> tuple[str, ...]:
    """Return the deliveries that `option` names, in the order of `DELIVERIES`. Raises `UsageError`."""
    names: set[str] = set()
    # A variant is expected to have another outcome, and a recording has no expectation. It is compared as it
    # was sent, which is over HTTP.
    usual = tuple(name for name in DELIVERIES if name not in VARIANTS and find_transport(name) == "http")
    sets: dict[str, tuple[str, ...]] = {
        name: of_set for name, of_set in DELIVERY_SETS.items() if name != "variants"
    }
    for word in (part.strip() for part in option.split(",")):
        if word not in sets and word not in usual:
            known = ", ".join((*sets, *usual))
            raise UsageError(f"no delivery `{word}`; expected one of {known}")
        names.update(sets.get(word, (word,)))
    return tuple(name for name in usual if name in names)


def _parse_report(option: str) -> tuple[str, str]:
    kind, equals, path = option.partition("=")
    if kind not in REPORTS or not equals or not path:
        kinds = " or ".join(f"`{name}`" for name in REPORTS)
        raise UsageError(f"`--report {option}`: expected KIND=PATH, where KIND is {kinds}")
    return kind, path
