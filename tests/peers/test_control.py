"""The parts of adapters that do what a run's `control` asks."""

from __future__ import annotations

import asyncio
import http.server
import threading
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from streamconform.adapters.adapter_input import HttpInput
from streamconform_peers import control

WORDS = ("a", "b", "c", "d")


def make_run(**asked):
    return HttpInput("openai-chat", "http://127.0.0.1", "key", control=asked)


class Stream:
    """A stream that records whether it was closed."""

    def __init__(self):
        self.closed = False
        self._words = iter(WORDS)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._words)

    def close(self):
        self.closed = True


def read(run, open_stream=None, open_async=None):
    received = []

    def build():
        return {"content": [{"type": "text", "text": "".join(received)}]}

    control.read(run, received, build, open_stream, open_async)
    return "".join(received)


@contextmanager
def serve_continue():
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/continue", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_without_control_an_answer_is_read_to_its_end():
    stream = Stream()
    assert read(make_run(), lambda: stream) == "abcd"
    assert not stream.closed


def test_an_abort_closes_the_stream_after_the_delta():
    stream = Stream()
    assert read(make_run(stop="abort", after=2), lambda: stream) == "ab"
    assert stream.closed


def test_abandoning_leaves_the_stream_as_it_is():
    stream = Stream()
    assert read(make_run(stop="abandon", after=1), lambda: stream) == "a"
    assert not stream.closed


def test_only_what_makes_the_answer_longer_is_a_delta():
    assert read(make_run(stop="abandon", after=2), lambda: ["", "a", "", "b", "c"]) == "ab"


def test_a_task_is_cancelled_while_it_waits_for_more():
    ended = []

    async def open_async():
        yield "a"
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    assert read(make_run(stop="cancel", after=1), None, open_async) == "a"
    assert ended == ["cancelled"]


@pytest.mark.parametrize("stop", ["abort", "cancel"])
def test_before_the_first_byte_a_task_is_cancelled_once_the_server_has_the_request(stop):
    ended = []

    async def open_async():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    with serve_continue() as (url, asked):
        assert read(make_run(stop=stop, after=0, url=url), None, open_async) == ""
    assert (asked, ended) == (["/continue"], ["cancelled"])


def test_an_exception_before_the_task_is_cancelled_is_raised():
    async def open_async():
        yield "a"
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        read(make_run(stop="cancel", after=2), None, open_async)


@pytest.mark.parametrize("stop", ["abort", "abandon"])
def test_a_library_with_only_an_asynchronous_client_is_left_the_same_way(stop):
    closed = []

    class Words:
        def __aiter__(self):
            self._words = iter(WORDS)
            return self

        async def __anext__(self):
            return next(self._words)

        async def aclose(self):
            closed.append(True)

    assert read(make_run(stop=stop, after=1), None, Words) == "a"
    assert closed == [True] * (stop == "abort")


def test_a_pause_ends_when_the_server_answers():
    with serve_continue() as (url, asked):
        assert read(make_run(pause={"after": 1, "url": url}), lambda: WORDS) == "abcd"
    assert asked == ["/continue"]


def test_several_answers_are_read_with_the_same_adapter_and_only_the_first_is_left():
    def adapter(run):
        return {"left": control.stops_early(run)}

    answering = control.answer_each(adapter)
    assert answering(make_run(at_once=2)) == {"outcomes": [{"left": False}] * 2}
    assert answering(make_run(times=2, stop="abort", after=1)) == {
        "outcomes": [{"left": True}, {"left": False}]
    }
    assert answering(make_run()) == {"left": False}


def test_retries_are_off_unless_the_run_asks_for_the_default():
    assert control.turn_off_retries(make_run(), max_retries=0) == {"max_retries": 0}
    assert control.turn_off_retries(make_run(retries="default"), max_retries=0) == {}


def test_the_same_settings_give_the_same_client():
    get_client = control.keep_clients(SimpleNamespace)
    assert get_client(retries=0) is get_client(retries=0)
    assert get_client(retries=0) is not get_client()
