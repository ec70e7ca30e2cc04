"""Read facts off recorded streams, plainly: one function per API over all its payloads at once.

Nothing here is shared with the decoders that the expectations judge. Sources are the providers' references,
which `specs/evidence` names. What is not plain (the same text twice, several answers in one file) raises
`Unclear`, and becomes no case.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .frames import Event, read_aws, read_lines, read_sse, unwrap_invoke


class Unclear(Exception):
    """Why no expectation is made of a recording."""


@dataclass(frozen=True)
class Text:
    """The text of a block; neighbors are one."""

    text: str
    type: str = "text"
    signature: str | None = None


@dataclass(frozen=True)
class Call:
    """A tool call of the client; the id is None where the wire has none."""

    name: str
    arguments: Any
    id: str | None = None
    complete: bool = True


@dataclass(frozen=True)
class Facts:
    """What a recording says."""

    stop: str
    content: tuple[Text | Call, ...]
    usage: Mapping[str, int | None] | None
    status: str = "complete"
    notes: tuple[str, ...] = ()
    """Fields that have more than one right reading, and are left out."""


@dataclass
class _Block:
    """A block while its pieces arrive."""

    type: str
    pieces: list[str] = field(default_factory=list)
    name: str = ""
    id: str | None = None
    whole: Any = None
    """Arguments that came in one piece."""
    signature: str = ""

    def finish(self, *, cut: bool = False) -> Text | Call | None:
        text = "".join(self.pieces)
        if self.type == "call":
            if cut:
                raise Unclear("the token limit cuts a call")
            return Call(self.name, parse_arguments(text) if text.strip() else self.whole or {}, self.id)
        return Text(text, self.type, self.signature or None) if text or self.signature else None


def parse_arguments(text: str) -> Any:
    """Return the arguments in `text`; raises `Unclear` where they are no JSON object."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise Unclear("arguments that are not JSON") from error
    if not isinstance(value, dict):
        raise Unclear("arguments that are no object")
    return value


def join(parts: Iterable[Text | Call | None]) -> tuple[Text | Call, ...]:
    """Return the parts without empty ones; texts that are neighbors are joined."""
    joined: list[Text | Call] = []
    for part in parts:
        if part is None:
            continue
        before = joined[-1] if joined else None
        if isinstance(part, Text) and isinstance(before, Text) and part.type == before.type == "text":
            joined[-1] = Text(before.text + part.text)
        else:
            joined.append(part)
    return tuple(joined)


def has_calls(content: Sequence[Text | Call]) -> bool:
    """Return whether the client has to run something."""
    return any(isinstance(part, Call) for part in content)


def count(usage: Mapping[str, Any] | None, *path: str) -> int | None:
    """Return the number at `path`, None where there is none."""
    value: Any = usage
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, int) else None


def subtract(total: int | None, *parts: int | None) -> int | None:
    """Return `total` without `parts`."""
    return None if total is None else total - sum(part or 0 for part in parts)


ANTHROPIC_STOPS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_use",
    "pause_turn": "pause",
    "refusal": "refusal",
}
ANTHROPIC_PIECES = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "input_json_delta": "partial_json",
}


def read_anthropic(events: list[Event]) -> Facts:
    """Read Messages: blocks by index; usage of message_start, replaced by what message_delta repeats."""
    blocks: dict[int, _Block] = {}
    usage: dict[str, Any] = {}
    stop, starts, ended = None, 0, False
    for _, payload in events:
        match payload.get("type"):
            case "message_start":
                starts += 1
                usage |= {k: v for k, v in payload["message"].get("usage", {}).items() if v is not None}
            case "content_block_start":
                blocks[payload["index"]] = _start_anthropic(payload["content_block"])
            case "content_block_delta":
                block, delta = blocks[payload["index"]], payload["delta"]
                if delta["type"] == "signature_delta":
                    block.signature += delta["signature"]
                elif delta["type"] in ANTHROPIC_PIECES:
                    block.pieces.append(delta[ANTHROPIC_PIECES[delta["type"]]])
            case "message_delta":
                stop = payload["delta"].get("stop_reason")
                usage |= {k: v for k, v in (payload.get("usage") or {}).items() if v is not None}
            case "message_stop":
                ended = True
            case "error":
                raise Unclear("an error event")
    if starts != 1 or not ended or stop is None:
        raise Unclear("not one whole message")
    names = {block.type for block in blocks.values()}
    if names & {"provider_call", "redacted", "fallback"}:
        raise Unclear(f"a block of type {min(names & {'provider_call', 'redacted', 'fallback'})}")
    cut = ANTHROPIC_STOPS[stop] == "length"
    return Facts(
        ANTHROPIC_STOPS[stop],
        join(block.finish(cut=cut) for _, block in sorted(blocks.items()) if block.type != "result"),
        {
            "input": count(usage, "input_tokens"),
            "cache_read": count(usage, "cache_read_input_tokens"),
            "cache_write": count(usage, "cache_creation_input_tokens"),
            "output": count(usage, "output_tokens"),
        },
    )


