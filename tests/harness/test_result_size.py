"""The size of answers in the results of a trial and of a run is limited, without affecting verdicts."""

from __future__ import annotations

import json

from streamconform.model.result import TrialResult
from streamconform.model.verdict import Check
from streamconform.run import result_size
from streamconform.run.plan import Settings
from streamconform.run.result_size import ResultBounds
from streamconform.run.results import to_json
from streamconform.run.session import SILENT, RunRequest, execute_run
from streamconform.schemas import find_problems

from . import builders

KILOBYTE = "x" * 1024


def make_result(observation=None, *checks: Check) -> TrialResult:
    return builders.result("fail", checks=checks, observation=observation)


def make_check(got, expected=None, message=None) -> Check:
    return Check(
        path="content.0.text", level="must", verdict="fail", expected=expected, got=got, message=message
    )


def test_a_small_result_is_kept_as_it_is():
    result = make_result({"outcome": {"content": [KILOBYTE]}}, make_check(KILOBYTE))
    assert ResultBounds().shorten(result) is not None
    assert ResultBounds().shorten(result) == result


def test_the_largest_members_of_an_answer_are_left_out_first():
    events = [KILOBYTE] * 2048
    result = make_result({"outcome": {"content": []}, "events": events, "raised": {"type": "E"}})
    shortened = ResultBounds().shorten(result)
    size = len(json.dumps(events, separators=(",", ":")))
    assert shortened.observation == {
        "outcome": {"content": []},
        "raised": {"type": "E"},
        "left_out": {"events": size},
    }
    assert shortened.verdict == "fail"


def test_a_value_in_a_check_is_shortened_to_its_beginning():
    arguments = {"path": KILOBYTE * 100}
    result = make_result(None, make_check(KILOBYTE * 100, arguments, KILOBYTE * 100))
    (check,) = ResultBounds().shorten(result).checks
    for value, beginning in ((check.got, "xxx"), (check.expected, '{"path":"xxx'), (check.message, "xxx")):
        assert value.startswith(beginning)
        assert value.endswith(" bytes)")
        assert len(value) < result_size.MAX_VALUE + 100


def test_a_run_keeps_a_bounded_number_of_bytes():
    bounds = ResultBounds(limit=100 * 1024)
    result = make_result({"outcome": {"content": [KILOBYTE * 20]}}, make_check(KILOBYTE * 20))
    lines = [json.dumps(to_json(bounds.shorten(result))) for _ in range(100)]
    assert len(lines[0]) > 40 * 1024
    assert sum(map(len, lines[3:])) < 97 * 2 * 1024
    last = json.loads(lines[-1])
    assert last["verdict"] == "fail"
    assert last["observation"]["left_out"].keys() == {"outcome"}
    assert find_problems("results.v1", last) == ()


HUGE = """\
greet()
while (message := read())["op"] == "run":
    content = [{"type": "text", "text": "x" * 4_000_000}]
    write(op="result", id=message["id"], outcome=GOOD | {"content": content})
"""


def test_an_implementation_that_returns_megabytes_has_small_results(tmp_path):
    trials = tuple(builders.trial(builders.case(id=f"anthropic-messages/text/t{i}")) for i in range(3))
    request = RunRequest(
        connections=(builders.program(tmp_path, HUGE),),
        trials=trials,
        settings=Settings(workers=1, timeout=60, seed=0, strict=False),
        selection={},
    )
    path = tmp_path / "results.jsonl"
    finished = execute_run(request, path, SILENT)
    assert {result.verdict for result in finished.results.trials} == {"fail"}
    assert path.stat().st_size < 4 * result_size.MAX_VALUE * len(trials)
