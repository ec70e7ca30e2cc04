"""Write generated answers as the streams of each API, and state which of their parts an API cannot express.

A writer returns the payloads of an answer, whose frames `Api.write` makes. It writes only what `answers`
generates: thinking, text, calls, and a stop after them or in the last call. Writers share no code with a
parser, so that a parser cannot agree with its own mistake. Like servers, they report the final counts
wherever the API has counts, so that a broken stream has no others.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from streamconform.apis import APIS
from streamconform.model.outcome import Outcome, Stop, Text, Thinking, ToolCall, Usage
from streamconform_capture.fuzz.answers import STOPS, Answer, Block, Piece

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """How one API writes answers."""

    write: Callable[[Answer, str], Iterable[Any]]
    """Returns the payloads of an answer with a stop reason."""
    stops: tuple[str, str, str]
    """The stop reasons of an answer that has ended, calls tools, or was cut off at its maximum length."""
    signature: Literal["with", "after", "none"] = "with"
    """Whether the signature of thinking is sent with its block, in a block after it, or not at all."""
    cuts_calls: bool = True
    """Whether a truncated call is written; an API that sends arguments as a value has only whole calls."""
    counts: Callable[[Usage], Usage] = lambda usage: usage
    """Returns the counts that the API has."""


def write_body(api: str, answer: Answer) -> bytes:
    """Return the stream of an answer."""
    payloads = WRITERS[api].write(answer, _choose_stop(api, answer))
    return APIS[api].write([_dump(payload) for payload in payloads])


def express(api: str, answer: Answer) -> Outcome:
    """Return what a client can read from the stream of an answer."""
    writer = WRITERS[api]
    blocks: list[Block] = []
    for block in answer.blocks:
        if isinstance(block, Thinking) and writer.signature != "with":
            blocks.append(replace(block, signature=None))
            if writer.signature == "after":
                blocks.append(replace(block, text=""))
        elif writer.cuts_calls or not isinstance(block, ToolCall) or block.complete:
            blocks.append(block)
    stop = Stop(answer.stop, _choose_stop(api, answer))
    return replace(answer.outcome, content=tuple(blocks), stop=stop, usage=writer.counts(answer.usage))


def _choose_stop(api: str, answer: Answer) -> str:
    return WRITERS[api].stops[STOPS.index(answer.stop)]


def _dump(payload: Any) -> bytes:
    # Some parsers break lines at characters such as U+2028, so those are not escaped.
    text = (
        payload
        if isinstance(payload, str)
        else json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    )
    return text.encode()


def _drop_unknown(**fields: Any) -> Json:
    return {name: value for name, value in fields.items() if value is not None}


def _count_input(usage: Usage) -> int:
    """Return the number of input tokens, including those read from the cache."""
    return (usage.input or 0) + (usage.cache_read or 0)


def _count_visible(usage: Usage) -> int:
    """Return the number of output tokens, without those for reasoning."""
    return (usage.output or 0) - (usage.reasoning or 0)


def _drop_reasoning(usage: Usage) -> Usage:
    return replace(usage, reasoning=None)


def _merge_cache(usage: Usage) -> Usage:
    return replace(usage, input=_count_input(usage), cache_read=None)


# https://docs.claude.com/en/docs/build-with-claude/streaming


def _write_messages(answer: Answer, stop: str) -> Iterator[Json]:
    """Yield the events that Anthropic and Bedrock share."""
    usage = _drop_unknown(
        input_tokens=answer.usage.input,
        cache_read_input_tokens=answer.usage.cache_read,
        output_tokens=answer.usage.output,
    )
    if answer.usage.reasoning is not None:
        usage["output_tokens_details"] = {"thinking_tokens": answer.usage.reasoning}
    head = {"id": answer.id, "type": "message", "role": "assistant", "model": answer.model, "content": []}
    message = {**head, "stop_reason": None, "stop_sequence": None, "usage": usage}
    yield {"type": "message_start", "message": message}
    for index, block in enumerate(answer.blocks):
        texts = answer.list_texts(index)
        if isinstance(block, ToolCall):
            start: Json = {"type": "tool_use", "id": block.id, "name": block.name, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": text} for text in ("", *texts)]
        elif isinstance(block, Thinking):
            start = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": text} for text in texts]
            deltas.append({"type": "signature_delta", "signature": block.signature or ""})
        else:
            start = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": text} for text in texts]
        yield {"type": "content_block_start", "index": index, "content_block": start}
        yield from ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage}
    yield {"type": "message_stop"}


def _write_anthropic_messages(answer: Answer, stop: str) -> list[Json]:
    start, *events = _write_messages(answer, stop)
    return [start, {"type": "ping"}, *events]


def _write_bedrock_invoke(answer: Answer, stop: str) -> list[Json]:
    *events, last = _write_messages(answer, stop)
    counts = _drop_unknown(
        inputTokenCount=answer.usage.input,
        cacheReadInputTokenCount=answer.usage.cache_read,
        outputTokenCount=answer.usage.output,
    )
    metrics = {**counts, "invocationLatency": 0, "firstByteLatency": 0}
    return [*events, {**last, "amazon-bedrock-invocationMetrics": metrics}]


# https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html


def _write_bedrock_converse(answer: Answer, stop: str) -> Iterator[Json]:
    yield {"messageStart": {"role": "assistant"}}
    for index, block in enumerate(answer.blocks):
        texts = answer.list_texts(index)
        at = {"contentBlockIndex": index}
        if isinstance(block, ToolCall):
            call = {"toolUseId": block.id, "name": block.name}
            yield {"contentBlockStart": {**at, "start": {"toolUse": call}}}
            deltas: list[Json] = [{"toolUse": {"input": text}} for text in ("", *texts)]
        elif isinstance(block, Thinking):
            contents = [*({"text": text} for text in texts), {"signature": block.signature}]
            deltas = [{"reasoningContent": content} for content in contents]
        else:
            deltas = [{"text": text} for text in texts]
        yield from ({"contentBlockDelta": {**at, "delta": delta}} for delta in deltas)
        yield {"contentBlockStop": at}
    yield {"messageStop": {"stopReason": stop}}
    usage = _drop_unknown(
        inputTokens=answer.usage.input,
        cacheReadInputTokens=answer.usage.cache_read,
        outputTokens=answer.usage.output,
    )
    total = {"totalTokens": sum(usage.values())}
    yield {"metadata": {"usage": usage | total, "metrics": {"latencyMs": 0}}}


# https://docs.cohere.com/docs/streaming


def _write_cohere_chat(answer: Answer, stop: str) -> Iterator[Json | str]:
    message = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    yield {"type": "message-start", "id": answer.id, "delta": {"message": message}}
    indexes = {"content": 0, "tool-call": 0}
    for place, block in enumerate(answer.blocks):
        texts = answer.list_texts(place)
        if isinstance(block, ToolCall):
            kind, field = "tool-call", "tool_calls"
            function = {"name": block.name, "arguments": ""}
            start: Json = {"id": block.id, "type": "function", "function": function}
            deltas: list[Json] = [{"function": {"arguments": text}} for text in texts]
        else:
            kind = field = "content"
            start = {"type": block.type, block.type: ""}
            deltas = [{block.type: text} for text in texts]
        index = indexes[kind]
        indexes[kind] += 1
        yield {"type": f"{kind}-start", "index": index, "delta": {"message": {field: start}}}
        for delta in deltas:
            yield {"type": f"{kind}-delta", "index": index, "delta": {"message": {field: delta}}}
        yield {"type": f"{kind}-end", "index": index}
    billed = {"input_tokens": _count_input(answer.usage), "output_tokens": answer.usage.output}
    usage = {
        "billed_units": billed,
        "tokens": billed | _drop_unknown(reasoning_tokens=answer.usage.reasoning),
        **_drop_unknown(cached_tokens=answer.usage.cache_read),
    }
    yield {"type": "message-end", "delta": {"finish_reason": stop, "usage": usage}}
    yield "[DONE]"


# https://ai.google.dev/api/generate-content


def _write_google_generate(answer: Answer, stop: str) -> Iterator[Json]:
    parts: list[Json] = []
    for index, block in enumerate(answer.blocks):
        texts = answer.list_texts(index)
        if isinstance(block, Thinking):
            parts += ({"text": text, "thought": True} for text in texts)
            parts.append({"text": "", "thought": True, "thoughtSignature": block.signature})
        elif not isinstance(block, ToolCall):
            parts += ({"text": text} for text in texts)
        elif block.complete:
            parts.append({"functionCall": {"id": block.id, "name": block.name, "args": block.arguments}})
    usage = _drop_unknown(
        promptTokenCount=_count_input(answer.usage),
        cachedContentTokenCount=answer.usage.cache_read,
        candidatesTokenCount=_count_visible(answer.usage),
        thoughtsTokenCount=answer.usage.reasoning,
        totalTokenCount=_count_input(answer.usage) + (answer.usage.output or 0),
    )
    names = {"modelVersion": answer.model, "responseId": answer.id}
    for number, part in enumerate([*parts, {"text": ""}]):
        ending = {"finishReason": stop} if number == len(parts) else {}
        candidate = {"content": {"parts": [part], "role": "model"}, **ending, "index": 0}
        counts = {} if 0 < number < len(parts) else {"usageMetadata": usage}
        yield {"candidates": [candidate], **counts, **names}


# https://ai.google.dev/api/interactions-api


def _write_google_interactions(answer: Answer, stop: str) -> Iterator[Json]:
    head = {"id": answer.id, "object": "interaction", "model": answer.model}
    running = {"status": "in_progress"}
    yield {"event_type": "interaction.created", "interaction": head | running}
    yield {"event_type": "interaction.status_update", "interaction_id": answer.id, **running}
    for index, block in enumerate(answer.blocks):
        texts = answer.list_texts(index)
        if isinstance(block, ToolCall):
            step: Json = {"type": "function_call", "id": block.id, "name": block.name, "arguments": {}}
            deltas: list[Json] = [{"type": "arguments_delta", "arguments": text} for text in ("", *texts)]
        elif isinstance(block, Thinking):
            step = {"type": "thought"}
            deltas = [
                {"type": "thought_summary", "content": {"type": "text", "text": text}} for text in texts
            ]
            deltas.append({"type": "thought_signature", "signature": block.signature})
        else:
            step = {"type": "model_output"}
            deltas = [{"type": "text", "text": text} for text in texts]
        yield {"event_type": "step.start", "index": index, "step": step}
        yield from ({"event_type": "step.delta", "index": index, "delta": delta} for delta in deltas)
        yield {"event_type": "step.stop", "index": index}
    usage = _drop_unknown(
        total_input_tokens=_count_input(answer.usage),
        total_cached_tokens=answer.usage.cache_read,
        total_output_tokens=_count_visible(answer.usage),
        total_thought_tokens=answer.usage.reasoning,
        total_tokens=_count_input(answer.usage) + (answer.usage.output or 0),
    )
    yield {"event_type": "interaction.completed", "interaction": {**head, "status": stop, "usage": usage}}


# https://docs.ollama.com/api/chat


def _write_ollama_chat(answer: Answer, stop: str) -> Iterator[Json]:
    head = {"model": answer.model, "created_at": "1970-01-01T00:00:00Z"}
    fields: list[Json] = [{}]
    calls = 0
    for index, block in enumerate(answer.blocks):
        if not isinstance(block, ToolCall):
            name = "thinking" if isinstance(block, Thinking) else "content"
            fields += ({name: text} for text in answer.list_texts(index))
        elif block.complete:
            function = {"index": calls, "name": block.name, "arguments": block.arguments}
            fields.append({"tool_calls": [{"id": block.id, "function": function}]})
            calls += 1
    blank = {"role": "assistant", "content": ""}
    yield from ({**head, "message": {**blank, **field}, "done": False} for field in fields)
    counts = _drop_unknown(
        prompt_eval_count=_count_input(answer.usage),
        prompt_eval_cached_count=answer.usage.cache_read,
        eval_count=answer.usage.output,
    )
    yield {**head, "message": blank, "done": True, "done_reason": stop, **counts}


# https://platform.openai.com/docs/api-reference/chat/streaming


def _write_openai_chat(answer: Answer, stop: str) -> Iterator[Json]:
    head = {"id": answer.id, "object": "chat.completion.chunk", "created": 0, "model": answer.model}
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    calls: dict[int, int] = {}
    for piece in answer.pieces:
        block = answer.blocks[piece.index]
        if not isinstance(block, ToolCall):
            if piece.kind == "text":
                name = "reasoning_content" if isinstance(block, Thinking) else "content"
                deltas.append({name: piece.text})
        elif piece.kind == "start":
            calls[piece.index] = len(calls)
            about = {"id": block.id, "type": "function", "function": {"name": block.name, "arguments": ""}}
            deltas.append({"tool_calls": [{"index": calls[piece.index], **about}]})
        elif piece.kind == "text":
            fragment = {"index": calls[piece.index], "function": {"arguments": piece.text}}
            deltas.append({"tool_calls": [fragment]})
    for delta in deltas:
        yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": stop}]}
    read, written = _count_input(answer.usage), answer.usage.output or 0
    usage: Json = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    if answer.usage.cache_read is not None:
        usage["prompt_tokens_details"] = {"cached_tokens": answer.usage.cache_read}
    if answer.usage.reasoning is not None:
        usage["completion_tokens_details"] = {"reasoning_tokens": answer.usage.reasoning}
    yield {**head, "choices": [], "usage": usage}


# https://platform.openai.com/docs/api-reference/responses-streaming


def _write_openai_responses(answer: Answer, stop: str) -> Iterator[Json]:
    for number, (type_, fields) in enumerate(_list_response_events(answer, stop)):
        yield {"type": f"response.{type_}", "sequence_number": number, **fields}


def _list_response_events(answer: Answer, stop: str) -> Iterator[tuple[str, Json]]:
    response = {
        "id": answer.id,
        "object": "response",
        "created_at": 0,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "model": answer.model,
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": None,
    }
    yield "created", {"response": response}
    yield "in_progress", {"response": response}
    for piece, before in zip(answer.pieces, (None, *answer.pieces), strict=False):
        # Only calls interleave, so the first text of a summary directly follows its start.
        is_first = before is not None and before.kind == "start"
        yield from _list_item_events(answer, piece, is_first=is_first)
    cut = stop != "completed"
    last = len(answer.blocks) - 1
    if isinstance(block := answer.blocks[last], ToolCall) and not block.complete:
        yield "output_item.done", {"output_index": last, "item": _build_item(answer, last, ended=True)}
    ending: Json = {
        "status": "incomplete" if cut else "completed",
        "output": [_build_item(answer, index, ended=True) for index in range(len(answer.blocks))],
        "usage": {
            "input_tokens": _count_input(answer.usage),
            "input_tokens_details": _drop_unknown(cached_tokens=answer.usage.cache_read),
            "output_tokens": answer.usage.output,
            "output_tokens_details": _drop_unknown(reasoning_tokens=answer.usage.reasoning),
            "total_tokens": _count_input(answer.usage) + (answer.usage.output or 0),
        },
    }
    ending |= {"incomplete_details": {"reason": stop}} if cut else {}
    yield ending["status"], {"response": {**response, **ending}}


def _list_item_events(answer: Answer, piece: Piece, *, is_first: bool) -> Iterator[tuple[str, Json]]:
    """Yield the events of a piece of an item; `is_first` is whether it directly follows a start."""
    index, kind, block = piece.index, piece.kind, answer.blocks[piece.index]
    item = _build_item(answer, index, ended=kind == "end")
    at = {"item_id": item["id"], "output_index": index}
    if kind == "start":
        yield "output_item.added", {"output_index": index, "item": item}
    if isinstance(block, ToolCall):
        if kind == "text":
            yield "function_call_arguments.delta", {**at, "delta": piece.text}
        elif kind == "end":
            ended = {**at, "arguments": block.arguments_text, "name": block.name}
            yield "function_call_arguments.done", ended
    else:
        yield from _list_part_events(block, piece, at, is_first=is_first)
    if kind == "end":
        yield "output_item.done", {"output_index": index, "item": item}


def _list_part_events(
    block: Thinking | Text, piece: Piece, at: Json, *, is_first: bool
) -> Iterator[tuple[str, Json]]:
    """Yield the events of the part of a message or of a summary; a summary's part begins with its text."""
    thinks = isinstance(block, Thinking)
    at |= {"summary_index": 0} if thinks else {"content_index": 0}
    part, texts = (
        ("reasoning_summary_part", "reasoning_summary_text") if thinks else ("content_part", "output_text")
    )
    logprobs: Json = {} if thinks else {"logprobs": []}
    if is_first if thinks else piece.kind == "start":
        yield f"{part}.added", {**at, "part": _build_part(block, "")}
    if piece.kind == "text":
        yield f"{texts}.delta", {**at, "delta": piece.text, **logprobs}
    elif piece.kind == "end":
        yield f"{texts}.done", {**at, "text": block.text, **logprobs}
        yield f"{part}.done", {**at, "part": _build_part(block, block.text)}


