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
from streamconform.normal.blocks import build_outcome
from streamconform.yaml_text import reader
from streamconform_dev.pins.write_hashes import read_pins
from streamconform_peers import host as peer_host
from streamconform_peers import library_call
from streamconform_peers.table import PEERS

HERE = Path(streamconform_peers.__file__).parent
PYTHON_PEERS = [peer for peer in PEERS.values() if peer.language == "python"]
ADAPTERS = sorted(path for path in HERE.glob("*/*.py") if path.name != "__init__.py")
ROOT = HERE.parent
SHARED_MODULES = {
    *("bedrock_client", "bedrock_events", "connection_errors", "control", "conversation_source"),
    *("error_documents", "library_call", "openai_errors", "stainless", "turns"),
}
"""What adapters of several libraries need; the other modules of the package install and run adapters."""

REQUEST_READER = "streamconform.adapters.request_reader"


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


@pytest.mark.parametrize("peer", PEERS.values(), ids=lambda peer: peer.name)
def test_a_peer_names_an_adapter_apis_and_what_it_claims(peer):
    suffix = "py" if peer.language == "python" else "mjs"
    assert (peer.folder / f"{peer.module}.{suffix}").is_file()
    assert set(peer.apis) <= set(APIS)
    assert set(peer.claims_by_api) <= set(peer.apis)
    claims = {claim for api_claims in peer.capabilities.values() for claim in api_claims}
    claims -= set(peer.controls)
    own = {"cost", "events"} if peer.language == "python" else {"documents"}
    assert (
        claims
        <= CAPABILITIES - (CLAIMED_BY_NAME - {"requests", "round_trips", "documents", "websocket"}) - own
    )


def test_every_folder_with_an_adapter_is_a_library():
    libraries = {peer.library for peer in PEERS.values()}
    shared = {"node"}
    assert {path.parent.name for path in HERE.glob("*/*.*") if path.suffix in (".py", ".mjs")} == (
        libraries | shared
    )


def test_the_files_of_a_library_are_about_its_peers():
    files = {path for kind in ("known", "history", "snippets") for path in HERE.glob(f"*/{kind}/*")}
    named = {path for peer in PEERS.values() for path in (peer.known_failures, peer.history, peer.snippet)}
    assert files <= named


def test_a_snippet_is_based_only_on_one_of_its_own_library():
    snippets = [(peer, reader.read(peer.snippet).value) for peer in PEERS.values() if peer.snippet.exists()]
    bases = [(peer, PEERS[snippet["base"]]) for peer, snippet in snippets if "base" in snippet]
    assert [peer.name for peer, base in bases if base.library != peer.library] == []


@pytest.mark.parametrize("peer", PYTHON_PEERS, ids=lambda peer: peer.name)
def test_everything_installed_with_a_peer_is_pinned_by_digest(peer):
    pins = read_pins(peer.pins)
    names = [pin.partition("==")[0] for pin in pins]
    assert list(pins) == sorted(pins, key=str.lower)
    assert f"{peer.distribution}=={peer.version}" in pins
    assert set(peer.companions) <= set(names)
    digests = [digest for group in pins.values() for digest in group]
    assert all(pins.values()), "run `python -m streamconform_dev.pins.write_hashes`"
    assert [digest for digest in digests if not re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", digest)] == []


def test_a_release_has_the_same_digests_in_every_library():
    by_release = {}
    for peer in PYTHON_PEERS:
        for pin, digests in read_pins(peer.pins).items():
            by_release.setdefault(pin.partition(" ")[0], set()).add(tuple(digests))
    assert {pin: digests for pin, digests in by_release.items() if len(digests) > 1} == {}


@pytest.mark.parametrize("path", ADAPTERS, ids=lambda path: f"{path.parent.name}.{path.stem}")
def test_an_adapter_names_no_host(path):
    text = path.read_text("utf-8")
    assert "http://" not in text
    assert "https://" not in text


@pytest.mark.parametrize("path", ADAPTERS, ids=lambda path: f"{path.parent.name}.{path.stem}")
def test_an_adapter_imports_nothing_of_another_library(path):
    allowed = (REQUEST_READER,)
    allowed += tuple(f"streamconform_peers.{name}" for name in (path.parent.name, *SHARED_MODULES))
    modules = {name for name in read_imports(path) if name.startswith("streamconform.adapters.")}
    modules |= {name for name in read_imports(path) if name.startswith("streamconform_peers.")}
    assert {
        name for name in modules if not f"{name}.".startswith(tuple(f"{each}." for each in allowed))
    } == set()


@pytest.mark.parametrize("name", sorted(SHARED_MODULES))
def test_what_adapters_share_imports_no_library_of_ours(name):
    ours = {each for each in read_imports(HERE / f"{name}.py") if each.startswith("streamconform")}
    allowed = {f"streamconform_peers.{shared}" for shared in SHARED_MODULES} | {REQUEST_READER}
    others = {each for each in ours if find_file(each)} - {"streamconform_peers"}
    assert {each for each in others if not each.startswith("streamconform.normal.")} <= allowed


def test_a_javascript_adapter_imports_nothing_of_another_library():
    imported = [
        (path, target)
        for path in HERE.glob("*/*.mjs")
        for target in re.findall(r'from "(\..*?)"|import "(\..*?)"', path.read_text("utf-8"))
    ]
    assert imported
    for path, targets in imported:
        target = (path.parent / "".join(targets)).resolve()
        assert target.parent in (path.parent, HERE / "node")
        assert target.is_file()


def test_the_host_needs_only_the_standard_library():
    """The host runs in a peer's environment, without streamconform's dependencies; msgspec is optional."""
    _, foreign = find_reachable(Path(peer_host.__file__))
    assert foreign - {"msgspec"} <= set(sys.stdlib_module_names)


def test_the_exception_that_an_adapter_caught_is_part_of_its_result():
    caught = ValueError("broken")

    def adapter(run):
        if run == "broken":
            library_call.keep_exception(caught)
        return build_outcome([], None, None)

    wrapped = peer_host._add_exception(adapter, library_call.take_exception)
    outcome = build_outcome([], None, None)
    assert wrapped("broken") == {"outcome": outcome, "raised": caught}
    assert wrapped("whole") == outcome
