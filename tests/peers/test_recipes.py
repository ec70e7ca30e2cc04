"""The adapters of docs/frameworks.md pass what the bundled peers pass, which use the same functions."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from streamconform import normal, run_suite
from streamconform_peers.environments import build_command
from streamconform_peers.peer import PACKAGE

from ..cli.project import Project
from ..conftest import is_installed

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/frameworks.md").read_text("utf-8")
RECIPES = dict(re.findall(r"<!-- file: (.+?) -->\n```(?:python|javascript)\n(.*?)```", PAGE, re.DOTALL))
PEERS = {
    "openai_adapter.py": ("openai", ("openai-chat", "openai-responses")),
    "anthropic_adapter.py": ("anthropic", ("anthropic-messages",)),
    "google_adapter.py": ("google-genai", ("google-generate",)),
    "langchain_adapter.py": ("langchain", ("anthropic-messages",)),
    "pydantic_ai_adapter.py": ("pydantic-ai", ("openai-chat",)),
    "openai_adapter.mjs": ("node-openai", ("openai-chat",)),
}
"""The peer with the library of each adapter, and the adapter's APIs."""
TOPICS = ("truncation", "tool-use", "tool-calls", "thinking", "refusal")


def list_patterns(apis):
    files = [ROOT / f"specs/{api}/{topic}.yaml" for api in apis for topic in TOPICS]
    return [f"{file.parent.name}/{file.stem}/**" for file in files if file.exists()]


def write_python_adapter(name, folder):
    """Write an adapter, and return the command that runs it with the Python of its peer."""
    file = folder / name
    file.write_text(RECIPES[name], "utf-8")
    python = build_command(PEERS[name][0])[0]
    return [
        "env",
        f"PYTHONPATH={ROOT / 'harness'}",
        python,
        "-m",
        "streamconform.adapters.host",
        f"{file}:adapter",
    ]


def write_node_adapter(name, folder):
    """Write the adapter of `conform init`, with an adapter of the page in place of its functions."""
    options = ("--language", "node", "--input", "http", "--api", "openai-chat")
    assert Project(folder).run("init", *options).code == 0
    adapter = folder / "tests/conform_adapter.mjs"
    text = adapter.read_text("utf-8")
    for function in ("ask", "read", "ask_library", "outcome"):
        text, count = re.subn(rf"(?ms)^(async )?function {function}\(.*?^}}\n", "", text)
        assert count == 1
    adapter.write_text(RECIPES[name] + text, "utf-8")
    shutil.copy(PACKAGE / "node/normal.mjs", adapter.parent)
    node, program, *_ = build_command(PEERS[name][0])
    (folder / "node_modules").symlink_to(Path(program).parents[1] / "node_modules")
    return [node, str(adapter)]


def get_verdicts(impl, apis, folder):
    path = folder / "results.jsonl"
    run_suite(impl, select=list_patterns(apis), deliver="fast", workers=2, path=path)
    lines = map(json.loads, path.read_text("utf-8").splitlines())
    return {line["id"]: line["verdict"] for line in lines if line["kind"] == "trial"}


@pytest.mark.slow
@pytest.mark.installed
@pytest.mark.parametrize("name", [name for name, (peer, _) in PEERS.items() if is_installed(peer)])
def test_an_adapter_with_a_real_sdk_fails_only_what_the_peer_fails(name, tmp_path):
    peer, apis = PEERS[name]
    write = write_python_adapter if name.endswith(".py") else write_node_adapter
    verdicts = get_verdicts(f"cmd:{shlex.join(write(name, tmp_path))}", apis, tmp_path)
    (tmp_path / "peer").mkdir()
    of_peer = get_verdicts(f"peer:{peer}", apis, tmp_path / "peer")
    worse = [id_ for id_, verdict in verdicts.items() if verdict not in ("pass", "warn", of_peer[id_])]
    assert worse == []
    assert [*verdicts.values()].count("pass") > 50 * len(apis)


def test_an_adapter_for_each_library_has_at_most_20_lines():
    assert set(RECIPES) == set(PEERS)
    assert max(text.count("\n") for text in RECIPES.values()) <= 20


def test_the_page_names_every_function():
    assert [name for name in normal.__all__ if f"`{name}" not in PAGE and f"{name}(" not in PAGE] == []


@pytest.mark.parametrize("path", sorted((ROOT / "tests/frameworks").glob("*.py")), ids=lambda path: path.name)
def test_an_adapter_for_a_framework_uses_only_public_names(path):
    used = set(re.findall(r"normal\.(\w+)", path.read_text("utf-8")))
    assert used
    assert used <= set(normal.__all__)
