"""Runs docs/guide.md as a reader would, a folder a section; `python -m tests.docs_guide` fills its outputs.

`<!-- file: NAME -->` is written, `<!-- output: COMMAND -->` and the lines `$ COMMAND` of consoles are run, in
the order of the page.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .cli.project import CONFORM
from .docs_outputs import ROOT, without_times

DOCUMENT = ROOT / "docs" / "guide.md"
SECTION = re.compile(r"^## (?P<title>.+)\n(?P<body>(?:(?!## ).*\n)*)", re.MULTILINE)
STEP = re.compile(
    r"<!-- (?P<kind>file|output): (?P<of>.+?) -->\n```\w*\n(?P<text>.*?)```\n"
    r"|```console\n(?P<console>.*?)```\n",
    re.DOTALL,
)
EXPECTED = (0, 1)
"""What a command of the guide ends with: 1 where a failing run is shown."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A command of the page: what the page says that it prints, None where it does not say, and the truth."""

    command: str
    told: str | None
    printed: str
    error: str
    code: int


def sections() -> dict[str, str]:
    """Return the sections that have something to run, by title."""
    found = {each["title"]: each["body"] for each in SECTION.finditer(DOCUMENT.read_text("utf-8"))}
    return {title: body for title, body in found.items() if STEP.search(body)}


def follow(body: str, folder: Path) -> Iterator[Ran]:
    """Do what a section says, in `folder`, and yield what came of each command."""
    for step in STEP.finditer(body):
        match step["kind"]:
            case "file":
                path = folder / step["of"]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(step["text"], "utf-8")
            case "output":
                yield _run(step["of"], step["text"], folder)
            case _:
                for line in step["console"].splitlines():
                    yield _run(line.removeprefix("$ "), None, folder)


def _run(command: str, told: str | None, folder: Path) -> Ran:
    conform = f'conform() {{ {shlex.join(CONFORM)} "$@"; }}'
    done = subprocess.run(
        ("bash", "-c", f"set -o pipefail; {conform}; {command}"),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"NO_COLOR": "1"},
    )
    text = done.stdout.replace(f"{folder}/", "").replace(f"{ROOT}/", "")
    printed = "".join(f"{line.rstrip()}\n" for line in text.rstrip().splitlines())
    return Ran(command, told, printed, done.stderr, done.returncode)


def filled() -> str:
    """Return the page with the outputs as they are."""
    text = DOCUMENT.read_text("utf-8")
    for body in sections().values():
        with tempfile.TemporaryDirectory() as folder:
            for ran in follow(body, Path(folder)):
                if ran.told is not None and without_times(ran.told) != without_times(ran.printed):
                    block = f"<!-- output: {ran.command} -->\n```\n"
                    text = text.replace(f"{block}{ran.told}```", f"{block}{ran.printed}```")
    return text


if __name__ == "__main__":
    DOCUMENT.write_text(filled(), "utf-8")
