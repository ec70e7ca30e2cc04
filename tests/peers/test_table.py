"""The table of peers, and the limits on an adapter."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest
import streamconform_peers
from streamconform.apis import APIS
from streamconform.model.capability import CAPABILITIES, CLAIMED_BY_NAME
from streamconform_peers import host as peer_host
from streamconform_peers import normal_form, pins
from streamconform_peers.table import PEERS

HERE = Path(streamconform_peers.__file__).parent
PYTHON_PEERS = [peer for peer in PEERS.values() if peer.language == "python"]
ADAPTERS = sorted(path for path in HERE.glob("*/*.py") if path.name != "__init__.py")
ROOT = HERE.parent


def read_imports(path):
    """Return the names of the modules that a file imports, and `module.name` for each `from` import."""
    modules = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            modules |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
    return modules


def find_file(module):
    stem = ROOT / module.replace(".", "/")
    files = (stem.with_suffix(".py"), stem / "__init__.py")
    return next((file for file in files if file.exists()), None)


def find_reachable(path):
    """Return our files that running `path` loads, and the foreign packages that those import."""
    seen, foreign, todo = set(), set(), [path]
    while todo:
        file = todo.pop()
        if file in seen:
            continue
        seen.add(file)
        for module in read_imports(file):
            if module.partition(".")[0] not in ("streamconform", "streamconform_peers"):
                foreign.add(module.partition(".")[0])
            elif module_file := find_file(module):
                todo.append(module_file)
    return seen, foreign


@pytest.mark.parametrize("peer", PYTHON_PEERS, ids=lambda peer: peer.name)
def test_a_peer_names_an_adapter_apis_and_what_it_claims(peer):
    assert (HERE / f"{peer.module.replace('.', '/')}.py") in ADAPTERS
    assert set(peer.apis) <= set(APIS)
    assert set(peer.claims_by_api) <= set(peer.apis)
    claims = {claim for api_claims in peer.capabilities.values() for claim in api_claims}
    assert claims <= CAPABILITIES - (CLAIMED_BY_NAME - {"requests", "documents"}) - {"cost", "events"}
    assert re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+/issues", peer.issues)


@pytest.mark.parametrize("peer", PYTHON_PEERS, ids=lambda peer: peer.name)
def test_everything_installed_with_a_peer_is_pinned_by_digest(peer):
    lines = pins.read_pins(peer)
    releases = dict(line.split("==") for line in lines)
    assert releases[peer.distribution] == peer.version
    assert lines == sorted(lines, key=str.lower)
    assert set(peer.companions) <= set(releases)
    hashes = pins.read_hashes()
    missing = [line for line in lines if not hashes.get(line)]
    assert not missing, "run `python -m streamconform_dev.pins.write_hashes`"


def test_there_are_no_pins_of_unused_releases():
    files = {path.name for path in (HERE / "pins").glob("*.txt")}
    assert files == {pins.HASHES.name, *(pins.get_pins(peer).name for peer in PYTHON_PEERS)}
    pinned = {pin for peer in PYTHON_PEERS for pin in pins.read_pins(peer)}
    assert set(pins.read_hashes()) == pinned, "run `python -m streamconform_dev.pins.write_hashes`"


def test_every_digest_is_a_sha256():
    digests = [digest for digests in pins.read_hashes().values() for digest in digests]
    assert [digest for digest in digests if not re.fullmatch(r"sha256:[0-9a-f]{64}", digest)] == []


@pytest.mark.parametrize("path", ADAPTERS, ids=lambda path: f"{path.parent.name}.{path.stem}")
def test_an_adapter_is_under_120_lines_and_names_no_host(path):
    text = path.read_text("utf-8")
    assert text.count("\n") < 120
    assert "http://" not in text
    assert "https://" not in text


@pytest.mark.parametrize("path", ADAPTERS, ids=lambda path: f"{path.parent.name}.{path.stem}")
def test_an_adapter_imports_nothing_of_ours_but_what_adapters_share(path):
    shared = ("streamconform_peers", "streamconform.adapters.request_reader")
    ours = {name for name in read_imports(path) if name.startswith("streamconform")} - {
        "streamconform.adapters"
    }
    assert all(name.startswith(shared) for name in ours)


def test_the_host_needs_only_the_standard_library():
    """The host runs in a peer's environment, without streamconform's dependencies; msgspec is optional."""
    _, foreign = find_reachable(Path(peer_host.__file__))
    assert foreign - {"msgspec"} <= set(sys.stdlib_module_names)


def test_the_exception_that_an_adapter_caught_is_part_of_its_result():
    caught = ValueError("broken")

    def adapter(run):
        if run == "broken":
            normal_form.keep_exception(caught)
        return normal_form.build_outcome([], None, None)

    wrapped = peer_host._add_exception(adapter, normal_form.take_exception)
    outcome = normal_form.build_outcome([], None, None)
    assert wrapped("broken") == {"outcome": outcome, "raised": caught}
    assert wrapped("whole") == outcome
