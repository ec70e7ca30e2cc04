"""Format the table of innocents: the freedom that each one uses, and the checks that it fails. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from streamconform.printable import escape_line
from streamconform_dev.selftest.innocents import FailedCheck, InnocentResult, InnocentVerdict
from streamconform_innocents import Grant, Innocent

HEAD: Final = """\
# Innocents and the freedoms that they use

`conform dev selftest --innocent --table PATH` writes this page. An innocent is the bundled parser with one
freedom that the documentation grants: it leaves out an optional value, splits a text, raises when a stream
is cut. It answers every stream in every delivery that needs no connection, or sends every request. A `must`
that it fails is a bug of the suite, and so is a warning, unless the documentation announces it.
[Mutants](selftest.md) are the other half: they show that the cases catch bugs.

All deliveries take about four minutes on two cores, `--deliver fast --faults none` about half a minute.
"""
MAX_VALUE: Final = 80
"""The maximum number of characters of an expected or received value in a message."""


def describe_check(failed: FailedCheck) -> str:
    """Return one line: the trial, the path, the expected value and the received one."""
    check = failed.check
    values = f"expected {_format_value(check.expected)}, got {_format_value(check.got)}"
    text = values if check.message is None else f"{escape_line(check.message, 2 * MAX_VALUE)}"
    return f"{failed.trial}:{check.path}: {text}"


def _format_value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_VALUE else f"{text[:MAX_VALUE]}…"


def format_innocents(
    innocents: Sequence[Innocent],
    results: Mapping[str, InnocentResult],
    verdicts: Mapping[str, InnocentVerdict],
    apis: Sequence[str],
) -> str:
    """Return the page."""
    return "\n".join(_iter_lines(innocents, results, verdicts, apis)) + "\n"


def _iter_lines(
    innocents: Sequence[Innocent],
    results: Mapping[str, InnocentResult],
    verdicts: Mapping[str, InnocentVerdict],
    apis: Sequence[str],
) -> Iterator[str]:
    passed = sum(verdict.is_innocent for verdict in verdicts.values())
    yield HEAD
    yield f"{passed} of {len(innocents)} innocents pass."
    yield ""
    yield "| innocent | uses the freedom | granted by | changes answers in | failed musts | warnings |"
    yield "|---|---|---|---|--:|--:|"
    for innocent in innocents:
        verdict = verdicts[innocent.name]
        sentences = "<br>".join(_format_grant(grant) for grant in innocent.grants)
        yield (
            f"| `{innocent.name}` | {innocent.description} | {sentences} "
            f"| {_format_apis(results[innocent.name].changed, apis)} "
            f"| {len(verdict.musts)} | {len(verdict.warnings)} |"
        )
    failed = [(innocent, verdicts[innocent.name]) for innocent in innocents if verdicts[innocent.name].musts]
    if failed:
        yield ""
        yield "These cases fail an innocent:"
        yield ""
        yield "| innocent | case | failed `must` checks |"
        yield "|---|---|---|"
    for innocent, verdict in failed:
        paths: dict[str, dict[str, None]] = {}
        for check in verdict.musts:
            paths.setdefault(check.trial.partition("@")[0], {})[check.check.path] = None
        for case, by_path in paths.items():
            listed = ", ".join(f"`{path}`" for path in by_path)
            yield f"| `{innocent.name}` | `{case}` | {listed} |"


def _format_grant(grant: Grant) -> str:
    """Return the file and the sentence; a row of a table is quoted without its outer bars."""
    # Its links are relative to the document that it is quoted from.
    text = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", grant.sentence)
    sentence = text.removeprefix("- ").strip("| ").replace("|", "\\|")
    return f"`{grant.file}`: {sentence}"


def _format_apis(changed: Mapping[str, int], apis: Sequence[str]) -> str:
    changing = [api for api in apis if changed.get(api)]
    if len(changing) == len(apis):
        return "all APIs"
    return ", ".join(f"`{api}`" for api in changing) or "none"
