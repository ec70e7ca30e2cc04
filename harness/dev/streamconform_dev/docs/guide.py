"""Run docs/guide.md as a reader would, each section in its own folder, and generate its outputs.

`<!-- file: NAME -->` is written, `<!-- output: COMMAND -->` and the lines `$ COMMAND` of consoles are run, in
the order of the page.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from streamconform_dev.checkout import ROOT
from streamconform_dev.docs.blocks import hide_numbers, strip_lines
from streamconform_dev.docs.command import CONFORM

PAGE: Final = ROOT / "docs" / "guide.md"
SECTION: Final = re.compile(r"^## (?P<title>.+)\n(?P<body>(?:(?!## ).*\n)*)", re.MULTILINE)
STEP: Final = re.compile(
    r"<!-- (?P<kind>file|output): (?P<of>.+?) -->\n```\w*\n(?P<text>.*?)```\n"
    r"|```console\n(?P<console>.*?)```\n",
    re.DOTALL,
)
NODE_DETAILS: Final = re.compile(
    r"(?<=SyntaxError: ).*?(?=  1 case|$)|(?<=Node\.js )v[\d.]+|^.*\(node:internal/.*\n", re.MULTILINE
)
"""Words of Node.js that differ from version to version: of a broken JSON text, and its own frames."""
EXIT_CODES: Final = (0, 1)
"""Exit codes of the guide's commands: 1 where a failing run is shown."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A command of the page and its result."""

    command: str
    documented: str | None
    """The output on the page; None where the page shows none."""
    printed: str
    error: str
    code: int


def read_sections() -> dict[str, str]:
    """Return the sections that have something to run, by title."""
    sections = {match["title"]: match["body"] for match in SECTION.finditer(PAGE.read_text("utf-8"))}
    return {title: body for title, body in sections.items() if STEP.search(body)}


def follow(body: str, folder: Path, program: Sequence[str] = CONFORM) -> Iterator[Ran]:
    """Perform the steps of a section in `folder`, and yield the result of each command of `program`."""
    for step in STEP.finditer(body):
        match step["kind"]:
            case "file":
                path = folder / step["of"]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(step["text"], "utf-8")
            case "output":
                yield _run(step["of"], step["text"], folder, program)
            case _:
                for line in step["console"].splitlines():
                    yield _run(line.removeprefix("$ "), None, folder, program)


def hide_details(text: str) -> str:
    """Return `text` without numbers that change and without the words of one version of Node.js."""
    return NODE_DETAILS.sub("", hide_numbers(text))


def generate() -> dict[Path, bytes]:
    """Return the page with current outputs."""
    text = PAGE.read_text("utf-8")
    for body in read_sections().values():
        with tempfile.TemporaryDirectory() as folder:
            for ran in follow(body, Path(folder)):
                if ran.documented is not None and hide_details(ran.documented) != hide_details(ran.printed):
                    head = f"<!-- output: {ran.command} -->\n```\n"
                    text = text.replace(f"{head}{ran.documented}```", f"{head}{ran.printed}```")
    return {PAGE: text.encode()}


def _run(command: str, documented: str | None, folder: Path, program: Sequence[str]) -> Ran:
    conform = f'conform() {{ {shlex.join(program)} "$@"; }}'
    done = subprocess.run(
        ("bash", "-c", f"set -o pipefail; {conform}; {command}"),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"NO_COLOR": "1"},
    )
    printed = strip_lines(done.stdout.replace(f"{folder}/", ""))
    return Ran(command, documented, printed, done.stderr, done.returncode)
