"""Peers on Node.js: their table, their pins, and what their adapters share, with a real node and npm."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace

import pytest
from streamconform.apis import APIS
from streamconform.model.capability import CAPABILITIES, OF_CALLS
from streamconform.peers import node_package
from streamconform.peers.node_table import NODE

from ..cli.project import Project

ADAPTERS = sorted(node_package.HERE.glob("*.mjs"))
PACKAGE = re.compile(r"(?P<name>@?[^@]+)@(?P<version>[0-9][^@]*)")

TINY = """
import { serve } from "./protocol.mjs";
import { stop, thrown } from "./normal.mjs";

serve(async (run, answer) => {
  try {
    const body = JSON.stringify(run.request);
    const response = await fetch(`${run.url}/api/chat`, { method: "POST", body });
    let [text, last] = ["", {}];
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
      const lines = (text + piece).split("\\n");
      text = lines.pop();
      for (const line of lines) {
        last = JSON.parse(line);
        answer.piece("text", last.message?.content);
      }
    }
    answer.settle();
    const reason = stop(last.done_reason, { stop: "stop", length: "length" }, []);
    const { done, model } = last;
    return answer.over({ status: done ? "complete" : "incomplete", stop: reason, model });
  } catch (error) {
    return answer.over(thrown(error, () => null));
  }
});
console.log("this goes to stderr");
"""
"""A client of its own, as an adapter."""


@pytest.mark.parametrize("peer", NODE, ids=lambda peer: peer.name)
def test_a_peer_on_node_names_an_adapter_apis_and_what_it_claims(peer):
    assert (node_package.HERE / f"{peer.module.partition(' ')[0]}.mjs") in ADAPTERS
    assert set(peer.apis) <= set(APIS)
    assert set(peer.reads) <= set(peer.apis)
    assert {each for own in peer.capabilities.values() for each in own} <= CAPABILITIES - OF_CALLS
    assert re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+/issues", peer.issues)


@pytest.mark.parametrize("peer", NODE, ids=lambda peer: peer.name)
def test_the_pins_name_the_exact_release_of_everything_and_no_address(peer):
    packages = json.loads(node_package.pins(peer).read_bytes())["packages"]
    named = [PACKAGE.fullmatch(each) for each in peer.requirements]
    assert packages[""]["dependencies"] == {each["name"]: each["version"] for each in named}
    others = [each for path, each in packages.items() if path]
    assert all(each["integrity"].startswith("sha512-") and "resolved" not in each for each in others)


def test_no_pins_are_left_of_releases_on_node_that_are_not_used():
    assert set((node_package.HERE / "pins").iterdir()) == {node_package.pins(peer) for peer in NODE}


@pytest.mark.parametrize("path", ADAPTERS, ids=lambda path: path.stem)
def test_an_adapter_on_node_is_under_120_lines_and_names_no_host(path):
    text = path.read_text("utf-8")
    assert text.count("\n") < 120
    assert "://" not in text


@pytest.mark.node
@pytest.mark.parametrize("path", ADAPTERS, ids=lambda path: path.stem)
def test_an_adapter_on_node_is_javascript(path):
    subprocess.run(("node", "--check", path), check=True, timeout=60)


@pytest.fixture
def tiny(tmp_path):
    """An environment as an installation leaves it, with an adapter and a package of our own."""
    folder = tmp_path / "tiny"
    package = folder / "node_modules" / "tiny"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"name": "tiny", "version": "4.2.0"}')
    (folder / "tiny.mjs").write_text(TINY)
    claims = replace(
        NODE[0], distribution="tiny", apis=("ollama-chat",), claims=("events",), reads={}, module="tiny"
    )
    return node_package.program(folder, claims)


@pytest.mark.node
def test_a_client_on_node_is_judged_with_its_events(tiny, tmp_path):
    made = Project(tmp_path / "project")
    made.folder.mkdir()
    words = ("-k", "ollama-chat/text/*", "--deliver", "fast", "--report", "jsonl=run.jsonl")
    ran = made.run("run", *words, "--", *tiny)
    assert (ran.code, "0 unexpected" in ran.last) == (0, True), ran.out + ran.err
    told = [json.loads(line) for line in (made.folder / "run.jsonl").read_text("utf-8").splitlines()]
    (about,) = told[0]["implementations"]
    assert (about["name"], about["version"], about["input"]) == ("tiny", "4.2.0", "http")


@pytest.mark.node
def test_the_adapters_of_this_release_are_laid_beside_the_packages(tiny, tmp_path):
    assert tiny[1] == str(tmp_path / "tiny" / "tiny.mjs")
    stale = tmp_path / "tiny" / "answer.mjs"
    stale.write_text("from another release")
    node_package.program(tmp_path / "tiny", NODE[0])
    assert stale.read_bytes() == (node_package.HERE / "answer.mjs").read_bytes()


@pytest.fixture
def pinned(tmp_path, monkeypatch):
    """Pins of nothing, so that npm has nobody to ask."""
    (tmp_path / "pins").mkdir()
    monkeypatch.setattr(node_package, "HERE", tmp_path)
    lock = {"name": "peer", "lockfileVersion": 3, "requires": True, "packages": {"": {"name": "peer"}}}
    node_package.pins(NODE[0]).write_text(json.dumps(lock))
    return lock


@pytest.mark.node
def test_npm_installs_what_the_pins_name(pinned, tmp_path):
    del pinned
    folder = tmp_path / "made"
    folder.mkdir()
    assert node_package.fill(folder, NODE[0]) == {}
    assert json.loads((folder / "package.json").read_bytes()) == {"name": "peer", "private": True}


@pytest.mark.node
def test_what_npm_cannot_install_is_told_in_its_words(pinned, tmp_path):
    packages = {"": {"name": "peer", "dependencies": {"nosuch": "1.0.0"}}}
    node_package.pins(NODE[0]).write_text(json.dumps({**pinned, "packages": packages}))
    folder = tmp_path / "made"
    folder.mkdir()
    with pytest.raises(node_package.ImplementationError, match=r"(?s)npm cannot install openai@.*npm error"):
        node_package.fill(folder, NODE[0])
