"""Results that are cut, malformed, of another version, or spread over several files."""

from __future__ import annotations

import copy
import gzip
import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from streamconform.cli.report import KINDS
from streamconform.errors import ReportError
from streamconform.files import json_text
from streamconform.model.result import Footer
from streamconform.reports import render
from streamconform.run.merge import merge
from streamconform.run.reading import read
from streamconform.run.results import ResultsWriter
from streamconform.schemas import find_problems
from streamconform_dev.docs.golden import RESULTS

DATA = RESULTS.read_bytes()
LINES = [json.loads(line) for line in DATA.decode().split("\n")[:-1]]
WHOLE = read(RESULTS)
HEADER = len(DATA.partition(b"\n")[0])
STRANGE = (None, True, -1, 1.5, "x", [], {}, [None], {"x": None})


def read_or_refused(path):
    """Return the results and None, or None and the error message."""
    try:
        return read(path), ""
    except ReportError as error:
        return None, str(error)


def places(value, at=()):
    """Yield the paths of all values inside a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*at, key)
        yield from places(inner, (*at, key))


def changed(line, at, to):
    """Return `line` with a different value at a path, or without the value."""
    made = copy.deepcopy(line)
    inner = made
    for key in at[:-1]:
        inner = inner[key]
    if to is KeyError:
        del inner[at[-1]]
    else:
        inner[at[-1]] = to
    return made


def written(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def test_results_cut_at_any_byte_are_read_up_to_the_last_whole_trial(tmp_path):
    """A line is cut at every byte after a header and one line, and at its ends after all earlier lines.

    Among lines with the same keys, the first is cut at every byte, and the others only at their ends.
    """
    shapes = set()
    path = tmp_path / "cut.jsonl"
    head, *lines = DATA.splitlines(keepends=True)
    for number, line in enumerate(lines[:-1]):
        before = b"".join(lines[max(0, number - 1) : number])
        shape = (*LINES[number + 1], LINES[number + 1]["verdict"])
        every = range(len(line) + 1) if shape not in shapes else (0, len(line) - 2, len(line) - 1, len(line))
        shapes.add(shape)
        for size in every:
            path.write_bytes(head + before + line[:size])
            reported = read(path).trials
            assert reported == WHOLE.trials[max(0, number - 1) : number + (size >= len(line) - 1)]
        for size in (-2, -1, 0, 1, 2)[0 if number else 2 :]:
            end = len(head) + sum(map(len, lines[:number])) + size
            path.write_bytes(DATA[:end])
            assert read(path) == replace(WHOLE, trials=WHOLE.trials[: number - (size < -1)], footer=None)
    for size in range(len(lines[-1])):
        path.write_bytes(head + lines[-1][:size])
        assert read(path).footer == (WHOLE.footer if size == len(lines[-1]) - 1 else None)


def test_compressed_results_are_read_to_the_place_where_they_are_cut(tmp_path):
    path = tmp_path / "results.jsonl.gz"
    data = gzip.compress(DATA)
    path.write_bytes(data)
    assert read(path) == WHOLE
    path.write_bytes(data[: len(data) // 2])
    cut = read(path)
    assert cut.footer is None
    assert cut.trials
    assert cut.trials == WHOLE.trials[: len(cut.trials)]
    path.write_bytes(data[: len(data) // 2] + data[:100])
    assert "its gzip data is damaged" in read_or_refused(path)[1]


def test_a_line_of_too_many_values_is_not_parsed(tmp_path, monkeypatch):
    monkeypatch.setattr(json_text, "MAX_VALUES", 50)
    path = tmp_path / "results.jsonl"
    path.write_bytes(b'{"kind": "header", "x": [' + b"[]," * 60 + b"1]}\n")
    assert read_or_refused(path)[1].endswith("results.jsonl:1: more than 50 values")


def test_results_may_come_from_a_pipe(tmp_path):
    path = tmp_path / "results.jsonl"
    os.mkfifo(path)
    with ThreadPoolExecutor() as pool:
        written = pool.submit(path.write_bytes, DATA)
        assert read(path) == WHOLE
    assert written.result() == len(DATA)


def test_results_cut_in_the_header_are_no_results(tmp_path):
    path = tmp_path / "cut.jsonl"
    for size in range(HEADER):
        path.write_bytes(DATA[:size])
        with pytest.raises(ReportError, match="contains no results: "):
            read(path)


def test_a_trial_that_is_read_is_the_one_that_was_written(tmp_path):
    path = tmp_path / "again.jsonl"
    with ResultsWriter(path) as writer:
        for line in (WHOLE.header, *WHOLE.trials, WHOLE.footer):
            writer.write(line)
    assert read(path) == WHOLE


def test_fields_that_nobody_knows_yet_are_left_out(tmp_path):
    grown = [line | {"later": {"x": 1}} for line in LINES]
    grown[0]["suite"]["later"] = grown[0]["implementations"][0]["later"] = 1
    assert read(written(tmp_path / "a.jsonl", grown)) == WHOLE


def test_empty_lines_and_crlf_are_no_matter(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(DATA.replace(b"\n", b"\r\n\r\n"))
    assert read(path) == WHOLE


@pytest.mark.parametrize("number", range(len(LINES)))
def test_a_changed_line_is_read_and_reported_or_refused_with_its_place(number, tmp_path):
    """The reader rejects what the published schema rejects, except for missing members."""
    path = tmp_path / "a.jsonl"
    line = LINES[number]
    for at in places(line):
        if "expected" in at or "got" in at or "observation" in at:
            continue
        for to in (*STRANGE, KeyError):
            made = changed(line, at, to)
            written(path, [made, *LINES[1:3]] if number == 0 else [LINES[0], made])
            results, message = read_or_refused(path)
            if results is None:
                assert message.startswith(f"{path}:{2 if number else ''}"), message
                continue
            wrong = find_problems("results.v1", made)
            assert [each for each in wrong if " is missing" not in each] == [], (at, to)
            if at[0] in (
                "id",
                "case",
                "reason",
                "title",
                "known",
                "guards",
                "checks",
                "selection",
                "problems",
            ):
                for kind in KINDS:
                    assert render(kind, results)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([LINES[1], LINES[0]], ":1: the first line is not a header"),
        ([LINES[0], LINES[0]], ":2: a second header"),
        ([LINES[0], LINES[-1], LINES[1]], ":3: a line after the footer"),
        ([LINES[0], {"kind": "trail"}], ":2: `kind` is not `header`, `trial` or `footer`"),
        ([LINES[0], {}], ":2: `kind` is not `header`, `trial` or `footer`"),
        ([LINES[0], []], ":2: expected a JSON object"),
        ([LINES[0] | {"schema": "results.v9"}], ":1: unsupported format `results.v9`; this version reads"),
        ([LINES[0] | {"suite": 1}], ":1: `suite` is not an object"),
        (
            [LINES[0], LINES[1] | {"implementation": 2}],
            ":2: `implementation`: the header has no implementation 2",
        ),
        (
            [LINES[0], LINES[1] | {"verdict": "good"}],
            ':2: verdict: `"good"` is not one of `fail`, ',
        ),
        ([LINES[0], LINES[1] | {"checks": [{}]}], ":2: checks.0: key `path` is missing"),
        ([LINES[0], LINES[1] | {"checks": [1]}], ":2: checks.0: `1` is not an object"),
        ([LINES[0], LINES[1] | {"ms": True}], ":2: ms: `true` is not a number"),
        ([LINES[0], LINES[1] | {"ms": float("inf")}], ":2: invalid JSON: `Infinity` is not a JSON number"),
    ],
)
def test_a_malformed_line_is_named(lines, message, tmp_path):
    path = written(tmp_path / "a.jsonl", lines)
    with pytest.raises(ReportError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}{message}")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{\n", "invalid JSON: Expecting property name"),
        (b'{"kind":"trial"\n', "invalid JSON: "),
        (b"\xff\n", "invalid JSON: 'utf-8' codec"),
        (b"[" * 100_000 + b"\n", "invalid JSON: nested too deeply"),
        (b"1" * 5000 + b"\n", "invalid JSON: "),
        (b'{"kind":"footer","exit":1e999}\n', "invalid JSON: `1e999` is not a JSON number"),
    ],
)
def test_a_line_that_is_no_json_is_named_unless_it_is_the_cut_one(line, message, tmp_path):
    path = tmp_path / "a.jsonl"
    head = DATA[: HEADER + 1]
    path.write_bytes(head + line + DATA[HEADER + 1 :])
    with pytest.raises(ReportError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}:2: {message}")


def test_a_file_that_ends_in_what_a_crash_left_is_cut(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(DATA[: HEADER + 1] + b"\0" * 4096)
    assert read(path) == replace(WHOLE, trials=(), footer=None)


def shard(numbers):
    """Return the results with only these trials, as a shard that planned no others."""
    trials = tuple(WHOLE.trials[i] for i in numbers)
    counts = {each.verdict: sum(one.verdict == each.verdict for one in trials) for each in trials}
    header = replace(WHOLE.header, trials=len(trials))
    return replace(WHOLE, header=header, trials=trials, footer=replace(WHOLE.footer, counts=counts))


def test_shards_are_one_run_whatever_their_order():
    one, other = shard(range(7)), shard(range(7, 18))
    joined = merge([("a", one), ("b", other)])
    assert joined == merge(
        [("whole", replace(WHOLE, footer=replace(WHOLE.footer, counts=joined.footer.counts)))]
    )
    assert joined.trials == merge([("b", other), ("a", one)]).trials
    assert joined.footer.counts == {k: v for k, v in WHOLE.footer.counts.items() if v}


def test_runs_of_several_implementations_stand_beside_each_other():
    infos = WHOLE.header.implementations
    runs = []
    for at, info in enumerate(infos):
        trials = tuple(replace(each, implementation=0) for each in WHOLE.trials if each.implementation == at)
        runs.append(
            (info.impl, replace(WHOLE, header=replace(WHOLE.header, implementations=(info,)), trials=trials))
        )
    joined = merge(runs)
    assert joined.header.implementations == infos
    assert joined.trials == merge([("whole", WHOLE)]).trials


def test_one_cut_shard_makes_the_whole_cut():
    killed = replace(shard(range(7, 18)), footer=None)
    assert merge([("a", shard(range(7))), ("b", killed)]).footer is None
    stopped = replace(shard(range(7)), footer=Footer(counts={}, exit=130, complete=False))
    footer = merge([("a", stopped), ("b", shard(range(7, 18)))]).footer
    assert (footer.exit, footer.complete) == (130, False)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (WHOLE, "`.*` of `.*` is in both `a` and `b`; shards of a run have no trials in common"),
        (
            replace(WHOLE, header=replace(WHOLE.header, seed=8)),
            r"`a` and `b` differ in seed \(`7`, `8`\)",
        ),
        (
            replace(WHOLE, header=replace(WHOLE.header, version="9")),
            r"`a` and `b` differ in streamconform version \(`0.1.0`, `9`\)",
        ),
        (
            replace(WHOLE, header=replace(WHOLE.header, selection={"specs": "mine"})),
            r"`a` and `b` differ in specs \(`None`, `mine`\); make one report per file",
        ),
    ],
)
def test_runs_that_do_not_belong_together_are_refused(other, message):
    with pytest.raises(ReportError, match=message):
        merge([("a", WHOLE), ("b", other)])


def test_a_trial_that_is_twice_in_one_file_is_refused():
    with pytest.raises(ReportError, match="is twice in `a`"):
        merge([("a", replace(WHOLE, trials=WHOLE.trials * 2))])
