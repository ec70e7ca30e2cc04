"""`--start-timeout` and the key `start_timeout` limit the time until the greeting, in every command."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import pytest

from streamconform.adapters import idle_limit
from streamconform.run.plan import Settings
from streamconform.run.session import Progress, RunRequest, execute_run

from ..harness import builders

CASE = "anthropic-messages/text/single-text-block"
SILENT = "import sys, time\nsys.stderr.write('compiling dependency 7 of 120\\n')\ntime.sleep(60)\n"
IMPL = f"cmd:{sys.executable} -S silent.py"
OPTION = ("--start-timeout", "0.5")


@dataclass(frozen=True)
class Command:
    id: str
    words: tuple[str, ...]
    config: str = ""


COMMANDS = [
    Command("run", ("run", "-k", CASE, "-i", IMPL, *OPTION)),
    Command("run-timeout-is-separate", ("run", "-k", CASE, "-i", IMPL, *OPTION, "--timeout", "60")),
    Command("smoke", ("smoke", IMPL, *OPTION)),
    Command("explain", ("explain", CASE, "-i", IMPL, *OPTION)),
    Command("minimise", ("minimise", CASE, "-i", IMPL, *OPTION)),
    Command("fuzz", ("fuzz", "-i", IMPL, "--api", "anthropic-messages", "--examples", "1", *OPTION)),
    Command("compare", ("compare", IMPL, "--corpus", "corpus", *OPTION)),
    Command("config-run", ("run", "-k", CASE, "-i", IMPL), "start_timeout = 0.5\n"),
    Command("config-smoke", ("smoke", IMPL), "start_timeout = 0.5\n"),
    Command("config-explain", ("explain", CASE, "-i", IMPL), "start_timeout = 0.5\n"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=[command.id for command in COMMANDS])
def test_a_program_that_does_not_greet_ends_the_command(project, command):
    files = project.with_file("silent.py", SILENT).with_file("corpus/empty.jsonl", "")
    ran = files.with_file("conform.toml", command.config).run(*command.words)
    assert (ran.code, ran.out) == (3, ""), ran.err
    reason = "no greeting within 0.5 s; end the `hello` line with a newline and flush stdout, or raise"
    assert f"`{IMPL}` cannot be used: {reason} `--start-timeout`; its stderr ends with:" in ran.err
    assert ran.err.rstrip().endswith("  | compiling dependency 7 of 120")


@pytest.mark.parametrize("text", ['"long"', "0", "true"])
def test_a_wrong_value_is_a_config_error(project, text):
    ran = project.with_file("conform.toml", f"start_timeout = {text}\n").run("list")
    assert ran.code == 2
    assert "conform.toml:1: `start_timeout` is" in ran.err


def test_a_run_passes_on_that_a_program_is_idle(tmp_path, monkeypatch):
    monkeypatch.setattr(idle_limit, "NOTICE_IDLE_SECONDS", 0.1)
    notices = []
    request = RunRequest(
        connections=(builders.program(tmp_path, "time.sleep(0.8); greet(); read()"),),
        trials=(builders.trial(builders.case()),),
        settings=Settings(workers=1, timeout=5, start_timeout=1.2),
        selection={},
    )
    progress = Progress(lambda _: None, lambda _: None, on_long_wait=notices.append)
    execute_run(request, tmp_path / "results.jsonl", progress)
    (notice,) = notices
    assert "waiting for the greeting; end the `hello` line" in notice
