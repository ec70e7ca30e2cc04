"""The judge in Go finds what ours finds, and fails a wrong parser as its README shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest

from streamconform.apis import NAMES
from streamconform_dev.artifact import write_suite
from streamconform_dev.checkout import ROOT
from streamconform_dev.judges.check import check_answers
from streamconform_dev.judges.files import read_answers

from ..bundled_suite import cases
from .answers import record_sample
from .go_packages import YAML

pytestmark = pytest.mark.go_judge

SOURCE = ROOT / "harness/judges/go"
MODULE = "github.com/streamconform/streamconform/harness/judges/go"
DEPENDENCY = "# gopkg.in/yaml.v3 v3.0.1\n## explicit\ngopkg.in/yaml.v3\n"
README = (SOURCE / "README.md").read_text("utf-8")
EXAMPLE = re.search(r"<!-- file: conform_test.go -->\n```go\n(.*?)^```", README, re.MULTILINE | re.DOTALL)[1]
OUTPUT = re.search(r"<!-- output: (go test .*?) -->\n```\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
PARSER = """\
package mine

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
)

type Answer struct{ Text, Reason string }

func Parse(body io.Reader) (Answer, error) {
	answer := Answer{Reason: "stop"}
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		payload := strings.TrimPrefix(lines.Text(), "data: ")
		if payload == lines.Text() || payload == "[DONE]" {
			continue
		}
		var chunk struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if err := json.Unmarshal([]byte(payload), &chunk); err != nil {
			return answer, err
		}
		for _, choice := range chunk.Choices {
			answer.Text += choice.Delta.Content
		}
	}
	return answer, lines.Err()
}
"""


def run(*command, cwd):
    environment = {**os.environ, "GOFLAGS": "-mod=vendor", "GOPROXY": "off"}
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, env=environment)


def vendor(folder, modules=""):
    """Put the only dependency where Go finds it without a network."""
    shutil.copytree(YAML, folder / "vendor/gopkg.in/yaml.v3", ignore=shutil.ignore_patterns("*_test.go"))
    (folder / "vendor/modules.txt").write_text(modules + DEPENDENCY)
    return folder


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    """A copy of the module, with what it needs."""
    folder = tmp_path_factory.mktemp("go") / "module"
    shutil.copytree(SOURCE, folder)
    return vendor(folder)


@pytest.fixture(scope="module")
def checker(module):
    built = run("go", "build", "./cmd/judge-answers", cwd=module)
    assert (built.returncode, built.stderr) == (0, "")
    return module / "judge-answers"


@pytest.mark.parametrize("api", NAMES)
def test_it_finds_what_our_judge_finds(checker, api):
    folder = record_sample()
    lines = read_answers(folder / f"answers-{api}.jsonl.gz")
    assert len(lines) > 100
    assert check_answers((str(checker),), checker.parent, folder / f"suite-{api}.json.gz", lines) == []


def test_its_own_tests_pass_and_it_is_formatted_and_vetted(module):
    sources = [
        str(path.relative_to(module)) for path in sorted(module.rglob("*.go")) if YAML.name not in path.parts
    ]
    assert run("gofmt", "-l", *sources, cwd=module).stdout == ""
    for command in ("vet", "test"):
        ran = run("go", command, "./...", cwd=module)
        assert ran.returncode == 0, ran.stdout + ran.stderr


def test_a_wrong_parser_fails_as_the_readme_shows(tmp_path):
    project = tmp_path / "mine"
    shutil.copytree(SOURCE, project / "vendor" / MODULE)
    vendor(project, f"# {MODULE} v0.1.0\n## explicit; go 1.19\n{MODULE}\n{MODULE}/conformtest\n")
    required = f"require (\n\t{MODULE} v0.1.0\n\tgopkg.in/yaml.v3 v3.0.1 // indirect\n)\n"
    (project / "go.mod").write_text(f"module example.org/mine\n\ngo 1.19\n\n{required}")
    (project / "parse.go").write_text(PARSER)
    (project / "conform_test.go").write_text(EXAMPLE)
    assert run("gofmt", "-l", "conform_test.go", cwd=project).stdout == ""
    write_suite(
        "openai-chat",
        [case for case in cases() if case.id == "openai-chat/text/text-plain"],
        project / "testdata",
    )
    ran = run(*OUTPUT[1].split(), cwd=project)
    assert ran.returncode == 1, ran.stderr
    assert re.sub(r"\(\d+\.\d+s\)", "(0.00s)", ran.stdout).startswith(OUTPUT[2])
