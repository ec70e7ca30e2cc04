"""No part of the harness writes a file unless it is listed here: streams pass the scan for secrets first."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import streamconform
from streamconform_capture.record.scanned import Scanned

HARNESS = Path(streamconform.__file__).parent

WRITERS = {
    "tools/record/save.py": "the only writer of cassettes and drafts; it takes a `Scanned`",
    "tools/record/committed.py": "digests of files without secrets, into the user's cache",
    "suite/cassettes.py": "writes for `tools/record/save.py`",
    "tools/corpus/pull.py": "recordings that others have published, into the user's cache, as they are",
    "tools/corpus/download.py": "a requirement for pip",
    "reports/__init__.py": "reports of results, where the user says",
    "library.py": "the same from Python",
    "cli/report.py": "the same",
    "cli/compare.py": "the same",
    "cli/drift.py": "the same",
    "cli/export.py": "cassettes, which passed the scan when they were saved, in other formats",
    "cli/diff.py": "the same, to stdout",
    "cli/innocents.py": "a table of innocents",
    "cli/selftest.py": "a table of mutants",
    "cli/init.py": "templates",
    "cli/fuzz.py": "generated streams, and mutated recordings that the user has, where the user says",
    "cli/finding.py": "committed findings and streams of the suite, where the user says",
    "tools/history/session.py": "names of releases and findings",
    "tools/history/environment.py": "environments of releases, in the user's cache",
    "cli/known_failures.py": "ids of cases",
    "tools/compare/store.py": "findings with their values, where the user says, as results have them",
    "run/answers.py": "answers of implementations, where the user says",
    "run/results.py": "results of a run",
    "run/run_folders.py": "the folders of runs",
    "peers/install.py": "environments of peers",
    "peers/node_package.py": "the same",
    "adapters/host.py": "a pipe",
}
"""Modules that write files, each with what it writes."""

METHODS = {"write_text", "write_bytes", "write_atomically", "save", "mkstemp", "NamedTemporaryFile"}


def is_write(node):
    """Return whether a call may write a file."""
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in METHODS:
        return True
    modes = [each.value for each in node.args if isinstance(each, ast.Constant)]
    modes += [
        each.value.value
        for each in node.keywords
        if each.arg == "mode" and isinstance(each.value, ast.Constant)
    ]
    opens = name in ("open", "fdopen", "TemporaryFile")
    return opens and any(
        isinstance(mode, str) and set(mode) & set("wax+") and len(mode) < 4 for mode in modes
    )


def list_writers():
    for path in sorted(HARNESS.rglob("*.py")):
        name = path.relative_to(HARNESS).as_posix()
        if not name.startswith("_bundled/") and any(
            map(is_write, ast.walk(ast.parse(path.read_text("utf-8"))))
        ):
            yield name


def test_every_module_that_writes_files_is_listed():
    """Write streams with `tools/record/save.py`; list a module here only if it never writes any."""
    assert set(list_writers()) - WRITERS.keys() == set()


def test_the_list_is_true():
    assert WRITERS.keys() - set(list_writers()) == set()


def test_only_the_scan_makes_what_may_be_written():
    with pytest.raises(TypeError, match="only `scan_for_writing`"):
        Scanned(None, "", (), object())
