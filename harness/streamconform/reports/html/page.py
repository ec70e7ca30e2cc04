"""The page: templates, style and script of this package around the JSON value of a run."""

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

from streamconform.reports.html import source
from streamconform.reports.html.data import document
from streamconform.reports.words import counted, cut, printable, unexpected, warned
from streamconform.run.results import Results

STYLES: Final = ("base", "first", "case")
SCRIPTS: Final = ("text", "differences", "model", "filters", "first", "matrix", "wire", "case", "start")
"""Files of the script in their order; each knows of those before it."""
MAX_PROBLEMS: Final = 50
IN_SCRIPT: Final = re.compile("[<>&\u2028\u2029]")
"""What would end a script element, or a line of one, is an escape inside JSON."""


def render(results: Results, baseline: Results | None = None) -> str:
    """Return the page, ASCII but for what the templates say."""
    suite = source.read(results)
    value = document(results, suite, baseline)
    style, script = _joined("css", STYLES), _joined("js", SCRIPTS)
    return (
        _environment()
        .get_template("page.html")
        .render(
            results=results,
            value=value,
            headline=headline(results),
            good=_good(results),
            notes=list(_notes(results, value, suite.problem)),
            problems=[printable(str(each), 400) for each in _problems(results)[:MAX_PROBLEMS]],
            policy=f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
            "base-uri 'none'; form-action 'none'",
            style=Markup(style),  # noqa: S704 - files of this package
            script=Markup(script),  # noqa: S704 - the same
            data=Markup(in_script(value)),  # noqa: S704 - nothing in it ends the element
        )
    )


def headline(results: Results) -> str:
    """Return the verdict in one line."""
    failed, trials = unexpected(results), counted(len(results.trials), "trial")
    cases = counted(len({each.case for each in results.trials}), "case")
    problems = _problems(results)
    if not results.trials:
        return "Nothing ran"
    if failed:
        wrong = len({each.case for each in failed})
        of = f"{len(failed):,} of {len(results.trials):,} trials are unexpected"
        return f"{of}, in {wrong:,} case{'' if wrong == 1 else 's'}"
    if problems:
        entries = "entry is" if len(problems) == 1 else "entries are"
        return f"No new failure, but {len(problems)} known-failures {entries} not true any more"
    judged = len(results.trials) - sum(each.verdict == "skipped" for each in results.trials)
    if not judged:
        return f"Nothing was judged: all of {trials} were skipped"
    return f"All as expected: {judged:,} of {len(results.trials):,} trials judged, {cases}"


def in_script(value: Any) -> str:
    """Return JSON, ASCII only, that a script element of a page can hold."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True)
    return IN_SCRIPT.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _good(results: Results) -> bool:
    return bool(results.trials) and not unexpected(results) and not _problems(results)


def _problems(results: Results) -> tuple[Any, ...]:
    return results.footer.problems if results.footer else ()


def _notes(results: Results, value: dict[str, Any], problem: str | None) -> Iterator[str]:
    """Yield what a reader has to know before believing the page."""
    why = cut(results)
    if why is not None:
        yield f"These results are cut: {why}. What did not run is not judged."
    if problem is not None:
        yield problem[0].upper() + problem[1:] + ("" if problem.endswith(".") else ".")
    left = value["left"]
    if any(left.values()):
        yield (
            "With everything the page would be too large to open: of "
            f"{len(value['failures']):,} failures {left['wires']:,} are shown without the wire and "
            f"{left['details'] + left['failures']:,} without values; every cause is listed, and each case "
            "names the command that shows it whole."
        )
    warnings = len(warned(results))
    if warnings and not unexpected(results):
        yield f"{counted(warnings, 'trial')} only warn: the provider's words leave room there."


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(__package__, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["legible"] = lambda text, width=200: printable(str(text), width)
    return environment


@cache
def _joined(kind: str, names: tuple[str, ...]) -> str:
    folder = files(__package__) / kind
    parts = (folder.joinpath(f"{name}.{kind}").read_text("utf-8") for name in names)
    text = "\n".join(parts)
    return f'"use strict";\n(() => {{\n{text}}})();\n' if kind == "js" else text


def _digest(text: str) -> str:
    """Return what the policy calls the text of an element."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
