"""Adapters hide nothing: exceptions that a library raises reach the result."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import streamconform_peers as peers

from ..for_each import for_each
from .test_table import SHARED_MODULES

FOLDER = Path(peers.__file__).parent
PYTHON = sorted(path for path in FOLDER.glob("*/*.py") if path.name != "__init__.py")
SHARED = sorted(FOLDER / f"{name}.py" for name in SHARED_MODULES)
JAVASCRIPT = sorted(FOLDER.glob("*/*.mjs"))

# Exceptions of text that an adapter parses itself, and of packages that not every library needs.
OF_THE_ADAPTER = {"ValueError", "RecursionError", "ModuleNotFoundError"}
# Code that a `catch` without a name may surround: an adapter's own parsing, and a getter that parses on
# access.
PARSING = ("JSON.parse(", "return part.input;")


def name(path: Path) -> str:
    return path.relative_to(FOLDER).as_posix()


def is_raised_again(handler: ast.ExceptHandler) -> bool:
    """Whether a handler raises what it caught, at least if the run does not go on."""
    return any(isinstance(node, ast.Raise) and node.exc is None for node in ast.walk(handler))


@for_each("path", PYTHON + SHARED, ids=name)
def test_a_python_adapter_catches_only_what_its_own_parsing_raises(path):
    tree = ast.parse(path.read_text("utf-8"))
    caught = {
        part.id if isinstance(part, ast.Name) else ast.unparse(part)
        for handler in ast.walk(tree)
        if isinstance(handler, ast.ExceptHandler) and not is_raised_again(handler)
        for part in (handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type])
        if part is not None
    }
    bare = [
        node.lineno for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler) and node.type is None
    ]
    assert caught <= OF_THE_ADAPTER
    assert not bare
    assert "suppress" not in {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert "suppress" not in {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


@pytest.mark.parametrize("path", JAVASCRIPT, ids=name)
def test_a_javascript_adapter_uses_every_exception_that_it_catches(path):
    text = path.read_text("utf-8")
    for caught in re.finditer(r"catch(?: \((\w+)\))? \{(.*?)\n\s*\}", text, re.DOTALL):
        variable, body = caught.groups()
        if variable is None:
            before = text[: caught.start()].rpartition("try {")[2]
            assert any(text in before for text in PARSING), (
                f"{path.name}: an exception without a name is dropped"
            )
        else:
            assert re.search(rf"\b{variable}\b", body), f"{path.name}: `{variable}` is dropped"
    assert ".catch(() =>" not in text
