"""Output blocks of pages: `<!-- output: COMMAND -->`, followed by a code block with the output of COMMAND."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from typing import Final

from streamconform_dev.checkout import ROOT

BLOCK: Final = re.compile(
    r"(?P<head>(?P<indent> *)<!-- output: (?P<command>.+?) -->\n *```\n)(?P<text>.*?)(?P<tail> *```\n)",
    re.DOTALL,
)
_CHANGING: Final = (
    (re.compile(r"in \d+\.\d s"), "in # s"),
    (re.compile(r"\b[\d,]+ (case|trial)s?\b"), r"# \1s"),
    (re.compile(r"\b[\d,]+ (passed|skipped|warnings?|of (?=[\d,#]))"), r"# \1"),
    (re.compile(r"(?<=The full suite adds )[\d,]+"), "#"),
)
"""Times, which differ from run to run, and counts of cases and trials, which every new case changes."""


def fill(page: str, run: Callable[[str], str | None]) -> str:
    """Return `page` with the output that `run` returns for each command; None leaves a block unchanged."""

    def fill_block(block: re.Match[str]) -> str:
        output = run(block["command"])
        if output is None:
            return block[0]
        text = textwrap.indent(output, block["indent"])
        # New numbers alone are no reason to change a page; a new version, which outputs name, is.
        return (
            block[0]
            if hide_numbers(text) == hide_numbers(block["text"])
            else block["head"] + text + block["tail"]
        )

    return BLOCK.sub(fill_block, page)


def hide_numbers(text: str) -> str:
    """Return `text` without the numbers that differ between two runs, or two versions of the suite."""
    for pattern, replacement in _CHANGING:
        text = pattern.sub(replacement, text)
    return text


def strip_lines(text: str) -> str:
    """Return `text` without paths of the checkout, and without trailing spaces and empty lines."""
    return "".join(f"{line.rstrip()}\n" for line in text.replace(f"{ROOT}/", "").rstrip().splitlines())


def describe_outdated(generator: str) -> str:
    """Return the message for a test that finds a generated file out of date."""
    return f"out of date: run `conform dev docs {generator}` and check the difference"
