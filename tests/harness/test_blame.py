"""The frames of failing checks, determined by the real reference from real bodies."""

from __future__ import annotations

import importlib.metadata
from dataclasses import replace

import pytest

from streamconform.apis import APIS
from streamconform.model.capability import CAPABILITIES
from streamconform.model.verdict import Check
from streamconform.run import blame as blame_module
from streamconform.run.blame import Blame, load_snapshots
from streamconform.wire import sse
from streamconform.wire.framings import split

from .. import bundled_suite
from . import builders

FRAMES = list(builders.TEXT_FRAMES)


def frames_of(path, got, *, case=None, snapshots=None):
    trial = builders.trial(case)
    check = Check(path=path, level="must", verdict="fail", got=got)
    (blamed,) = Blame(snapshots or load_snapshots()).add_frames(trial, [check], CAPABILITIES)
    return blamed.frames


LEAVES = [
    ("usage.input", None, (0,)),
    ("usage.output", 1, (0, 5)),
    ("stop.reason", None, (5,)),
    ("model", None, (0,)),
    ("content.0.text", "", (2, 3)),
    ("content.0.text", "Grüß dich ?", (3,)),
    ("content.0.text", "x", (2, 3)),
    ("content.7.text", None, ()),
    ("invariant.one-terminal", None, ()),
]


@pytest.mark.parametrize(("path", "got", "frames"), LEAVES, ids=[f"{path}-{got}" for path, got, _ in LEAVES])
def test_a_leaf_belongs_to_the_frames_after_which_it_changed(path, got, frames):
    """For text, only the frames from the one whose text differs from the received text."""
    assert frames_of(path, got) == frames


def tool_frames(count):
    start = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    fragments = ['{"a":', *['"' if i == 0 else "x" for i in range(count)], '"}']
    return [
        FRAMES[0],
        {"type": "content_block_start", "index": 0, "content_block": start},
        *(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": each},
            }
            for each in fragments
        ),
        {"type": "content_block_stop", "index": 0},
        FRAMES[5] | {"delta": {"stop_reason": "tool_use"}},
        FRAMES[6],
    ]


def tool_case(count):
    expect = {"status": "complete", "stop": "tool_use", "content": [{"tool_call": {"name": "f"}}]}
    return builders.case(expect, builders.sse_body(tool_frames(count)))


def test_arguments_belong_to_all_their_fragments():
    frames = frames_of("content.0.tool_call.arguments", None, case=tool_case(2))
    assert set(range(2, 6)) <= set(frames)
    assert max(frames) <= 6


@pytest.mark.slow
def test_beyond_500_frames_the_last_change_is_still_exact():
    count = len(tool_frames(1200))
    case = tool_case(1200)
    assert frames_of("stop.reason", None, case=case) == (count - 2,)
    fragments = frames_of("content.0.tool_call.arguments", None, case=case)
    assert len(fragments) > 400
    assert set(fragments) <= set(range(1, count))


def test_snapshots_are_taken_once_per_body():
    requested = []

    def counted(run, at):
        requested.extend(at)
        return load_snapshots()(run, at)

    trial = builders.trial()
    blame = Blame(counted)
    checks = [Check(path=path, level="must", verdict="fail") for path in ("usage.input", "model", "status")]
    blame.add_frames(trial, checks, CAPABILITIES)
    assert len(requested) == len(set(requested)) == len(FRAMES)


def with_cassette(case, **changed):
    return replace(case, cassette=replace(case.cassette, **changed))


SMALL = builders.case()
PRICED = {"input": "1", "output": "2"}
OTHERS = {
    "prices": replace(SMALL, pricing=PRICED),
    "headers": with_cassette(SMALL, headers={"content-type": "text/plain"}),
    "request": with_cassette(SMALL, request=replace(SMALL.cassette.request, body={"model": "m"})),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_cases_that_share_a_body_share_no_snapshots_if_anything_else_differs(other):
    given = []

    def remember(run, at):
        given.append(run)
        return load_snapshots()(run, at)

    blame = Blame(remember)
    outcomes = [blame.list_outcomes(builders.trial(case)) for case in (SMALL, other, SMALL)]
    assert len(given) == 2
    assert outcomes == [
        Blame(load_snapshots()).list_outcomes(builders.trial(c)) for c in (SMALL, other, SMALL)
    ]


def test_only_some_bodies_are_remembered():
    blame = Blame(load_snapshots())
    for i in range(blame_module.MAX_BODIES + 5):
        body = builders.sse_body([*FRAMES[:5], FRAMES[5] | {"usage": {"output_tokens": i}}, FRAMES[6]])
        blame.find_first_delta(builders.trial(builders.case(body=body)))
    assert len(blame._cache) == blame_module.MAX_BODIES


def test_the_first_delta_ends_with_its_frame():
    trial = builders.trial()
    assert Blame(load_snapshots()).find_first_delta(trial) == sse.split(trial.body)[2].end


def test_without_a_teller_checks_have_no_frames():
    check = Check(path="usage.input", level="must", verdict="fail")
    assert Blame(None).add_frames(builders.trial(), [check], CAPABILITIES) == (check,)
    assert Blame(None).find_first_delta(builders.trial()) is None


def test_without_an_entry_point_checks_have_no_frames(monkeypatch):
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: ())
    blame_module._find_snapshots.cache_clear()
    assert frames_of("usage.input", None) == ()
    blame_module._find_snapshots.cache_clear()


def test_calls_that_are_called_complete_belong_to_the_frames_that_ended_them():
    case = next(each for each in bundled_suite.streams() if each.id.endswith("tool-use/parallel-calls"))
    blamed = frames_of("content.complete_calls", 0, case=case)
    frames = split(APIS[case.api].detect_framing(200, case.cassette.body), case.cassette.body)
    assert blamed
    assert all(b"content_block_stop" in frames[number].payload for number in blamed)


def test_a_document_has_no_frames():
    assert frames_of("status", None, case=builders.case(body=b"<html>")) == ()


def test_frames_of_bundled_cassettes_are_in_the_body_and_contain_the_usage():
    blame = Blame(load_snapshots())
    check = Check(path="usage.output", level="must", verdict="fail")
    for case in bundled_suite.streams()[::10]:
        trial = builders.trial(case)
        (blamed,) = blame.add_frames(trial, [check], CAPABILITIES)
        frames = split(APIS[case.api].detect_framing(case.cassette.status, trial.body), trial.body)
        assert all(number < len(frames) for number in blamed.frames)
        fields = (b"usage", b"_count", b"billed_units")  # the field's name in Ollama and Cohere
        assert all(any(w in frames[n].payload for w in fields) for n in blamed.frames), case.id
