"""`conform compare`: run implementations over a folder of recordings, without expectations."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import click
from rich.text import Text

from streamconform import reports
from streamconform.adapters.connect import connect
from streamconform.cli import options
from streamconform.cli.corpus import cache_option
from streamconform.errors import UsageError
from streamconform.model.trial import DELIVERIES, DELIVERY_SETS
from streamconform.printable import escape_line
from streamconform.reports.terminal import Terminal
from streamconform.run.exits import Exit, select_exit
from streamconform.run.plan import Settings
from streamconform.run.session import FinishedRun, Progress, RunRequest, execute_run
from streamconform.suite.expand import expand
from streamconform.tools.compare import recordings
from streamconform.tools.compare.comparison import Comparison, to_json
from streamconform.tools.compare.gather import OutcomeCollector, count_endings, find_causes
from streamconform.tools.compare.report import format_lines, format_markdown
from streamconform.tools.corpus import cache
from streamconform.tools.corpus.sources import SOURCES

REPORTS: Final[Mapping[str, Callable[[Comparison, bool], str]]] = {
    "json": lambda comparison, text: to_json(comparison, text=text),
    "markdown": lambda comparison, text: format_markdown(comparison, text=text),
}
WITHOUT_TEXT: Final = frozenset({"markdown"})
"""Kinds without recorded values by default: Markdown gets committed, and recordings may be private."""
DEFAULT_EXAMPLES: Final = 3


@click.command("compare")
@click.argument("impls", nargs=-1, metavar="[IMPL]...")
@click.option(
    "--corpus",
    required=True,
    metavar="FOLDER|NAME",
    help="Folder of recordings: with a manifest.jsonl, or <api>/<name>.sse, .ndjson, .json, .jsonl. "
    "Or the name of a source that `conform corpus pull` fetched.",
)
@cache_option
@click.option("--api", multiple=True, metavar="API", help="Only this API. Repeatable.")
@click.option(
    "--deliver",
    default="whole,bytewise,random",
    show_default=True,
    help="Deliveries or sets of them (fast, standard, full), separated by commas.",
)
@click.option("--limit", type=click.IntRange(min=1), help="At most this many recordings of each API.")
@click.option(
    "--examples",
    type=click.IntRange(min=0),
    default=DEFAULT_EXAMPLES,
    show_default=True,
    help="Recordings listed per cause.",
)
@click.option(
    "--report", multiple=True, metavar="KIND=PATH", help="Also write json or markdown; PATH - is stdout."
)
@click.option(
    "--text/--no-text",
    default=None,
    help="Show recorded values. [default: on the terminal and in json, not in markdown]",
)
@click.option("--seed", type=click.IntRange(min=0), help="Seed for random cuts. [default: 0]")
@click.option("-n", "--workers", type=click.IntRange(min=1), help="Number of parallel workers.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Timeout of a trial in seconds.")
@click.option("-q", "--quiet", count=True, help="Print only the last line; with -qq, nothing.")
@click.pass_context
def command(ctx: click.Context, /, **arguments: Any) -> None:
    """Run implementations over recordings, and show where they differ.

    \b
    conform compare mypkg --corpus recordings             against itself: deliveries, invariants
    conform compare reference mypkg --corpus recordings   against each other; the first is the baseline
    conform compare mypkg --corpus mirascope              after `conform corpus pull mirascope`

    No expectation is needed: two implementations that differ cannot both be right, and one whose outcome
    depends on the delivery is wrong. Exit codes: 0 no difference and no broken invariant, 1 otherwise, 2
    usage or input error, 3 implementation unusable.
    """
    started = time.perf_counter()
    settings = options.merge_settings({key: arguments[key] for key in ("seed", "workers", "timeout")})
    report_targets = [_parse_report(option) for option in arguments["report"]]
    names = arguments["impls"] or tuple(settings.get("impl", ())) or ("reference",)
    deliveries = _parse_deliveries(arguments["deliver"])
    folder = recordings.read(
        _find_corpus(arguments["corpus"], arguments["where"]), arguments["api"], arguments["limit"]
    )
    order = RunRequest(
        connections=tuple(connect(name) for name in names),
        trials=tuple(expand(folder.cases, deliveries, "bytes", settings.get("seed", 0))),
        settings=Settings(
            workers=settings.get("workers") or options.count_default_workers(),
            timeout=float(settings.get("timeout", 10)),
            seed=settings.get("seed", 0),
        ),
        selection={},
    )
    quiet = 2 if any(path == "-" for _, path in report_targets) else arguments["quiet"]
    gathered = OutcomeCollector()
    with Terminal(quiet=min(quiet, 1), verbose=0, strict=False) as terminal:
        finished = _run(order, Progress(terminal.start, terminal.advance, gathered.collect))
    comparison = _make_comparison(folder, gathered, finished, deliveries, arguments["examples"])
    text = arguments["text"]
    if quiet < 2:
        *details, summary = format_lines(comparison, text=text is not False)
        for line in (summary,) if quiet else details:
            terminal.console.print(Text(escape_line(line, 400)))
        if not quiet:
            terminal.console.print(Text(f"{summary} in {time.perf_counter() - started:.1f} s"))
    for kind, path in report_targets:
        with_text = kind not in WITHOUT_TEXT if text is None else text
        reports.write_text(path, REPORTS[kind](comparison, with_text))
    ctx.exit(select_exit(finished.exit, Exit.UNEXPECTED if comparison.causes else Exit.EXPECTED))


def _find_corpus(name: str, cache_folder: str | None) -> Path:
    """Return the folder of recordings: of a pulled source, else the path itself.

    A source's name wins; a folder of the same name is reached as `./NAME`.
    """
    if name in SOURCES:
        return cache.locate_recordings(cache.locate_root(cache_folder), SOURCES[name])
    return Path(name)


def _run(order: RunRequest, progress: Progress) -> FinishedRun:
    with tempfile.TemporaryDirectory() as folder:
        return execute_run(order, Path(folder) / "results.jsonl", progress)


def _make_comparison(
    folder: recordings.RecordingFolder,
    gathered: OutcomeCollector,
    finished: FinishedRun,
    deliveries: tuple[str, ...],
    examples: int,
) -> Comparison:
    header, trials, footer = finished.results.header, finished.results.trials, finished.results.footer
    count = len(header.implementations)
    return Comparison(
        version=header.version,
        implementations=header.implementations,
        deliveries=deliveries,
        seed=header.seed,
        read=Counter(case.api for case in folder.cases),
        trials=len(trials),
        unread=folder.unread,
        skipped=Counter(
            (trial.implementation, trial.reason or "") for trial in trials if trial.verdict == "skipped"
        ),
        rows=count_endings(folder.cases, gathered, count),
        causes=find_causes(folder.cases, gathered, trials, [info.impl for info in header.implementations]),
        examples=examples,
        complete=footer is not None and footer.complete,
    )


def _parse_deliveries(option: str) -> tuple[str, ...]:
    """Return the deliveries that `option` names, in the order of `DELIVERIES`; raises `UsageError`."""
    names: set[str] = set()
    sets: dict[str, tuple[str, ...]] = dict[str, tuple[str, ...]](DELIVERY_SETS.items())
    for word in (part.strip() for part in option.split(",")):
        if word not in sets and word not in DELIVERIES:
            known = ", ".join((*sets, *DELIVERIES))
            raise UsageError(f"no delivery `{word}`; expected one of {known}")
        names.update(sets.get(word, (word,)))
    return tuple(name for name in DELIVERIES if name in names)


def _parse_report(option: str) -> tuple[str, str]:
    kind, equals, path = option.partition("=")
    if kind not in REPORTS or not equals or not path:
        kinds = " or ".join(f"`{name}`" for name in REPORTS)
        raise UsageError(f"`--report {option}`: expected KIND=PATH, where KIND is {kinds}")
    return kind, path
