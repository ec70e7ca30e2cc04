"""How the page shows one failure: a call as one object, counts and amounts as a bill, signatures, frames."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamconform.adapters.adapter_input import BytesInput
from streamconform.adapters.interface import Observation
from streamconform.judge.judge import check_observation
from streamconform.model.capability import CAPABILITIES
from streamconform.model.verdict import Check
from streamconform.reports.causes import Failure
from streamconform.reports.html.bill import bill_to_json
from streamconform.reports.html.failures import Budget, FailureRows
from streamconform.reports.html.source import Suite
from streamconform.run.blame import Blame, load_snapshots
from streamconform.suite.expand import make_trial
from streamconform_reference import adapter

from ..bundled_suite import streams
from .test_html import WHOLE

COST = "anthropic-messages/cost/cost-every-bucket"
THINKING = "anthropic-messages/fallback/two-hops-with-thinking"
CALLS = "anthropic-messages/tool-use/parallel-calls"
TEXT = "cohere-chat/v1/v1-plain-text"
FAILED = next(trial for trial in WHOLE.trials if trial.verdict == "fail")


def read_outcome(trial):
    """Return the bundled parser's outcome of a trial."""
    case = trial.case
    cassette = case.cassette
    given = BytesInput(
        case.api,
        cassette.status,
        dict(cassette.headers),
        (trial.body,),
        cassette.request.body,
        cassette.model,
        case.pricing,
    )
    *_, last = adapter(given)
    return last["outcome"]


def show(case_id, change, *deliveries):
    """Return the page's rows of an answer to which `change` was applied, in each of the deliveries."""
    case = next(case for case in streams() if case.id == case_id)
    rows = FailureRows(WHOLE, Suite({case.id: case}), {case.id: 0}, frozenset(), Budget())
    blame = Blame(load_snapshots())
    for delivery in deliveries or ("as-is",):
        trial = make_trial(case, delivery, 0)
        outcome = read_outcome(trial)
        change(outcome)
        claims = CAPABILITIES - {"events"}
        checked = check_observation(trial, Observation(outcome), claims, blame.find_first_delta)
        failed = [check for check in checked.checks if check.verdict in ("fail", "warn")]
        first = replace(
            FAILED,
            id=f"{case.id}@{delivery}",
            case=case.id,
            delivery=delivery,
            checks=blame.add_frames(trial, failed, claims),
            observation={"outcome": outcome},
        )
        rows.add_details(rows.add(Failure(first, first.checks[0], (delivery,), ()), 0))
    return rows


def show_one(case_id, change):
    return show(case_id, change).rows[0]


def find_check(row, path):
    return next(check for check in row["checks"] if check["path"] == path)


def blocks(outcome, type_):
    return [block for block in outcome["content"] if block["type"] == type_]


def test_deliveries_of_one_stream_share_its_body():
    rows = show(THINKING, lambda outcome: outcome.update(content=[]), "as-is", "bytewise", "crlf")
    assert [wire["body"] for wire in rows.wires.values()] == [0, 0, 1]
    assert len(rows.bodies) == 2


def test_a_call_is_one_object_with_the_fields_that_are_right():
    def change(outcome):
        first, second, _ = blocks(outcome, "tool_call")
        first["arguments"] = {}
        second["id"] = "wrong"

    row = show_one(CALLS, change)
    one, other = row["calls"]
    assert one["checks"] == [f"{one['path']}.arguments"]
    assert list(one["expected"]) == ["name", "arguments", "complete", "id"]
    assert one["got"] == one["expected"] | {"arguments": {}}
    assert other["got"]["arguments"] == other["expected"]["arguments"]
    assert other["got"]["id"] == "wrong"


def test_a_call_that_must_not_run_is_shown_with_the_arguments_with_which_it_would():
    def change(outcome):
        (call,) = blocks(outcome, "tool_call")
        call.update(complete=True, arguments={"path": "main.go"})

    (call,) = show_one("anthropic-messages/tool-use/call-cut-by-max-tokens", change)["calls"]
    assert "arguments" not in call["expected"]
    assert (call["expected"]["complete"], call["got"]["complete"]) == (False, True)
    assert call["got"]["arguments"] == {"path": "main.go"}


def test_a_call_that_is_missing_has_nothing_on_the_other_side():
    row = show_one(CALLS, lambda outcome: outcome["content"].remove(blocks(outcome, "tool_call")[1]))
    (call,) = row["calls"]
    assert call["got"] is None
    assert call["expected"]["name"]


def test_a_call_that_is_too_long_is_shown_check_by_check():
    def change(outcome):
        blocks(outcome, "tool_call")[0]["arguments"] = {"path": "x" * 20_000}

    row = show_one(CALLS, change)
    assert "calls" not in row
    assert any("since" in check for check in row["checks"])


