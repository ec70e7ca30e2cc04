"""Headlines that name the end marker, for the streams of the bundled suite."""

from __future__ import annotations

import pytest

from streamconform.apis import APIS
from streamconform.apis.payloads import read_payload
from streamconform.judge.compare import check_leaf
from streamconform.model.leaf import AnyOf
from streamconform.reports.causes import group_by_cause
from streamconform.suite.expand import expand
from streamconform.wire.framings import split

from ..bundled_suite import streams
from ..harness import builders


def name_status_cause(case, expect, got, delivery="as-is"):
    """Return the headline for an answer whose status is `got`."""
    check = check_leaf("status", expect.fields["status"], got, case.level)
    verdict = "warn" if check.verdict == "may" else check.verdict
    trial = builders.result(verdict, case=case.id, delivery=delivery, level=case.level, checks=(check,))
    return "" if check.verdict == "pass" else group_by_cause([trial])[0].title


LACK_MORE = (
    # A client that follows the SSE specification drops a last event without a blank line.
    "google-interactions/framing/last-frame-without-blank-line",
    # The terminal event arrived, but the frame with the usage after it is cut.
    "bedrock-converse/truncation/cut-inside-metadata",
)


def has_end_marker(case):
    body = case.cassette.body
    # `finish_reason` is the terminal event of chat completions, but `[DONE]` is the marker that follows it.
    if case.api == "openai-chat":
        return b"[DONE]" in body
    if case.id in LACK_MORE:
        return False
    frames = split(APIS[case.api].frame_case(case, body), body)
    return any(APIS[case.api].ending.is_terminal(read_payload(frame.payload)) for frame in frames)


WITH_PREFERENCE = [
    case
    for case in streams()
    if isinstance(case.expect.fields.get("status"), AnyOf) and case.expect.fields["status"].preferred
]


@pytest.mark.parametrize("got", ["complete", "incomplete", "error"])
def test_a_headline_names_the_end_marker_only_if_the_stream_lacks_it(got):
    titles = {case.id: name_status_cause(case, case.expect, got) for case in WITH_PREFERENCE}
    named = {id_ for id_, title in titles.items() if "end marker" in title}
    whole = {case.id for case in WITH_PREFERENCE if has_end_marker(case)}
    assert named & whole == set()
    assert "anthropic-messages/truncation/cut-after-message-delta" not in whole
    failed = {id_ for id_, title in titles.items() if title}
    assert [id_ for id_ in failed - whole - named if "/truncation/" in id_] == []


def test_a_cut_stream_that_a_client_may_refuse_is_still_named_by_its_break():
    case = next(
        case for case in streams() if case.id == "anthropic-messages/tool-use/malformed-unquoted-value"
    )
    assert name_status_cause(case, case.expect, "error") == "Reports an answer that it may refuse as an error"
    faults = expand((case,), (), "bytes", 0, "all")
    titles = {
        each.delivery: name_status_cause(case, each.expect, "complete", each.delivery) for each in faults
    }
    assert set(titles.values()) == {
        "Does not notice that the end marker is missing",
        "Reports a cut stream as complete",
        "Reports an error as a complete answer",
    }
