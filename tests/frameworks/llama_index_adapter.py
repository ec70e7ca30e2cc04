"""LlamaIndex: `stream_chat()` of its two models, and the last response that it yields."""

from importlib.metadata import version

from llama_index.core.llms import ChatMessage
from llama_index.llms.anthropic import Anthropic
from llama_index.llms.openai import OpenAI

from streamconform import normal


def adapter(run):
    options = {"model": run.model, "api_key": run.api_key, "max_retries": 0, "timeout": 5}
    if run.api == "anthropic-messages":
        llm = Anthropic(base_url=run.base_url, **options)
    else:
        llm = OpenAI(api_base=f"{run.base_url}/v1", **options)
    tools = {"tools": run.request["tools"]} if run.request.get("tools") else {}
    prompt = [ChatMessage(role="user", content=normal.read_prompt(run.request))]
    return normal.read_stream(llm.stream_chat(prompt, **tools), convert)


def convert(responses):
    blocks = [block for response in responses[-1:] for block in response.message.blocks]
    raw = read_stop(responses)
    return normal.build_outcome([*map(convert_block, blocks)], normal.translate_stop(raw), raw)


def read_stop(responses):
    """Return the stop reason: OpenAI's is in one of the chunks, and Anthropic's in the last message."""
    choices = [choice for response in responses for choice in getattr(response.raw, "choices", ())[:1]]
    if choices:
        return next((choice.finish_reason for choice in reversed(choices) if choice.finish_reason), None)
    return responses[-1].message.additional_kwargs.get("stop_reason") if responses else None


def convert_block(block):
    if block.block_type == "tool_call":
        return normal.build_call(block.tool_call_id, block.tool_name, block.tool_kwargs)
    if block.block_type == "thinking":
        signature = (block.additional_information or {}).get("signature")
        return {"type": "thinking", "text": block.content or "", "signature": signature or None}
    if block.block_type == "text":
        return {"type": "text", "text": block.text or ""}
    return normal.build_other(block.block_type)


adapter.info = {"name": "llama-index", "version": version("llama-index-llms-anthropic")}
adapter.inputs = ["http"]
adapter.apis = ["anthropic-messages", "openai-chat"]
adapter.capabilities = ["tool_calls", "parallel_tool_calls", "thinking", "signatures"]
