"""Each API's record is complete, and no other module names an API."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

import streamconform
from streamconform.apis import APIS, NAMES, find_api
from streamconform.apis.api import Target
from streamconform.apis.payloads import read_payload
from streamconform.model.case import LEVELS
from streamconform.replay.endpoints import read_target
from streamconform.resources import find_bundled
from streamconform.schemas import load_schema
from streamconform.wire.framings import MEDIA_TYPES, is_stream, split

from .test_architecture import CAPTURE, HARNESS, modules

MAY_NAME_APIS = ("apis/", "corpus/sources.py", "fuzz/writers.py", "record/endpoints.py")
"""Modules that may name APIs: the records, the tables of projects and endpoints, and the fuzzer's writers."""

API_LIST = list(APIS.values())


def named(module):
    """Return where a module contains an API's name as a string constant; longer texts may contain names."""
    constants = (node for node in ast.walk(module.tree) if isinstance(node, ast.Constant))
    return [f"{module.name}:{each.lineno}" for each in constants if each.value in NAMES]


def test_only_the_records_name_an_api():
    others = [
        each for each in (*modules(HARNESS), *modules(CAPTURE)) if not each.name.startswith(MAY_NAME_APIS)
    ]
    assert [place for module in others for place in named(module)] == []


def test_the_search_for_names_finds_them():
    records = [each for each in modules(HARNESS) if each.name == "apis/openai_chat.py"]
    assert [place for module in records for place in named(module)]


def test_each_api_is_one_module():
    folder = Path(streamconform.__file__).parent / "apis"
    for name, api in APIS.items():
        assert api.name == name
        assert (folder / f"{name.replace('-', '_')}.py").is_file()
    assert tuple(APIS) == NAMES


def test_an_api_is_found_by_its_name_and_by_the_names_that_corpora_use():
    names = {name: api.name for api in API_LIST for name in (api.name, *api.importing.corpus_names)}
    assert {name: find_api(name).name for name in names} == names
    assert find_api("telegraph") is None


def test_the_schema_of_specs_lists_the_apis():
    assert load_schema("spec.v1")["$defs"]["api"]["enum"] == list(APIS)


@pytest.mark.parametrize("api", API_LIST, ids=NAMES)
class TestRecord:
    def test_it_is_frozen_and_has_a_title(self, api):
        with pytest.raises(AttributeError, match="immutable"):
            api.title = "another"
        assert api.title

    def test_every_unknown_event_is_one_frame_of_its_framing(self, api):
        for framed, event in api.extensions.event.items():
            (frame,) = split(framed, event if framed != "json_array" else b"[{}" + event + b"]")[-1:]
            assert json.loads(frame.payload)
        assert {api.extensions.event_level, api.extensions.field_level} <= set(LEVELS)
        assert () in api.extensions.objects
        assert api.extensions.source.startswith("https://")

    def test_every_error_frame_ends_the_stream_and_holds_its_message(self, api):
        assert set(api.ending.error_frame) <= set(api.extensions.event)
        for framed, body in api.ending.error_frame.items():
            (frame,) = split(framed, body)
            assert api.ending.is_terminal(read_payload(frame.payload))
            assert api.ending.error_message in frame.payload.decode()
        assert api.ending.source.startswith("https://")

    def test_every_canned_reply_is_a_whole_stream_of_the_api(self, api):
        for reply in api.canned_replies:
            body = reply.write(json.dumps(each).encode() for each in reply.payloads("m"))
            framed = api.detect_framing(200, body)
            frames = split(framed, body)
            assert is_stream(framed, body)
            assert any(api.ending.is_terminal(read_payload(each.payload)) for each in frames)
            assert reply.path in api.endpoints.streams
            assert json.loads(json.dumps(reply.document("m")))

    @pytest.mark.parametrize("query", ["", "?alt=sse"])
    def test_every_path_for_a_stream_has_a_canned_reply_in_a_form_that_fits(self, api, query):
        for path in api.endpoints.streams:
            target = read_target(path + query)
            reply = api.choose_reply(target)
            body = reply.write(json.dumps(each).encode() for each in reply.payloads("m"))
            framed = api.detect_framing(200, body)
            assert api.endpoints.find_mismatch(target, Target(target.path, {}), framed) is None

    def test_the_path_of_a_lost_request_is_recognised_as_a_request_for_a_stream(self, api):
        assert api.importing.stream.search(api.importing.path)
        others = [each.name for each in API_LIST if each.importing.stream.search(api.importing.path)]
        assert others == [api.name]

    def test_payloads_can_be_framed_again(self, api):
        body = api.write([b'{"type":{"n":1}}'])
        assert split(api.framing, body)
        assert MEDIA_TYPES[api.framing]

    def test_the_body_of_a_request_has_a_canonical_form(self, api):
        assert isinstance(api.requests.canonical({"model": "m", "stream": None}), dict)
        assert api.requests.call_ids

    def test_an_api_defines_its_key_header_and_its_probing(self, api):
        (header,) = api.key.headers("k")
        assert header == header.lower()
        assert api.key.headers("k")[header].endswith("k")
        assert api.key.variable.isupper()
        assert api.probing.answer
        assert api.probing.error

    def test_its_smoke_recordings_are_bundled(self, api):
        for name in (api.smoke.text_cassette, api.smoke.call_cassette):
            assert (find_bundled("cassettes") / api.name / f"{name}.yaml").is_file()


