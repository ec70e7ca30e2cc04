"""The judges in other languages, and how the program of each that reads answers is built and started."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from streamconform_dev.checkout import ROOT
from streamconform_dev.judges.check import CheckerError

FOLDER: Final = ROOT / "harness/judges"
"""Has a folder per language."""


class Checker(Struct, frozen=True):
    """The program of a judge that reads answers (docs/vectors.md); its commands run in the judge's folder."""

    build: tuple[tuple[str, ...], ...]
    """The commands that compile it, with what the language's toolchain finds."""
    command: tuple[str, ...]
    """Starts it; the paths of suite files follow."""


CHECKERS: Final[Mapping[str, Checker]] = {
    "typescript": Checker(
        (("npm", "install", "--ignore-scripts", "--no-package-lock"), ("npm", "run", "build")),
        ("node", "dist/checker.js"),
    ),
    "rust": Checker(
        (("cargo", "build", "--release", "--example", "judge_answers"),),
        ("target/release/examples/judge_answers",),
    ),
    "go": Checker((("go", "build", "-o", "judge-answers", "./cmd/judge-answers"),), ("./judge-answers",)),
    "java": Checker(
        (("mvn", "-q", "test-compile", "dependency:copy-dependencies", "-DoutputDirectory=target/lib"),),
        (
            *("java", "-cp", os.pathsep.join(("target/test-classes", "target/classes", "target/lib/*"))),
            "io.github.streamconform.JudgeAnswers",
        ),
    ),
}


def build_checker(language: str) -> tuple[str, ...]:
    """Compile a language's checker, and return the command that starts it. Raises `CheckerError`."""
    checker = CHECKERS[language]
    for command in checker.build:
        try:
            subprocess.run(command, cwd=FOLDER / language, check=True, capture_output=True, text=True)
        except subprocess.CalledProcessError as error:
            raise CheckerError(f"`{' '.join(command)}` failed: {error.stdout}{error.stderr}") from error
        except OSError as error:
            raise CheckerError(f"cannot start `{command[0]}` in {FOLDER / language}: {error}") from error
    return checker.command
