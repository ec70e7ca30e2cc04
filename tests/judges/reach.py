"""Judge the answers in a folder again: `python -m tests.judges.reach FOLDER`, while coverage looks on."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from streamconform.apis import NAMES
from streamconform.model.case import Case
from streamconform_dev.judges.answers import AnsweredTrial, expand_covered, find_expected
from streamconform_dev.judges.files import read_answers
from tests.bundled_suite import cases
from tests.judges.made import make_cases


def judge_all(folder: Path) -> None:
    """Judge each answer; raises `AssertionError` if the verdict is not the recorded one."""
    known = {case.id: case for case in cases() if isinstance(case, Case)}
    for base in {case.api: case for case in reversed(known.values())}.values():
        known |= {case.id: case for case, _ in make_cases(base)}
    trials = {}
    for api in NAMES:
        for line in map(json.loads, read_answers(folder / f"answers-{api}.jsonl.gz")):
            case_id = line["trial"].partition("@")[0]
            if line["trial"] not in trials:
                trials = {trial.id: trial for trial in expand_covered((known[case_id],), full=False)}
            answer = line["answer"]
            answered = AnsweredTrial(
                line["trial"], tuple(line["claims"]), answer["outcome"], answer.get("raised")
            )
            assert find_expected(trials[line["trial"]], answered) == line["expected"]


if __name__ == "__main__":
    judge_all(Path(sys.argv[1]))
