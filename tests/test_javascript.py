"""All JavaScript and TypeScript has one style: files, the adapter of `conform init`, and examples."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from .cli.project import Project
from .test_repository import ROOT, texts

ANSI = re.compile(r"\x1b\[[0-9;]*m")
BIOME = ROOT / "node_modules/.bin/biome"
EXAMPLE = re.compile(r"^```javascript\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLES = [
    pytest.param(match[1], id=f"{path.name}-{number}")
    for path in texts()
    if path.suffix == ".md"
    for number, match in enumerate(EXAMPLE.finditer(path.read_text("utf-8")), start=1)
]


def test_the_tool_is_pinned_exactly_and_alone():
    package = json.loads((ROOT / "package.json").read_text("utf-8"))
    [(name, version)] = package["devDependencies"].items()
    assert (name, bool(re.fullmatch(r"\d+\.\d+\.\d+", version))) == ("@biomejs/biome", True)


@pytest.mark.biome
def test_the_settings_leave_out_no_file():
    files = [str(path) for path in texts() if path.suffix in {".js", ".mjs", ".cjs", ".ts"}]
    done = subprocess.run((BIOME, "ci", *files), cwd=ROOT, capture_output=True, text=True, check=False)
    assert f"Checked {len(files)} files" in ANSI.sub("", done.stdout + done.stderr)


@pytest.mark.biome
@pytest.mark.parametrize("text", EXAMPLES)
def test_an_example_has_the_style(text):
    assert restyle(text) == text


@pytest.mark.biome
@pytest.mark.parametrize("mode", ["bytes", "http"])
def test_an_adapter_that_init_writes_has_the_style(tmp_path, mode):
    project = Project(tmp_path)
    project.run("init", "--language", "node", "--input", mode)
    text = (tmp_path / "tests/conform_adapter.mjs").read_text("utf-8")
    assert restyle(text) == text


def restyle(text):
    """Return `text` as the tool would write it."""
    command = (BIOME, "check", "--write", "--stdin-file-path=example.mjs")
    done = subprocess.run(command, cwd=ROOT, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
