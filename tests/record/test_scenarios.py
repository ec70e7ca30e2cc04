"""`conform record scenarios` against real servers on loopback; the real engine's are in tests/engine."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from streamconform.apis import APIS
from streamconform.apis.api import Target
from streamconform.errors import UsageError
from streamconform.suite.scenarios import FOLDER, TOPICS, load_bundled
from streamconform_capture.record import endpoints
from streamconform_capture.record.endpoints import ENDPOINTS
from streamconform_capture.record.scenario_request import RequestSettings, build_request

from ..bundled_suite import SOURCES
from .test_listen import conform

ANTHROPIC = ("--endpoint", "llama-cpp", "--api", "anthropic-messages")
KEY = "sk-test-0123456789-abcdefghijkl"
MODEL = "gpt-4o-mini"


class Handler(BaseHTTPRequestHandler):
    """Answers with the API's canned reply; refuses a model that does not exist."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append((self.path, headers, json.loads(body)))
        path = self.path.partition("?")[0]
        api = APIS["anthropic-messages" if path.endswith("/messages") else "openai-chat"]
        reply = api.choose_reply(Target(path, {}))
        status, media = 200, reply.content_type
        answer = self.server.edit(
            reply.write([json.dumps(each, separators=(",", ":")).encode() for each in reply.payloads("m")])
        )
        if any(word in body.decode() for word in self.server.refused):
            status, media = 400, "application/json"
            answer = b'{"type":"error","error":{"type":"invalid_request_error","message":"No."}}'
        self.send_response(status)
        self.send_header("content-type", media)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        """Print nothing."""


