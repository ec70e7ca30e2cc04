"""Each parser that is broken on purpose is caught, where it is broken, by a case that names its bug."""

from __future__ import annotations

import json

import pytest
from streamconform.suite.select import glob
from streamconform_reference.mutants import MUTANTS

from .project import Project

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """The results of one run over all mutants, by mutant."""
    folder = tmp_path_factory.mktemp("mutants")
    named = [word for name in MUTANTS for word in ("-i", f"mutant:{name}")]
    ran = Project(folder).run("run", *named, "--deliver", "fast", "-q", "--report", "json=all.json")
    assert ran.code == 1, ran.err
    document = json.loads((folder / "all.json").read_text())
    by_index = dict(enumerate(MUTANTS))
    found = {name: [] for name in MUTANTS}
    for trial in document["trials"]:
        if trial["verdict"] in ("fail", "warn"):
            found[by_index[trial["implementation"]]].append(trial)
    return found


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught_by_a_case_that_guards_against_the_bug_it_stands_for(judged, name):
    named = {bug for trial in judged[name] for bug in trial.get("guards", ())}
    assert set(MUTANTS[name].issues) & named


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_fails_only_where_it_is_broken(judged, name):
    patterns = [glob(pattern) for pattern in MUTANTS[name].fails]
    checks = [f"{t['id']}:{c['path']}" for t in judged[name] for c in t["checks"] if c["verdict"] != "may"]
    assert [check for check in checks if not any(pattern.match(check) for pattern in patterns)] == []
