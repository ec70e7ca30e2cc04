"""Faults break a stream at its transitions, always in the same way; the bytes give the expectations."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from functools import cache

import pytest

from streamconform.apis import APIS
from streamconform.apis.payloads import read_payload
from streamconform.delivery.faults import MAX_FAULTS, MAX_FAULTS_OVER_WEBSOCKET
from streamconform.model.case import Case, Skip
from streamconform.model.leaf import AnyOf, Literally, list_preferred, list_values
from streamconform.model.outcome import BROKEN_STATUSES, Usage
from streamconform.model.trial import FAULTS, Framing, Trial, find_transport
from streamconform.suite.expand import expand
from streamconform.wire.framings import split

from .. import bundled_suite
from . import builders

CUTS = ("cut-after-frame", "cut-inside-json", "cut-inside-utf8")


def framed(case: Case) -> Framing:
    return APIS[case.api].detect_framing(case.cassette.status, case.cassette.body)


def broken(case: Case, *, every: bool) -> tuple[Trial, ...]:
    """Return the faults over HTTP; tests/harness/test_websocket_trials.py has the others."""
    made = expand((case,), (), "bytes", 0, "all" if every else "one")
    return tuple(trial for trial in made if find_transport(trial.delivery) == "http")


@cache
def by_id() -> dict[str, tuple[Trial, ...]]:
    return {case.id: broken(case, every=True) for case in bundled_suite.sample(bundled_suite.streams())}


def every(case: Case) -> tuple[Trial, ...]:
    return by_id()[case.id]


def is_complete(case):
    return list_preferred(case.expect.fields["status"]) == ("complete",)


def all_faults():
    return ((case, fault) for case in bundled_suite.sample(bundled_suite.streams()) for fault in every(case))


def named(case: Case, name: str) -> Trial:
    return next(fault for fault in broken(case, every=True) if fault.delivery == name)


def test_the_same_case_breaks_the_same_way_at_places_of_its_own():
    for case in bundled_suite.sample(bundled_suite.streams()):
        assert every(case) == broken(case, every=True), case.id
        names = Counter(fault.delivery for fault in every(case))
        assert max(names.values(), default=0) <= 1, case.id
        assert len(names) <= 32


def test_a_cut_is_a_beginning_of_the_body_and_never_the_whole_of_it():
    for case, fault in all_faults():
        body, chunks = case.cassette.body, b"".join(fault.chunks)
        if fault.delivery.startswith(CUTS):
            assert body.startswith(chunks), f"{case.id}@{fault.delivery}"
            assert len(chunks) < len(body), f"{case.id}@{fault.delivery}"
        else:
            error = APIS[case.api].ending.error_frame[framed(case)]
            assert chunks.endswith(error), case.id
            assert body.startswith(chunks.removesuffix(error)), case.id


def test_a_cut_inside_a_payload_leaves_one_unreadable_frame():
    for case, fault in all_faults():
        kind, _, number = fault.delivery.partition(".")
        if kind in ("cut-inside-json", "cut-inside-utf8"):
            body = b"".join(fault.chunks)
            frame = split(framed(case), case.cassette.body)[int(number)]
            assert len(body) > frame.value[0], f"{case.id}@{fault.delivery}"
            with pytest.raises(ValueError):  # noqa: PT011 - JSON and UTF-8 errors are two of its kinds
                json.loads(body[frame.value[0] :])


@pytest.mark.parametrize("kind", CUTS)
def test_a_stream_without_its_terminal_frame_is_broken(kind):
    ends = {"anthropic-messages": b"message_stop", "openai-responses": b'"type":"response.completed"'}
    broken = 0
    for case, fault in all_faults():
        mark = ends.get(case.api)
        if mark and fault.delivery.startswith(kind) and is_complete(case):
            whole = mark in b"".join(split_payloads(case, fault))
            expected = case.expect if whole else fault.expect
            assert (expected.partial is None) == whole, f"{case.id}@{fault.delivery}"
            if not whole:
                arrived = map(read_payload, split_payloads(case, fault))
                settled = any(APIS[case.api].ending.is_settled(payload) for payload in arrived)
                expected = ("complete", *BROKEN_STATUSES) if settled else BROKEN_STATUSES
                assert fault.expect.fields["status"].values == expected, f"{case.id}@{fault.delivery}"
                broken += not settled
    assert broken > 10


def split_payloads(case: Case, fault: Trial) -> list[bytes]:
    return [frame.payload for frame in split(framed(case), b"".join(fault.chunks))]


def test_a_cut_after_the_terminal_frame_loses_only_usage_and_cost():
    later = [(case, fault) for case, fault in all_faults() if fault.expect.partial is None]
    assert later
    for case, fault in later:
        lost = ("usage", "cost", "status", "stop", "error")
        kept = {k: v for k, v in case.expect.fields.items() if not k.startswith(lost)}
        assert fault.expect.content == case.expect.content
        assert kept.items() <= fault.expect.fields.items()
        status = fault.expect.fields["status"]
        if status == case.expect.fields["status"]:
            assert fault.expect.fields.get("stop.raw") == case.expect.fields.get("stop.raw")
            continue
        cut_usage = fault.delivery.startswith("cut-inside")
        assert "complete" in status.preferred or (cut_usage and status.preferred == BROKEN_STATUSES)
        if "stop.raw" in case.expect.fields:
            raws = list_values(fault.expect.fields["stop.raw"])
            assert set(raws) == {*list_values(case.expect.fields["stop.raw"]), None}


def test_each_usage_bucket_is_unknown_final_or_an_earlier_value():
    seen = replace(builders.case(), usage_seen=(Usage(input=12, output=1),))
    fields = named(seen, "cut-after-frame.2").expect.fields
    assert fields["usage.output"] == AnyOf((None, 9, 1))
    assert fields["usage.input"] == AnyOf((None, 12))


def test_the_model_of_a_cut_stream_may_be_an_earlier_one():
    whole = builders.case()
    named_model = replace(whole.expect, fields={**whole.expect.fields, "model": Literally("last")})
    seen = replace(whole, expect=named_model, models_seen=("first",))
    assert named(seen, "cut-after-frame.2").expect.fields["model"] == AnyOf((None, "last", "first"))


def may_be_refused(case):
    return "error" in (list_values(case.expect.fields["status"]) or ())


def test_an_error_frame_is_inserted_only_into_a_complete_stream():
    for case, fault in all_faults():
        if fault.delivery.startswith("error-frame"):
            assert is_complete(case)
            message = Literally(APIS[case.api].ending.error_message)
            # A client that may refuse the answer may raise its own error before this one arrives.
            expected = None if may_be_refused(case) else message
            assert fault.expect.fields.get("error.message") == expected


def test_no_error_frame_follows_the_stop_reason_of_an_answer_that_may_be_refused():
    for case, fault in all_faults():
        if fault.delivery.startswith("error-frame") and may_be_refused(case):
            payloads = [read_payload(payload) for payload in split_payloads(case, fault)]
            assert not any(map(APIS[case.api].ending.is_settled, payloads)), case.id


def test_an_error_frame_of_bedrock_may_be_reported_by_its_member_or_its_shape():
    for case, fault in all_faults():
        is_error = fault.delivery.startswith("error-frame") and not may_be_refused(case)
        if is_error and case.api.startswith("bedrock-"):
            member, shape, *_ = fault.expect.fields["error.type"].values
            assert member == APIS[case.api].ending.error_type
            assert shape == member[0].upper() + member[1:]


def test_faults_one_selects_one_fault_of_each_kind():
    for case in bundled_suite.sample(bundled_suite.streams()):
        few = [fault.delivery for fault in broken(case, every=False)]
        assert len({name.partition(".")[0] for name in few}) == len(few), case.id
        assert set(few) <= {fault.delivery for fault in every(case)}, case.id


def test_the_only_cut_of_a_kind_falls_inside_a_content_block():
    cases = [case for case in bundled_suite.streams() if case.id.startswith("anthropic-messages/tool-use/")]
    cuts = [
        [read_payload(payload).get("type") for payload in split_payloads(case, fault)]
        for case in cases
        for fault in broken(case, every=False)
        if fault.delivery.startswith("cut-after-frame")
    ]
    open_blocks = [types.count("content_block_start") - types.count("content_block_stop") for types in cuts]
    assert len(cuts) > 20
    # Some streams have no block with two pieces, or a block that ends twice.
    assert sum(count > 0 for count in open_blocks) > 0.85 * len(cuts)


def test_text_that_arrived_is_counted_as_far_as_it_is_sure():
    case = builders.case()
    (text,) = (block.fields["text"].value for block in case.expect.content)
    counts = {
        fault.delivery: fault.expect.partial.text_arrived
        for fault in broken(case, every=True)
        if fault.expect.partial
    }
    assert counts["cut-after-frame.0"] == 0
    assert max(counts.values()) == len(text)
    assert 0 < counts["cut-after-frame.2"] < len(text)


def test_a_document_and_a_fault_that_the_case_takes_out_are_not_broken():
    assert not broken(builders.case(body=b"<html>"), every=True)
    skip = Skip("the cut is what the case is about", faults=frozenset(CUTS))
    left = {fault.delivery.partition(".")[0] for fault in broken(builders.case(skip=skip), every=True)}
    assert left == {"error-frame"}


@pytest.mark.parametrize(("requested", "kinds"), [("none", 0), ("one", 4), ("all", 4)])
def test_faults_are_trials_after_the_deliveries_with_their_own_ids(requested, kinds):
    trials = [*expand((builders.case(),), ("whole",), "bytes", 0, requested)]
    assert trials[0].delivery == "whole"
    assert len({each.delivery.partition(".")[0] for each in trials[1:]}) == kinds
    assert all(each.id == f"{each.case.id}@{each.delivery}" for each in trials)


def test_every_kind_over_bytes_has_its_level():
    assert {*MAX_FAULTS, *MAX_FAULTS_OVER_WEBSOCKET} == set(FAULTS) - {"reset", "stall"}
