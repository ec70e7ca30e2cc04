"""Answers of upstreams, each with something that translating proxies get wrong, and the client's result.

The client's result is summarized in a word or two per event. The issues in the rows are those of such
proxies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import ollama_chat_streams as ollama
from . import openai_chat_streams as chat
from . import streams as messages

Json = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """An upstream's body, and the expected output after the start of the message and its ping."""

    body: bytes
    written: str
    thinking: bool = True
    eager: bool = False
    """Whether the client asked for arguments before they are checked."""


OLLAMA: dict[str, Row] = {
    "text": Row(
        ollama.lines(ollama.record("Hel"), ollama.record("lo"), ollama.ends()),
        "0:text +Hel +lo end | end_turn 10/5 | stop",
    ),
    "thinking, then text": Row(  # ggml-org/llama.cpp#18542
        ollama.lines(ollama.thinks("h"), ollama.thinks("m"), ollama.record("Yes"), ollama.ends()),
        "0:thinking +h +m sign= end | 1:text +Yes end | end_turn 10/5 | stop",
    ),
    "thinking and text in one record": Row(
        ollama.lines(ollama.thinks("hm", "Yes"), ollama.ends()),
        "0:thinking +hm sign= end | 1:text +Yes end | end_turn 10/5 | stop",
    ),
    "thinking again behind text has a second block": Row(  # ollama/ollama#17101
        ollama.lines(
            ollama.thinks("a"), ollama.record("b"), ollama.thinks("c"), ollama.record("d"), ollama.ends()
        ),
        "0:thinking +a sign= end | 1:text +b end | 2:thinking +c sign= end | 3:text +d end "
        "| end_turn 10/5 | stop",
    ),
    "thinking behind a call": Row(
        ollama.lines(ollama.calls(ollama.call("f", {}, id="a")), ollama.thinks("c"), ollama.ends()),
        "0:tool_use a f {} end | 1:thinking +c sign= end | tool_use 10/5 | stop",
    ),
    "thinking that nobody asked for": Row(
        ollama.lines(ollama.thinks("h"), ollama.thinks("m"), ollama.record("Yes"), ollama.ends()),
        "ping | ping | 0:text +Yes end | end_turn 10/5 | stop",
        thinking=False,
    ),
    "two calls without ids": Row(
        ollama.lines(ollama.calls(ollama.call("f", {"x": 1}), ollama.call("f", {"x": 2})), ollama.ends()),
        '0:tool_use toolu_0000000000000001 f {"x":1} end | 1:tool_use toolu_0000000000000002 f {"x":2} end '
        "| tool_use 10/5 | stop",
    ),
    "two calls with empty ids in two records": Row(
        ollama.lines(
            ollama.calls(ollama.call("f", {"x": 1}, id="")),
            ollama.calls(ollama.call("f", {"x": 1}, id="")),
            ollama.ends(),
        ),
        '0:tool_use toolu_0000000000000001 f {"x":1} end | 1:tool_use toolu_0000000000000002 f {"x":1} end '
        "| tool_use 10/5 | stop",
    ),
    "calls of one index": Row(
        ollama.lines(
            ollama.calls(ollama.call("f", {"x": 1}, index=0, id="a")),
            ollama.calls(ollama.call("g", {"y": 2}, index=0, id="b")),
            ollama.ends(),
        ),
        '0:tool_use a f {"x":1} end | 1:tool_use b g {"y":2} end | tool_use 10/5 | stop',
    ),
    "a call first, without a text before it": Row(  # BerriAI/litellm#34692
        ollama.lines(ollama.calls(ollama.call("f", {}, id="a")), ollama.ends()),
        "0:tool_use a f {} end | tool_use 10/5 | stop",
    ),
    "a call on the last record": Row(
        ollama.lines(ollama.record("Hm"), ollama.ends("stop", "", ollama.call("f", {"x": 1}, id="a"))),
        '0:text +Hm end | 1:tool_use a f {"x":1} end | tool_use 10/5 | stop',
    ),
    "text on the last record": Row(
        ollama.lines(ollama.record("Hel"), ollama.ends("stop", "lo")),
        "0:text +Hel +lo end | end_turn 10/5 | stop",
    ),
    "the limit beats the call": Row(
        ollama.lines(ollama.calls(ollama.call("f", {"x": 1}, id="a")), ollama.ends("length")),
        '0:tool_use a f {"x":1} end | max_tokens 10/5 | stop',
    ),
    "arguments as text": Row(
        ollama.lines(ollama.calls(ollama.call("f", '{"x": 1}', id="a")), ollama.ends()),
        '0:tool_use a f {"x":1} end | tool_use 10/5 | stop',
    ),
    "arguments as text in text": Row(
        ollama.lines(ollama.calls(ollama.call("f", '"{\\"x\\":1}"', id="a")), ollama.ends()),
        '0:tool_use a f {"x":1} end | tool_use 10/5 | stop',
    ),
    "arguments escaped twice": Row(
        ollama.lines(ollama.calls(ollama.call("f", '{\\"x\\":\\"C:\\\\\\\\t\\"}', id="a")), ollama.ends()),
        '0:tool_use a f {"x":"C:\\\\t"} end | tool_use 10/5 | stop',
    ),
    "arguments that are no JSON, then another call": Row(
        ollama.lines(
            ollama.calls(ollama.call("f", "ls -l", id="a"), ollama.call("g", {"y": 2}, id="b")), ollama.ends()
        ),
        '0:tool_use a f {"raw":"ls -l"} end | 1:tool_use b g {"y":2} end | tool_use 10/5 | stop',
    ),
    "arguments that are a list": Row(
        ollama.lines(ollama.calls(ollama.call("f", [1], id="a")), ollama.ends()),
        '0:tool_use a f {"raw":[1]} end | tool_use 10/5 | stop',
    ),
    "no arguments": Row(
        ollama.lines(ollama.calls(ollama.call("f", id="a")), ollama.ends()),
        "0:tool_use a f {} end | tool_use 10/5 | stop",
    ),
    "no reason": Row(
        ollama.lines(ollama.record("a"), ollama.ends(None)), "0:text +a end | end_turn 10/5 | stop"
    ),
    "nothing said": Row(ollama.lines(ollama.record(""), ollama.ends()), "end_turn 10/5 | stop"),
    "another reason": Row(ollama.lines(ollama.ends("load", total_duration=1)), "end_turn 7/0 | stop"),
    "the prompt is not counted": Row(
        ollama.lines(ollama.record("a"), ollama.ends(eval_count=5)), "0:text +a end | end_turn 7/5 | stop"
    ),
    "a part of the prompt was cached": Row(
        ollama.lines(
            ollama.record("a"),
            ollama.ends(prompt_eval_count=100, prompt_eval_cached_count=60, eval_count=5),
        ),
        "0:text +a end | end_turn 40/5 cached=60 | stop",
    ),
    "records behind the last": Row(
        ollama.lines(ollama.record("a"), ollama.ends(), ollama.record("b"), ollama.ends()),
        "0:text +a end | end_turn 10/5 | stop",
    ),
    "a character in several bytes": Row(
        ollama.lines(ollama.record("天気 🌤"), ollama.ends()), "0:text +天気 🌤 end | end_turn 10/5 | stop"
    ),
    "an error in mid-stream": Row(
        ollama.lines(ollama.record("par"), ollama.ERROR),
        "0:text +par | error api_error: an error was encountered while running the model",
    ),
    "an error behind a record that says nothing": Row(
        ollama.lines(ollama.record(""), ollama.ERROR),
        "error api_error: an error was encountered while running the model",
    ),
    "an error of an older version": Row(  # ollama/ollama#11781
        ollama.lines(ollama.record("par"), {"error parsing tool call": "invalid character"}),
        "0:text +par | error api_error: error parsing tool call: invalid character",
    ),
    "a line that is no JSON": Row(
        ollama.lines(ollama.record("par")) + b"oops\n",
        "0:text +par | error api_error: payload is not valid JSON: *",
    ),
    "the end without a last record": Row(
        ollama.lines(ollama.record("a"), ollama.record("b")),
        "0:text +a +b | error api_error: the upstream's answer ended too early",
    ),
    "the end behind a call": Row(
        ollama.lines(ollama.calls(ollama.call("f", {"x": 1}, id="a"))),
        '0:tool_use a f {"x":1} end | error api_error: the upstream\'s answer ended too early',
    ),
}