ENDED_CALLS = {
    "anthropic-messages": [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "server_tool_use"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use"}},
        {"type": "content_block_stop", "index": 1},
    ],
    "bedrock-converse": [
        {"contentBlockIndex": 0, "start": {"toolUse": {"type": "server_tool_use"}}},
        {"contentBlockIndex": 0},
        {"contentBlockIndex": 1, "start": {"toolUse": {"name": "f"}}},
        {"contentBlockIndex": 1},
    ],
    "google-generate": [
        {"candidates": [{"content": {"parts": [{"toolCall": {"toolType": "x"}}, {"functionCall": {}}]}}]}
    ],
    "google-interactions": [
        {"event_type": "step.start", "index": 0, "step": {"type": "google_search_call"}},
        {"event_type": "step.stop", "index": 0},
        {"event_type": "step.start", "index": 1, "step": {"type": "function_call"}},
        {"event_type": "step.stop", "index": 1},
    ],
    "openai-responses": [
        {"type": "response.web_search_call.completed", "output_index": 0},
        {"type": "response.output_item.done", "output_index": 0, "item": {"type": "web_search_call"}},
        {"type": "response.output_item.done", "output_index": 2, "item": {"type": "new_call"}},
        {"type": "response.function_call_arguments.done", "output_index": 1},
        {"type": "response.output_item.done", "output_index": 1, "item": {"type": "function_call"}},
    ],
}
"""Streams with an ended call of the provider and one of the client."""


@pytest.mark.parametrize("api", ENDED_CALLS)
def test_only_the_clients_calls_count_as_ended(api):
    assert APIS[api].ending.count_ended_calls(ENDED_CALLS[api]) == 1


TERMINALS = [
    ({"delta": {}, "finish_reason": "stop"}, True),
    ({"delta": {"content": "a"}, "finish_reason": None}, False),
    ({"delta": {}, "finish_reason": None, "error": {"code": 502, "message": "m"}}, True),
    ({"delta": {"audio": {"expires_at": 9}}, "finish_reason": None}, True),
    ({"delta": {"audio": {"id": "audio_1", "expires_at": 9, "new": {}}}}, True),
    ({"delta": {"audio": {"data": "AA==", "expires_at": 9}}}, False),
    ({"delta": {"audio": {"transcript": "Hi"}}}, False),
    ({"index": 1, "delta": {"audio": {"expires_at": 9}}}, False),
]


@pytest.mark.parametrize(("choice", "ends"), TERMINALS)
def test_a_chat_answer_ends_with_a_reason_an_error_or_the_expiry_of_its_audio(choice, ends):
    assert APIS["openai-chat"].ending.is_terminal({"choices": [{"index": 0, **choice}]}) is ends
