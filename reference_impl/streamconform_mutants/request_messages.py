"""Mutants that send back text, thinking, tool calls and tool results incorrectly.

`body` mutants change the finished body; `conversation` mutants change the builder's input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from streamconform_reference.apis import REQUEST_BUILDERS
from streamconform_reference.json_text import codec
from streamconform_reference.requests.conversation import ANY_ID, NO_RESULT, format_json

from .registry import Body, Conversation, RequestMutants

mutants = RequestMutants()

_OWN_BLOCKS: Final = ("text", "image", "thinking", "redacted_thinking", "tool_use", "tool_result")
Block = dict[str, Any]

_CALL_ITEMS: Final = ("function_call", "custom_tool_call")
_MESSAGES: Final = ("**:body.messages.**",)
_CONTENTS: Final = ("**:body.contents", "**:body.contents.**")
_INPUT: Final = ("**:body.input", "**:body.input.**")


def _block_lists(body: Body) -> Iterator[list[Any]]:
    """Yield each message's list of content blocks or parts, if it has one."""
    messages: list[Any] = body.get("messages") or body.get("contents") or []
    for message in messages:
        content = message.get("content", message.get("parts"))
        if isinstance(content, list):
            yield content


def _names(body: Body) -> tuple[str, str]:
    """Return the key of the messages, and the key of a message's blocks."""
    return ("contents", "parts") if "contents" in body else ("messages", "content")


def _is_thinking(block: Block) -> bool:
    return (
        str(block.get("type")).endswith("thinking")
        or "reasoningContent" in block
        or block.get("thought") is True
    )


def _is_redacted(block: Block) -> bool:
    return block.get("type") == "redacted_thinking" or "redactedContent" in block.get("reasoningContent", {})


def _change_results(
    conversation: Conversation, change: Callable[[Conversation], Conversation]
) -> Conversation:
    """Return the conversation with `change` applied to each tool result."""
    messages = [
        {**message, "results": [change(result) for result in message["results"]]}
        if "results" in message
        else message
        for message in conversation["messages"]
    ]
    return {**conversation, "messages": messages}


# Text and thinking


@mutants.body(
    "openai-responses",
    kind="items-unsent",
    fails=_INPUT,
)
def phases_not_sent(_: Conversation, body: Body) -> None:
    """Sends an earlier answer's messages without their phases."""
    for item in body["input"]:
        item.pop("phase", None)


@mutants.body(
    "openai-responses",
    kind="items-unsent",
    fails=_INPUT,
)
def compaction_not_sent(_: Conversation, body: Body) -> None:
    """Drops the compaction item, which stands for everything that was said before."""
    body["input"] = [item for item in body["input"] if item.get("type") != "compaction"]


@mutants.body(
    "openai-chat",
    kind="signature-unsent",
    fails=_MESSAGES,
)
def call_signature_not_sent(_: Conversation, body: Body) -> None:
    """Sends Gemini's calls back without their signatures."""
    for message in body["messages"]:
        for call in message.get("tool_calls", ()):
            call.pop("extra_content", None)


@mutants.body(
    "anthropic-messages",
    "bedrock-converse",
    "bedrock-invoke",
    "google-interactions",
    kind="signature-unsent",
    fails=(*_MESSAGES, *_INPUT),
)
def sent_signature_lost(_: Conversation, body: Body) -> None:
    """Sends thinking back without its signature."""
    for content in _block_lists(body):
        for block in content:
            block.pop("signature", None)
            block.get("reasoningContent", {}).get("reasoningText", {}).pop("signature", None)
    for step in body.get("input", ()):
        step.pop("signature", None)


@mutants.body(
    "anthropic-messages",
    "bedrock-converse",
    "bedrock-invoke",
    "google-generate",
    kind="thinking-unsent",
    fails=(*_MESSAGES, *_CONTENTS),
)
def signed_thinking_unsent(_: Conversation, body: Body) -> None:
    """Sends an answer back without its thinking."""
    for content in _block_lists(body):
        content[:] = [block for block in content if not _is_thinking(block) or _is_redacted(block)]


@mutants.body(
    "anthropic-messages",
    "bedrock-converse",
    "bedrock-invoke",
    kind="redacted-unsent",
    fails=_MESSAGES,
)
def sent_redacted_lost(_: Conversation, body: Body) -> None:
    """Does not send redacted thinking back."""
    for content in _block_lists(body):
        content[:] = [block for block in content if not _is_redacted(block)]


@mutants.body(
    "anthropic-messages",
    "bedrock-converse",
    "bedrock-invoke",
    kind="thinking-misplaced",
    fails=_MESSAGES,
)
def thoughts_sent_first(_: Conversation, body: Body) -> None:
    """Sends all of an answer's thinking back before its text and tool calls."""
    for content in _block_lists(body):
        content.sort(key=lambda block: not _is_thinking(block))


