"""The sample of recorded answers reaches every line of the judge in Python that other judges port."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from streamconform_dev.checkout import ROOT
from tests.judges.answers import record_sample

JUDGE = ROOT / "harness/streamconform/judge"
ELSEWHERE = {
    "align.py": set(),
    "claims.py": {"join_claims"},  # round trips
    "compare.py": {
        "count_client_calls",  # the capabilities of a case, which its file has
        "format_call",  # arguments too deep for a message
    },
    "decode.py": {"decode_events", "decode_event", "_decode_other_event"},
    "match.py": {"is_equal_amount"},  # amounts that the decoder has rejected
    "mentions.py": set(),
    "partial.py": set(),
}
"""By module, the functions with lines that no outcome reaches; these are about something else."""


def find_functions(module, lines):
    """Return the names of the functions that contain the lines."""
    tree = ast.parse((JUDGE / module).read_text("utf-8"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {
        next((node.name for node in functions if node.lineno <= line <= node.end_lineno), str(line))
        for line in lines
    }


@pytest.mark.slow
def test_the_sample_reaches_every_line_about_outcomes(tmp_path):
    words = ("-m", "coverage", "run", "--rcfile=", "--data-file=data", f"--include={JUDGE}/*")
    program = ("-m", "tests.judges.reach", str(record_sample()))
    report = ("-m", "coverage", "json", "--rcfile=", "--data-file=data", "-qo", "report.json")
    for command in ((*words, *program), report):
        subprocess.run((sys.executable, *command), cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, check=True)
    files = json.loads((tmp_path / "report.json").read_text("utf-8"))["files"]
    missing = {Path(name).name: entry["missing_lines"] for name, entry in files.items()}
    found = {module: find_functions(module, missing[module]) for module in ELSEWHERE}
    assert found == ELSEWHERE