def _start_anthropic(start: Mapping[str, Any]) -> _Block:
    match start["type"]:
        case "text":
            return _Block("text", [start.get("text") or ""])
        case "thinking":
            return _Block("thinking", [start.get("thinking") or ""], signature=start.get("signature") or "")
        case "redacted_thinking":
            return _Block("redacted")
        case "tool_use":
            return _Block("call", name=start["name"], id=start["id"], whole=start.get("input"))
        case "server_tool_use" | "mcp_tool_use":
            return _Block("provider_call")
        case "fallback":
            return _Block("fallback")
        case _:
            return _Block("result")


CHAT_STOPS = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "content_filter",
}


def read_chat(events: list[Event]) -> Facts:
    """Read chat completions: fragments of calls by index, usage of the last chunk that has it."""
    text, thinking, refusal = _Block("text"), _Block("thinking"), _Block("refusal")
    calls: dict[int, _Block] = {}
    usage: Any = None
    stops: list[str] = []
    done = False
    for _, payload in events:
        if payload == "[DONE]":
            done = True
            continue
        if payload.get("error"):
            raise Unclear("an error chunk")
        if payload.get("usage"):
            usage = payload["usage"]
        for choice in payload.get("choices") or ():
            if choice.get("index", 0) != 0:
                raise Unclear("several choices")
            if choice.get("finish_reason"):
                stops.append(choice["finish_reason"])
            _read_chat_delta(choice.get("delta") or {}, text, thinking, refusal, calls)
    if not done or len(set(stops)) != 1:
        raise Unclear("no [DONE], or not one finish_reason")
    content = join(
        block.finish(cut=stops[0] == "length")
        for block in (thinking, text, refusal, *(calls[index] for index in sorted(calls)))
    )
    stop = CHAT_STOPS.get(stops[0])
    if stop is None or refusal.pieces or (stop == "stop" and calls):
        raise Unclear("a finish reason with two readings")
    cached = count(usage, "prompt_tokens_details", "cached_tokens")
    reasoning = count(usage, "completion_tokens_details", "reasoning_tokens")
    return Facts(
        stop,
        content,
        None
        if usage is None
        else {
            "input": subtract(count(usage, "prompt_tokens"), cached),
            "cache_read": cached,
            "output": count(usage, "completion_tokens"),
            "reasoning": reasoning,
        },
    )


def _read_chat_delta(
    delta: Mapping[str, Any], text: _Block, thinking: _Block, refusal: _Block, calls: dict[int, _Block]
) -> None:
    if isinstance(delta.get("content"), list) or delta.get("function_call"):
        raise Unclear("content in parts, or a call of the old form")
    text.pieces.append(delta.get("content") or "")
    thinking.pieces.append(delta.get("reasoning_content") or delta.get("reasoning") or "")
    if delta.get("reasoning_details"):
        raise Unclear("reasoning_details")
    if delta.get("refusal"):
        refusal.pieces.append(delta["refusal"])
    for fragment in delta.get("tool_calls") or ():
        if fragment.get("type") not in (None, "function") or fragment.get("extra_content"):
            raise Unclear("a call that is no function's")
        function = fragment.get("function") or {}
        index = fragment.get("index")
        if index is None or (fragment.get("id") and index in calls and fragment["id"] != calls[index].id):
            raise Unclear("a fragment without index, or one index for two ids")
        block = calls.setdefault(index, _Block("call", id=fragment.get("id") or None))
        block.name = block.name or function.get("name") or ""
        block.pieces.append(function.get("arguments") or "")


