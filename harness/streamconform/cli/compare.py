"""`conform compare`: implementations over a folder of recordings, without expectations."""

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
from streamconform.reports.terminal import Terminal
from streamconform.reports.words import printable
from streamconform.run.exits import Exit, worst
from streamconform.run.plan import Settings
from streamconform.run.session import Finished, Order, Progress, conduct
from streamconform.suite.expand import expand
from streamconform.tools.compare import recordings
from streamconform.tools.compare.comparison import Comparison, to_json
from streamconform.tools.compare.gather import OutcomeCollector, count_endings, find_causes
from streamconform.tools.compare.report import format_lines, format_markdown
from streamconform.tools.corpus import cache
from streamconform.tools.corpus.sources import SOURCES

REPORTS: Final[Mapping[str, Callable[[Comparison, bool], str]]] = {
    "json": lambda found, text: to_json(found, text=text),
    "markdown": lambda found, text: format_markdown(found, text=text),
}
WITHOUT_TEXT: Final = frozenset({"markdown"})
"""Kinds that are meant to be committed: what was recorded is not in them unless asked for."""
PER_CAUSE: Final = 3


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
@click.option("--api", multiple=True, metavar="API", help="Only this api. Repeatable.")
@click.option(
    "--deliver",
    default="whole,bytewise,random",
    show_default=True,
    help="Deliveries, or sets of them (fast, standard, full), joined by commas.",
)
@click.option("--limit", type=click.IntRange(min=1), help="Only so many recordings of each api.")
@click.option(
    "--examples",
    type=click.IntRange(min=0),
    default=PER_CAUSE,
    show_default=True,
    help="Recordings named of a cause.",
)
@click.option(
    "--report", multiple=True, metavar="KIND=PATH", help="Also write json or markdown; PATH - is stdout."
)
@click.option(
    "--text/--no-text",
    default=None,
    help="Show recorded values. [default: on the terminal and in json, not in markdown]",
)
@click.option("--seed", type=click.IntRange(min=0), help="Seed of random cuts. [default: 0]")
@click.option("-n", "--workers", type=click.IntRange(min=1), help="Programs at once.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds for one trial.")
@click.option("-q", "--quiet", count=True, help="Print only the last line; twice: nothing.")
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> None:
    """Run implementations over recordings, and show where they differ.

    \b
    conform compare mypkg --corpus recordings             against itself: deliveries, invariants
    conform compare reference mypkg --corpus recordings   against each other, the first one is the measure
    conform compare mypkg --corpus mirascope              what `conform corpus pull mirascope` fetched

    Nobody has to know the right answer: two implementations that differ cannot both be right, and one whose
    outcome depends on how the bytes came is wrong. Exit codes: 0 nothing differs and no invariant is broken,
    1 something does, 2 usage or input, 3 an implementation cannot be used.
    """
    started = time.perf_counter()
    chosen = options.settings({key: given[key] for key in ("seed", "workers", "timeout")})
    wanted = [_parsed(each) for each in given["report"]]
    names = given["impls"] or tuple(chosen.get("impl", ())) or ("reference",)
    deliveries = _deliveries(given["deliver"])
    folder = recordings.read(_corpus(given["corpus"], given["where"]), given["api"], given["limit"])
    order = Order(
        connections=tuple(connect(name) for name in names),
        trials=tuple(expand(folder.cases, deliveries, "bytes", chosen.get("seed", 0))),
        settings=Settings(
            workers=chosen.get("workers") or options.default_workers(),
            timeout=float(chosen.get("timeout", 10)),
            seed=chosen.get("seed", 0),
        ),
        selection={},
    )
    quiet = 2 if any(path == "-" for _, path in wanted) else given["quiet"]
    gathered = OutcomeCollector()
    with Terminal(quiet=min(quiet, 1), verbose=0, strict=False) as terminal:
        finished = _run(order, Progress(terminal.begun, terminal.ended, gathered.collect))
    found = _found(folder, gathered, finished, deliveries, given["examples"])
    text = given["text"]
    if quiet < 2:
        told = list(format_lines(found, text=text is not False))
        for line in told[-1:] if quiet else told[:-1]:
            terminal.console.print(Text(printable(line, 400)))
        if not quiet:
            terminal.console.print(Text(f"{told[-1]} in {time.perf_counter() - started:.1f} s"))
    for kind, path in wanted:
        with_text = kind not in WITHOUT_TEXT if text is None else text
        reports.write_text(path, REPORTS[kind](found, with_text))
    ctx.exit(worst(finished.exit, Exit.UNEXPECTED if found.causes else Exit.EXPECTED))


def _corpus(given: str, cached: str | None) -> Path:
    """Return the folder that is meant: a source goes by its name, a folder of that name is `./NAME`."""
    if given in SOURCES:
        return cache.locate_recordings(cache.locate_root(cached), SOURCES[given])
    return Path(given)


def _run(order: Order, progress: Progress) -> Finished:
    with tempfile.TemporaryDirectory() as folder:
        return conduct(order, Path(folder) / "results.jsonl", progress)


def _found(
    folder: recordings.RecordingFolder,
    gathered: OutcomeCollector,
    finished: Finished,
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
            (each.implementation, each.reason or "") for each in trials if each.verdict == "skipped"
        ),
        rows=count_endings(folder.cases, gathered, count),
        causes=find_causes(folder.cases, gathered, trials, [each.impl for each in header.implementations]),
        examples=examples,
        complete=footer is not None and footer.complete,
    )


def _deliveries(given: str) -> tuple[str, ...]:
    """Return the deliveries that are named, in the order of the table."""
    names: set[str] = set()
    for word in (each.strip() for each in given.split(",")):
        chosen = {name: each for name, each in DELIVERY_SETS.items() if name == word}
        if not chosen and word not in DELIVERIES:
            known = ", ".join((*DELIVERY_SETS, *DELIVERIES))
            raise UsageError(f"no delivery `{word}`; known are {known}")
        names |= set(*chosen.values()) if chosen else {word}
    return tuple(name for name in DELIVERIES if name in names)


def _parsed(option: str) -> tuple[str, str]:
    kind, equals, path = option.partition("=")
    if kind not in REPORTS or not equals or not path:
        kinds = ", ".join(f"`{each}`" for each in REPORTS)
        raise UsageError(f"`--report {option}`: expected KIND=PATH, where KIND is {kinds}")
    return kind, path