CHAT: dict[str, Row] = {
    "text": Row(chat.whole(chat.says("Hel"), chat.says("lo")), "0:text +Hel +lo end | end_turn 10/5 | stop"),
    "text in the chunk of the end": Row(  # vLLM lost it
        chat.sse(chat.ROLE, chat.says("Hel"), chat.chunk({"content": "lo"}, "stop"), chat.reports()),
        "0:text +Hel +lo end | end_turn 10/5 | stop",
    ),
    "text in the first chunk": Row(
        chat.sse(chat.chunk({"role": "assistant", "content": "Hello"}), chat.ends(), chat.reports()),
        "0:text +Hello end | end_turn 10/5 | stop",
    ),
    "reasoning, then text": Row(
        chat.whole(chat.thinks("hm"), chat.says("Yes")),
        "0:thinking +hm sign= end | 1:text +Yes end | end_turn 10/5 | stop",
    ),
    "reasoning, then a call": Row(  # musistudio/claude-code-router#1397
        chat.whole(
            chat.thinks("hm", "reasoning"),
            chat.calls(chat.call(id="a", name="f", args='{"x":1}')),
            finish="tool_calls",
        ),
        '0:thinking +hm sign= end | 1:tool_use a f {"x":1} end | tool_use 10/5 | stop',
    ),
    "reasoning that nobody asked for": Row(
        chat.whole(chat.thinks("hm"), chat.says("Yes")),
        "ping | 0:text +Yes end | end_turn 10/5 | stop",
        thinking=False,
    ),
    "several calls in one delta": Row(
        chat.whole(
            chat.calls(
                chat.call(id="a", name="f", args='{"x":1}'),
                chat.call(index=1, id="b", name="g", args='{"y":2}'),
            ),
            finish="tool_calls",
        ),
        '0:tool_use a f {"x":1} end | 1:tool_use b g {"y":2} end | tool_use 10/5 | stop',
    ),
    "arguments beside the id": Row(
        chat.whole(
            chat.calls(chat.call(id="a", name="f", args='{"x":')),
            chat.calls(chat.call(args="1}")),
            finish="tool_calls",
        ),
        '0:tool_use a f {"x":1} end | tool_use 10/5 | stop',
    ),
    "a call in the chunk of the end": Row(
        chat.sse(
            chat.ROLE,
            chat.calls(chat.call(id="a", name="f", args='{"x":1}'), finish="tool_calls"),
            chat.reports(),
        ),
        '0:tool_use a f {"x":1} end | tool_use 10/5 | stop',
    ),
    "fragments of two calls in turn": Row(  # headroomlabs-ai/headroom#2890, BerriAI/litellm#15315
        chat.STREAMS["parallel-interleaved"],
        '0:tool_use a f {"x":1} end | 1:tool_use b g {"y":2} end | tool_use 10/5 | stop',
    ),
    "arguments that begin one character at a time": Row(
        chat.whole(
            chat.calls(chat.call(id="a", name="f", args="")),
            chat.calls(chat.call(args=" ")),
            chat.calls(chat.call(args="{")),
            chat.calls(chat.call(args='"x":1}')),
            finish="tool_calls",
        ),
        '0:tool_use a f {"x":1} end | tool_use 10/5 | stop',
    ),
    "no ids": Row(
        chat.whole(
            chat.calls(chat.call(name="f", args="{}")),
            chat.calls(chat.call(index=1, name="g", args="{}")),
            finish="tool_calls",
        ),
        "0:tool_use toolu_0000000000000001 f {} end | 1:tool_use toolu_0000000000000002 g {} end "
        "| tool_use 10/5 | stop",
    ),
    "no arguments": Row(
        chat.whole(chat.calls(chat.call(id="a", name="f")), finish="tool_calls"),
        "0:tool_use a f {} end | tool_use 10/5 | stop",
    ),
    "arguments as an object": Row(
        chat.whole(chat.calls(chat.call(id="a", name="f", args={"x": 1})), finish="tool_calls"),
        '0:tool_use a f {"x":1} end | tool_use 10/5 | stop',
    ),
    "arguments as text in text": Row(
        chat.whole(
            chat.calls(chat.call(id="a", name="f", args='"{\\"x\\"')),
            chat.calls(chat.call(args=':1}"')),
            finish="tool_calls",
        ),
        '0:tool_use a f {"x":1} end | tool_use 10/5 | stop',
    ),
    "arguments escaped twice": Row(
        chat.whole(chat.calls(chat.call(id="a", name="f", args='{\\"x\\":1}')), finish="tool_calls"),
        '0:tool_use a f {"x":1} end | tool_use 10/5 | stop',
    ),
    "arguments that are null": Row(
        chat.whole(chat.calls(chat.call(id="a", name="f", args="null")), finish="tool_calls"),
        "0:tool_use a f {} end | tool_use 10/5 | stop",
    ),
    "arguments that turn out no JSON": Row(
        chat.whole(chat.calls(chat.call(id="a", name="f", args='{"x": INVALID}')), finish="tool_calls"),
        '0:tool_use a f {"raw":"{\\"x\\": INVALID}"} end | tool_use 10/5 | stop',
    ),
    "arguments that turn out no JSON, unchecked": Row(
        chat.whole(chat.calls(chat.call(id="a", name="f", args='{"x": INVALID}')), finish="tool_calls"),
        '0:tool_use a f {"x": INVALID} end | tool_use 10/5 | stop',
        eager=True,
    ),
    "arguments as text in text, unchecked": Row(
        chat.whole(chat.calls(chat.call(id="a", name="f", args='"{\\"x\\":1}"')), finish="tool_calls"),
        '0:tool_use a f {"x":1} end | tool_use 10/5 | stop',
        eager=True,
    ),
    "arguments that were cut": Row(
        chat.whole(chat.calls(chat.call(id="a", name="f", args='{"x": "par')), finish="length"),
        '0:tool_use a f {"x": "par end | max_tokens 10/5 | stop',
    ),
    "calls for a reason and none there": Row(
        chat.whole(chat.says("Hm"), finish="tool_calls"), "0:text +Hm end | end_turn 10/5 | stop"
    ),
    "a call that ends with stop": Row(
        chat.STREAMS["stop-behind-a-call"], '0:tool_use a f {"x":1} end | tool_use 10/5 | stop'
    ),
    "a refusal": Row(chat.STREAMS["refusal"], "0:text +I can +not end | refusal 10/5 | stop"),
    "a filter": Row(
        chat.whole(chat.says("Bo"), finish="content_filter"), "0:text +Bo end | refusal 10/5 | stop"
    ),
    "no mark at the end": Row(
        chat.frames(chat.says("a"), chat.ends(), chat.reports()), "0:text +a end | end_turn 10/5 | stop"
    ),
    "usage on every chunk": Row(
        chat.STREAMS["usage-on-every-chunk"], "0:text +a +b end | end_turn 10/3 | stop"
    ),
    "usage with a cache": Row(  # icebear0828/codex-proxy#587
        chat.STREAMS["cached-and-reasoning"],
        "0:text +a end | end_turn 2000/3000 cached=8000 thought=2200 | stop",
    ),
    "no usage": Row(chat.sse(chat.says("a"), chat.ends()), "0:text +a end | end_turn 7/0 | stop"),
    "comments": Row(b": keep-alive\n\n" + chat.whole(chat.says("a")), "0:text +a end | end_turn 10/5 | stop"),
    "an error in mid-stream": Row(
        chat.STREAMS["error-in-mid-stream"], "0:text +par | error api_error: Overloaded"
    ),
    "an error behind the chunk of the role": Row(
        chat.frames(chat.ROLE, chat.ERROR), "error api_error: Overloaded"
    ),
    "an error with a status": Row(
        chat.frames(chat.says("par"), {"error": {"message": "Slow down", "code": 429}}),
        "0:text +par | error rate_limit_error: Slow down",
    ),
    "a mark without a reason": Row(
        chat.STREAMS["no-finish-reason"],
        "0:text +end | error api_error: the upstream's answer ended too early",
    ),
    "the end in a call": Row(
        chat.STREAMS["no-finish-reason-in-a-call"],
        "0:tool_use a f  | error api_error: the upstream's answer ended too early",
    ),
}

