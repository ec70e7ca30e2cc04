"""Only one package opens and unpacks what comes from outside; every other place is listed with its reason."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

HARNESS = Path(__file__).parents[2] / "harness"
DOOR = "streamconform/files/"
OPENS = frozenset({"open", "fdopen", "open_file", "read_bytes", "read_text", "TemporaryFile", "FileIO"})
"""Functions and methods that open files."""
UNPACKS = frozenset({"gzip", "zstandard", "lzma", "bz2", "tarfile", "zipfile"})
"""Modules that unpack files."""
EXCEPTIONS = {
    ("streamconform/adapters/host.py", "fdopen"): "the pipes to the harness",
    ("streamconform/adapters/host.py", "open"): "the null device",
    ("streamconform/adapters/process.py", "read_bytes"): "what the system says of a process",
    ("streamconform/adapters/idle_limit.py", "read_bytes"): "what Linux tells about a process",
    ("streamconform/adapters/preflight.py", "read_bytes"): "a module that Python is about to import",
    ("streamconform/adapters/process_cleanup.py", "read_bytes"): "what Linux tells about a process",
    ("streamconform/cli/__init__.py", "open"): "the null device",
    ("streamconform/cli/init.py", "open"): "writes the files of a new project",
    ("streamconform/adapters/build.py", "TemporaryFile"): "has no name",
    ("streamconform/init/plan.py", "read_text"): "templates in this package",
    ("streamconform/replay/socket_queue.py", "read_text"): "what Linux tells about connections",
    ("streamconform/reports/html/page.py", "read_text"): "templates in this package",
    ("streamconform/run/answers.py", "gzip"): "writes answers",
    ("streamconform/run/answers.py", "open"): "writes answers",
    ("streamconform/run/results.py", "open"): "writes results",
    ("streamconform/run/run_folders.py", "open"): "the lock of a run",
    ("streamconform/schemas/__init__.py", "read_text"): "schemas in this package",
    ("streamconform_capture/cli/fuzz.py", "open"): "writes generated streams",
    ("streamconform_capture/compare/inputs/storage.py", "open"): "files on other machines, with fsspec",
    ("streamconform_capture/compare/store.py", "open"): "writes findings, with fsspec",
    ("streamconform_capture/corpus/metadata_only.py", "open"): "runs inside pip, without this package",
}
"""Places that open or unpack something by themselves, with the reason."""


def find_uses(tree: ast.AST) -> set[str]:
    """Return the names of what a module opens and unpacks with."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names} & UNPACKS
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found |= {node.module.partition(".")[0]} & UNPACKS
        elif isinstance(node, ast.Attribute):
            found |= {node.attr} & OPENS
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):  # not the name of a field
            found |= {node.id} & (OPENS - {"open_file"})
    return found


def list_uses() -> set[tuple[str, str]]:
    paths = (
        path for name in ("streamconform", "streamconform_capture") for path in (HARNESS / name).rglob("*.py")
    )
    names = {path.relative_to(HARNESS).as_posix(): path for path in paths if "_bundled" not in path.parts}
    return {
        (name, use)
        for name, path in names.items()
        if not name.startswith(DOOR)
        for use in find_uses(ast.parse(path.read_text("utf-8")))
    }


def test_nothing_else_opens_or_unpacks_a_file():
    """Use `read_regular` or `open_regular`; list a place here only if what it opens is not from outside."""
    assert list_uses() == EXCEPTIONS.keys()


@pytest.mark.parametrize(
    "code",
    [
        "open('a')",
        "path.open('rb')",
        "path.read_text()",
        "read = path.read_bytes",
        "import gzip",
        "def read():\n import zstandard",
        "from tarfile import open as unpack",
        "import lzma, zlib",
        "os.open(path, 0)",
        "click.open_file(path)",
        "io.FileIO(path)",
    ],
)
def test_a_use_is_found_in_any_form(code):
    assert find_uses(ast.parse(code))
