"""A user's project with good and bad parsers, and pytest run in it like a user would."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from streamconform_dev.checkout import ROOT

from ..cli import forked
from ..cli.project import Project

CASES = ("single-text-block", "several-text-blocks", "start-text-not-empty", "unicode-scripts")
DELIVERIES = ("as-is", "bytewise")
TRIALS = tuple(f"anthropic-messages/text/{case}@{name}" for case in CASES for name in DELIVERIES)
LINE = re.compile(r"^(conform::\S+) (PASSED|FAILED|SKIPPED|XFAIL|XPASS)\b", re.MULTILINE)

READER = '''
import json

REASONS = {"end_turn": "stop"}


def read(run):
    """A parser of text, as small as it can be."""
    return told(b"".join(run.chunks))


def told(body):
    text, stop, status, message = "", None, "incomplete", {}
    for line in body.decode().split("\\n"):
        if not line.startswith("data:"):
            continue
        payload = json.loads(line[5:])
        message = payload.get("message", message)
        text += payload.get("content_block", {}).get("text", "")
        text += payload.get("delta", {}).get("text", "")
        stop = REASONS.get(payload.get("delta", {}).get("stop_reason"), stop)
        if payload["type"] == "message_stop":
            status = "complete"
    content = [{"type": "text", "text": text}] if text else []
    told = {"status": status, "content": content, "stop": {"reason": stop}}
    return told | {"model": message.get("model"), "response_id": message.get("id")}


def claimed(adapter):
    adapter.apis, adapter.capabilities = ["anthropic-messages"], []
    return adapter
'''
HEAD = "import os, sys, time\nfrom reader import claimed, read, told\n\n@claimed\n"
ADAPTERS = {
    "good": "def adapter(run):\n    return read(run)\n",
    "wrong": """
def adapter(run):
    print("asked")
    made = read(run)
    if "Nairobi" in made["content"][0]["text"]:
        made["content"][0]["text"] = "Mombasa"
    return made
""",
    "loose": """
def adapter(run):
    made = read(run)
    made["content"][0]["text"] = made["content"][0]["text"].replace("prefix", "")
    return made
""",
    "crash": """
def adapter(run):
    made = read(run)
    if run.chunks.taken > 500:
        sys.stderr.write("out of luck\\n")
        os._exit(3)
    return made
""",
    "hang": """
def adapter(run):
    made = read(run)
    while "Nairobi" in made["content"][0]["text"]:
        time.sleep(60)
    return made
""",
    "raises": """
def adapter(run):
    secret = "it is " + run.api
    raise ValueError("cannot read this")
""",
    "stops": """
def adapter(run):
    breakpoint()
    return read(run)
""",
    "client": """
def adapter(run):
    import json, urllib.request
    body = json.dumps(run.request).encode()
    head = {"content-type": "application/json", "x-api-key": run.api_key, "anthropic-version": "2023-06-01"}
    asked = urllib.request.Request(run.base_url + "/v1/messages", body, head)
    with urllib.request.urlopen(asked) as answer:
        return told(answer.read())

adapter.inputs = ["http"]
""",
    "other": "def adapter(run):\n    return read(run)\n\nadapter.apis = ['openai-chat']\n",
}
CONFIG = f"""
[tool.conform]
specs = "specs"
cassettes = "{ROOT / "cassettes"}"
deliver = "fast"
timeout = 2
"""

STARTED_FAST = (
    *("-p", "no:hypothesispytest", "-p", "no:anyio"),
    # Finding all modules whose assertions are to be rewritten takes half of the time; one test does it.
    "--assert=plain",
    # The fork has imported the plugin before pytest could rewrite its assertions; nothing else warns.
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
)
"""Options that disable slow plugins other than ours."""


@dataclass(frozen=True)
class Tested:
    """The output and exit code of pytest."""

    code: int
    out: str

    @property
    def items(self) -> dict[str, str]:
        """The result of each item that `-v` lists."""
        return dict(LINE.findall(self.out))

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of the last line."""
        last = self.out.rstrip().rpartition("\n")[2]
        return {
            word: int(number) for number, word in re.findall(r"(\d+) ([a-z]+)", last.rpartition(" in ")[0])
        }


class Tests(Project):
    """A project; `pytest` runs there."""

    def pytest(self, *words: str, stdin: str = "") -> Tested:
        """Run `pytest WORDS` in the project, and return the result."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
        done = forked.run(
            "pytest",
            (*STARTED_FAST, *words),
            cwd=self.folder,
            env={**env, "NO_COLOR": "1", "COLUMNS": "200"},
            stdin=stdin,
            merged=True,
        )
        return Tested(done.returncode, done.stdout)


def made(folder: Path) -> Tests:
    """Return a project with every adapter, and four cases as its own suite."""
    text = (ROOT / "specs/anthropic-messages/text.yaml").read_text("utf-8")
    head, *cases = text.split("\n  - id: ")
    own = "\n  - id: ".join((head, *(case for case in cases if case.partition("\n")[0] in CASES)))
    files = {
        "pyproject.toml": CONFIG,
        "specs/anthropic-messages/text.yaml": own,
        "reader.py": READER,
        "test_mine.py": "def test_mine():\n    pass\n",
    }
    for name, source in ADAPTERS.items():
        files[f"{name}/__init__.py"] = ""
        files[f"{name}/conform.py"] = HEAD + source.lstrip()
    tests = Tests(folder, files)
    tests.write()
    return tests
