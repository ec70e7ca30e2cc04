"""The prerequisites of a release: the version, the changelog, the workflows, and the image's Dockerfile."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib

import pytest
import yaml

from streamconform import __version__
from streamconform.install import SOURCE
from streamconform_dev.rehearsal import PACKAGES

from .test_repository import ROOT, texts

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
REPOSITORY = PROJECT["urls"]["Repository"].removeprefix("https://github.com/")
RELEASE_WORKFLOW = (ROOT / ".github/workflows/release.yml").read_text("utf-8")
MANIFESTS = [
    path
    for name in ("package.json", "Cargo.toml", "go.mod", "pom.xml")
    for path in (ROOT / "harness/judges").glob(f"*/{name}")
]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
PINNED = re.compile(r"[\w.-]+/[\w./-]+@(?:v\d+(?:\.\d+)*|[0-9a-f]{40})")
MARKER = "<!-- The news since the last release is in changelog.d. -->\n"
FRAGMENT = re.compile(r"[a-z0-9-]+\.(added|changed|fixed|removed)\.md")
RELEASE = re.compile(r"^## (\S+) - \d{4}-\d\d-\d\d$", re.MULTILINE)
IGNORED = (ROOT / ".dockerignore").read_text("utf-8").splitlines()


def list_steps(path):
    jobs = yaml.safe_load(path.read_text("utf-8"))["jobs"].values()
    return [step for job in jobs for step in job["steps"]]


def test_the_newest_release_in_the_changelog_is_the_version():
    assert PROJECT["version"] == __version__
    assert RELEASE.findall((ROOT / "CHANGELOG.md").read_text("utf-8"))[0] == __version__


def test_a_release_puts_the_news_into_the_changelog(tmp_path):
    shutil.copytree(ROOT / "changelog.d", tmp_path / "changelog.d")
    for name in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "changelog.d/zz-two-lines.fixed.md").write_text("A bug is fixed\nin two lines.\n")
    before = (ROOT / "CHANGELOG.md").read_text("utf-8")
    # `--keep`, because the copy is no repository.
    command = (
        sys.executable,
        "-m",
        "towncrier",
        "build",
        "--version",
        "9.0.0",
        "--date",
        "2030-01-01",
        "--keep",
    )
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    head, marker, rest = before.partition(MARKER)
    after = (tmp_path / "CHANGELOG.md").read_text("utf-8")
    assert after.startswith(f"{head}{marker}\n## 9.0.0 - 2030-01-01\n\n### ")
    assert "\n### Fixed\n\n- " in after.partition(rest)[0]
    assert after.endswith(rest)
    assert "\n- A bug is fixed\n  in two lines.\n" in after.removesuffix(rest)
    assert RELEASE.findall(after)[0] == "9.0.0"


def test_each_news_fragment_has_a_kind():
    fragments = [path.name for path in (ROOT / "changelog.d").glob("*.md") if path.name != "README.md"]
    assert [name for name in fragments if not FRAGMENT.fullmatch(name)] == []


def test_the_action_the_hook_and_the_image_are_documented_at_the_version():
    page = (ROOT / "docs/ci.md").read_text("utf-8")
    assert f"uses: {REPOSITORY}@v{__version__}" in page
    assert f"repo: https://github.com/{REPOSITORY}\n    rev: v{__version__}" in page
    assert f"ghcr.io/{REPOSITORY}:v{__version__}" in page


def test_nothing_has_a_placeholder_for_the_owner_of_the_repository():
    word = "OWN" + "ER/"
    assert [path.name for path in texts() if word in path.read_text("utf-8", "replace")] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_and_jobs_have_only_the_rights_they_need(path):
    workflow = yaml.safe_load(path.read_text("utf-8"))
    used = [step["uses"] for step in list_steps(path) if "uses" in step]
    assert [name for name in used if not PINNED.fullmatch(name)] == []
    assert workflow["permissions"] == {"contents": "read"}
    assert all("timeout-minutes" in job for job in workflow["jobs"].values())
    checkouts = [step for step in list_steps(path) if step.get("uses", "").startswith("actions/checkout")]
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_no_script_of_a_workflow_contains_an_expression(path):
    """Names of tags reach scripts as environment variables, so that nothing in them is executed."""
    assert [step["run"] for step in list_steps(path) if "${{" in step.get("run", "")] == []


def test_each_package_is_rehearsed_and_then_published_without_a_token():
    jobs = yaml.safe_load(RELEASE_WORKFLOW)["jobs"]
    publishing = {name for name in jobs if name not in ("build", "github")} | {"suite"}  # on GitHub
    assert set(PACKAGES) <= publishing
    assert {name for name, job in jobs.items() if job.get("needs") == "build"} | {"suite"} == publishing
    assert set(jobs["github"]["needs"]) | {"suite"} == publishing
    (rehearsal,) = [step["run"] for step in jobs["build"]["steps"] if "rehearse" in step.get("run", "")]
    assert rehearsal.split()[1:] == ["dev", "rehearse", "--keep", "dist"]
    assert jobs["wheel"]["permissions"] == jobs["npm"]["permissions"] == {"id-token": "write"}
    assert "secrets." not in RELEASE_WORKFLOW


def test_a_release_checks_that_the_pages_install_it_by_its_name():
    code = (ROOT / "harness/streamconform/install.py").read_text("utf-8")
    (line,) = re.findall(r"grep -Fqx '(SOURCE.*)' harness/streamconform/install.py", RELEASE_WORKFLOW)
    assert re.sub(r'"streamconform"$', f'"{SOURCE}"', line) in code.splitlines()


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.parent.name)
def test_the_packages_in_other_languages_have_the_version_and_the_license_of_the_project(path):
    text = path.read_text("utf-8")
    if path.name == "go.mod":  # its version is the tag's
        assert text.startswith(f"module github.com/{REPOSITORY}/harness/judges/go\n")
        return
    assert re.search(rf'(?:<version>|"?version"?\s*[=:]\s*"){re.escape(__version__)}[<"]', text)
    assert PROJECT["license"] in text


def test_the_image_is_built_from_everything_that_the_package_contains():
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"][
        "wheel"
    ]
    allowed = [line[1:] for line in IGNORED if line.startswith("!")]
    needed = [*tool["packages"], *tool["force-include"], *PROJECT["license-files"], PROJECT["readme"]]
    assert [
        path for path in needed if not any(path == name or path.startswith(f"{name}/") for name in allowed)
    ] == []
    assert [name for name in allowed if not (ROOT / name).exists()] == []
