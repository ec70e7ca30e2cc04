"""Run a checker on answers, and compare what it prints with what the judge in Python finds."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from streamconform.errors import ConformError
from streamconform_dev.judges.answers import Json

_INDEX: Final = re.compile(r"\.\d+(?=\.|$)")


class CheckerError(ConformError):
    """A checker cannot be built, or ends with an error."""


class JudgeDifference(Struct, frozen=True):
    """A value in which a checker's line differs from the expected one."""

    trial: str
    path: str
    """The path of a check, or another member of the line."""
    expected: Any
    got: Any
    """None for a check that is missing."""

    @property
    def group(self) -> str:
        """Return the path without indices, by which differences are counted."""
        return _INDEX.sub(".*", self.path)


def check_answers(
    command: Sequence[str], folder: Path, suite: Path, lines: Sequence[bytes]
) -> list[JudgeDifference]:
    """Return how a checker, started in `folder`, differs from what the `lines` of answers expect.

    Raises `CheckerError` if it fails.
    """
    printed = _run_checker(command, folder, suite, lines)
    if len(printed) != len(lines):
        raise CheckerError(f"`{shlex.join(command)}` printed {len(printed)} lines for {len(lines)} answers")
    return [
        difference
        for given, line in zip(lines, printed, strict=True)
        for difference in compare(json.loads(given), json.loads(line))
    ]


def _run_checker(command: Sequence[str], folder: Path, suite: Path, lines: Sequence[bytes]) -> list[bytes]:
    # Files, because a program that reads and writes pipes at the same time can block.
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as printed:
        given.writelines(lines)
        given.seek(0)
        program = [*command, str(suite.resolve())]
        try:
            ended = subprocess.run(
                program, cwd=folder, stdin=given, stdout=printed, stderr=subprocess.PIPE, check=False
            )
        except OSError as error:
            raise CheckerError(f"cannot start `{command[0]}`: {error}") from error
        if ended.returncode:
            text = ended.stderr.decode("utf-8", "replace")[-2000:]
            raise CheckerError(f"`{shlex.join(command)}` ended with exit code {ended.returncode}: {text}")
        printed.seek(0)
        return printed.readlines()


def compare(given: Json, printed: Json) -> Iterator[JudgeDifference]:
    """Yield the differences between a line of answers and what a checker prints for it."""
    trial, expected = given["trial"], given["expected"]
    if printed.get("trial") != trial:
        yield JudgeDifference(trial, "trial", trial, printed.get("trial"))
    for name in ("verdict", "culprit", "compared"):
        if expected[name] != printed.get(name):
            yield JudgeDifference(trial, name, expected[name], printed.get(name))
    checks = printed.get("checks", ())
    wanted, found = _index_checks(expected["checks"]), _index_checks(checks)
    if len(found) < len(checks):
        yield JudgeDifference(trial, "checks", len(found), len(checks))
    for path in sorted(wanted.keys() | found.keys()):
        if wanted.get(path) != found.get(path):
            yield JudgeDifference(trial, path, wanted.get(path), found.get(path))


def _index_checks(checks: Iterable[Mapping[str, str]]) -> dict[str, tuple[str, str]]:
    """Return the level and verdict of each check, by path: the members of a file have no order."""
    return {check["path"]: (check["level"], check["verdict"]) for check in checks}