@pytest.mark.parametrize(
    ("change", "byte", "sizes"),
    [
        (lambda text: text[:30] + "*" + text[31:], 30, (80, 80)),
        (lambda text: text[:40], 40, (80, 40)),
        (lambda text: text + "more", 80, (80, 84)),
        (lambda text: "ü" + text[1:], 0, (80, 81)),
    ],
    ids=["another byte", "shorter", "longer", "not ASCII"],
)
def test_a_signature_says_from_which_byte_it_differs(change, byte, sizes):
    def sign(outcome):
        block = blocks(outcome, "thinking")[0]
        block["signature"] = change(block["signature"])

    check = find_check(show_one(THINKING, sign), "content.0.thinking.signature")
    assert check["signature"] == {"byte": byte, "sizes": list(sizes)}
    assert max(len(check["expected"]), len(check["got"])) < 48


def test_a_signature_that_is_right_is_the_same():
    row = show_one(THINKING, lambda outcome: outcome["stop"].update(reason="length"))
    assert dict(row["right"])["content.0.thinking.signature"] == "same (80 bytes)"


@pytest.mark.parametrize(
    ("text", "frame"),
    [
        ("Swifts sleep on the wind.", "wing"),
        ("swifts sleep on the wing.", "Swifts"),
        ("Swifts sleep on the wing. Twice.", "."),
        ("Swifts", " sleep"),
    ],
    ids=["late", "early", "more", "less"],
)
def test_a_text_is_decided_by_the_frame_with_the_first_wrong_character(text, frame):
    rows = show(TEXT, lambda outcome: outcome["content"][0].update(text=text))
    (number,) = find_check(rows.rows[0], "content.0.text")["frames"]
    lines = [line for line in rows.bodies[0]["text"].split("\n") if line]
    assert frame in lines[number]


def test_other_values_keep_all_their_frames():
    row = show_one(CALLS, lambda outcome: blocks(outcome, "tool_call")[0].update(arguments={}))
    (check,) = (check for check in row["checks"] if check["path"].endswith(".arguments"))
    assert len(check["frames"]) > 1


def test_a_bill_has_the_difference_and_the_price_behind_it():
    def change(outcome):
        outcome["usage"]["input"] += 81_000
        outcome["cost"]["input"] = "0.817"
        outcome["cost"]["total"] = "0.93175"

    bill = show_one(COST, change)["bill"]
    lines = {line["name"]: line for line in bill["lines"]}
    assert lines["input"]["count"] == ["700", "81,700", "+81,000 (117 times)", "fail"]
    assert lines["input"]["amount"] == ["$0.007", "$0.817", "+$0.81 (117 times)", "fail"]
    assert lines["input"]["price"] == "$10 per million"
    assert lines["cache read"]["count"] == ["81,000", "81,000", "", "pass"]
    assert lines["cache write"]["price"] == "$12.5 per million, $20 for an hour"
    assert lines["web searches"]["price"] == "$10 per thousand"
    assert lines["total"]["amount"] == ["$0.12175", "$0.93175", "+$0.81 (7.65 times)", "fail"]
    assert "reasoning (part of output)" not in lines  # 0, as expected
    assert bill["checks"] == ["usage.input", "cost.input", "cost.total"]


def failed(path, expected, got, **more):
    return Check(path=path, level="must", verdict="fail", expected=expected, got=got, **more)


@pytest.mark.parametrize(
    ("expected", "got", "shown"),
    [
        (1000, 100, ["1,000", "100", "-900 (0.1 times)", "fail"]),
        (100_000, 100_001, ["100,000", "100,001", "+1", "fail"]),
        (0, 5, ["0", "5", "+5", "fail"]),
        (5, 0, ["5", "0", "-5", "fail"]),
        (5, None, ["5", "null", "", "fail"]),
        (5, True, ["5", "true", "", "fail"]),
        (5, "1e999999", ["5", '"1e999999"', "", "fail"]),
        (5, "NaN", ["5", '"NaN"', "", "fail"]),
        ({"any_of": [1, 2]}, 3, ["one of 1, 2", "3", "", "fail"]),
    ],
)
def test_a_bill_may_have_any_value(expected, got, shown):
    bill = bill_to_json([failed("usage.output", expected, got)], [], None)
    (line,) = bill["lines"]
    assert (line["count"], line["amount"], line["price"]) == (shown, None, "")


def test_a_bill_names_the_prices_that_apply_to_some_requests_only():
    pricing = {"input": "3", "output": "15", "service_tier": {"flex": "0.5"}}
    bill = bill_to_json([failed("cost.total", "0.1", "0.05", message="Why.")], [], pricing)
    assert bill["factors"] == {"service_tier": {"flex": "0.5"}}
    assert bill["notes"] == ["Why."]


def test_without_a_wrong_count_or_amount_there_is_no_bill():
    right = Check(path="usage.input", level="must", verdict="pass", expected=1, got=1)
    assert bill_to_json([failed("stop.reason", "stop", "length")], [right], {"input": "3"}) is None