@mutants.conversation(
    "anthropic-messages",
    "bedrock-converse",
    "bedrock-invoke",
    "google-generate",
    "google-interactions",
    "openai-responses",
    kind="foreign-thinking-sent",
    fails=(*_MESSAGES, *_CONTENTS, *_INPUT, "**:body.input"),
)
def foreign_thinking_sent(conversation: Conversation) -> Conversation:
    """Sends thinking to a model that did not write it."""
    origin = ("model", "api")
    messages = [
        {key: value for key, value in message.items() if key not in origin}
        for message in conversation["messages"]
    ]
    return {**conversation, "messages": messages}


@mutants.conversation(
    "anthropic-messages",
    "bedrock-converse",
    "bedrock-invoke",
    "google-generate",
    "openai-chat",
    "openai-responses",
    kind="answer-in-another-form",
    fails=(*_MESSAGES, "**:body.messages", *_CONTENTS, *_INPUT),
)
def foreign_answers_told(conversation: Conversation) -> Conversation:
    """Sends an answer of another model, and the results of its calls, as what the user says about them."""
    messages: list[Conversation] = []
    for message in conversation["messages"]:
        is_result = message["role"] == "tool" and messages[-1].get("is_told")
        if is_result or message.get("model", conversation["model"]) != conversation["model"]:
            told = message.get("results", message.get("content", ()))
            said = [block.get("text", block.get("content", block.get("name"))) for block in told]
            messages.append({"role": "user", "content": f"It said {said}.", "is_told": True})
        else:
            messages.append(message)
    return {**conversation, "messages": messages}


@mutants.body(
    "google-generate",
    kind="signature-unsent",
    fails=_CONTENTS,
)
def wrong_part_signed(_: Conversation, body: Body) -> None:
    """Sends a function call's signature back on a separate part."""
    for parts in _block_lists(body):
        for index in reversed(range(len(parts))):
            if "functionCall" in parts[index] and "thoughtSignature" in parts[index]:
                signature = parts[index].pop("thoughtSignature")
                parts.insert(index + 1, {"text": "", "thoughtSignature": signature})


@mutants.body(
    "anthropic-messages",
    "bedrock-converse",
    "bedrock-invoke",
    kind="items-unsent",
    fails=_MESSAGES,
)
def server_results_not_sent(_: Conversation, body: Body) -> None:
    """Drops what the provider's tools returned when sending an answer back."""
    for message in body["messages"]:
        if message["role"] == "assistant":
            message["content"] = [
                block
                for block in message["content"]
                if not str(block.get("type")).endswith("_tool_result") and "toolResult" not in block
            ]


@mutants.body(
    "anthropic-messages",
    "bedrock-converse",
    "bedrock-invoke",
    kind="answer-in-another-form",
    fails=_MESSAGES,
)
def call_sent_as_text(_: Conversation, body: Body) -> None:
    """Sends an earlier answer's calls as text, so their results match nothing."""
    for content in _block_lists(body):
        for index, block in enumerate(content):
            if "toolUse" in block:
                content[index] = {"text": format_json(block["toolUse"])}
            elif block.get("type") == "tool_use":
                content[index] = {"type": "text", "text": format_json(block)}


@mutants.body(
    "google-generate",
    "google-interactions",
    kind="items-unsent",
    fails=(*_CONTENTS, *_INPUT),
)
def server_tools_not_sent(_: Conversation, body: Body) -> None:
    """Drops the calls to the provider's tools, and their responses, when sending an answer back."""
    for parts in _block_lists(body):
        parts[:] = [part for part in parts if part.keys().isdisjoint({"toolCall", "toolResponse"})]
    if "input" in body:
        body["input"] = [step for step in body["input"] if "google_search" not in step["type"]]


@mutants.body(
    "google-generate",
    kind="signature-unsent",
    fails=_CONTENTS,
)
def null_signature_sent(_: Conversation, body: Body) -> None:
    """Sends a null signature with every unsigned part."""
    for parts in _block_lists(body):
        for part in parts:
            part.setdefault("thoughtSignature", None)


@mutants.body(
    "openai-responses",
    kind="thinking-unsent",
    fails=_INPUT,
)
def reasoning_lost(_: Conversation, body: Body) -> None:
    """Sends no reasoning items back, so calls arrive without theirs."""
    body["input"] = [item for item in body["input"] if item["type"] != "reasoning"]


@mutants.body(
    "google-interactions",
    kind="thinking-unsent",
    fails=_INPUT,
)
def thought_steps_not_sent(_: Conversation, body: Body) -> None:
    """Sends calls back without the thoughts before them."""
    body["input"] = [step for step in body["input"] if step["type"] != "thought"]


@mutants.body(
    "openai-responses",
    kind="thinking-misplaced",
    fails=_INPUT,
)
def reasoning_alone(conversation: Conversation, body: Body) -> None:
    """Sends a reasoning item back without the item that follows it."""
    for message in conversation["messages"]:
        blocks = [block for block in message.get("content", ()) if isinstance(block, dict)]
        whole = [block for block in blocks if block.get("complete") is not False]
        if whole and whole[-1]["type"] == "thinking" and whole[-1].get("signature"):
            item = {"type": "reasoning", "summary": [], "encrypted_content": whole[-1]["signature"]}
            body["input"].insert(1, item)


