"""A line wraps at spaces on a terminal, with a hanging indent, and nowhere else."""

from __future__ import annotations

import io
import re
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from streamconform.reports.style import StyledLine, make_console, make_text
from streamconform.reports.wrapping import MIN_WIDTH, wrap_line

WORDS = "the quick brown fox jumps over the lazy dog and runs away"


def rows(line: str, width: int, hang: int = 0) -> list[str]:
    return [
        " " * indent + line[start:end] + tail
        for start, end, indent, tail in wrap_line(line, width, hang, cell_len)
    ]


@pytest.mark.parametrize(
    ("line", "hang", "expected"),
    [
        (WORDS, 0, ["the quick brown fox jumps over the lazy", "  dog and runs away"]),
        (f"   {WORDS}", 0, ["   the quick brown fox jumps over the", "   lazy dog and runs away"]),
        (f"12. {WORDS}", 0, ["12. the quick brown fox jumps over the", "    lazy dog and runs away"]),
        (f"  | {WORDS}", 0, ["  | the quick brown fox jumps over the", "    lazy dog and runs away"]),
        (
            f"evidence  {WORDS}",
            10,
            ["evidence  the quick brown fox jumps over", "          the lazy dog and runs away"],
        ),
        (
            f"{'a/case':<24}  {WORDS}",
            26,
            ["a/case", "        the quick brown fox jumps over", "        the lazy dog and runs away"],
        ),
        (f"{'':<26}{WORDS[:20]}", 26, ["        the quick brown fox"]),
    ],
)
def test_rows_after_the_first_are_indented_under_the_text(line, hang, expected):
    assert [row.rstrip() for row in rows(line, 40, hang)] == expected


def test_a_word_is_broken_only_if_it_is_wider_than_a_row_and_then_after_punctuation():
    text = '{"type":"content_block_delta","index":0,"delta":{"text":"abc"}}'
    assert rows(f"  delta {text}", 40) == [
        '  delta {"type":"content_block_delta",',
        '  "index":0,"delta":{"text":"abc"}}',
    ]
    assert rows("x" * 50, 40) == ["x" * 40, "  " + "x" * 10]


def test_wide_characters_take_two_cells():
    line = "語" * 15 + " " + "語" * 15
    assert rows(line, 40) == ["語" * 15, "  " + "語" * 15]


@given(
    st.lists(st.text("ab,{:語 ", max_size=70), max_size=12).map(" ".join),
    st.integers(10, 120),
    st.integers(0, 60),
)
def test_no_row_is_too_wide_and_nothing_but_spaces_is_lost(line, width, hang):
    wrapped = rows(line, width, hang)
    assert all(cell_len(row) <= max(width, MIN_WIDTH) for row in wrapped)
    assert "".join(wrapped).replace(" ", "") == line.replace(" ", "")


@given(st.lists(st.text("ab -/@'\" ", min_size=1, max_size=60), max_size=8), st.integers(40, 120))
def test_a_wrapped_command_is_the_same_command_for_a_shell(arguments, width):
    command = shlex.join(["conform", "run", "-i", *arguments])
    pasted = "\n".join(rows(f"   reproduce: {command}", width)).partition(": ")[2]
    assert shlex.split(pasted.replace("\\\n", "")) == shlex.split(command)


def test_a_short_option_stays_beside_its_value():
    command = "   reproduce: conform run -i python:mine.py:adapter -k anthropic-messages/tool-use/one@as-is"
    assert rows(command, 60) == [
        "   reproduce: conform run -i python:mine.py:adapter \\",
        "       -k anthropic-messages/tool-use/one@as-is",
    ]


def test_a_file_gets_each_line_as_it_is():
    text = io.StringIO()
    make_console(text).print(make_text(StyledLine("word " * 100)))
    assert text.getvalue() == "word " * 100 + "\n"


@pytest.mark.parametrize("variable", ["FORCE_COLOR", "TTY_COMPATIBLE"])
def test_a_file_gets_the_text_that_a_colored_one_gets(monkeypatch, variable):
    lines = [make_text(StyledLine("1. ", "bold"), StyledLine(WORDS * 9)), make_text(StyledLine("")), "head"]
    plain, colored = io.StringIO(), io.StringIO()
    make_console(plain).print(*lines)
    monkeypatch.setenv(variable, "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    for line in lines:
        make_console(colored).print(line)
    assert "\x1b[" in colored.getvalue()
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored.getvalue()) == plain.getvalue()
