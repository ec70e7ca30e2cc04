"""Build the page from this package's templates, style and script, and the JSON value of a run."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from streamconform.model.verdict import Verdict
from streamconform.printable import escape_line
from streamconform.reports.causes import list_causes
from streamconform.reports.describe import CLAIMS_TITLE, VERDICT_LABELS
from streamconform.reports.html.data import LETTERS, SIGNS, results_to_json
from streamconform.reports.html.source import read_suite
from streamconform.reports.resources import COLUMNS as COLUMNS_OF_RESOURCES
from streamconform.reports.resources import TITLE, list_resources
from streamconform.reports.summary import (
    describe_claims,
    describe_incomplete,
    describe_not_exposed,
    find_unexpected,
    format_headline,
    list_problems,
    needs_attention,
)
from streamconform.run.results import Results

STYLES: Final = ("base", "first", "case")
SCRIPTS: Final = (
    "text",
    "differences",
    "model",
    "filters",
    "first",
    "matrix",
    "wire",
    "checks",
    "case",
    "start",
)
"""The parts of the script, in order; each uses those before it."""
MAX_PROBLEMS: Final = 50
MAX_CAUSES: Final = 15
"""The number of causes in the table before the rest is folded."""
GUIDE: Final = "https://streamconform.github.io/streamconform/docs/reading-reports.html"
"""The published page of `docs/reading-reports.md`."""
COLUMNS: Final = ("pass", "fail", "faulted", "hang", "warn", "known", "stale", "skipped")
"""The verdicts, in the order used in the table of implementations."""
ALWAYS: Final = ("pass", "fail")
"""The verdicts that have a column even if no trial has them."""
CAUSE_SIGNS: Final[Mapping[str, Verdict]] = {
    "unexpected": "fail",
    "warn": "warn",
    "adapter": "faulted",
    "known": "known",
}
"""The verdict whose mark the causes of a list have."""


def render(results: Results, baseline: Results | None = None) -> str:
    """Return the page; everything outside the templates' own text is ASCII."""
    suite = read_suite(results)
    causes = list_causes(results)
    value = results_to_json(results, suite, causes, baseline)
    style, script = _join_parts("css", STYLES), _join_parts("js", SCRIPTS)
    # The policy allows this style and this script by their digests, and nothing else: no network, no other
    # script.
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        _environment()
        .get_template("page.html")
        .render(
            results=results,
            value=value,
            columns=list(_list_columns(value["impls"])),
            signs={kind: (LETTERS[verdict], SIGNS[verdict]) for kind, verdict in CAUSE_SIGNS.items()},
            marks=[(LETTERS[verdict], SIGNS[verdict], VERDICT_LABELS[verdict]) for verdict in COLUMNS],
            filter_verdicts=[*COLUMNS, "unexpected"],
            max_causes=MAX_CAUSES,
            guide=GUIDE,
            headline=format_headline(results, causes),
            tone=_pick_tone(results),
            resources=list_resources(results),
            resource_columns=COLUMNS_OF_RESOURCES,
            resources_title=TITLE,
            not_exposed=describe_not_exposed(results),
            claims=describe_claims(results)[:MAX_PROBLEMS],
            claims_title=CLAIMS_TITLE,
            notes=list(_notes(results, value, suite.problem)),
            problems=[escape_line(str(problem), 400) for problem in list_problems(results)[:MAX_PROBLEMS]],
            facts=list(_list_facts(results)),
            policy=policy,
            style=Markup(style),  # noqa: S704 - from files of this package
            script=Markup(script),  # noqa: S704 - from files of this package
            data=pack(value),
        )
    )


def pack(value: Any) -> str:
    """Return `value` as compressed JSON in base64, which the page's script reads.

    JSON of failures is repetitive: compressed, a page has about a tenth of the size.
    """
    data = zlib.compress(json.dumps(value, separators=(",", ":")).encode(), 9)
    return base64.b64encode(data).decode()


def _list_columns(implementations: list[dict[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """Yield the letter, the mark and the name of each verdict that any trial has."""
    for verdict in COLUMNS:
        letter = LETTERS[verdict]
        if verdict in ALWAYS or any(info["counts"][letter] for info in implementations):
            yield letter, SIGNS[verdict], VERDICT_LABELS[verdict]


def _pick_tone(results: Results) -> str:
    """Return the headline's class: `bad`, `good`, or `warn` if there are known failures or warnings."""
    if not results.trials or find_unexpected(results) or list_problems(results) or describe_claims(results):
        return "bad"
    return "warn" if needs_attention(results) else "good"


def _notes(results: Results, value: dict[str, Any], problem: str | None) -> Iterator[str]:
    """Yield the notes that a reader needs before relying on the page."""
    reason = describe_incomplete(results)
    if reason is not None:
        yield f"These results are incomplete: {reason}. Trials that did not run are not judged."
    if problem is not None:
        yield problem[0].upper() + problem[1:] + ("" if problem.endswith(".") else ".")
    left_out = value["left"]
    if any(left_out.values()):
        yield (
            f"To keep the page small, {left_out['wires']:,} of {len(value['failures']):,} failures are shown"
            f" without the wire and {left_out['details'] + left_out['failures']:,} without values. Every"
            " cause is listed, and each case names the command that shows it in full."
        )


def _list_facts(results: Results) -> Iterator[tuple[str, str]]:
    """Yield the facts about this one run, by name."""
    header, footer = results.header, results.footer
    seconds = None if footer is None or footer.seconds is None else f"{footer.seconds:,g} s"
    facts = {"Date": header.date, "Duration": seconds, "Command": header.command, "Platform": header.platform}
    yield from ((name, fact) for name, fact in facts.items() if fact is not None)


def _mark_code(text: str) -> Markup:
    """Return the markup of a headline, in which names and values are between backticks."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return Markup(escape(text))  # noqa: S704 - escaped
    return Markup().join(
        Markup("<code>{}</code>").format(part) if n % 2 else escape(part) for n, part in enumerate(parts)
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(__package__, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["mark_code"] = _mark_code
    environment.filters["escape_line"] = lambda text, width=200: escape_line(str(text), width)
    return environment


@cache
def _join_parts(kind: str, names: tuple[str, ...]) -> str:
    folder = files(__package__) / kind
    parts = (folder.joinpath(f"{name}.{kind}").read_text("utf-8") for name in names)
    text = "\n".join(parts)
    # One function encloses all parts, so that they share names and add no global names to the page.
    # It is asynchronous, because browsers unpack data that way.
    return f'"use strict";\n(async () => {{\n{text}}})();\n' if kind == "js" else text


def _digest(text: str) -> str:
    """Return the hash of an element's text, in the form used in a Content-Security-Policy."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