@mutants.body(
    "openai-responses",
    kind="signature-unsent",
    fails=("**:body.include", "**:body.include.**"),
)
def encrypted_unasked(_: Conversation, body: Body) -> None:
    """Does not request the encrypted content of reasoning, so none can be sent back."""
    body.pop("include", None)


@mutants.body("google-generate", kind="answer-in-another-form", fails=_CONTENTS)
def answer_of_the_assistant(_: Conversation, body: Body) -> None:
    """Sends an earlier answer with the role `assistant`, which the API rejects."""
    for content in body["contents"]:
        if content["role"] == "model":
            content["role"] = "assistant"


@mutants.body(
    "google-interactions",
    kind="answer-in-another-form",
    fails=_INPUT,
)
def answer_as_turn(_: Conversation, body: Body) -> None:
    """Sends an earlier answer as a turn with a role, whose content the server ignores."""
    body["input"] = [
        {"role": "model", "content": step["content"]} if step["type"] == "model_output" else step
        for step in body["input"]
    ]


@mutants.body(
    "openai-responses",
    kind="answer-in-another-form",
    fails=_INPUT,
)
def answer_as_input(_: Conversation, body: Body) -> None:
    """Sends an answer's text back as input text."""
    for item in body["input"]:
        for part in item.get("content", ()):
            if part["type"] == "output_text":
                part["type"] = "input_text"


@mutants.body(
    "openai-chat",
    kind="thinking-unsent",
    fails=_MESSAGES,
)
def deepseek_thinking_unsent(_: Conversation, body: Body) -> None:
    """Does not send thinking back to a host that requires it with every tool call."""
    for message in body["messages"]:
        message.pop("reasoning_content", None)


@mutants.body(
    "ollama-chat",
    kind="thinking-unsent",
    fails=_MESSAGES,
)
def thinking_field_not_sent(_: Conversation, body: Body) -> None:
    """Sends calls back without the thinking before them."""
    for message in body["messages"]:
        message.pop("thinking", None)


@mutants.body(
    "ollama-chat",
    kind="thinking-misplaced",
    fails=_MESSAGES,
)
def thinking_in_the_text(_: Conversation, body: Body) -> None:
    """Sends thinking back in the text, in tags."""
    for message in body["messages"]:
        if "thinking" in message:
            message["content"] = f"<think>{message.pop('thinking')}</think>{message['content']}"


@mutants.body("google-generate", kind="thinking-misplaced", fails=_CONTENTS)
def thoughts_sent_last(_: Conversation, body: Body) -> None:
    """Sends an answer's thinking back after its text."""
    for parts in _block_lists(body):
        parts.sort(key=_is_thinking)


@mutants.body(
    "google-interactions",
    kind="thinking-misplaced",
    fails=_INPUT,
)
def thought_steps_sent_first(_: Conversation, body: Body) -> None:
    """Sends all thoughts back before the first call."""
    body["input"].sort(key=lambda step: (step["type"] != "user_input", step["type"] != "thought"))


@mutants.body(
    "openai-chat",
    kind="foreign-thinking-sent",
    fails=_MESSAGES,
)
def thinking_to_any_host(conversation: Conversation, body: Body) -> None:
    """Sends thinking back to hosts that do not support the field."""
    blocks = [block for message in conversation["messages"] for block in message.get("content", ())]
    thoughts = [block["text"] for block in blocks if isinstance(block, dict) and block["type"] == "thinking"]
    for message in body["messages"]:
        if thoughts and message["role"] == "assistant":
            message["reasoning_content"] = thoughts[-1]


@mutants.body(
    "anthropic-messages",
    "bedrock-converse",
    "bedrock-invoke",
    kind="empty-sent",
    fails=_MESSAGES,
)
def empty_text_sent(_: Conversation, body: Body) -> None:
    """Sends an empty text block before an answer's tool calls."""
    for content in _block_lists(body):
        if content and content[0].get("type") == "tool_use":
            content.insert(0, {"type": "text", "text": ""})
        elif content and "toolUse" in content[0]:
            content.insert(0, {"text": ""})


@mutants.body("bedrock-converse", "google-generate", kind="empty-sent", fails=(*_CONTENTS, *_MESSAGES))
def empty_answer_sent(conversation: Conversation, body: Body) -> None:
    """Sends an empty answer back as a message without blocks."""
    messages, blocks = _names(body)
    for message in conversation["messages"]:
        if message["role"] == "assistant" and all(
            block["type"] in ("text", "refusal") and not block["text"] for block in message["content"]
        ):
            body[messages].insert(1, {"role": "model" if blocks == "parts" else "assistant", blocks: []})


