"""The judge in TypeScript compiles, gives the same verdicts as ours, and runs under each test runner."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess

import pytest

from streamconform.apis import NAMES
from streamconform_dev.artifact import build_document, encode_document
from streamconform_dev.judges.check import check_answers
from streamconform_dev.judges.files import read_answers

from ..bundled_suite import cases
from ..test_repository import ROOT
from .answers import record_sample

pytestmark = pytest.mark.typescript

SOURCE = ROOT / "harness/judges/typescript"
README = (SOURCE / "README.md").read_text("utf-8")
EXAMPLE = re.search(r"<!-- file: conform.test.mjs -->\n```javascript\n(.*?)\n```", README, re.DOTALL)
FAILURE = re.search(r"<!-- failure -->\n```\n(.*?)\n```", README, re.DOTALL)
PARSER = """\
export function parse(chunks) {
  const message = { text: "", calls: [], finish: "stop" };
  for (const line of Buffer.concat(chunks).toString("utf8").split("\\n")) {
    const payload = line.startsWith("data: {") ? JSON.parse(line.slice(6)) : {};
    message.text += payload.choices?.[0]?.delta?.content ?? "";
  }
  return message;
}
"""
"""A parser that does not notice the end of the stream."""
USE = """\
import { type Outcome, type Run, testConformance } from "streamconform";

declare function test(name: string, body: () => Promise<void>): void;

async function adapter(run: Run): Promise<Outcome> {
  const size = run.chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  const content: Outcome["content"] = [{ type: "tool_call", name: "f", arguments: { size } }];
  return { status: "incomplete", content, stop: { reason: null }, usage: { input: 1, cache_read: null } };
}

testConformance(test, adapter, { suites: ["suite.json.gz"], capabilities: ["tool_calls"], set: "fast" });
// @ts-expect-error: `done` is no status
export const wrong: Outcome = { status: "done", content: [] };
// @ts-expect-error: `html` is no type of block
export const other: Outcome = { status: "complete", content: [{ type: "html", text: "" }] };
"""
"""The judge in the strictest TypeScript."""
MODULES = SOURCE / "node_modules"
BUN = next(MODULES.glob("@oven/bun-*/bin/bun"), MODULES)
RUNNERS = {
    "node": ('import { test } from "node:test";', ("node", "--test")),
    "vitest": ('import { test } from "vitest";', (MODULES / ".bin/vitest", "run")),
    "bun": ('import { test } from "bun:test";', (BUN, "test")),
    "deno": ("const { test } = Deno;", (MODULES / ".bin/deno", "test", "-A", "--no-check")),
}
"""How the example gets its function `test`, and the command that runs it."""


def run(*command, cwd):
    env = {**os.environ, "NO_COLOR": "1", "FORCE_COLOR": "0"}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A copy of the package, compiled."""
    folder = tmp_path_factory.mktemp("typescript") / "streamconform"
    shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns("node_modules", "dist"))
    (folder / "node_modules").symlink_to(MODULES)
    assert run(MODULES / ".bin/tsc", cwd=folder) == (0, "")
    return folder


def test_its_own_tests_pass(package):
    code, printed = run("node", "--test", cwd=package)
    assert code == 0, printed


@pytest.mark.parametrize("api", NAMES)
def test_it_judges_recorded_answers_as_the_judge_in_python_does(package, api):
    folder = record_sample()
    lines = read_answers(folder / f"answers-{api}.jsonl.gz")
    assert check_answers(("node", "dist/checker.js"), package, folder / f"suite-{api}.json.gz", lines) == []


def test_its_types_accept_an_outcome_and_reject_a_wrong_one(package, tmp_path):
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules/streamconform").symlink_to(package)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "use.ts").write_text(USE)
    command = (MODULES / ".bin/tsc", "--noEmit", "--strict", "--module", "nodenext", "--types", "", "use.ts")
    assert run(*command, cwd=tmp_path) == (0, "")


@pytest.mark.parametrize("runner", RUNNERS)
def test_the_example_reports_a_wrong_parser_under_each_runner(package, tmp_path, runner):
    import_line, command = RUNNERS[runner]
    (tmp_path / "package.json").write_text('{"dependencies": {"streamconform": "0.1.0"}}')
    (tmp_path / "node_modules").mkdir()
    for name, folder in (
        ("streamconform", package),
        ("yaml", MODULES / "yaml"),
        ("vitest", MODULES / "vitest"),
    ):
        (tmp_path / "node_modules" / name).symlink_to(folder)
    (tmp_path / "parser.mjs").write_text(PARSER)
    example = re.sub(r"^import \{ test \}.*", import_line, EXAMPLE[1])
    (tmp_path / "conform.test.mjs").write_text(example)
    chosen = [case for case in cases() if case.id.startswith("openai-chat/text/")]
    document = encode_document(build_document("openai-chat", chosen))
    (tmp_path / "suite-openai-chat.json.gz").write_bytes(gzip.compress(document))
    code, printed = run(*command, cwd=tmp_path)
    lines = [line.strip() for line in printed.splitlines()]
    start = next(i for i, line in enumerate(lines) if line.endswith(FAILURE[1].splitlines()[0]))
    assert code == 1
    assert all(line.strip() in lines[start:] for line in FAILURE[1].splitlines()[1:])
