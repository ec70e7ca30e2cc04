"""The judge in Rust finds what ours finds, is formatted and linted, and its README is true."""

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
from .crates import DEBIAN

pytestmark = [pytest.mark.rust_judge, pytest.mark.slow]

SOURCE = ROOT / "harness/judges/rust"
README = (SOURCE / "README.md").read_text("utf-8")
EXAMPLE = re.search(
    r"<!-- file: tests/conformance.rs -->\n```rust\n(.*?)^```", README, re.MULTILINE | re.DOTALL
)[1]
OUTPUT = re.search(r"<!-- output: (cargo test .*?) -->\n```\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
MANIFEST = """\
[package]
name = "mine"
version = "0.1.0"
edition = "2021"

[dependencies]
serde_json = "1"
"""
PARSER = """\
#[derive(Default)]
pub struct Parser {
    pub text: String,
    rest: Vec<u8>,
}

impl Parser {
    pub fn push(&mut self, chunk: &[u8]) -> Result<(), serde_json::Error> {
        self.rest.extend_from_slice(chunk);
        let is_end = |byte: &u8| matches!(byte, b'\\n' | b'\\r');
        while let Some(end) = self.rest.iter().position(is_end) {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            if let Some(payload) = line.strip_prefix(b"data: {") {
                let chunk: serde_json::Value = serde_json::from_slice(&[b"{", payload].concat())?;
                let text = &chunk["choices"][0]["delta"]["content"];
                self.text += text.as_str().unwrap_or_default();
            }
        }
        Ok(())
    }
}
"""
"""A parser that does not notice the end of the stream."""


@pytest.fixture(scope="module")
def cargo(tmp_path_factory):
    """A function that runs cargo with Debian's crates, and a copy of the judge's crate."""
    home = tmp_path_factory.mktemp("cargo")
    source = f'[source.crates-io]\nreplace-with = "debian"\n[source.debian]\ndirectory = "{DEBIAN}"\n'
    (home / "config.toml").write_text(source)
    crate = home / "streamconform"
    shutil.copytree(SOURCE, crate, ignore=shutil.ignore_patterns("target", "Cargo.lock"))
    env = {
        **os.environ,
        "CARGO_HOME": str(home),
        "CARGO_NET_OFFLINE": "true",
        # In the checkout, so that dependencies are compiled once.
        "CARGO_TARGET_DIR": str(SOURCE / "target/tests"),
        "CARGO_PROFILE_DEV_DEBUG": "0",
        "CARGO_INCREMENTAL": "0",
    }

    def run(*words, cwd=crate):
        return subprocess.run(
            ("cargo", *words), cwd=cwd, env=env, capture_output=True, text=True, check=False
        )

    run.crate, run.target = crate, SOURCE / "target/tests"
    return run


@pytest.fixture(scope="module")
def checker(cargo):
    built = cargo("build", "--example", "judge_answers")
    assert built.returncode == 0, built.stderr
    return cargo.target / "debug/examples/judge_answers"


@pytest.mark.parametrize("api", NAMES)
def test_it_finds_what_our_judge_finds(checker, api):
    folder = record_sample()
    lines = read_answers(folder / f"answers-{api}.jsonl.gz")
    assert len(lines) > 100
    assert check_answers((str(checker),), checker.parent, folder / f"suite-{api}.json.gz", lines) == []


@pytest.mark.parametrize(
    "words", ["fmt --check", "clippy --all-targets -- -D warnings", "test"], ids=["format", "lint", "tests"]
)
def test_it_is_formatted_and_linted_and_its_own_tests_pass(cargo, words):
    done = cargo(*words.split())
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_wrong_parser_fails_as_the_readme_shows(cargo, tmp_path):
    dependencies = re.search(r"```toml\n(.*?)```", README, re.DOTALL)[1]
    assert 'streamconform = "0.1"' in dependencies
    own = dependencies.replace('"0.1"', f'{{ path = "{cargo.crate}" }}', 1)
    (tmp_path / "Cargo.toml").write_text(f"{MANIFEST}\n{own}")
    (tmp_path / "src").mkdir()
    (tmp_path / "src/lib.rs").write_text(PARSER)
    chosen = [case for case in cases() if case.id.startswith("openai-chat/text/text-")]
    write_suite("openai-chat", chosen, tmp_path / "tests")
    (tmp_path / "tests/conformance.rs").write_text(EXAMPLE)
    assert cargo("fmt", "--check", cwd=tmp_path).returncode == 0
    done = cargo(*OUTPUT[1].split()[1:], cwd=tmp_path)
    assert done.returncode == 101, done.stderr
    assert OUTPUT[2] in done.stdout
