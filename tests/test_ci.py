"""`.ci/run` lists the time of each part, also if one fails."""

from __future__ import annotations

import re
import subprocess
import tomllib

from streamconform.yaml_text import reader
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


def test_ci_runs_the_tests_with_every_version_of_python_that_the_package_names():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = re.findall(r"Python :: (3\.[0-9]+)", "\n".join(project["classifiers"]))
    jobs = reader.read(ROOT / ".github/workflows/tests.yml").value["jobs"]
    assert jobs["versions"]["strategy"]["matrix"]["python"] == named
    assert project["requires-python"] == f">={named[0]}"
    oldest_and_newest = [named[0], named[-1]]
    assert jobs["systems"]["strategy"]["matrix"]["python"] == oldest_and_newest
