"""Build the page from this package's templates, style and script, and the JSON value of a run."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from streamconform.printable import escape_line
from streamconform.reports.describe import CLAIMS_TITLE, VERDICT_LABELS
from streamconform.reports.html.data import LETTERS, results_to_json
from streamconform.reports.html.source import read_suite
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
SCRIPTS: Final = ("text", "differences", "model", "filters", "first", "matrix", "wire", "case", "start")
"""The parts of the script, in order; each uses those before it."""
MAX_PROBLEMS: Final = 50
UNSAFE_IN_SCRIPT: Final = re.compile("[<>&\u2028\u2029]")
"""Characters that could end a script element or one of its lines; in JSON they can be escaped."""
COLUMNS: Final = ("pass", "fail", "faulted", "hang", "warn", "known", "stale", "skipped")
"""The verdicts, in the order used in the table of implementations."""


def render(results: Results, baseline: Results | None = None) -> str:
    """Return the page; everything outside the templates' own text is ASCII."""
    suite = read_suite(results)
    value = results_to_json(results, suite, baseline)
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
            columns=[(LETTERS[verdict], VERDICT_LABELS[verdict]) for verdict in COLUMNS],
            headline=format_headline(results),
            tone=_pick_tone(results),
            not_exposed=describe_not_exposed(results),
            claims=describe_claims(results)[:MAX_PROBLEMS],
            claims_title=CLAIMS_TITLE,
            notes=list(_notes(results, value, suite.problem)),
            problems=[escape_line(str(problem), 400) for problem in list_problems(results)[:MAX_PROBLEMS]],
            facts=list(_list_facts(results)),
            policy=policy,
            style=Markup(style),  # noqa: S704 - from files of this package
            script=Markup(script),  # noqa: S704 - from files of this package
            data=Markup(escape_in_script(value)),  # noqa: S704 - nothing in it ends the element
        )
    )


def escape_in_script(value: Any) -> str:
    """Return `value` as ASCII JSON that is safe inside a script element."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True)
    return UNSAFE_IN_SCRIPT.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


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


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(__package__, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["escape_line"] = lambda text, width=200: escape_line(str(text), width)
    return environment


@cache
def _join_parts(kind: str, names: tuple[str, ...]) -> str:
    folder = files(__package__) / kind
    parts = (folder.joinpath(f"{name}.{kind}").read_text("utf-8") for name in names)
    text = "\n".join(parts)
    # One function encloses all parts, so that they share names and add no global names to the page.
    return f'"use strict";\n(() => {{\n{text}}})();\n' if kind == "js" else text


def _digest(text: str) -> str:
    """Return the hash of an element's text, in the form used in a Content-Security-Policy."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
