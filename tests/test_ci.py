"""`.ci/run` lists the time of each part, also if one fails."""

from __future__ import annotations

import subprocess

from streamconform_dev.checkout import ROOT

FUNCTIONS = (ROOT / ".ci/run").read_text("utf-8").partition("# the real recorded streams")[0]


def run_parts(folder, *parts):
    script = folder / "ci" / "run"
    script.parent.mkdir()
    script.write_text(FUNCTIONS + "\n".join(f"run_part {part}" for part in parts), "utf-8")
    done = subprocess.run(("bash", script), capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


def test_a_part_over_its_budget_is_a_warning(tmp_path):
    code, (first, second) = run_parts(tmp_path, "quick 60 true", "late -1 true")
    assert code == 0
    assert first.split() == ["quick", "0", "s", "of", "60", "s"]
    assert second.endswith("s of   -1 s: warning: over budget")


def test_a_part_that_fails_ends_the_run_and_the_times_before_it_are_listed(tmp_path):
    code, lines = run_parts(tmp_path, "quick 60 true", "broken 60 false", "never 60 true")
    assert code == 1
    assert [line.split()[0] for line in lines] == ["quick"]
