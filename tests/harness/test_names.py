"""Every name in the types of the providers' SDKs is in a case, or has a reason why not."""

from __future__ import annotations

import json

import pytest

from streamconform.suite.shapes import Shape
from streamconform_dev.cli.names import report_names
from streamconform_dev.corpus.write_shapes import OFFICIAL_TYPES
from streamconform_dev.names import newer
from streamconform_dev.names.check import Reason, check_names, list_apis, read_reasons, read_sdk
from streamconform_dev.names.read import read_case_names, read_type_names, walk_object
from streamconform_peers.environments import find_peer
from streamconform_peers.releases import Package

from ..bundled_suite import cases

NAMES = {
    "event start": frozenset({""}),
    "<text>": frozenset({"content"}),
    "text.text": frozenset({"content.text"}),
    "usage.kind": frozenset({"usage.kind"}),
    "usage.kind = fast": frozenset({"usage.kind"}),
    "usage.kind = slow": frozenset({"usage.kind"}),
}


def make_reason(names=(), within=(), below=()):
    return Reason(names, within, below, "because", 7)


def check(cased, *reasons):
    return check_names("some-api", "some-sdk 1", NAMES, frozenset(cased), reasons)


def test_every_name_in_the_sdks_has_a_case_or_a_reason():
    for report in report_names():
        assert report.missing == (), f"{report.api}: add a case, or a reason to reasons.yaml"
        assert report.needless == (), f"{report.api}: remove these from reasons.yaml"


def test_every_api_has_its_names_except_one_that_has_the_events_of_another():
    assert set(list_apis()) == OFFICIAL_TYPES.keys() - {"bedrock-invoke"}
    assert read_reasons().keys() <= set(list_apis())


@pytest.mark.parametrize("api", list_apis())
def test_the_names_are_those_of_the_release_that_the_peers_pin(api):
    peer = find_peer(OFFICIAL_TYPES[api][0])
    assert read_sdk(api)[0] == f"{peer.distribution} {peer.version}"


def test_a_name_without_a_case_and_a_reason_is_missing():
    assert check(NAMES.keys() - {"text.text", "usage.kind = slow"}).missing == (
        "text.text",
        "usage.kind = slow",
    )


@pytest.mark.parametrize(
    ("reason", "covered"),
    [
        (make_reason(names=("<text>",)), {"<text>", "text.text"}),
        (make_reason(names=("event start",)), {"event start"}),
        (make_reason(names=("usage.kind",)), {"usage.kind", "usage.kind = fast", "usage.kind = slow"}),
        (make_reason(names=("usage.kind = slow",)), {"usage.kind = slow"}),
        (make_reason(within=("usage",)), {"usage.kind", "usage.kind = fast", "usage.kind = slow"}),
        (make_reason(below=("content",)), {"<text>", "text.text"}),
        (make_reason(below=("cont",)), set()),
    ],
)
def test_a_reason_covers_the_names_that_it_selects(reason, covered):
    report = check((), reason)
    assert set(report.reasoned) == covered
    assert set(report.missing) == NAMES.keys() - covered


def test_a_reason_for_a_name_that_has_a_case_is_needless():
    report = check(NAMES, make_reason(names=("<text>",), below=("content",)))
    assert report.needless == ("reasons.yaml:7: names: <text>", "reasons.yaml:7: below")


def test_every_entry_says_why_and_none_is_a_wildcard():
    for reasons in read_reasons().values():
        for reason in reasons:
            assert reason.text
            assert "*" not in "".join((*reason.names, *reason.within, *reason.below))
            assert "" not in (*reason.names, *reason.within, *reason.below)


def test_the_owner_of_a_field_is_its_type_else_its_parent():
    shapes = [
        Shape("start", "content[]<text>.text", "string"),
        Shape("start", "content[]<text>.type", "= text"),
        Shape("chunk", "usage.kind", "= slow"),
    ]
    names = read_type_names(shapes)
    expected = {"event start", "event chunk", "text.text", "usage.kind", "usage.kind = slow"}
    assert names.keys() == expected
    assert names["text.text"] == {"content.text"}


def test_a_payload_has_the_names_of_its_fields_types_and_words():
    payload = {"content": [{"type": "text", "text": "two words"}], "usage": {"kind": "slow", "parts": ["a"]}}
    names = set(walk_object(payload, "start", 0))
    assert {"start.content", "<text>", "text.text", "usage.kind = slow", "usage.parts = a"} <= names
    assert not any("two words" in name for name in names)


def test_a_stream_and_its_twin_have_names_of_their_own():
    pair = [
        case for case in cases() if case.id.endswith(("/stop-reasons/pause-turn", "server-side/pause-turn"))
    ]
    streamed, whole = "message_delta.delta", "message.stop_reason = pause_turn"
    assert {streamed, whole} <= read_case_names(pair)["anthropic-messages"]


def test_a_newer_release_is_compared_with_the_listed_names(tmp_path, monkeypatch):
    def install(*_, **__):
        from contextlib import nullcontext

        return nullcontext(tmp_path)

    shapes = {Shape("chunk", "message.content", "string"), Shape("chunk", "message.mood", "string")}
    monkeypatch.setattr(newer, "install_release", install)
    monkeypatch.setattr(newer, "read_types", lambda *_: shapes)
    assert newer.find_new_names(Package("python", "ollama"), "9") == {"ollama-chat": ["message.mood"]}
    assert newer.find_new_names(Package("javascript", "ollama"), "9") == {}
    assert newer.find_new_names(Package("python", "litellm"), "9") == {}


def test_the_listed_names_are_sorted_and_have_paths():
    for api in list_apis():
        _, names = read_sdk(api)
        assert json.dumps([*names]) == json.dumps(sorted(names))
        assert all(places for places in names.values())
