"""Rules for every file of the repository."""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
import yaml

from streamconform.apis import APIS
from streamconform.model.cassette import Recorded

from .bundled_suite import cases, streams

ROOT = Path(__file__).resolve().parents[1]
SECRET = re.compile(
    rb"sk-[A-Za-z0-9_-]{20,}|AKIA[0-9A-Z]{16}|ghp_[A-Za-z0-9]{30,}|Bearer [A-Za-z0-9._-]{20,}"
)
OF_THE_ENGINE = ("anthropic-messages", "openai-chat", "openai-responses")
# `ida` is a name in a cassette, which the matrix quotes, and not an account of a maintainer.
OUTSIDE = re.compile(r"/(?:home/(?!ida/)|root/|work/|Users/)|(?:pypi|npmjs|pythonhosted)\.org")


@cache
def texts():
    """Return the files that git tracks or would track, except for cassettes."""
    command = ("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [ROOT / name for name in listed.split("\0") if name]
    return [path for path in paths if path.is_file() and path.parts[-3:-2] != ("cassettes",)]


@pytest.mark.parametrize("api", APIS)
def test_every_api_has_sixty_cases_and_five_twins(api):
    cassettes = [case.cassette for case in streams() if case.api == api]
    assert len(cassettes) >= 60
    assert len({each.name for each in cassettes if each.twin is not None}) >= 5


@pytest.mark.parametrize("api", OF_THE_ENGINE)
def test_every_api_that_the_engine_speaks_has_twenty_recordings(api):
    cassettes = [case.cassette for case in streams() if case.api == api]
    assert len({each.name for each in cassettes if isinstance(each.provenance, Recorded)}) >= 20


def test_every_bundled_case_is_reviewed_and_says_what_it_rests_on():
    finished = {
        case.id for case in cases() if case.reviewed and case.tags and (case.evidence or case.sources)
    }
    assert {case.id for case in cases()} == finished
    assert [case.id for case in cases() if case.level == "must" and not case.evidence] == []


def test_every_case_guards_against_a_bug_or_says_what_it_is_for():
    assert [case.id for case in cases() if not (case.guards or case.why or case.evidence)] == []


def test_no_two_cases_of_an_api_have_the_same_title():
    titles = Counter((case.api, case.title) for case in cases())
    assert [title for title, count in titles.items() if count > 1] == []


def test_recordings_keep_the_cuts_of_the_network():
    recorded = [case.cassette for case in streams() if isinstance(case.cassette.provenance, Recorded)]
    assert [each.name for each in recorded if each.status == 200 and len(each.marks) < 2] == []


def test_the_bytes_of_a_cassette_are_those_it_was_made_with():
    changed, secret = [], []
    for path in sorted((ROOT / "cassettes").glob("*/*.yaml")):
        response = yaml.load(path.read_text("utf-8"), yaml.CSafeLoader)["response"]
        body = (path.parent / response["body"]).read_bytes()
        if hashlib.sha256(body).hexdigest() != response["sha256"]:
            changed.append(path.name)
        if SECRET.search(body):
            secret.append(path.name)
    assert (changed, secret) == ([], [])


def test_git_and_editors_leave_cassettes_alone():
    assert "cassettes/** -text" in (ROOT / ".gitattributes").read_text()
    assert "exclude: ^cassettes/" in (ROOT / ".pre-commit-config.yaml").read_text()
    assert "[cassettes/**]" in (ROOT / ".editorconfig").read_text()


def test_no_file_names_a_path_of_some_machine_or_the_address_of_a_registry():
    found = []
    for path in texts():
        if path == Path(__file__):
            continue
        for number, line in enumerate(path.read_text("utf-8", "replace").split("\n"), start=1):
            if OUTSIDE.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}")
    assert found == []


def test_no_test_is_switched_off():
    words = ("pytest.mark." + "skip", "pytest." + "skip", ".x" + "fail")
    tests = [path for path in texts() if path.suffix == ".py" and ROOT / "tests" in path.parents]
    assert [path.name for path in tests if any(word in path.read_text("utf-8") for word in words)] == []