def read_responses(events: list[Event]) -> Facts:
    """Read Responses: the deltas of each item by its place, stop and usage of the terminal event."""
    items: dict[int, dict[str, Any]] = {}
    texts: dict[tuple[int, str, int], list[str]] = {}
    terminal: list[tuple[str, Mapping[str, Any]]] = []
    for _, payload in events:
        match payload.get("type"):
            case "response.output_item.added" | "response.output_item.done":
                items[payload["output_index"]] = payload["item"]
            case "response.output_text.delta" | "response.refusal.delta":
                kind = payload["type"].split(".")[1]
                key = (payload["output_index"], kind, payload["content_index"])
                texts.setdefault(key, []).append(payload["delta"])
            case "response.reasoning_summary_text.delta":
                key = (payload["output_index"], "summary", payload["summary_index"])
                texts.setdefault(key, []).append(payload["delta"])
            case "response.reasoning_text.delta":
                key = (payload["output_index"], "reasoning", payload["content_index"])
                texts.setdefault(key, []).append(payload["delta"])
            case "response.completed" | "response.incomplete" | "response.failed":
                terminal.append((payload["type"].split(".")[1], payload["response"]))
            case "error":
                raise Unclear("an error event")
    if len(terminal) != 1 or terminal[0][0] == "failed":
        raise Unclear("not one finished response")
    ((kind, response),) = terminal
    content = join(
        part for place, item in sorted(items.items()) for part in _read_item(place, item, texts, kind)
    )
    if any(isinstance(part, Text) and part.type == "refusal" for part in content):
        raise Unclear("a refusal: stop and refusal are both right")
    usage = response.get("usage")
    cached = count(usage, "input_tokens_details", "cached_tokens")
    return Facts(
        _find_responses_stop(kind, response, content),
        content,
        None
        if usage is None
        else {
            "input": subtract(count(usage, "input_tokens"), cached),
            "cache_read": cached,
            "output": count(usage, "output_tokens"),
            "reasoning": count(usage, "output_tokens_details", "reasoning_tokens"),
        },
    )


def _find_responses_stop(kind: str, response: Mapping[str, Any], content: Sequence[Text | Call]) -> str:
    if kind == "incomplete":
        reason = (response.get("incomplete_details") or {}).get("reason")
        return {"max_output_tokens": "length", "content_filter": "content_filter"}[str(reason)]
    return "tool_use" if has_calls(content) else "stop"


def _read_item(
    place: int, item: Mapping[str, Any], texts: Mapping[tuple[int, str, int], list[str]], kind: str
) -> Iterable[Text | Call | None]:
    def gather(name: str) -> list[str]:
        return ["".join(pieces) for key, pieces in sorted(texts.items()) if key[:2] == (place, name)]

    match item["type"]:
        case "message":
            shown = "".join(gather("output_text"))
            final = "".join(part.get("text") or "" for part in item.get("content") or ())
            if item.get("status") == "completed" and shown != final and not gather("refusal"):
                raise Unclear("deltas and the finished item differ")
            yield Text(shown) if shown else None
            yield Text("".join(gather("refusal")), "refusal") if gather("refusal") else None
        case "reasoning":
            shown = "\n\n".join(gather("summary")) + "".join(gather("reasoning"))
            if gather("reasoning") and gather("summary"):
                raise Unclear("reasoning and its summary")
            signature = item.get("encrypted_content")
            yield Text(shown, "thinking", "?" if signature else None) if shown else None
        case "function_call":
            if kind == "incomplete":
                raise Unclear("the token limit cuts a call")
            yield Call(item["name"], parse_arguments(item["arguments"] or "{}"), item["call_id"])
        case "web_search_call" | "file_search_call" | "code_interpreter_call" | "image_generation_call":
            yield None
        case "mcp_list_tools" | "compaction":
            yield None
        case other:
            raise Unclear(f"an item of type {other}")


GOOGLE_STOPS = {"STOP": "stop", "MAX_TOKENS": "length", "SAFETY": "content_filter"}