@mutants.body(
    "bedrock-converse",
    kind="turns-unmerged",
    fails=_MESSAGES,
)
def user_split(_: Conversation, body: Body) -> None:
    """Sends consecutive user messages, which have to be merged into one."""
    messages = []
    for message in body["messages"]:
        if message["role"] == "user":
            messages += [{**message, "content": [block]} for block in message["content"]]
        else:
            messages.append(message)
    body["messages"] = messages


# Tool results


def _is_result(block: Block) -> bool:
    return block.get("type") == "tool_result" or "toolResult" in block or "functionResponse" in block


@mutants.body(
    "anthropic-messages",
    "bedrock-converse",
    "bedrock-invoke",
    "google-generate",
    kind="turns-unmerged",
    fails=(*_MESSAGES, *_CONTENTS),
)
def results_apart(_: Conversation, body: Body) -> None:
    """Sends each result of parallel tool calls in a separate message, although they have to share one."""
    messages_key, blocks_key = _names(body)
    messages = []
    for message in body[messages_key]:
        blocks = message[blocks_key]
        split = any(_is_result(block) for block in blocks)
        messages += [{**message, blocks_key: [block]} for block in blocks] if split else [message]
    body[messages_key] = messages


@mutants.conversation(
    "anthropic-messages",
    "bedrock-converse",
    "bedrock-invoke",
    "google-generate",
    "google-interactions",
    kind="result-changed",
    fails=(*_MESSAGES, *_CONTENTS, *_INPUT),
)
def failure_untold(conversation: Conversation) -> Conversation:
    """Does not report to the model that a tool failed."""
    return _change_results(
        conversation, lambda result: {key: value for key, value in result.items() if key != "error"}
    )


@mutants.conversation(
    *REQUEST_BUILDERS,
    kind="result-changed",
    fails=(*_MESSAGES, *_CONTENTS, *_INPUT),
)
def failure_unexplained(conversation: Conversation) -> Conversation:
    """Reports to the model that a tool failed, but not what the tool said."""
    return _change_results(
        conversation, lambda result: {**result, "content": "Failed."} if result.get("error") else result
    )


@mutants.conversation(
    "anthropic-messages",
    "bedrock-converse",
    "bedrock-invoke",
    "openai-chat",
    "openai-responses",
    kind="result-changed",
    fails=(*_MESSAGES, *_INPUT),
)
def result_image_lost(conversation: Conversation) -> Conversation:
    """Drops images in tool results."""

    def drop_images(result: Conversation) -> Conversation:
        content = result["content"]
        if isinstance(content, str):
            return result
        return {**result, "content": [part for part in content if part["type"] != "image"]}

    return _change_results(conversation, drop_images)


@mutants.conversation(
    *REQUEST_BUILDERS,
    kind="result-changed",
    fails=(*_MESSAGES, *_CONTENTS, *_INPUT),
)
def results_swapped(conversation: Conversation) -> Conversation:
    """Gives the results of several calls back in reverse, each under another call."""
    results = [result for message in conversation["messages"] for result in message.get("results", [])]
    contents = (result["content"] for result in reversed(results))
    return _change_results(conversation, lambda result: {**result, "content": next(contents)})


@mutants.conversation(
    "anthropic-messages",
    "bedrock-converse",
    "bedrock-invoke",
    "cohere-chat",
    "google-generate",
    "ollama-chat",
    "openai-chat",
    "openai-responses",
    kind="result-changed",
    fails=(*_MESSAGES, *_CONTENTS, *_INPUT),
)
def result_printed(conversation: Conversation) -> Conversation:
    """Sends JSON results in Python's notation instead of JSON."""

    def print_values(result: Conversation) -> Conversation:
        content = result["content"]
        if isinstance(content, str):
            return result
        parts = [
            {"type": "text", "text": repr(part["value"])} if part["type"] == "json" else part
            for part in content
        ]
        return {**result, "content": parts}

    return _change_results(conversation, print_values)


@mutants.body(
    "openai-chat",
    kind="result-changed",
    fails=("**:invariant.unique-ids", *_MESSAGES),
)
def results_as_tool_calls(_: Conversation, body: Body) -> None:
    """Sends results as `tool_calls` of the user instead of messages with role `tool`."""
    for index, message in enumerate(body["messages"]):
        if message["role"] == "tool":
            function = {"name": message["tool_call_id"], "arguments": message["content"]}
            call = {"id": message["tool_call_id"], "type": "function", "function": function}
            body["messages"][index] = {"role": "user", "tool_calls": [call]}


@mutants.body(
    *REQUEST_BUILDERS,
    kind="result-missing",
    fails=(*_MESSAGES, *_CONTENTS, *_INPUT),
)
def missing_result_left_out(_: Conversation, body: Body) -> None:
    """Sends a tool call without a result if the user continued before there was one."""
    if "input" in body:
        body["input"] = [step for step in body["input"] if NO_RESULT not in str(step)]
        return
    messages_key, blocks_key = _names(body)
    for message in body[messages_key]:
        if isinstance(message.get(blocks_key), list):
            message[blocks_key] = [block for block in message[blocks_key] if NO_RESULT not in str(block)]
    body[messages_key] = [
        message for message in body[messages_key] if message.get(blocks_key) not in ([], NO_RESULT)
    ]


