"""Probe engines and gateways, and write docs/engines.md: `python -m streamconform_dev.engine.probe_all`.

Starts each server in `servers.py`, asks it the questions of `conform probe` in each of its APIs, and stores
the deviations in deviations.json, from which the page is generated. `--server` selects one server; the
results of the others are kept.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from streamconform_dev.checkout import ROOT
from streamconform_dev.engine import servers
from streamconform_dev.engine.engine import find_weights, install, running
from streamconform_dev.engine.servers import Server

FAILED = ("fail", "warn")
ABSENT = "grammar.required-field"
MAX_FOUND = 160
MAX_QUESTIONS = 3
DEVIATIONS = Path(__file__).parent / "deviations.json"
PAGE = ROOT / "docs" / "engines.md"
HEAD = """# What engines and gateways send

`conform probe` asked these servers its standard questions, with a 135-million-parameter model, and
compared each stream with the API provider's documentation. Each row is a failed check: a documented field or
order that clients may rely on but that this server does not provide. A small model answers some questions
badly, so failures of `answer` checks may be the model's fault.

Their streams are in `cassettes/`, recorded with
`python -m streamconform_dev.engine.record_all --server NAME`; this page is written by
`python -m streamconform_dev.engine.probe_all`.

| server | API | check | questions | first message |
| --- | --- | --- | --- | --- |
"""


def main() -> int:
    """Probe, and write the deviations by server and API."""
    given = _arguments()
    found = read_deviations()
    with tempfile.TemporaryDirectory() as folder:
        python = install(given.venv or Path(folder) / "engine")
        for name in given.server or servers.SERVERS:
            server = servers.SERVERS[name]
            home = (given.homes or Path(folder)) / name
            found[name] = {"server": server.words, "apis": probe(server, home, python, Path(folder))}
            text = json.dumps(dict(sorted(found.items())), indent=1, ensure_ascii=False)
            DEVIATIONS.write_text(text + "\n", "utf-8")
            PAGE.write_text(render(found), "utf-8")
            sys.stdout.write(f"{name}: {', '.join(found[name]['apis'])}\n")
    return 0


def read_deviations() -> dict[str, Any]:
    """Return the deviations by server."""
    return json.loads(DEVIATIONS.read_text("utf-8")) if DEVIATIONS.exists() else {}


def render(found: Mapping[str, Any]) -> str:
    """Return the page."""
    rows = [
        f"| {each['server']} | {api} | `{check}` | {_shorten_list(questions)} | {_escape(seen)} |"
        for _, each in sorted(found.items())
        for api, checks in each["apis"].items()
        for check, (questions, seen) in join_absent_fields(checks).items()
    ]
    return HEAD + "\n".join(rows) + "\n"


def join_absent_fields(checks: Mapping[str, Any]) -> dict[str, tuple[list[str], str]]:
    """Return the questions and the message by check, with one entry for all absent fields."""
    joined: dict[str, tuple[list[str], str]] = {}
    fields: dict[str, None] = {}
    questions: dict[str, None] = {}
    for check, seen in checks.items():
        if check.startswith(ABSENT):
            fields[f"`{check.rpartition('.')[2]}`"] = None
            questions |= dict.fromkeys(seen["questions"])
            joined[ABSENT] = (list(questions), f"absent: {', '.join(fields)}")
        else:
            joined[check] = (seen["questions"], seen["found"])
    return joined


def _shorten_list(names: Sequence[str]) -> str:
    rest = len(names) - MAX_QUESTIONS
    return ", ".join(names[:MAX_QUESTIONS]) + (f" and {rest} more" if rest > 0 else "")


def _escape(text: str) -> str:
    return text.replace("|", "\\|")


def probe(server: Server, home: Path, python: Path, folder: Path) -> dict[str, dict[str, Any]]:
    """Return the deviations of a server by API: each failed check, its questions, and the message."""
    servers.install(server, home)
    with ExitStack() as stack:
        base_url = stack.enter_context(running(python, {})) if server.gateway else ""
        url = stack.enter_context(servers.running(server, home, base_url, find_weights(python)))
        return {api: _probe_api(url, api, server.model, folder / f"{api}.jsonl") for api in server.scenarios}


def _probe_api(url: str, api: str, model: str, results: Path) -> dict[str, Any]:
    words = ("probe", url, "--api", api, "--model", model, "--temperature", "0", "--timeout", "120", "-qq")
    report = ("--report", f"jsonl={results}")
    subprocess.run((sys.executable, "-m", "streamconform", *words, *report), check=False)
    lines = [json.loads(line) for line in results.read_text("utf-8").splitlines()]
    trials = [line for line in lines if line["kind"] == "trial"]
    deviations: dict[str, Any] = {}
    for trial in trials:
        for check in trial.get("checks", ()):
            if check["verdict"] in FAILED:
                first = shorten(check["message"])
                seen = deviations.setdefault(check["path"], {"questions": [], "found": first})
                seen["questions"].append(trial["id"].rpartition("/")[2])
    return deviations


def shorten(message: str) -> str:
    """Return the first statement in the message of a check."""
    text = " ".join(message.partition("; ")[0].split())
    return text if len(text) <= MAX_FOUND else f"{text[: MAX_FOUND - 1]}…"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m streamconform_dev.engine.probe_all", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--server", action="append", choices=list(servers.SERVERS), help="this server")
    parser.add_argument("--venv", type=Path, help="the engine's environment, made if missing")
    parser.add_argument("--homes", type=Path, help="folder of the servers' environments, made if missing")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
