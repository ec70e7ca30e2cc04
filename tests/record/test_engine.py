"""The recorder against a real inference server, where one is installed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from streamconform.suite import cassettes
from streamconform_dev.engine.bodies import MODEL, body
from streamconform_dev.engine.engine import running

LAST = {
    "anthropic-messages": b'data: {"type":"message_stop"}\n\n',
    "openai-chat": b"data: [DONE]\n\n",
    "openai-responses": b"}\n\n",
}


@pytest.mark.engine
def test_a_real_stream_and_its_twin_are_recorded_for_every_api(recorder):
    with running(Path(sys.executable), {}) as base_url:
        for api, last in LAST.items():
            words = ("--model", MODEL, "--twin")
            ran = recorder.run(base_url, *words, api=api, name=f"real-{api}", request=body(api, "text"))
            assert ran.code == 0, ran.err
            kept = cassettes.load(recorder.folder / "cassettes", api, f"real-{api}")
            assert kept.body.endswith(last)
            assert len(kept.marks) > 3
            assert kept.headers == {"content-type": "text/event-stream"}
            assert "Paris" in json.dumps(json.loads(kept.twin))