@mutants.body(
    *REQUEST_BUILDERS,
    kind="call-unsent",
    fails=(*_MESSAGES, *_CONTENTS, *_INPUT, "**:body.messages", "**:body.contents", "**:body.input"),
)
def calls_unsent(_: Conversation, body: Body) -> None:
    """Sends results without their calls."""
    if "input" in body:
        body["input"] = [item for item in body["input"] if item.get("type") not in _CALL_ITEMS]
        return
    messages_key, blocks_key = _names(body)
    for message in body[messages_key]:
        message.pop("tool_calls", None)
        if isinstance(message.get(blocks_key), list):
            message[blocks_key] = [block for block in message[blocks_key] if not _is_call(block)]
    body[messages_key] = [message for message in body[messages_key] if message.get(blocks_key)]


def _find_orphans(conversation: Conversation) -> Iterator[Block]:
    """Yield the results of calls that are not sent because they were cut off."""
    messages = conversation["messages"]
    blocks = [block for message in messages if message["role"] == "assistant" for block in message["content"]]
    cut = {block["id"] for block in blocks if block["type"] == "tool_call" and not block["complete"]}
    for message in messages:
        yield from (result for result in message.get("results", ()) if result["id"] in cut)


@mutants.body(
    "cohere-chat",
    "google-interactions",
    "ollama-chat",
    "openai-chat",
    "openai-responses",
    kind="call-unsent",
    fails=(*_MESSAGES, *_INPUT, "**:body.messages", "**:body.input"),
)
def result_of_a_cut_call_sent(conversation: Conversation, body: Body) -> None:
    """Sends the result of a call that was cut off and is not sent itself."""
    for result in _find_orphans(conversation):
        id_, text = result["id"], result["content"]
        if "messages" in body:
            body["messages"].insert(-1, {"role": "tool", "tool_call_id": id_, "content": text})
        elif body["input"][0]["type"] == "user_input":
            step = {"type": "function_result", "call_id": id_, "name": result["name"], "result": text}
            body["input"].insert(-1, step)
        else:
            body["input"].insert(-1, {"type": "function_call_output", "call_id": id_, "output": text})


@mutants.body(
    "anthropic-messages",
    "bedrock-converse",
    "bedrock-invoke",
    "google-generate",
    kind="call-unsent",
    fails=(*_MESSAGES, *_CONTENTS),
)
def result_block_of_a_cut_call_sent(conversation: Conversation, body: Body) -> None:
    """Sends the result of a call that was cut off and is not sent itself, before the user's next text."""
    messages_key, blocks_key = _names(body)
    last = body[messages_key][-1]
    for result in _find_orphans(conversation):
        id_, text = result["id"], result["content"]
        if messages_key == "contents":
            block: Block = {"functionResponse": {"name": result["name"], "response": {"output": text}}}
        elif "anthropic_version" in body or "max_tokens" in body:
            block = {"type": "tool_result", "tool_use_id": id_, "content": text}
        else:
            block = {"toolResult": {"toolUseId": id_, "content": [{"text": text}]}}
        blocks = last[blocks_key]
        last[blocks_key] = [
            block,
            *([{"type": "text", "text": blocks}] if isinstance(blocks, str) else blocks),
        ]


def _is_call(block: Block) -> bool:
    return block.get("type") == "tool_use" or "toolUse" in block or "functionCall" in block


# Tool calls


@mutants.conversation(
    "anthropic-messages",
    "bedrock-converse",
    "bedrock-invoke",
    "openai-chat",
    "openai-responses",
    kind="ids-unpaired",
    fails=(*_MESSAGES, *_INPUT),
)
def foreign_id_sent(conversation: Conversation) -> Conversation:
    """Sends another provider's tool call ids unchanged, even if the host rejects them."""
    return {**conversation, "facts": {**conversation.get("facts", {}), "tool_ids": ANY_ID}}


@mutants.body(
    "anthropic-messages",
    "openai-chat",
    kind="ids-unpaired",
    fails=_MESSAGES,
)
def call_alone_respelled(conversation: Conversation, body: Body) -> None:
    """Rewrites the id of a tool call, but not the id in its result."""
    ids = [result["id"] for message in conversation["messages"] for result in message.get("results", ())]
    results = [block for content in _block_lists(body) for block in content if "tool_use_id" in block]
    results += [message for message in body["messages"] if message["role"] == "tool"]
    for result, original in zip(results, ids, strict=False):
        result["tool_call_id" if "role" in result else "tool_use_id"] = original


