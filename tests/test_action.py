"""`action.yml`: its form, and its script, run by bash like on a runner; and the pre-commit hook."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from streamconform.apis import APIS
from streamconform.suite.build import COMMON
from streamconform_dev.checkout import ROOT

from .cli import forked
from .pytest_plugin.project import TRIALS, made

ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
(HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
(STEP,) = ACTION["runs"]["steps"]
BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail")
"""The command with which a runner starts `shell: bash`."""
COUNTS = ("passed", "failed", "known", "stale")
CASE = TRIALS[0].partition("@")[0]
KNOWN = f"""\
known-failures: 1
entries:
  - {{match: {CASE}, verdict: fail, reason: it moved, issue: "a#1"}}
"""


@dataclass(frozen=True)
class Job:
    """The results of the action in a workflow's job."""

    code: int
    log: str
    outputs: dict[str, str]
    summary: str


@pytest.fixture
def tests(tmp_path):
    return made(tmp_path / "project").with_file("known.yaml", KNOWN)


@pytest.fixture
def act(tests, tmp_path):
    """Runs the action in the project with some inputs."""
    tests.write()
    programs = tmp_path / "bin"
    programs.mkdir()
    forked.write_command(programs / "conform")

    def run(**given):
        inputs = {name: str(each.get("default", "")) for name, each in ACTION["inputs"].items()}
        inputs |= {"package": "none"} | {name.replace("_", "-"): text for name, text in given.items()}
        files = {name: tmp_path / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        for path in files.values():
            path.touch()
        (tmp_path / "script").write_text(STEP["run"], "utf-8")
        done = subprocess.run(
            (*BASH, str(tmp_path / "script")),
            cwd=tests.folder / filled(STEP["working-directory"], inputs),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=120,
            env={
                **os.environ,
                **{name: filled(text, inputs) for name, text in STEP["env"].items()},
                **{name: str(path) for name, path in files.items()},
                "GITHUB_ACTION_PATH": str(ROOT),
                "PATH": os.pathsep.join(
                    (str(programs), str(Path(sys.executable).parent), os.environ["PATH"])
                ),
                "NO_COLOR": "1",
            },
        )
        lines = files["GITHUB_OUTPUT"].read_text("utf-8").splitlines()
        outputs = dict(line.split("=", 1) for line in lines)
        return Job(done.returncode, done.stdout, outputs, files["GITHUB_STEP_SUMMARY"].read_text("utf-8"))

    return run


def filled(text, inputs):
    """Return a value with its expressions evaluated, like on a runner."""
    return re.sub(r"\$\{\{ inputs\.([a-z-]+) \}\}", lambda found: inputs[found[1]], text)


def test_the_action_has_the_documented_form():
    """The keys in GitHub's metadata syntax reference for composite actions."""
    assert set(ACTION) <= {"name", "author", "description", "inputs", "outputs", "runs", "branding"}
    assert {"name", "description", "runs"} <= set(ACTION)
    assert ACTION["runs"]["using"] == "composite"
    keys = {
        "run",
        "shell",
        "if",
        "name",
        "id",
        "env",
        "working-directory",
        "uses",
        "with",
        "continue-on-error",
    }
    assert {"run", "shell"} <= set(STEP) <= keys
    for each in ACTION["inputs"].values():
        assert "description" in each
        assert set(each) <= {"description", "required", "default", "deprecationMessage"}
    for name, each in ACTION["outputs"].items():
        assert set(each) == {"description", "value"}
        assert each["value"] == f"${{{{ steps.{STEP['id']}.outputs.{name} }}}}"


def test_inputs_reach_the_script_as_variables_only():
    assert "${{" not in STEP["run"]
    used = {found for text in STEP["env"].values() for found in re.findall(r"inputs\.([a-z-]+)", text)}
    assert used | {"working-directory"} == set(ACTION["inputs"])


@pytest.mark.parametrize(
    ("inputs", "code", "counts"),
    [
        ({"impl": "good"}, 0, (8, 0, 0, 0)),
        ({"impl": "wrong"}, 1, (6, 2, 0, 0)),
        ({"impl": "good\nwrong\n", "args": f"-k\n{CASE}"}, 1, (2, 2, 0, 0)),
        ({"impl": "wrong", "known_failures": "known.yaml"}, 0, (6, 0, 2, 0)),
        ({"impl": "good", "known_failures": "known.yaml"}, 1, (6, 0, 0, 2)),
        (
            {"command": f"{sys.executable} -m streamconform_reference", "api": "anthropic-messages"},
            0,
            (8, 0, 0, 0),
        ),
        ({"impl": "absent"}, 3, (0, 0, 0, 0)),
        ({"impl": "good", "profile": "absent"}, 2, (0, 0, 0, 0)),
    ],
    ids=["good", "wrong", "both", "known", "stale", "command", "unusable", "usage"],
)
def test_outputs_are_set_before_the_step_ends_with_the_code_of_the_run(act, inputs, code, counts):
    job = act(**inputs)
    assert job.code == code, job.log
    assert job.outputs == {**dict(zip(COUNTS, map(str, counts), strict=True)), "exit-code": str(code)}
    began = code < 2
    assert job.summary.startswith("### streamconform") is began
    assert ("::notice title=streamconform::" in job.log) is began
    assert ("::error" in job.log) is (code == 1)


def test_further_reports_are_written_and_results_can_go_elsewhere(act, tests):
    job = act(impl="good", reports="junit=out/junit.xml\n\n  jsonl=out/results.jsonl  ")
    assert (job.code, job.outputs["passed"]) == (0, "8")
    assert (tests.folder / "out/junit.xml").is_file()
    (copy,) = (tests.folder / ".conform/runs").glob("*/results.jsonl")
    assert (tests.folder / "out/results.jsonl").read_bytes() == copy.read_bytes()


def test_nothing_in_an_input_is_run(act, tests):
    nasty = "$(touch caught) `touch caught` '; touch caught; \" ${{ x }} \\"
    job = act(**{name: nasty for name in ACTION["inputs"] if name not in ("package", "working-directory")})
    assert (job.code, job.outputs["exit-code"]) == (2, "2")
    assert list(tests.folder.rglob("*caught*")) == []


def hooked(path):
    return re.search(HOOK["files"], path) is not None


@pytest.mark.parametrize("api", [*APIS, COMMON])
def test_the_hook_takes_specs_and_cassettes_of_every_api(api):
    assert hooked(f"specs/{api}/text.yaml")
    assert hooked(f"below/specs/{api}/text.yaml")
    assert hooked(f"cassettes/{api}/one.sse") is (api != COMMON)
    assert hooked(f"cassettes/{api}/one.yaml") is (api != COMMON)


@pytest.mark.parametrize(
    "path", ["specs/openapi/x.yaml", "specs/openai-chat/x.md", "other/openai-chat/x.yaml"]
)
def test_the_hook_leaves_other_files_alone(path):
    assert not hooked(path)


def test_the_hook_passes_what_is_right_and_fails_what_is_wrong(tests):
    cassettes = tests.folder / "cassettes/anthropic-messages"
    cassettes.mkdir(parents=True)
    for name in {trial.split("/")[2].partition("@")[0] for trial in TRIALS}:
        for path in (ROOT / "cassettes/anthropic-messages").glob(f"{name}.*"):
            (cassettes / path.name).write_bytes(path.read_bytes())
    shutil.copytree(ROOT / "specs/evidence", tests.folder / "specs/evidence")
    paths = [path.relative_to(tests.folder).as_posix() for path in tests.folder.rglob("*") if path.is_file()]
    chosen = sorted(path for path in paths if hooked(path))
    assert len(chosen) == 9
    words = [*shlex.split(HOOK["entry"])[1:], *chosen]
    assert tests.run(*words).code == 0
    (cassettes / "single-text-block.sse").write_bytes(b"data: {}\n\n")
    ran = tests.run(*words)
    assert ran.code == 2
    assert ran.out.count(" was changed: its SHA-256 is ") == 1
