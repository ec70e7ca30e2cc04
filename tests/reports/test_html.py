"""The contents of the page, without a browser; `tests/browser` uses one."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import tomllib
import zlib
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from streamconform.model.case import Case
from streamconform.model.event import BlockDelta, BlockEnd, BlockStart, Done, Failed, UsageReport
from streamconform.model.outcome import Outcome, Stop, Text, ToolCall, Usage
from streamconform.reports import html
from streamconform.reports.causes import group_by_cause, list_causes
from streamconform.reports.divergence import place_events
from streamconform.reports.html.data import results_to_json
from streamconform.reports.html.failures import Budget, FailureRows
from streamconform.reports.html.page import GUIDE, pack
from streamconform.reports.html.source import read_suite
from streamconform.reports.html.wires import MAX_BODY, body_to_json, case_to_json, wire_to_json
from streamconform.reports.summary import format_headline
from streamconform.run.merge import merge, sort_trials
from streamconform.run.reading import read
from streamconform.run.results import Results
from streamconform.suite.expand import make_trial
from streamconform.wire import eventstream, invoke_stream
from streamconform_dev.docs.golden import RESULTS, write_cut_results

from ..cli.project import Project
from ..harness import builders

WHOLE = merge([("results.jsonl", read(RESULTS))])
ROOT = Path(__file__).parents[2]
DATA = re.compile(r'<script type="text/plain" id="data">(.*?)</script>', re.DOTALL)


def to_json(run, suite):
    return results_to_json(run, suite, list_causes(run))


def unpack(text):
    return json.loads(zlib.decompress(base64.b64decode(text)))


@pytest.fixture(scope="module")
def suite():
    return read_suite(WHOLE)


@pytest.fixture(scope="module")
def page():
    return html.render(WHOLE)


def test_the_page_is_the_same_in_whatever_order_trials_ended(page):
    assert html.render(sort_trials(replace(WHOLE, trials=WHOLE.trials[::-1]))) == page


def test_the_page_holds_nothing_unseen_and_loads_nothing(page):
    assert {c for c in page if not c.isprintable()} <= {"\n"}
    # A link loads nothing before it is followed.
    assert re.findall(r'(?:src|href)="(?!#)[^"]*"', DATA.sub("", page)) == [f'href="{GUIDE}"']
    assert "<link" not in page
    assert not re.search(
        r"@import|url\(|fetch\(|XMLHttpRequest|WebSocket|innerHTML|eval\(", DATA.sub("", page)
    )


def test_the_policy_allows_this_style_and_this_script_and_no_network(page):
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1].replace("&#39;", "'")
    assert policy.startswith("default-src 'none'; ")
    for name in ("style", "script"):
        text = re.search(rf"<{name}>(.*?)</{name}>", page, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy


@pytest.mark.parametrize(
    "text", ["</script><!--", "<![CDATA[", "a\u2028b\u2029c", "\ud800", "\u202e\x00&amp;"]
)
def test_text_comes_back_from_the_page_as_it_was(text):
    held = pack({"key": text, text: 1})
    assert re.fullmatch("[A-Za-z0-9+/=]+", held)
    assert unpack(held) == {"key": text, text: 1}


def test_the_link_how_to_read_a_report_leads_to_a_published_page():
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]
    folder = urls["Documentation"].removesuffix("index.html")
    assert GUIDE.startswith(folder)
    assert (ROOT / "docs" / GUIDE.removeprefix(folder)).with_suffix(".md").is_file()


def test_every_cause_is_listed_without_a_script(page, suite):
    static = DATA.sub("", page)
    value = to_json(WHOLE, suite)
    causes = value["causes"]
    rows = re.findall(r'<tr id="cause/\d+">(.*?)</tr>', static, re.DOTALL)
    assert len(rows) == len(causes) > 1
    for row, cause in zip(rows, causes, strict=True):
        cells = [to_text(cell) for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL)]
        name = value["impls"][cause["i"]]["name"]
        assert cells[0] == str(cause["number"])
        assert cells[1].endswith(cause["what"].replace("`", ""))
        counts = [str(cause[key]) for key in ("cases", "failed", "warnings")]
        assert cells[2:] == [cause["api"], cause["effect"] or "unknown", name, *counts]


def to_text(text):
    return unescape(re.sub(r"<[^>]*>", "", text)).strip()


def test_every_trial_is_in_the_grid(suite):
    value = to_json(WHOLE, suite)
    letters = "".join(
        short if len(short) > 1 else short * len(value["sets"][value["cases"][c][3]])
        for row in value["grid"]
        for c, short in enumerate(row)
    )
    assert len(letters.replace(".", "")) == len(WHOLE.trials)
    assert {each["name"] for each in value["impls"]} == {
        r"my|client `x` @octocat <b>\u202e</b>",
        "zig parser",
    }
    assert json.loads(json.dumps(value)) == unpack(pack(value))


def test_what_is_missing_is_reported(tmp_path):
    killed = read(write_cut_results(tmp_path))
    assert "These results are incomplete: the run was killed" in html.render(killed)
    gone = replace(WHOLE.header, selection={"specs": str(tmp_path / "gone")})
    assert "because the suite cannot be read" in html.render(replace(WHOLE, header=gone))
    older = replace(WHOLE, header=replace(WHOLE.header, version="0.0.1"))
    assert "the run used streamconform 0.0.1" in html.render(older).replace("The run", "the run")


@pytest.mark.parametrize(
    "observation",
    [
        {},
        {"outcome": 5},
        {"outcome": {}, "events": 5},
        {"outcome": {"status": "complete", "content": []}, "events": [5, {"type": "done"}]},
        {"outcome": {"status": "complete"}, "requests": 7, "traceback": ["x"]},
        {"output": "\ud800", "requests": [7, {"path": "\u202e"}]},
        {"left_out": ["outcome"]},
        {"left_out": {"outcome": "large"}},
    ],
)
def test_an_answer_may_be_anything(suite, observation):
    trials = tuple(replace(each, observation=observation) for each in WHOLE.trials)
    assert unpack(pack(to_json(replace(WHOLE, trials=trials), suite)))["failures"]


def test_what_the_results_do_not_keep_of_an_answer_is_named(suite):
    trials = tuple(replace(each, observation={"left_out": {"events": 2_000_000}}) for each in WHOLE.trials)
    failures = to_json(replace(WHOLE, trials=trials), suite)["failures"]
    assert any("missing: `events` (2,000,000 bytes)" in failure.get("left_out", "") for failure in failures)


@pytest.mark.parametrize(
    ("trials", "words"),
    [
        ((), "Nothing ran"),
        (
            WHOLE.trials,
            r"Failed: \d+ causes, in \d+ of \d+ trials \(.*\); 1 known-failures entry is out of date",
        ),
        (
            [t for t in WHOLE.trials if t.verdict == "pass"],
            r"No new failures, but 1 known-failures entry is out of date: \d+ passed",
        ),
        (
            [t for t in WHOLE.trials if t.verdict == "skipped"],
            r"No trial was judged: \d+ trials? skipped",
        ),
    ],
    ids=["none", "all", "passed", "skipped"],
)
def test_the_verdict_is_one_line(trials, words):
    footer = replace(WHOLE.footer, counts={"any": len(trials)})
    run = Results(replace(WHOLE.header, trials=len(trials)), tuple(trials), footer)
    assert re.fullmatch(words, format_headline(run, list_causes(run)))


def test_where_room_ends_each_cause_has_an_example_and_the_rest_is_counted(suite):
    index = {each.case: at for at, each in enumerate(WHOLE.trials)}
    made = FailureRows(WHOLE, suite, index, frozenset(), Budget(wires=0, details=0))
    value = to_json(WHOLE, suite)
    assert value["left"] == {"wires": 0, "details": 0, "failures": 0}
    for cause in group_by_cause([each for each in WHOLE.trials if each.verdict == "fail"]):
        for failure in cause.failures:
            made.add_details(made.add(failure, cause.implementation))
    assert made.budget.left_out["details"] == len(made.rows)
    assert not made.wires
    assert all({"lines", "run"} <= row.keys() and "checks" not in row for row in made.rows)


def test_the_wire_is_what_was_delivered(suite):
    for case in list(suite.cases.values())[::40]:
        if not isinstance(case, Case):
            assert {"function", "input"} <= case_to_json(case).keys()
            continue
        trial = make_trial(case, "random", 0)
        body, wire = body_to_json(trial), wire_to_json(trial, 7)
        data = base64.b64decode(body["base64"]) if "base64" in body else body["text"].encode()
        assert data == trial.body[:MAX_BODY]
        assert wire["body"] == 7
        assert wire["chunks"] == [len(chunk) for chunk in trial.chunks]
        assert wire["reads"] == len(trial.chunks)
        assert sum(gap + size for gap, size, *_ in body["frames"]) <= body["shown"] == len(data)


def test_bytes_that_are_no_text_are_in_base64():
    case = replace(builders.case(), cassette=builders.cassette(b"data: \xff\n\n"))
    assert base64.b64decode(body_to_json(make_trial(case, "whole", 0))["base64"]) == b"data: \xff\n\n"


def test_a_payload_in_base64_is_decoded_for_the_page():
    body = invoke_stream.encode_event(b'{"type":"ping"}') + eventstream.encode_event(b"{}", "e", "exception")
    case = replace(
        builders.case(), api="bedrock-invoke", cassette=builders.cassette(body, api="bedrock-invoke")
    )
    encoded, raw = body_to_json(make_trial(case, "whole", 0))["frames"]
    assert encoded[2:4] == [None, None]
    assert base64.b64decode(encoded[5]) == b'{"type":"ping"}'
    start = encoded[1] + raw[0]
    assert body[start + raw[2] : start + raw[1] - raw[3]] == b"{}"


HALF = Outcome(status="incomplete", content=(Text("Hel"),), usage=Usage(input=3))
FULL = replace(HALF, content=(Text("Hello"),))
ENDED = replace(FULL, status="complete", stop=Stop("stop"), usage=Usage(input=3, output=5))
TEXT = [(0, Outcome(status="incomplete", content=())), (1, HALF), (2, FULL), (3, ENDED)]
CALL = [
    (0, Outcome(status="incomplete", content=(ToolCall(id="a", name="f", complete=False),))),
    (
        1,
        Outcome(
            status="incomplete", content=(ToolCall(id="a", name="f", arguments_text="{", complete=False),)
        ),
    ),
    (
        2,
        Outcome(
            status="incomplete",
            content=(ToolCall(id="a", name="f", arguments={}, arguments_text="{}", complete=True),),
        ),
    ),
]
START, HEL, LO = BlockStart("text", 0), BlockDelta("text", 0, "Hel"), BlockDelta("text", 0, "lo")
END, DONE = BlockEnd("text", 0, Text("Hello")), Done(Stop("stop"))

PLACED = [
    ("right", TEXT, [START, HEL, LO, END, DONE], (1, 1, 2, 2, 3), None),
    ("usage as it grows", TEXT, [UsageReport(Usage(input=3), None), HEL], (1, 1), 2),
    ("a delta twice", TEXT, [START, HEL, HEL], (1, 1, None), 2),
    ("a delta lost", TEXT, [START, LO], (1, None), 1),
    ("the last delta lost", TEXT, [START, HEL, DONE], (1, 1, 3), 2),
    ("usage summed", TEXT, [START, UsageReport(Usage(input=6), None)], (1, None), 1),
    ("another end", TEXT, [START, HEL, LO, Failed("error", None)], (1, 1, 2, None), 3),
    ("a block of another type", TEXT, [BlockStart("thinking", 0)], (None,), 1),
    ("a call", CALL, [BlockStart("tool_call", 0, "a", "f"), BlockDelta("tool_call", 0, "{")], (0, 1), 2),
    ("a call under another name", CALL, [BlockStart("tool_call", 0, "a", "g")], (None,), 0),
    ("no frames", [], [START], (None,), None),
    ("no events", TEXT, [], (), None),
]


@pytest.mark.parametrize(
    ("positions", "events", "frames", "diverged"), [p[1:] for p in PLACED], ids=[p[0] for p in PLACED]
)
def test_events_stand_at_the_frame_that_accounts_for_them(positions, events, frames, diverged):
    placed = place_events(events, positions)
    assert (placed.frames, placed.diverged) == (frames, diverged)


def test_a_baseline_is_read_and_only_for_the_page(tmp_path):
    project = Project(tmp_path)
    header, *lines = RESULTS.read_text("utf-8").splitlines(keepends=True)
    (tmp_path / "before.jsonl").write_text(
        header + "".join(line for line in lines if '"pass"' in line), "utf-8"
    )
    ran = project.run("report", "html=r.html", str(RESULTS), "--baseline", "before.jsonl")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    value = unpack(DATA.search((tmp_path / "r.html").read_text("utf-8"))[1])
    assert value["since"]["counts"]["new"] == sum(len(row[3]) for row in value["since"]["rows"]["new"]) > 0
    ran = project.run("report", "markdown", str(RESULTS), "--baseline", "before.jsonl")
    assert (ran.code, ran.out) == (2, "")
    assert "`--baseline` needs an html report; use `conform diff` to compare" in ran.err
    assert project.run("report", "html", str(RESULTS), "--baseline", "none.jsonl").code == 2