@mutants.body(
    "google-generate",
    "google-interactions",
    "ollama-chat",
    kind="ids-unpaired",
    fails=(*_MESSAGES, *_CONTENTS, *_INPUT),
)
def results_of_the_first_call(_: Conversation, body: Body) -> None:
    """Sends the result of each parallel call as one of the first call."""
    parts = [part for parts in _block_lists(body) for part in parts]
    results = [part["functionResponse"] for part in parts if "functionResponse" in part]
    results += [step for step in body.get("input", ()) if step["type"] == "function_result"]
    results += [message for message in body.get("messages", ()) if message["role"] == "tool"]
    for result in results:
        result |= {
            key: results[0][key] for key in ("id", "call_id", "tool_call_id", "tool_name") if key in result
        }


@mutants.body(
    "openai-chat",
    kind="ids-unpaired",
    fails=("**:invariant.unique-ids", *_MESSAGES),
)
def repeated_id_sent(conversation: Conversation, body: Body) -> None:
    """Sends two tool calls with the same id, because the model used it in two turns."""
    answers = [message for message in conversation["messages"] if message["role"] == "assistant"]
    blocks = [block for message in answers for block in message["content"]]
    ids = [block["id"] for block in blocks if block["type"] == "tool_call"]
    calls = [call for message in body["messages"] for call in message.get("tool_calls", ())]
    results = [message for message in body["messages"] if message["role"] == "tool"]
    if len(ids) == len(calls) == len(results) and len(set(ids)) < len(ids):
        for call, result, original in zip(calls, results, ids, strict=True):
            call["id"] = result["tool_call_id"] = original


@mutants.body(
    "anthropic-messages",
    "bedrock-converse",
    "bedrock-invoke",
    "google-generate",
    "google-interactions",
    "ollama-chat",
    kind="arguments-in-another-form",
    fails=(*_MESSAGES, *_CONTENTS, *_INPUT),
)
def input_as_text(_: Conversation, body: Body) -> None:
    """Sends arguments as text to APIs that require an object."""
    for content in _block_lists(body):
        for block in content:
            call = block.get("toolUse", block)
            if "input" in call:
                call["input"] = format_json(call["input"])
            if "functionCall" in call:
                call["functionCall"]["args"] = format_json(call["functionCall"]["args"])
    for step in body.get("input", ()):
        if step["type"] == "function_call":
            step["arguments"] = format_json(step["arguments"])
    for message in body.get("messages", ()):
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = format_json(call["function"]["arguments"])


@mutants.body(
    "cohere-chat",
    "google-interactions",
    "ollama-chat",
    "openai-chat",
    "openai-responses",
    kind="empty-sent",
    fails=(*_MESSAGES, *_INPUT),
)
def empty_arguments_sent(_: Conversation, body: Body) -> None:
    """Sends empty text as the arguments of a call that has none."""
    calls = [
        call.get("function", {})
        for message in body.get("messages", ())
        for call in message.get("tool_calls", ())
    ]
    for call in [*calls, *body.get("input", ())]:
        if call.get("arguments") in ("{}", {}):
            call["arguments"] = ""


@mutants.body(
    "openai-chat",
    kind="empty-sent",
    fails=_MESSAGES,
)
def empty_tool_calls_sent(_: Conversation, body: Body) -> None:
    """Sends an empty `tool_calls` list with an answer that had no calls."""
    for message in body["messages"]:
        if message["role"] == "assistant":
            message.setdefault("tool_calls", [])


@mutants.body("openai-responses", kind="ids-unpaired", fails=("**:invariant.unique-ids",))
def reasoning_item_sent_twice(conversation: Conversation, body: Body) -> None:
    """Sends a reasoning item with its id as often as the history has it."""
    answers = [message for message in conversation["messages"] if message["role"] == "assistant"]
    thoughts = [block for answer in answers for block in answer["content"] if block["type"] == "thinking"]
    items = [item for item in body["input"] if item.get("type") == "reasoning"]
    for item, thought in zip(items, thoughts, strict=False):
        if "id" in thought:
            item["id"] = thought["id"]


# Chat Completions, Responses and Cohere


@mutants.body(
    "openai-chat",
    kind="redacted-unsent",
    fails=_MESSAGES,
)
def encrypted_details_unsent(_: Conversation, body: Body) -> None:
    """Sends the reasoning details that can be read back to OpenRouter, without the encrypted ones."""
    for message in body["messages"]:
        details = message.get("reasoning_details", [])
        details[:] = [detail for detail in details if detail["type"] != "reasoning.encrypted"]


@mutants.body(
    "openai-chat",
    kind="items-unsent",
    fails=_MESSAGES,
)
def details_sent_as_text(_: Conversation, body: Body) -> None:
    """Sends OpenRouter the reasoning alone, without the details beside it."""
    for message in body["messages"]:
        details = message.pop("reasoning_details", ())
        if details:
            texts = (detail.get("text", detail.get("summary")) for detail in details)
            message["reasoning"] = "".join(filter(None, texts))