def _build_part(block: Thinking | Text, text: str) -> Json:
    if isinstance(block, Thinking):
        return {"type": "summary_text", "text": text}
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _build_item(answer: Answer, index: int, *, ended: bool) -> Json:
    """Return an output item, at its start or at its end."""
    block = answer.blocks[index]
    if isinstance(block, Thinking):
        head = {"id": f"rs_{answer.id}_{index}", "type": "reasoning"}
        if not ended:
            return {**head, "summary": []}
        return {**head, "summary": [_build_part(block, block.text)], "encrypted_content": block.signature}
    if isinstance(block, ToolCall):
        done = "completed" if block.complete else "incomplete"
        return {
            "id": f"fc_{answer.id}_{index}",
            "type": "function_call",
            "status": done if ended else "in_progress",
            "call_id": block.id,
            "name": block.name,
            "arguments": block.arguments_text if ended else "",
        }
    return {
        "id": f"msg_{answer.id}_{index}",
        "type": "message",
        "status": "completed" if ended else "in_progress",
        "role": "assistant",
        "content": [_build_part(block, block.text)] if ended else [],
    }


_ANTHROPIC_STOPS: Final = ("end_turn", "tool_use", "max_tokens")

WRITERS: Final[Mapping[str, Writer]] = {
    "anthropic-messages": Writer(write=_write_anthropic_messages, stops=_ANTHROPIC_STOPS),
    "bedrock-converse": Writer(write=_write_bedrock_converse, stops=_ANTHROPIC_STOPS, counts=_drop_reasoning),
    "bedrock-invoke": Writer(write=_write_bedrock_invoke, stops=_ANTHROPIC_STOPS),
    "cohere-chat": Writer(
        write=_write_cohere_chat,
        stops=("COMPLETE", "TOOL_CALL", "MAX_TOKENS"),
        signature="none",
        counts=_merge_cache,
    ),
    "google-generate": Writer(
        write=_write_google_generate,
        stops=("STOP", "STOP", "MAX_TOKENS"),
        signature="after",
        cuts_calls=False,
    ),
    "google-interactions": Writer(
        write=_write_google_interactions, stops=("completed", "requires_action", "incomplete")
    ),
    "ollama-chat": Writer(
        write=_write_ollama_chat,
        stops=("stop", "stop", "length"),
        signature="none",
        cuts_calls=False,
        counts=_drop_reasoning,
    ),
    "openai-chat": Writer(write=_write_openai_chat, stops=("stop", "tool_calls", "length"), signature="none"),
    "openai-responses": Writer(
        write=_write_openai_responses, stops=("completed", "completed", "max_output_tokens")
    ),
}
"""By API: how generated answers are written."""
