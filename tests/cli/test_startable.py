"""An implementation that cannot start is reported before the suite is read; nothing is imported for it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from streamconform import run_suite
from streamconform.adapters.connect import connect
from streamconform.adapters.preflight import check_startable, find_missing_module
from streamconform.errors import ImplementationError

FILES = {
    "mypkg/__init__.py": "raise RuntimeError('imported')\n",
    "mypkg/conform.py": "",
    "bare/__init__.py": "",
    "module.py": "",
    "dynamic/__init__.py": "import sys\nsys.modules[f'{__name__}.conform'] = sys\n",
    "extended/__init__.py": "__path__ = __import__('pkgutil').extend_path(__path__, __name__)\n",
    "namespace/conform.py": "",
    "entry-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: entry\nVersion: 1\n",
    "entry-1.dist-info/entry_points.txt": "[streamconform]\nentry = mypkg.other:adapter\n",
    "notes.txt": "",
}


@dataclass(frozen=True)
class Mistake:
    id: str
    impl: tuple[str, ...]
    message: str
    code: int = 3


INIT = "to write an adapter, run `conform init --input http`"
MISTAKES = [
    Mistake("package", ("-i", "nosuchpkg"), "`nosuchpkg` cannot be used: no module `nosuchpkg`: install it"),
    Mistake("no-adapter", ("-i", "bare"), "`bare` is installed, but has no adapter: there is no module"),
    Mistake("no-adapter-next", ("-i", "bare"), INIT),
    Mistake("module-instead-of-package", ("-i", "module"), "there is no module `module.conform`"),
    Mistake("submodule", ("-i", "python:bare.mod:f"), "no module `bare.mod`: install it"),
    Mistake("file", ("-i", "python:nosuch.py:f"), "no file `nosuch.py`; the path is relative to"),
    Mistake("target", ("-i", "python:bare"), "expected `python:package.module:name`", 2),
    Mistake("program", ("-i", "cmd:nosuch --flag"), "cannot be started: `nosuch`: No such file"),
    Mistake("program-in-folder", ("-i", "cmd:./nosuch"), "cannot be started: `./nosuch`: No such file"),
    Mistake("not-executable", ("-i", "cmd:./notes.txt"), "cannot be started: `./notes.txt`: Permission"),
    Mistake("peer", ("-i", "peer:nobody"), "unknown peer `nobody`", 2),
]


@pytest.fixture
def suite_less(project):
    """Return a project in which reading the suite fails, with exit code 2."""
    for name, text in FILES.items():
        project = project.with_file(name, text)
    return project.with_file("specs/broken/broken.yaml", "spec: [\n")


@pytest.mark.parametrize("mistake", MISTAKES, ids=[mistake.id for mistake in MISTAKES])
def test_a_mistake_is_reported_before_the_suite_is_read(suite_less, mistake):
    ran = suite_less.run("run", *mistake.impl, "--specs", "specs")
    assert (ran.code, ran.out) == (mistake.code, "")
    assert mistake.message in ran.err
    assert "broken.yaml" not in ran.err


OTHER_VERBS = [
    ("run", "--specs", "specs", "--", "./nosuch"),
    ("explain", "a-case", "--specs", "specs", "-i", "cmd:./nosuch"),
    ("minimise", "a-case", "--specs", "specs", "-i", "cmd:./nosuch"),
]


@pytest.mark.parametrize("words", OTHER_VERBS, ids=[words[0] for words in OTHER_VERBS])
def test_other_forms_and_verbs_check_it_too(suite_less, words):
    ran = suite_less.run(*words)
    assert (ran.code, ran.out) == (3, "")
    assert "cannot be started: `./nosuch`: No such file" in ran.err


def test_the_python_api_checks_it_too():
    with pytest.raises(ImplementationError, match="no module `nosuchpkg`"):
        run_suite("nosuchpkg", select=["no-such-case"])


STARTABLE = [
    "reference",
    "mypkg",
    "python:mypkg.conform:nothing",
    "python:module.py:f",
    "namespace",
    "dynamic",
    "extended",
    "entry",
    "cmd:sh -c true",
    "mutant:x",
]


@pytest.mark.parametrize("impl", STARTABLE)
def test_what_may_start_is_left_to_the_start(suite_less, monkeypatch, impl):
    suite_less.write()
    monkeypatch.chdir(suite_less.folder)
    check_startable(connect(impl))


def test_a_module_is_found_in_the_current_folder_without_an_import(suite_less, monkeypatch):
    suite_less.write()
    monkeypatch.chdir(suite_less.folder)
    assert find_missing_module("mypkg.conform") is None
    assert find_missing_module("mypkg.nothing.more") == "mypkg.nothing"
    assert find_missing_module("json.conform") == "json.conform"
    assert find_missing_module("os.path") is None