@mutants.body(
    "cohere-chat",
    "openai-chat",
    kind="thinking-misplaced",
    fails=_MESSAGES,
)
def thinking_sent_as_text(conversation: Conversation, body: Body) -> None:
    """Sends thinking back at the start of the answer's text."""
    answers = (message for message in conversation["messages"] if message["role"] == "assistant")
    sent = (message for message in body["messages"] if message["role"] == "assistant")
    for answer, message in zip(answers, sent, strict=False):
        thoughts = [block["text"] for block in answer["content"] if block["type"] == "thinking"]
        texts = [block["text"] for block in answer["content"] if block["type"] == "text"]
        if any(thoughts):
            message["content"] = "".join([*thoughts, *texts])


@mutants.body(
    "cohere-chat",
    "openai-chat",
    kind="answer-in-another-form",
    fails=_MESSAGES,
)
def answer_as_the_users(_: Conversation, body: Body) -> None:
    """Sends the text of an earlier answer as a message of the user."""
    for message in body["messages"]:
        if message["role"] == "assistant" and "tool_calls" not in message:
            message["role"] = "user"


@mutants.body("openai-chat", "openai-responses", kind="answer-in-another-form", fails=(*_MESSAGES, *_INPUT))
def custom_call_as_function(_: Conversation, body: Body) -> None:
    """Sends a call of a custom tool as one of a function, whose arguments are then not JSON."""
    for item in body.get("input", ()):
        item["type"] = item["type"].replace("custom_tool", "function")
        if "input" in item:
            item["arguments"] = item.pop("input")
    for message in body.get("messages", ()):
        for call in message.get("tool_calls", ()):
            if custom := call.pop("custom", None):
                call |= {
                    "type": "function",
                    "function": {"name": custom["name"], "arguments": custom["input"]},
                }


@mutants.body(
    "cohere-chat",
    "openai-chat",
    kind="turns-unmerged",
    fails=_MESSAGES,
)
def calls_apart(_: Conversation, body: Body) -> None:
    """Sends each of parallel calls, and the text before them, in a message of its own."""
    messages = []
    for message in body["messages"]:
        calls = message.pop("tool_calls", ())
        if message.get("content") or not calls:
            messages.append(message)
        messages += [{"role": "assistant", "content": None, "tool_calls": [call]} for call in calls]
    body["messages"] = messages


@mutants.body(
    "cohere-chat",
    "openai-chat",
    "openai-responses",
    kind="ids-unpaired",
    fails=(*_MESSAGES, *_INPUT),
)
def results_numbered(_: Conversation, body: Body) -> None:
    """Sends the number of a result for the id of its call."""
    results = [message for message in body.get("messages", ()) if "tool_call_id" in message]
    for number, message in enumerate(results):
        message["tool_call_id"] = str(number)
    for number, item in enumerate(item for item in body.get("input", ()) if "output" in item):
        item["call_id"] = str(number)


@mutants.body(
    "cohere-chat",
    "openai-chat",
    "openai-responses",
    kind="arguments-in-another-form",
    fails=(*_MESSAGES, *_INPUT),
)
def arguments_as_objects(_: Conversation, body: Body) -> None:
    """Sends arguments as an object, where the API expects JSON text."""
    calls = [
        call["function"]
        for message in body.get("messages", ())
        for call in message.get("tool_calls", ())
        if "function" in call
    ]
    for call in [*calls, *(item for item in body.get("input", ()) if "arguments" in item)]:
        call["arguments"] = codec.loads_text(call["arguments"])


@mutants.body("anthropic-messages", kind="items-unsent", fails=_MESSAGES)
def provider_blocks_not_sent(_: Conversation, body: Body) -> None:
    """Does not send back calls of server tools, their results, and blocks of other types."""
    for content in _block_lists(body):
        content[:] = [block for block in content if block["type"] in _OWN_BLOCKS]


@mutants.body("anthropic-messages", kind="answer-in-another-form", fails=_MESSAGES)
def null_as_empty_text(_: Conversation, body: Body) -> None:
    """Sends an empty text in place of null as the content of a compaction."""
    for content in _block_lists(body):
        for block in content:
            if block.get("content", "") is None:
                block["content"] = ""


@mutants.body(
    "anthropic-messages", kind="empty-sent", fails=(*_MESSAGES, "**:body.messages", "**:body.system")
)
def blanks_sent(conversation: Conversation, body: Body) -> None:
    """Sends a system prompt and answers without a visible character."""
    body.setdefault("system", "")
    for message in conversation["messages"]:
        texts = [block.get("text", "-") for block in message.get("content", ()) if isinstance(block, dict)]
        if message["role"] == "assistant" and not "".join(texts).strip():
            blank = {"type": "text", "text": "".join(texts)}
            body["messages"].append({"role": "assistant", "content": [blank]})


