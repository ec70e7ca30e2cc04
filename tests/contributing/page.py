"""CONTRIBUTING.md as steps: the edits in its `diff` blocks and the commands in its `console` blocks."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from streamconform_dev.checkout import ROOT

PAGE: Final = ROOT / "CONTRIBUTING.md"
_SECTION: Final = re.compile(r"^## (?P<title>.+)\n(?P<body>(?:(?!## ).*\n)*)", re.MULTILINE)
_BLOCK: Final = re.compile(
    r"^(?P<indent> *)```(?P<kind>diff|console)\n(?P<text>.*?)^(?P=indent)```\n", re.MULTILINE | re.DOTALL
)
_EXAMPLE: Final = re.compile(
    r"Example: \[.+?\]\((?P<folder>.+?)\), (?P<files>\d+) new files?"
    r"(?:\s+and\s+(?P<lines>\d+)\s+lines?\s+in\s+existing\s+ones)?"
)


@dataclass(frozen=True, slots=True)
class Edit:
    """A change to an existing file: `old`, which occurs in it once, is replaced with `new`."""

    path: str
    old: str
    new: str
    lines: int
    """The number of lines that are added or changed."""

    def apply(self, root: Path) -> None:
        """Change the file below `root`. Raises `ValueError` if the edit does not match the file."""
        file = root / self.path
        text = file.read_text("utf-8")
        if text.count(self.old) != 1:
            raise ValueError(f"{self.path}: expected once, found {text.count(self.old)} times:\n{self.old}")
        file.write_text(text.replace(self.old, self.new), "utf-8")


@dataclass(frozen=True, slots=True)
class Command:
    """A line of a console."""

    line: str


@dataclass(frozen=True, slots=True)
class Section:
    """The steps of one task, and the size of its example as the page states it."""

    title: str
    steps: tuple[Edit | Command, ...]
    example: Path | None
    new_files: int
    new_lines: int

    @property
    def files(self) -> list[Path]:
        """The files of the example, relative to the checkout's root."""
        if self.example is None:
            return []
        files = (path for path in sorted(self.example.rglob("*")) if path.is_file())
        return [path.relative_to(self.example) for path in files if "__pycache__" not in path.parts]


def read_sections() -> dict[str, Section]:
    """Return the sections of the page by title."""
    return {
        match["title"]: _read_section(match["title"], match["body"])
        for match in _SECTION.finditer(PAGE.read_text("utf-8"))
    }


def _read_section(title: str, body: str) -> Section:
    example = _EXAMPLE.search(body)
    return Section(
        title=title,
        steps=tuple(_read_steps(body)),
        example=ROOT / example["folder"] if example else None,
        new_files=int(example["files"]) if example else 0,
        new_lines=int(example["lines"] or 0) if example else 0,
    )


def _read_steps(body: str) -> Iterator[Edit | Command]:
    for block in _BLOCK.finditer(body):
        text = textwrap.dedent(block["text"])
        if block["kind"] == "diff":
            yield from _read_edits(text)
        else:
            lines = (line.partition("  #")[0] for line in text.splitlines())
            yield from (Command(line.removeprefix("$ ").rstrip()) for line in lines)


def _read_edits(text: str) -> Iterator[Edit]:
    """Yield the edit of each file: a line `+++ PATH`, then lines that start with a space, `-` or `+`."""
    for hunk in re.split(r"^\+\+\+ ", text, flags=re.MULTILINE)[1:]:
        path, *lines = hunk.splitlines()
        old = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("+"))
        new = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("-"))
        yield Edit(path, old, new, sum(line.startswith("+") for line in lines))
