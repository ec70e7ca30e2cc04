"""The kinds of bugs, and the cells in which mutants must be caught."""

from __future__ import annotations

import pytest

from streamconform.errors import SourceError
from streamconform.resources import find_bundled
from streamconform.suite.kinds import Cell, find_empty, read_kinds
from streamconform_capture.cli.lint import find_empty_cells
from streamconform_dev.selftest.cells import count_cells, iter_lines, list_mutant_cells, make_rows
from streamconform_mutants import MUTANTS

KINDS = """\
kinds: 1
groups:
  calls: Tool calls
  request: The request
entries:
  calls-merged:
    group: calls
    title: Makes one call of parallel calls
    paths: [stream, document]
  cache-unasked:
    group: request
    title: Does not ask for the cache
    paths: [request]
apis:
  ollama-chat:
    excluded:
      calls-merged: Calls of this API arrive whole, one after the other.
  cohere-chat:
    excluded:
      calls-merged/document: A document lists its calls.
"""


@pytest.fixture
def write(tmp_path):
    def write(text):
        (tmp_path / "kinds.yaml").write_text(text)
        return tmp_path

    return write


@pytest.fixture
def kinds(write):
    return read_kinds(write(KINDS))


def test_a_kind_is_asked_of_every_api_and_path_that_nothing_excludes(kinds):
    cells = {*kinds.entries["calls-merged"].cells}
    assert len(cells) == 2 * 9 - 3
    assert Cell("cohere-chat", "stream") in cells
    assert not cells & {Cell("ollama-chat", "stream"), Cell("ollama-chat", "document")}
    assert Cell("cohere-chat", "document") not in cells
    assert all(path == "request" for _, path in kinds.entries["cache-unasked"].cells)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("group: calls", "group: call", "no group `call`"),
        ("ollama-chat:", "olama-chat:", "no API `olama-chat`"),
        ("calls-merged/document:", "calls-merged/request:", "occurs on no path `request`"),
        ("calls-merged/document:", "call-merged:", "no kind `call-merged`"),
        ("A document lists its calls.", "no calls", "too short"),
        ("[request]", "[requests]", "requests"),
    ],
)
def test_a_mistake_in_the_file_is_named_with_its_line(write, old, new, message):
    with pytest.raises(SourceError) as caught:
        read_kinds(write(KINDS.replace(old, new)))
    (problem,) = caught.value.problems
    assert message in str(problem)
    assert problem.line


def test_every_mutant_has_a_kind_and_cells_if_it_has_an_api():
    kinds = read_kinds(find_bundled("specs"))
    for name, mutant in MUTANTS.items():
        assert mutant.kind in kinds.entries, name
        assert bool(list_mutant_cells(mutant, kinds)) == bool(mutant.adapter.apis), name


def test_no_cell_is_both_excluded_and_asked_by_a_mutant_of_its_api_alone():
    kinds = read_kinds(find_bundled("specs"))
    for name, mutant in MUTANTS.items():
        if len(mutant.adapter.apis) == 1:
            cell = Cell(mutant.adapter.apis[0], mutant.paths[0])
            assert cell not in kinds.entries[mutant.kind].excluded, name


def test_a_cell_without_a_mutant_is_empty(kinds):
    merged = MUTANTS["calls-of-one-index-joined"]  # of Ollama, which the kinds above exclude
    by_name = MUTANTS["calls-of-one-name-joined"]  # of google-generate
    rows = make_rows(kinds, [merged, by_name])
    assert count_cells(rows) == {"asked": 1, "excluded": 3, "empty": 14 + 9}
    assert rows[0].mutants[Cell("google-generate", "stream")] == ("calls-of-one-name-joined",)
    (line,) = (line for line in iter_lines(kinds, rows) if "calls-merged" in line)
    assert line.count("+") == 1
    assert line.count("-") - "calls-merged".count("-") == 3
    assert line.count("?") == 14


def test_an_empty_cell_is_named_with_the_line_of_its_kind(kinds):
    asked = {(kind.name, *cell) for kind in kinds.entries.values() for cell in kind.cells}
    assert not [*find_empty(kinds, asked)]
    (problem,) = find_empty(kinds, asked - {("calls-merged", "google-generate", "document")})
    assert str(problem).startswith(f"{kinds.entries['calls-merged'].path}:6: no mutant has `calls-merged` in")
    assert "google-generate, document" in problem.message


def test_a_kind_without_a_mutant_is_empty_in_every_api_and_path_where_it_can_occur(write):
    entry = "  new-kind:\n    group: calls\n    title: Does what no mutant does\n    paths: [document]\napis:"
    found = find_empty_cells(read_kinds(write(KINDS.replace("apis:", entry))))
    assert sum("`new-kind`" in problem.message for problem in found) == 9


def test_a_kind_of_bug_in_functions_has_no_cells_and_is_not_in_the_matrix(write):
    entry = "  tokens-miscounted:\n    group: calls\n    title: Counts wrongly\n    paths: []\napis:"
    kinds = read_kinds(write(KINDS.replace("apis:", entry)))
    mutant = MUTANTS["words-as-tokens"]
    assert [*kinds.entries["tokens-miscounted"].cells] == [*list_mutant_cells(mutant, kinds)] == []
    assert [row.kind.name for row in make_rows(kinds, [mutant])] == ["calls-merged", "cache-unasked"]
