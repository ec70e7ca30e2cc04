"""A traceback is shortened to the author's own frames, the innermost one, and the exception."""

from __future__ import annotations

import pytest

from streamconform.reports.tracebacks import read_traceback, shorten_traceback

HEADER = "Traceback (most recent call last):\n"
HOST = """\
  File "/venv/lib/python3.11/site-packages/streamconform/adapters/host.py", line 320, in build_run_result
    result = call_adapter(adapter, run, send_event)
             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
"""
OUTER = """\
  File "/srv/me/mine.py", line 20, in adapter
    state = read_all(run)
            ^^^^^^^^^^^^^
"""
MIDDLE = """\
  File "/srv/me/mine.py", line 14, in read_all
    read_chunk(chunk)
"""
INNER = """\
  File "/srv/me/mine.py", line 9, in read_chunk
    return json.loads(line)
           ~~~~~~~~~~^^^^^^
"""
LIBRARY = """\
  File "/venv/lib/python3.11/site-packages/lib/read.py", line 3, in read
    return json.loads(line)
"""
STDLIB = """\
  File "/usr/lib/python3.11/json/__init__.py", line 346, in loads
    return _default_decoder.decode(s)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/usr/lib/python3.11/json/decoder.py", line 353, in raw_decode
    obj, end = self.scan_once(s, idx)
               ^^^^^^^^^^^^^^^^^^^^^^
"""
ERROR = "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)\n"
INNERMOST = [
    '  File "/usr/lib/python3.11/json/decoder.py", line 353, in raw_decode',
    "    obj, end = self.scan_once(s, idx)",
]
MIDDLE_LINES = MIDDLE.splitlines()
INNER_LINES = INNER.splitlines()[:2]
CAUSE = "\nThe above exception was the direct cause of the following exception:\n\n"
GROUP = """\
  + Exception Group Traceback (most recent call last):
  |   File "/srv/me/mine.py", line 14, in read_all
  |     read_chunk(chunk)
  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/srv/me/mine.py", line 9, in read_chunk
    |     return json.loads(line)
    |            ^^^^^^^^^^^^^^^^
    | ValueError: no
    +------------------------------------
"""


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            HEADER + HOST + OUTER + MIDDLE + INNER + STDLIB + ERROR,
            [*MIDDLE_LINES, *INNER_LINES, *INNERMOST, ERROR.rstrip()],
        ),
        (HEADER + HOST + INNER + "KeyError: 'delta'\n", [*INNER_LINES, "KeyError: 'delta'"]),
        (HEADER + HOST + "TypeError: no\n", ["TypeError: no"]),
        (HEADER + LIBRARY + ERROR, [*LIBRARY.splitlines(), ERROR.rstrip()]),
        (HEADER + INNER + LIBRARY + ERROR, [*INNER_LINES, *LIBRARY.splitlines(), ERROR.rstrip()]),
        # A text that was cut off before its first whole frame.
        ("^^^^^\n" + INNER + "KeyError: 'x'\n", [*INNER_LINES, "KeyError: 'x'"]),
        (
            HEADER + MIDDLE + INNER + STDLIB + ERROR + CAUSE + HEADER + OUTER + "ValueError: a\nb\n",
            [*INNER_LINES, ERROR.rstrip(), CAUSE.strip(), *OUTER.splitlines()[:2], "ValueError: a", "b"],
        ),
        (
            GROUP,
            [
                *MIDDLE_LINES,
                "ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)",
                *INNER_LINES,
                "ValueError: no",
            ],
        ),
        (
            HEADER + OUTER + '  File "/srv/me/x.py", line 1\n    x = = 3\n        ^\nSyntaxError: no\n',
            [*OUTER.splitlines()[:2], '  File "/srv/me/x.py", line 1', "    x = = 3", "SyntaxError: no"],
        ),
        ("Error: no\n" + "".join(f"    at f{n} (mine.js:{n})\n" for n in range(8)), None),
    ],
)
def test_the_frames_of_the_host_and_inside_the_standard_library_are_left_out(text, lines):
    if lines is None:  # another language
        lines = text.splitlines()[-5:]
    assert shorten_traceback(text) == lines


def test_no_line_underlines_code_that_is_not_there():
    lines = shorten_traceback(HEADER + HOST + OUTER + MIDDLE + INNER + STDLIB + ERROR)
    assert not [line for line in lines if "^" in line]


def test_the_last_lines_of_stderr_are_shown_if_they_are_no_traceback():
    assert read_traceback({"stderr": [str(n) for n in range(9)]}) == ["4", "5", "6", "7", "8"]
    stderr = ["starting", *(HEADER + OUTER + INNER + STDLIB + ERROR).splitlines()]
    assert read_traceback({"stderr": stderr})[-1] == ERROR.rstrip()
    assert read_traceback({"stderr": stderr})[:1] == OUTER.splitlines()[:1]


@pytest.mark.parametrize("observation", [None, {}, {"traceback": 7}, {"stderr": "x"}, {"traceback": ""}])
def test_results_without_a_traceback_have_no_lines(observation):
    assert read_traceback(observation) == []


def test_a_line_of_a_traceback_can_neither_be_endless_nor_move_the_cursor():
    (line,) = read_traceback({"traceback": "\x1b[2J" + "x" * 1000})
    assert len(line) < 250
    assert line.isprintable()