MESSAGES: dict[str, Row] = {
    "text": Row(messages.STREAMS["text"], "role | +Hel | +lo | stop 15=10+5"),
    "thinking, then a call": Row(
        messages.message(
            messages.block(0, "thinking", thinking="", signature=""),
            messages.delta(0, "thinking_delta", thinking="hm"),
            messages.delta(0, "signature_delta", signature="c2ln"),
            messages.stop(0),
            messages.tool(1),
            messages.args(1, '{"x":'),
            messages.args(1, "1}"),
            messages.stop(1),
            reason="tool_use",
        ),
        'role | think=hm | 0:toolu_1 f | 0:{"x": | 0:1} | tool_calls 15=10+5',
    ),
    "thinking that nobody asked for": Row(
        messages.message(
            messages.block(0, "thinking", thinking="", signature=""),
            messages.delta(0, "thinking_delta", thinking="hm"),
            messages.stop(0),
            *messages.whole_text("Yes", 1),
        ),
        "role | ping | +Yes | stop 15=10+5",
        thinking=False,
    ),
    "two calls": Row(
        messages.message(
            *(messages.tool(0), messages.args(0, '{"x":1}'), messages.stop(0)),
            *(messages.tool(1, "g"), messages.args(1, ""), messages.stop(1)),
            reason="tool_use",
        ),
        'role | 0:toolu_0 f | 0:{"x":1} | 1:toolu_1 g | 1:{} | tool_calls 15=10+5',
    ),
    "a call of the provider": Row(
        messages.message(
            messages.tool(0, "web_search", kind="server_tool_use", id="srvtoolu_1"),
            messages.args(0, '{"query":"x"}'),
            messages.stop(0),
            *messages.whole_text("Found", 1),
        ),
        "role | ping | +Found | stop 15=10+5",
    ),
    "the limit": Row(
        messages.message(*messages.whole_text("Hel"), reason="max_tokens"), "role | +Hel | length 15=10+5"
    ),
    "a stop sequence": Row(
        messages.message(*messages.whole_text("Hel"), reason="stop_sequence"), "role | +Hel | stop 15=10+5"
    ),
    "a refusal": Row(
        messages.message(*messages.whole_text("No"), reason="refusal"),
        "role | +No | content_filter 15=10+5",
    ),
    "an error in mid-stream": Row(
        messages.sse(messages.start(), messages.text(), messages.says("par"), messages.ERROR),
        "role | +par | error overloaded_error: Overloaded",
    ),
    "the end without a last event": Row(
        messages.sse(messages.start(), messages.text(), messages.says("par")),
        "role | +par | error api_error: the upstream's answer ended too early",
    ),
}
