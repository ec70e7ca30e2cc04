"""Each row of docs/limits.md agrees with the code: its number, its message and its test."""

from __future__ import annotations

import importlib
import inspect
import re

import pytest

from streamconform_dev.checkout import ROOT

from .for_each import for_each

PAGE = (ROOT / "docs/limits.md").read_text("utf-8")
ROW = re.compile(
    r"^\| (?P<what>[^|]+) \| (?P<number>[^|]+) \| (?P<message>[^|]+) \| `(?P<constant>[^|`]+)` \| "
    r"\[`(?P<test>\w+)`\]\(\.\./(?P<file>[^)]+)\) \|$",
    re.MULTILINE,
)
ROWS = [row.groupdict() for row in ROW.finditer(PAGE)]
UNITS = {"KiB": 1024, "MiB": 1024**2, "s": 1, "min": 60}


def parse_number(text: str) -> float:
    number, _, unit = text.partition(" ")
    return float(number.replace(",", "")) * UNITS.get(unit, 1)


def read_constant(path: str) -> tuple[float, str]:
    """Return the constant at `package.module.NAME`, and the source of its module."""
    name, _, attribute = path.rpartition(".")
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError:  # a class attribute
        module_name, _, owner = name.rpartition(".")
        module = importlib.import_module(module_name)
        value = inspect.signature(getattr(module, owner)).parameters[attribute].default
    else:
        value = getattr(module, attribute)
    return value, inspect.getsource(module)


def test_every_row_of_the_page_is_read():
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and "`streamconform" in line]
    assert len(ROWS) == len(rows) >= 30


@for_each("row", ROWS, ids=[row["constant"] for row in ROWS])
def test_a_limit_is_that_of_the_code(row):
    value, _ = read_constant(row["constant"])
    assert parse_number(row["number"]) == value


@for_each("row", ROWS, ids=[row["constant"] for row in ROWS])
def test_a_limit_has_a_test(row):
    assert f"def {row['test']}(" in (ROOT / row["file"]).read_text("utf-8")


MESSAGES = [row for row in ROWS if row["message"].startswith("`")]


@pytest.mark.parametrize("row", MESSAGES, ids=[row["constant"] for row in MESSAGES])
def test_the_message_is_in_the_code(row):
    package = ROOT / (
        "reference_impl" if "_proxy" in row["constant"] or "_ref" in row["constant"] else "harness"
    )
    words = row["message"].strip("`")
    sources = (path.read_text("utf-8") for path in package.rglob("*.py"))
    assert any(words in source for source in sources), words
