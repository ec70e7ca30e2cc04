"""The table of peers, and what an adapter may be."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import streamconform.peers
from streamconform.adapters import peer_host
from streamconform.apis import APIS
from streamconform.model.capability import CAPABILITIES, OF_CALLS
from streamconform.peers import environments
from streamconform.peers.table import PEERS

HERE = Path(streamconform.peers.__file__).parent
PYTHON = [each for each in PEERS.values() if each.language == "python"]
ADAPTERS = sorted(path for path in HERE.glob("*/*.py") if path.name != "__init__.py")
ROOT = HERE.parent


def imports(path):
    """Return the modules of ours that a module imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{each.name}" for each in node.names}
        elif isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
    return found


def file_of(module):
    path = ROOT.parent / module.replace(".", "/")
    return next((each for each in (path.with_suffix(".py"), path / "__init__.py") if each.exists()), None)


def reached(path):
    """Return every module of ours that is loaded where `path` is run, and what they import of others."""
    seen, others, todo = set(), set(), [path]
    while todo:
        each = todo.pop()
        if each in seen:
            continue
        seen.add(each)
        for module in imports(each):
            if module.partition(".")[0] != "streamconform":
                others.add(module.partition(".")[0])
            elif found := file_of(module):
                todo.append(found)
    return seen, others


@pytest.mark.parametrize("peer", PYTHON, ids=lambda peer: peer.name)
def test_a_peer_names_an_adapter_apis_and_what_it_claims(peer):
    assert (HERE / f"{peer.module.replace('.', '/')}.py") in ADAPTERS
    assert set(peer.apis) <= set(APIS)
    assert set(peer.reads) <= set(peer.apis)
    claimed = {each for own in peer.capabilities.values() for each in own}
    assert claimed <= CAPABILITIES - (OF_CALLS - {"requests"}) - {"cost", "events"}
    assert re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+/issues", peer.issues)


@pytest.mark.parametrize("peer", PYTHON, ids=lambda peer: peer.name)
def test_everything_that_is_installed_with_a_peer_is_pinned(peer):
    lines = environments.pins(peer).read_text("utf-8").splitlines()
    pins = dict(line.split("==") for line in lines)
    assert pins[peer.distribution] == peer.version
    assert lines == sorted(lines, key=str.lower)
    assert set(peer.beside) <= set(pins)


def test_no_pins_are_left_of_releases_that_are_not_used():
    there = {path.name for path in (HERE / "pins").glob("*.txt")}
    assert there == {environments.pins(peer).name for peer in PYTHON}


@pytest.mark.parametrize("path", ADAPTERS, ids=lambda path: f"{path.parent.name}.{path.stem}")
def test_an_adapter_is_under_120_lines_and_names_no_host(path):
    text = path.read_text("utf-8")
    assert text.count("\n") < 120
    assert "http://" not in text
    assert "https://" not in text


@pytest.mark.parametrize("path", ADAPTERS, ids=lambda path: f"{path.parent.name}.{path.stem}")
def test_an_adapter_uses_nothing_of_ours_but_the_other_adapters(path):
    ours = {name for name in imports(path) if name.startswith("streamconform")}
    assert all(name.startswith("streamconform.peers") for name in ours)


def test_the_host_needs_nothing_that_is_not_pythons():
    """It runs in a peer's environment, where streamconform is not installed; orjson is used where it is."""
    _, others = reached(Path(peer_host.__file__))
    assert others - {"orjson"} <= set(__import__("sys").stdlib_module_names)