def read_google(events: list[Event]) -> Facts:
    """Read generateContent: parts in their order, the last usage and finish reason."""
    parts: list[_Block] = []
    usage: Any = None
    stop = None
    for _, payload in events:
        usage = payload.get("usageMetadata") or usage
        if payload.get("promptFeedback", {}).get("blockReason"):
            raise Unclear("a blocked prompt")
        for candidate in payload.get("candidates") or ():
            if candidate.get("index", 0) != 0:
                raise Unclear("several candidates")
            stop = candidate.get("finishReason") or stop
            for part in (candidate.get("content") or {}).get("parts") or ():
                _read_google_part(part, parts)
    if stop not in GOOGLE_STOPS:
        raise Unclear("no finishReason, or a rare one")
    content = join(part.finish() for part in parts)
    cached, thoughts = count(usage, "cachedContentTokenCount"), count(usage, "thoughtsTokenCount")
    if count(usage, "toolUsePromptTokenCount") or count(usage, "promptTokenCount") is None:
        raise Unclear("tokens of tools, or no tokens")
    answer = count(usage, "candidatesTokenCount")
    output = None if answer is None and thoughts is None else (answer or 0) + (thoughts or 0)
    reason = GOOGLE_STOPS[stop]
    return Facts(
        "tool_use" if reason == "stop" and has_calls(content) else reason,
        content,
        {
            "input": subtract(count(usage, "promptTokenCount"), cached),
            "cache_read": cached,
            "output": output,
            "reasoning": thoughts,
        },
    )


def _read_google_part(part: Mapping[str, Any], parts: list[_Block]) -> None:
    if part.get("functionCall"):
        call = part["functionCall"]
        whole = call.get("args") or {}
        parts.append(_Block("call", name=call["name"], id=call.get("id"), whole=whole))
    elif part.get("text"):
        kind = "thinking" if part.get("thought") else "text"
        if not (parts and parts[-1].type == kind):
            parts.append(_Block(kind))
        parts[-1].pieces.append(part["text"])
    elif set(part) - {"text", "thoughtSignature", "thought"}:
        raise Unclear("a part that is neither text nor call")


def read_ollama(events: list[Event]) -> Facts:
    """Read Ollama's chat: one message in pieces; calls come whole."""
    thinking, text, calls, last = _Block("thinking"), _Block("text"), [], None
    for _, payload in events:
        message = payload.get("message") or {}
        thinking.pieces.append(message.get("thinking") or "")
        text.pieces.append(message.get("content") or "")
        for call in message.get("tool_calls") or ():
            function = call["function"]
            calls.append(Call(function["name"], function["arguments"], call.get("id") or None))
        if payload.get("done"):
            last = payload
    if last is None or last.get("done_reason") not in ("stop", "length"):
        raise Unclear("no last record with a done_reason")
    content = (*join((thinking.finish(), text.finish())), *calls)
    stop = "tool_use" if calls and last["done_reason"] == "stop" else last["done_reason"]
    usage = {"input": count(last, "prompt_eval_count"), "output": count(last, "eval_count")}
    return Facts(stop, content, usage)


COHERE_STOPS = {"COMPLETE": "stop", "TOOL_CALL": "tool_use", "MAX_TOKENS": "length", "STOP_SEQUENCE": "stop"}


def read_cohere(events: list[Event]) -> Facts:
    """Read Cohere's chat of version 2; counts have two right readings there, and are left out."""
    blocks: dict[tuple[str, int], _Block] = {}
    stop = None
    for _, payload in events:
        kind, index = payload.get("type"), payload.get("index", 0)
        message = (payload.get("delta") or {}).get("message") or {}
        match kind:
            case "content-start" | "content-delta":
                part = message.get("content") or {}
                for name in ("text", "thinking"):
                    if part.get(name):
                        blocks.setdefault(("content", index), _Block(name)).pieces.append(part[name])
            case "tool-call-start" | "tool-call-delta":
                call = message["tool_calls"]
                block = blocks.setdefault(("call", index), _Block("call", id=call.get("id")))
                block.name = block.name or call["function"].get("name") or ""
                block.pieces.append(call["function"].get("arguments") or "")
            case "tool-plan-delta":
                raise Unclear("a tool plan")
            case "message-end":
                stop = payload["delta"].get("finish_reason")
    if stop not in COHERE_STOPS:
        raise Unclear("no message-end, a rare reason, or version 1")
    order = sorted(blocks, key=lambda key: (key[0] == "call", key[1]))
    cut = COHERE_STOPS[stop] == "length"
    return Facts(COHERE_STOPS[stop], join(blocks[key].finish(cut=cut) for key in order), None)


