"""Run `conform probe` in this process."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from streamconform.cli import main
from streamconform.run.reading import read


@dataclass(frozen=True)
class ProbeOutput:
    code: int
    out: str
    err: str
    failed: dict[str, list[str]]
    """The paths of failed checks, by question."""
    warned: dict[str, list[str]]


RunProbe = Callable[..., ProbeOutput]


@pytest.fixture
def probe(tmp_path, monkeypatch, capsys) -> RunProbe:
    """Return a function that runs the command in this process; a new process takes a second to start."""
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)

    def run(url: str, *arguments: str) -> ProbeOutput:
        monkeypatch.setattr(sys, "argv", ["conform", "probe", url, *arguments])
        with pytest.raises(SystemExit) as exit_info:
            main()
        printed = capsys.readouterr()
        return read_output(tmp_path, exit_info.value.code, printed.out, printed.err)

    return run


def read_output(folder: Path, code: Any, out: str, err: str) -> ProbeOutput:
    path = folder / ".conform" / "probe.jsonl"
    trials = read(path).trials if path.exists() else ()
    paths = {
        verdict: {
            trial.id.rpartition("/")[2]: [check.path for check in trial.checks if check.verdict == verdict]
            for trial in trials
            if any(check.verdict == verdict for check in trial.checks)
        }
        for verdict in ("fail", "warn")
    }
    return ProbeOutput(code, out, err, paths["fail"], paths["warn"])