@mutants.body(
    "openai-chat", "openai-responses", kind="arguments-in-another-form", fails=(*_MESSAGES, *_INPUT)
)
def malformed_arguments_sent(conversation: Conversation, body: Body) -> None:
    """Sends arguments that are not JSON back as they came."""
    answers = [message for message in conversation["messages"] if message["role"] == "assistant"]
    calls = [block for answer in answers for block in answer["content"] if block["type"] == "tool_call"]
    texts = {call["id"]: call["arguments_text"] for call in calls if call.get("arguments") is None}
    for message in body.get("messages", ()):
        for call in message.get("tool_calls", ()):
            if call["id"] in texts:
                call["function"]["arguments"] = texts[call["id"]]
    for item in body.get("input", ()):
        if item.get("type") == "function_call" and item["call_id"] in texts:
            item["arguments"] = texts[item["call_id"]]


@mutants.body("openai-chat", kind="arguments-in-another-form", fails=_MESSAGES)
def cut_call_sent(conversation: Conversation, body: Body) -> None:
    """Sends a call that was cut, which has no result and whose arguments are not JSON."""
    answers = [message for message in conversation["messages"] if message["role"] == "assistant"]
    sent = [message for message in body["messages"] if message["role"] == "assistant"]
    for answer, message in zip(answers, sent, strict=False):
        calls = [block for block in answer["content"] if block.get("complete") is False]
        if calls and "tool_calls" not in message:
            message["tool_calls"] = [
                {
                    "id": call["id"],
                    "type": "function",
                    "function": {"name": call["name"], "arguments": call.get("arguments_text") or ""},
                }
                for call in calls
            ]


@mutants.body("openai-chat", kind="signature-unsent", fails=_MESSAGES)
def details_merged(_: Conversation, body: Body) -> None:
    """Merges the reasoning details of a message into one, whatever their types."""
    for message in body["messages"]:
        details = message.get("reasoning_details", [])
        details[:] = [{name: value for detail in details for name, value in detail.items()}][: len(details)]


@mutants.body("openai-chat", kind="field-to-another-host", fails=_MESSAGES)
def phases_to_chat(conversation: Conversation, body: Body) -> None:
    """Sends the phase of a message, for which Chat Completions has no member."""
    answers = [message for message in conversation["messages"] if message["role"] == "assistant"]
    sent = [message for message in body["messages"] if message["role"] == "assistant"]
    for answer, message in zip(answers, sent, strict=False):
        phases = [block["phase"] for block in answer["content"] if block.get("phase")]
        if phases:
            message["phase"] = phases[-1]


@mutants.body("openai-responses", kind="items-unsent", fails=_INPUT)
def phase_replaced_by_a_guess(_: Conversation, body: Body) -> None:
    """Sends a guess in place of the phase of a message."""
    for item in body["input"]:
        if item.get("role") == "assistant":
            item["phase"] = "final_answer"


@mutants.body("openai-responses", kind="signature-unsent", fails=_INPUT)
def summary_sent_alone(conversation: Conversation, body: Body) -> None:
    """Sends a reasoning item also without its encrypted content, which the server did not store."""
    answers = [message for message in conversation["messages"] if message["role"] == "assistant"]
    for block in [block for answer in answers for block in answer["content"]]:
        if block["type"] == "thinking" and not block.get("signature"):
            summary = [{"type": "summary_text", "text": block["text"]}]
            body["input"].insert(1, {"type": "reasoning", "summary": summary})


@mutants.body("anthropic-messages", kind="result-missing", fails=_MESSAGES)
def call_before_a_fallback_sent(conversation: Conversation, body: Body) -> None:
    """Sends the call of a model that declined, which has no result."""
    answers = [message for message in conversation["messages"] if message["role"] == "assistant"]
    sent = [message for message in body["messages"] if message["role"] == "assistant"]
    for answer, message in zip(answers, sent, strict=False):
        if "fallback" in [block.get("kind") for block in answer["content"]]:
            calls = [block for block in answer["content"] if block.get("complete") is False]
            message["content"][:0] = [
                {"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["arguments"]}
                for call in calls
            ]


@mutants.conversation("google-generate", kind="result-changed", fails=_CONTENTS)
def result_text_alone(conversation: Conversation) -> Conversation:
    """Sends the text of a tool result, without its images and without saying that the tool failed."""

    def keep_text(result: Conversation) -> Conversation:
        content = result["content"]
        if not isinstance(content, str):
            content = [part for part in content if part["type"] != "image"]
        return {"id": result["id"], "name": result["name"], "content": content}

    return _change_results(conversation, keep_text)


@mutants.body("ollama-chat", kind="thinking-unsent", fails=_MESSAGES)
def ollama_thinking_unsent(_: Conversation, body: Body) -> None:
    """Does not send the thinking of earlier answers."""
    for message in body["messages"]:
        message.pop("thinking", None)


@mutants.body("google-generate", kind="signature-unsent", fails=_CONTENTS)
def only_calls_signed(_: Conversation, body: Body) -> None:
    """Sends signatures back only with calls."""
    for parts in _block_lists(body):
        for part in parts:
            if "functionCall" not in part:
                part.pop("thoughtSignature", None)