CONVERSE_STOPS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "tool_use": "tool_use",
    "content_filtered": "content_filter",
    "guardrail_intervened": "content_filter",
}


def read_converse(events: list[Event]) -> Facts:
    """Read ConverseStream: blocks by contentBlockIndex, usage of `metadata`."""
    blocks: dict[int, _Block] = {}
    stop, usage = None, None
    for name, payload in events:
        match name:
            case "contentBlockStart":
                tool = payload["start"]["toolUse"]
                if tool.get("type") == "server_tool_use":
                    raise Unclear("a tool of the provider")
                blocks[payload["contentBlockIndex"]] = _Block("call", name=tool["name"], id=tool["toolUseId"])
            case "contentBlockDelta":
                _read_converse_delta(payload["delta"], payload["contentBlockIndex"], blocks)
            case "messageStop":
                stop = payload["stopReason"]
            case "metadata":
                usage = payload.get("usage")
            case "messageStart" | "contentBlockStop":
                pass
            case other:
                raise Unclear(f"an event {other}")
    if stop not in CONVERSE_STOPS or usage is None:
        raise Unclear("no messageStop or metadata")
    cut = CONVERSE_STOPS[stop] == "length"
    return Facts(
        CONVERSE_STOPS[stop],
        join(block.finish(cut=cut) for _, block in sorted(blocks.items())),
        {
            "input": count(usage, "inputTokens"),
            "cache_read": count(usage, "cacheReadInputTokens"),
            "cache_write": count(usage, "cacheWriteInputTokens"),
            "output": count(usage, "outputTokens"),
        },
    )


def _read_converse_delta(delta: Mapping[str, Any], index: int, blocks: dict[int, _Block]) -> None:
    if "text" in delta:
        blocks.setdefault(index, _Block("text")).pieces.append(delta["text"])
    elif "toolUse" in delta:
        blocks[index].pieces.append(delta["toolUse"]["input"])
    elif "reasoningContent" in delta:
        reasoning = delta["reasoningContent"]
        if "redactedContent" in reasoning:
            raise Unclear("redacted reasoning")
        block = blocks.setdefault(index, _Block("thinking"))
        block.pieces.append(reasoning.get("text") or "")
        block.signature += reasoning.get("signature") or ""


READERS: Mapping[str, tuple[Mapping[str, Callable[[bytes], list[Event]]], Callable[[list[Event]], Facts]]] = {
    "anthropic-messages": ({"sse": read_sse}, read_anthropic),
    "openai-chat": ({"sse": read_sse}, read_chat),
    "openai-responses": ({"sse": read_sse}, read_responses),
    "google-generate": ({"sse": read_sse}, read_google),
    "cohere-chat": ({"sse": read_sse}, read_cohere),
    "ollama-chat": ({"ndjson": read_lines}, read_ollama),
    "bedrock-converse": ({"eventstream": read_aws}, read_converse),
    "bedrock-invoke": ({"eventstream": lambda body: unwrap_invoke(read_aws(body))}, read_anthropic),
}
"""By API: how its body is taken apart, by the suffix of the body's file, and who reads the payloads."""


def read_facts(api: str, suffix: str, body: bytes) -> Facts:
    """Return what the recording says; raises `Unclear` with the reason where it becomes no case."""
    framings, reader = READERS.get(api, ({}, None))
    if reader is None or suffix not in framings:
        raise Unclear("no plain reader for it")
    try:
        events = framings[suffix](body)
    except (ValueError, KeyError) as error:
        raise Unclear("a framing that is not plain") from error
    try:
        return reader(events)
    except (KeyError, TypeError, AttributeError) as error:
        raise Unclear(f"a shape that is not documented: {error!r:.80}") from error
