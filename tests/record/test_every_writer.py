"""No part of the harness writes a file unless it is listed here: streams pass the scan for secrets first."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from streamconform_capture.record.scanned import Scanned

HARNESS = Path(__file__).parents[2] / "harness"

WRITERS = {
    "streamconform_capture/record/save.py": "the only writer of cassettes and drafts; it takes a `Scanned`",
    "streamconform_capture/record/committed.py": "digests of files without secrets, into the user's cache",
    "streamconform/files/__init__.py": "writes for the modules in this list",
    "streamconform/suite/cassettes.py": "writes for `streamconform_capture/record/save.py`",
    "streamconform_capture/corpus/pull.py": "recordings of others, into the user's cache, as they are",
    "streamconform_capture/corpus/download.py": "a requirement for pip",
    "streamconform/reports/__init__.py": "reports of results, where the user says",
    "streamconform/library.py": "the same from Python",
    "streamconform/cli/report.py": "the same",
    "streamconform_capture/cli/compare.py": "the same",
    "streamconform/cli/serve_files.py": "cassettes, which passed the scan when saved",
    "streamconform/cli/diff.py": "the same, to stdout",
    "dev/streamconform_dev/cli/innocents.py": "a table of innocents",
    "dev/streamconform_dev/cli/selftest.py": "a table of mutants",
    "dev/streamconform_dev/artifact.py": "the suite, from committed files",
    "dev/streamconform_dev/go_module.py": "a package, from committed files",
    "dev/streamconform_dev/judges/files.py": "answers to committed streams",
    "dev/streamconform_dev/bench/many_streams.py": "streams that the reference encodes",
    "dev/streamconform_dev/bench/scale.py": "the first of them, and measurements",
    "dev/streamconform_dev/broken/table.py": "programs that misbehave",
    "dev/streamconform_dev/cli/bench.py": "measurements",
    "dev/streamconform_dev/corpus/write_recorded.py": "expectations of recordings, without their prose",
    "dev/streamconform_dev/corpus/write_shapes.py": "names of fields and types",
    "dev/streamconform_dev/docs/generators.py": "outputs of commands, and tables",
    "dev/streamconform_dev/docs/golden.py": "results of a test",
    "dev/streamconform_dev/docs/guide.py": "files of the guide",
    "dev/streamconform_dev/docs/http.py": "a script of the page",
    "dev/streamconform_dev/docs/importing.py": "an authored stream",
    "dev/streamconform_dev/docs/screenshots.py": "a parser with bugs",
    "dev/streamconform_dev/docs/smoke.py": "an adapter with mistakes",
    "dev/streamconform_dev/engine/probe_all.py": "deviations of local servers",
    "dev/streamconform_dev/engine/record_all.py": "streams of a model on this machine, which needs no key",
    "dev/streamconform_dev/engine/record_conversations.py": "the same",
    "dev/streamconform_dev/engine/servers.py": "configurations of local servers",
    "dev/streamconform_dev/fuzz/archives.py": "generated files, in a temporary folder",
    "dev/streamconform_dev/fuzz/folders.py": "the same",
    "dev/streamconform_dev/fuzz/recordings.py": "the same",
    "dev/streamconform_dev/fuzz/inputs.py": "numbers of inputs",
    "dev/streamconform_dev/matrix/judge_peers.py": "scores of peers",
    "dev/streamconform_dev/matrix/trial_order.py": "ids of trials",
    "dev/streamconform_dev/mutation/__main__.py": "the output of mutmut",
    "dev/streamconform_dev/mutation/workspace.py": "code and tests",
    "dev/streamconform_dev/names/write.py": "names in the types of libraries",
    "dev/streamconform_dev/pins/write_hashes.py": "digests of releases",
    "dev/streamconform_dev/pins/write_locks.py": "lock files of npm",
    "dev/streamconform_dev/site/build.py": "the website, from committed files",
    "dev/streamconform_dev/site/search_index.py": "the same",
    "dev/streamconform_dev/site/start.py": "the same",
    "streamconform/cli/init.py": "templates",
    "streamconform_capture/cli/fuzz.py": "generated streams, mutated recordings of the user",
    "dev/streamconform_dev/cli/finding.py": "committed findings and streams, where the user says",
    "dev/streamconform_dev/history/session.py": "names of releases and findings",
    "dev/streamconform_dev/history/environment.py": "environments of releases, in the user's cache",
    "streamconform/cli/known_failures.py": "ids of cases",
    "streamconform_capture/compare/store.py": "findings with values, where the user says",
    "streamconform/run/answers.py": "answers of implementations, where the user says",
    "streamconform/suite/compiled.py": "documents of committed files, in the cache of the user",
    "streamconform/run/results.py": "results of a run",
    "streamconform/run/run_folders.py": "the folders of runs",
    "streamconform_peers/install.py": "environments of peers",
    "streamconform_peers/node_package.py": "the same",
    "streamconform/adapters/host.py": "a pipe",
    "streamconform/adapters/process.py": "a switch of the system",
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
        if "/_bundled/" not in name and any(map(is_write, ast.walk(ast.parse(path.read_text("utf-8"))))):
            yield name


def test_the_modules_that_write_files_are_those_in_the_list():
    """Write streams with `record/save.py`; list a module here only if it never writes any."""
    assert set(list_writers()) == WRITERS.keys()


def test_only_the_scan_makes_what_may_be_written():
    with pytest.raises(TypeError, match="only `scan_for_writing`"):
        Scanned(None, "", (), object())
