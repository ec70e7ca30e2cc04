"""Tests that need a missing or an old program are deselected, and the report says so."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from streamconform_dev.checkout import ROOT

from .optional_tools import TOOLS, check, describe_problem, is_older, read_version


@pytest.mark.parametrize(
    ("printed", "version"),
    [
        ("go version go1.19.8 linux/amd64", (1, 19, 8)),
        ("go version go1.25rc1 linux/amd64", (1, 25)),
        ("v18.20.4\n", (18, 20, 4)),
        ("rustc 1.63.0", (1, 63, 0)),
        ("rustc 1.95.0-nightly (59807616e 2026-04-14)", (1, 95, 0)),
        ("OpenSSL 1.1.1w  11 Sep 2023", (1, 1, 1)),
        ("LibreSSL 3.3.6", (3, 3, 6)),
        ("12\n", (12,)),
        ("", None),
        ("error: no default toolchain", None),
    ],
)
def test_a_version_is_the_first_number_that_a_program_prints(printed, version):
    assert read_version(printed) == version


@pytest.mark.parametrize(
    ("version", "minimum", "older"),
    [
        ((1, 19, 8), "1.19", False),
        ((1, 19), "1.19", False),
        ((1, 9), "1.19", True),
        ((1, 18, 10), "1.19", True),
        ((2,), "1.19", False),
        ((1,), "1.0", False),
        ((1, 1, 0), "1.1.1", True),
    ],
)
def test_versions_are_compared_by_number(version, minimum, older):
    assert is_older(version, minimum) == older


@pytest.mark.parametrize(
    ("marker", "programs", "reason"),
    [
        ("go", {}, "no go"),
        ("go", {"go": "go version go1.18.10 linux/amd64"}, "go 1.18.10 is older than 1.19"),
        ("go", {"go": "go version go1.19 linux/amd64"}, None),
        ("cargo", {"cargo": "cargo 1.60.0", "rustc": "rustc 1.60.0"}, "rustc 1.60.0 is older than 1.63"),
        ("cargo", {"cargo": "cargo 1.65.0", "rustc": "rustc 1.63.0"}, "no cc"),
        ("node", {"node": "v16.20.2"}, "node 16.20.2 is older than 18"),
        ("node", {"node": "v20.0.0"}, "no npm"),
        ("node", {"node": "broken", "npm": ""}, "node --version prints no version; 18 or newer is needed"),
    ],
)
def test_a_program_that_is_missing_or_too_old_is_a_problem(tmp_path, monkeypatch, marker, programs, reason):
    install(tmp_path, programs)
    monkeypatch.setenv("PATH", str(tmp_path))
    check.cache_clear()
    try:
        assert describe_problem(marker) == reason
    finally:
        check.cache_clear()


def install(folder, programs):
    for name, printed in programs.items():
        (folder / name).write_text(f"#!/bin/sh\necho '{printed}'\n")
        (folder / name).chmod(0o755)


def test_tests_without_their_program_are_deselected_and_the_report_says_why(tmp_path):
    install(tmp_path, {"go": "go version go1.18.10 linux/amd64", "node": "v20.0.0", "npm": "10"})
    command = (sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider")
    done = subprocess.run(
        (*command, "-v", "-m", "go or cargo or node", "tests/cli/test_init.py"),
        cwd=ROOT,
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    (header,) = [line for line in done.stdout.splitlines() if line.startswith("deselected markers: ")]
    assert "cargo (no cargo)" in header
    assert "go (go 1.18.10 is older than 1.19)" in header
    assert "node (" not in header
    assert "[node-http]" in done.stdout, done.stdout + done.stderr
    assert "[go-http]" not in done.stdout
    assert "[rust-http]" not in done.stdout


def test_every_marker_of_a_tool_is_declared(pytestconfig):
    declared = {line.partition(":")[0] for line in pytestconfig.getini("markers")}
    assert set(TOOLS) <= declared
