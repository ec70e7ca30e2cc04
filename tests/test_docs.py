"""The documentation agrees with the code."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

import pytest

from streamconform import config, reports
from streamconform.adapters.connect import FORMS
from streamconform.cli.verbs import load_verbs
from streamconform.model.capability import CAPABILITIES
from streamconform.model.trial import DELIVERIES, FAULTS
from streamconform.run.exits import Exit
from streamconform_dev.checkout import ROOT
from streamconform_dev.docs.blocks import BLOCK, describe_outdated, hide_numbers
from streamconform_dev.docs.outputs import PAGES, PEER, run_command
from streamconform_innocents import INNOCENTS
from streamconform_peers.table import PEERS
from streamconform_reference.adapter import VERSION

from .cli.project import Project, run_forked

README = (ROOT / "README.md").read_text("utf-8")
EVERYTHING = "conform run"
"""The command that runs every case."""
OUTPUTS = {m["command"]: m["text"] for page in PAGES for m in BLOCK.finditer(page.read_text("utf-8"))}
BLOCKS = [
    pytest.param(
        command,
        text,
        id=command,
        marks=[pytest.mark.peers] if PEER.search(command) else [],
    )
    for command, text in OUTPUTS.items()
    if command != EVERYTHING
]
FILE = re.compile(r"<!-- file: (?P<name>.+?) -->\n```python\n(?P<text>.*?)```", re.DOTALL)
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def documented(name):
    return (ROOT / "docs" / name).read_text("utf-8")


@pytest.mark.parametrize(("command", "text"), BLOCKS)
def test_an_output_block_is_what_the_command_prints(command, text):
    assert hide_numbers(run_command(command, run_forked)) == hide_numbers(text), describe_outdated("cli")


def test_the_run_of_everything_names_the_versions_and_no_failures():
    assert hide_numbers(OUTPUTS[EVERYTHING]) == (
        f"streamconform {version('streamconform')}, # cases, # trials, seed 0\n"
        f"  streamconform-reference {VERSION} (python, bytes) via reference\n"
        "No failures: # passed in # s\n"
    ), describe_outdated("cli")


def test_a_new_case_changes_no_output():
    line = "Failed: 2 causes, in 8 of {} trials; core: 27 of {} cases. The full suite adds {}: conform run"
    assert hide_numbers(line.format(267, 385, 358)) == hide_numbers(line.format("1,267", 386, 359))


def test_the_pages_show_a_failing_run_a_good_run_and_an_explanation():
    assert len(OUTPUTS) == 3


def test_every_verb_and_exit_code_is_documented():
    page = documented("cli.md")
    assert [verb for verb in load_verbs() if f"| `conform {verb}" not in page] == []
    assert [code for code in Exit if f"| {code.value} |" not in page] == []


def test_every_config_key_delivery_and_capability_is_documented():
    assert [key for key in config.KEYS if f"`{key}`" not in documented("configuration.md")] == []
    assert [name for name in (*DELIVERIES, *FAULTS) if f"| `{name}` |" not in documented("specs.md")] == []
    later = {"requests", "count_tokens"}
    assert [name for name in CAPABILITIES - later if f"`{name}`" not in documented("adapters.md")] == []


def test_every_adapter_form_peer_and_report_is_documented():
    assert [form for form in FORMS if f"| `{form}:" not in documented("adapters.md").replace('"', "")] == []
    assert [peer for peer in PEERS if f"| `{peer}` |" not in documented("peers.md")] == []
    kinds = (*reports.REPORTS, *reports.SUITE_REPORTS, reports.STREAMED)
    assert [kind for kind in kinds if f"| `{kind}` |" not in documented("reports.md")] == []


def test_every_innocent_is_on_the_page_of_innocents():
    page = documented("internals/innocents.md")
    missing = [
        innocent.name
        for name, innocent in INNOCENTS.items()
        if f"| `{name}` | {innocent.description} |" not in page
    ]
    assert missing == [], describe_outdated("innocents")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_into_the_repository_leads_somewhere(document):
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", document.read_text("utf-8"))
    assert [target for target in targets if not (document.parent / target).exists()] == []


def test_the_adapter_in_the_readme_is_judged_by_its_name(tmp_path):
    name, text = FILE.search(README).groups()
    package = Project(tmp_path).with_file(name, text).with_file(f"{Path(name).parent}/__init__.py", PARSER)
    ran = package.run("run", "--impl", "mypkg", "-k", "anthropic-messages/tool-use/parallel-calls", "-v")
    assert ran.code == 0, ran.out + ran.err


def test_the_generator_in_the_adapter_guide_keeps_every_rule_about_events(tmp_path):
    name, text = FILE.search(documented("adapters.md")).groups()
    package = Project(tmp_path).with_file(name, text)
    ran = package.run("run", "--impl", "streaming", "-k", "anthropic-messages/text/single-text-block")
    assert ran.code == 1
    assert "content.0.text" in ran.out
    assert "invariant" not in ran.out


# the user's parser that the README's adapter wraps, as small as possible
PARSER = """
import json
from types import SimpleNamespace


def parse_stream(chunks):
    message = SimpleNamespace(text="", tool_calls=[], finished=False, failed=False, stop_reason=None)
    calls = {}
    for line in b"".join(chunks).replace(b"\\r", b"\\n").decode("utf-8", "replace").split("\\n"):
        if not line.startswith("data:"):
            continue
        try:
            payload = json.loads(line[5:])
        except ValueError:
            break
        match payload["type"]:
            case "content_block_start" if payload["content_block"]["type"] == "tool_use":
                block = payload["content_block"]
                calls[payload["index"]] = SimpleNamespace(
                    id=block["id"], name=block["name"], text="", ended=False, arguments=None
                )
            case "content_block_delta":
                delta = payload["delta"]
                message.text += delta.get("text", "")
                if "partial_json" in delta:
                    calls[payload["index"]].text += delta["partial_json"]
            case "content_block_stop" if payload["index"] in calls:
                call = calls[payload["index"]]
                call.ended, call.arguments = True, json.loads(call.text or "{}")
            case "message_delta":
                message.stop_reason = payload["delta"]["stop_reason"]
            case "message_stop":
                message.finished = True
            case "error":
                message.failed = True
    message.tool_calls = list(calls.values())
    return message
"""