@contextmanager
def answering(*, refused=("no-such-model",), edit=lambda body: body):
    """Yield a server; it refuses requests with one of the words `refused`."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.requests, server.refused, server.edit = [], refused, edit
        server.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def record(folder, server, *words, endpoint=ANTHROPIC, env=None):
    return conform(folder, "record", "scenarios", *words, *endpoint, "--base-url", server.url, env=env)


def written(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("api", APIS)
def test_twenty_scenarios_can_be_asked_in_every_api(api):
    settings = RequestSettings(api=api, model="m", headers={})
    requested = [scenario for scenario in load_bundled() if scenario.possible(APIS[api].probing)]
    assert len(requested) >= 20
    for scenario in requested:
        request = build_request(settings, scenario, stream=True)
        text = json.dumps(request.body, ensure_ascii=False)
        message = scenario.conversation["messages"][-1]
        content = message["content"] if message["role"] == "user" else message["results"][0]["content"]
        assert json.dumps(content, ensure_ascii=False)[1:-1] in text or content in text, scenario.name
        assert request.path.startswith("/")


def test_all_scenarios_are_recorded_with_one_command_and_only_once(tmp_path):
    with answering() as server:
        done = record(tmp_path, server)
        assert done.returncode == 0, done.stderr
        count = len(server.requests)
        assert count >= 27
        assert f"{count} of {count} answers recorded" in done.stdout
        again = record(tmp_path, server)
        assert (again.returncode, len(server.requests)) == (0, count)
    assert f"nothing to record: {count} already recorded" in again.stdout
    run = conform(tmp_path, "run", "--specs", "specs", "--cassettes", "cassettes")
    assert run.returncode == 0, run.stdout + run.stderr
    assert (tmp_path / "cassettes/anthropic-messages/llama-cpp-cache-again.yaml").exists()
    spec = (tmp_path / "specs/anthropic-messages/llama-cpp.yaml").read_text("utf-8")
    assert "title: Several calls in one answer, from llama.cpp's server" in spec


@pytest.mark.parametrize(("mode", "sent"), [("once", 0), ("new", 1), ("all", 2)])
def test_the_mode_says_what_is_recorded_again(tmp_path, mode, sent):
    with answering() as server:
        assert record(tmp_path, server, "text").returncode == 0
        server.requests.clear()
        done = record(tmp_path, server, "text", "unicode", "--mode", mode)
        assert len(server.requests) == sent
    assert done.returncode == 0, done.stderr


def test_a_refresh_without_a_change_says_so_and_writes_nothing(tmp_path):
    with answering() as server:
        record(tmp_path, server, "text", "unicode")
        before = written(tmp_path)
        done = record(tmp_path, server, "--refresh")
    assert done.returncode == 0, done.stderr
    assert "2 answers recorded again and compared, nothing written: 0 changes of shape" in done.stdout
    assert written(tmp_path) == before


def test_a_refresh_names_what_is_new_and_what_is_gone(tmp_path):
    def edit(body):
        return body.replace(b'"text_delta"', b'"text_delta","heat":3').replace(b'"stop_sequence":null,', b"")

    with answering() as server:
        record(tmp_path, server, "text")
        server.edit = edit
        done = record(tmp_path, server, "text", "--refresh")
    assert done.returncode == 1
    delta = "content_block_delta delta<text_delta>.heat number"
    assert f"+ anthropic-messages: {delta} (new in llama-cpp-text)" in done.stdout
    assert "- anthropic-messages: " in done.stdout
    assert "(no longer sent; was in llama-cpp-text)" in done.stdout


def test_a_refresh_names_what_is_new_to_the_suite_even_without_recordings(tmp_path):
    def edit(body):
        return body.replace(b'"text_delta"', b'"text_delta","heat":3')

    with answering() as server:
        server.edit = edit
        done = record(tmp_path, server, "text", "--refresh")
    assert done.returncode == 1
    assert "  content_block_delta delta<text_delta>.heat number\n" in done.stdout
    assert "1 new shape in 1 answer (1 of anthropic-messages)\n" in done.stdout
    assert written(tmp_path) == {}


def test_an_answer_that_is_refused_is_not_recorded_and_the_others_are(tmp_path):
    with answering(refused=("no-such-model", "pirate")) as server:
        done = record(tmp_path, server, "text", "system-prompt", "unknown-model")
    assert done.returncode == 1
    assert "not recorded: anthropic-messages/llama-cpp-system-prompt: " in done.stderr
    assert "HTTP status 400, expected 2xx" in done.stderr
    assert "2 of 3 answers recorded" in done.stdout
    assert (tmp_path / "cassettes/anthropic-messages/llama-cpp-unknown-model.json").exists()


def test_a_server_that_is_not_there_is_one_message(tmp_path):
    with answering() as server:
        pass
    done = record(tmp_path, server)
    assert done.returncode == 2
    assert done.stderr.count("cannot connect") == 1
    assert "Traceback" not in done.stderr


OPENAI = ("--endpoint", "openai", "--api", "openai-chat", "--model", MODEL)


def test_the_cost_is_estimated_before_and_known_afterwards(tmp_path):
    env = {"OPENAI_API_KEY": KEY}
    with answering() as server:
        shown = record(tmp_path, server, "text", "--dry-run", endpoint=OPENAI, env={"OPENAI_API_KEY": ""})
        assert (shown.returncode, server.requests) == (0, [])
        done = record(tmp_path, server, "text", endpoint=OPENAI, env=env)
        assert server.requests[0][1]["authorization"] == f"Bearer {KEY}"
    assert f"openai-chat/openai-text: POST {server.url}/v1/chat/completions" in shown.stdout
    assert '"model":"gpt-4o-mini"' in shown.stdout
    # 64 tokens at 0.6 USD a million, and 62 at 0.15
    assert "1 request, at most 0.000048 USD; nothing was sent" in shown.stdout
    assert done.returncode == 0, done.stderr
    assert "0.000003 USD" in done.stdout  # 9 tokens and 2
    assert KEY not in done.stdout + done.stderr + repr(written(tmp_path))


def test_nothing_is_sent_that_may_exceed_the_highest_cost(tmp_path):
    with answering() as server:
        words = ("long-answer", "--max-cost", "0.00001")
        done = record(tmp_path, server, *words, endpoint=OPENAI, env={"OPENAI_API_KEY": KEY})
        assert server.requests == []
        unknown = (*OPENAI[:-1], "no-such-model-of-theirs")
        unpriced = record(tmp_path, server, *words, endpoint=unknown, env={"OPENAI_API_KEY": KEY})
        assert server.requests == []
    assert "stopped before openai-chat/openai-long-answer: it may exceed --max-cost" in done.stderr
    assert done.returncode == 1
    assert "--max-cost needs the model's price" in unpriced.stderr
    assert unpriced.returncode == 2


def test_a_local_server_gets_no_key_of_a_provider(tmp_path):
    with answering() as server:
        env = {"ANTHROPIC_API_KEY": KEY, "MY_KEY": "another-key-0123456789"}
        record(tmp_path, server, "text", env=env)
        record(tmp_path, server, "unicode", "--key-env", "MY_KEY", env=env)
        (_, first, _), (_, second, _) = server.requests
    assert KEY not in repr(first)
    assert second["x-api-key"] == "another-key-0123456789"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "Missing option '--endpoint'"),
        (("--endpoint", "opnai"), "did you mean `openai`"),
        (("texts", "--endpoint", "llama-cpp"), "did you mean `text`"),
        (("--endpoint", "openai"), "serves several models; add --model"),
        (("--endpoint", "openai", "--model", "m"), "set `OPENAI_API_KEY`"),
        (("--endpoint", "groq", "--api", "cohere-chat"), "it supports openai-chat"),
        (("--endpoint", "llama-cpp", "--twin"), "No such option '--twin'"),
        (("--endpoint", "azure", "--model", "m"), "needs `AZURE_OPENAI_RESOURCE`"),
    ],
)
def test_a_wrong_use_is_explained(tmp_path, words, message):
    done = conform(
        tmp_path, "record", "scenarios", *words, env={"OPENAI_API_KEY": "", "AZURE_OPENAI_RESOURCE": ""}
    )
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_every_endpoint_speaks_a_known_api_and_says_where_that_is_documented():
    for name, endpoint in ENDPOINTS.items():
        assert name == endpoint.name
        assert set(endpoint.apis) <= set(APIS)
        assert endpoint.source.startswith("https://")
        assert endpoint.base_url.startswith("http://127.0.0.1" if endpoint.is_local else "https://")
        variables = {(endpoint.key or APIS[api].key).variable for api in endpoint.apis}
        assert len(variables) == 1 or endpoint.is_local


def test_an_address_is_filled_in_from_the_environment(monkeypatch):
    vertex = ENDPOINTS["vertex"]
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "my-project")
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "europe-west4")
    assert endpoints.fill_in(vertex.base_url, vertex) == "https://europe-west4-aiplatform.googleapis.com"
    assert endpoints.rewrite_path("/v1beta/models/gemini-2.5-flash:streamGenerateContent", vertex) == (
        "/v1/projects/my-project/locations/europe-west4/publishers/google/models/"
        "gemini-2.5-flash:streamGenerateContent"
    )
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "evil.example/x?")
    with pytest.raises(UsageError, match="is not a name"):
        endpoints.fill_in(vertex.base_url, vertex)


def test_the_bundled_scenarios_are_part_of_the_suite():
    assert (SOURCES.specs / FOLDER).is_dir()
    assert {path.stem for path in (SOURCES.specs / FOLDER).glob("*.yaml")} == {*TOPICS}
