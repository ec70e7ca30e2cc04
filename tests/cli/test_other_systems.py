"""`run`, `smoke`, `serve` and `record` work alike without what only Linux and its like have."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from ..record.server import serving, stream

ABSENT = Path(__file__).parent / "other_systems"
CASES = "anthropic-messages/tool-use/*"
ADAPTER = "import time\n\n\ndef adapter(run):\n    {}\n\n\nadapter.apis = ['ollama-chat']\n"


def start(folder, *words, absent=True, **options):
    path = [str(ABSENT)] if absent else []
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*path, str(folder)])}
    return subprocess.Popen(
        (sys.executable, "-m", "streamconform", *words),
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def run(folder, *words, absent=True):
    process = start(folder, *words, absent=absent)
    stdout, stderr = process.communicate(timeout=60)
    return process.returncode, stdout, stderr


def test_what_is_taken_away_is_missing():
    code = "import os, signal; print(hasattr(os, 'killpg'), hasattr(signal, 'SIGKILL')); import fcntl"
    process = subprocess.run(
        (sys.executable, "-c", code),
        env={**os.environ, "PYTHONPATH": str(ABSENT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.stdout == "False False\n"
    assert "ModuleNotFoundError" in process.stderr


def test_a_run_has_the_same_verdicts(tmp_path):
    verdicts = []
    words = ("run", "-i", "mutant:interleaved-arguments-joined", "-k", CASES, "-n", "2")
    for absent in (True, False):
        code, _, stderr = run(tmp_path, *words, absent=absent)
        assert (code, stderr) == (1, "")
        results = next(tmp_path.glob(".conform/runs/*/results.jsonl"))
        lines = map(json.loads, results.read_text("utf-8").splitlines())
        verdicts.append({line["id"]: line["verdict"] for line in lines if "verdict" in line})
        results.unlink()
    assert verdicts[0] == verdicts[1]
    assert {"pass", "fail"} <= set(verdicts[0].values())


def test_a_program_that_does_not_answer_is_killed(tmp_path):
    body = "open('pid', 'w').write(str(os.getpid())); time.sleep(60)"
    (tmp_path / "hangs.py").write_text("import os\n" + ADAPTER.format(body), "utf-8")
    words = ("-i", "python:hangs:adapter", "--timeout", "0.2", "-k", "ollama-chat/text/*", "--maxfail", "1")
    code, stdout, stderr = run(tmp_path, "run", *words)
    assert (code, stderr) == (3, "")
    assert "no answer in 0.2 s" in stdout
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text("utf-8")), 0)


def test_smoke_finds_the_same_mistakes(tmp_path):
    (tmp_path / "says_nothing.py").write_text(ADAPTER.format("return {}"), "utf-8")
    words = ("smoke", "python:says_nothing:adapter")
    code, stdout, stderr = run(tmp_path, *words)
    assert (code, stderr, "FIX" in stdout) == (1, "", True)
    assert run(tmp_path, *words, absent=False) == (code, stdout, stderr)
    assert run(tmp_path, "smoke", "reference")[0] == 0


def test_the_traffic_of_a_program_is_recorded(tmp_path):
    body = b'data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\ndata: [DONE]\n\n'
    url = "os.environ['OPENAI_BASE_URL'] + '/chat/completions'"
    program = f"import httpx, os; httpx.post({url}, json={{'model': 'm'}})"
    with serving(*stream(body)) as server:
        words = ("record", "listen", "--upstream", server.base_url, "--", sys.executable, "-c", program)
        code, _, stderr = run(tmp_path, *words)
    assert code == 0, stderr
    assert (tmp_path / "cassettes/openai-chat/overheard-1.sse").read_bytes() == body


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_replay_server_serves_until_it_is_interrupted(tmp_path, number):
    with start(tmp_path, "serve", "-k", "anthropic-messages/tool-use/parallel-calls") as server:
        url = server.stdout.readline().split()[0]
        answer = httpx.post(f"{url}/v1/messages", json={})
        assert b"message_stop" in answer.content
        server.send_signal(number)
        assert server.wait(10) == 0
