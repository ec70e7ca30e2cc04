"""agno: `Model.response_stream()` up to the end of the first request, and the message that it leaves."""

from importlib.metadata import version

from agno.models.anthropic import Claude
from agno.models.message import Message
from agno.models.openai import OpenAIChat
from agno.models.response import ModelResponseEvent

from streamconform import normal

END = ModelResponseEvent.model_request_completed.value


def adapter(run):
    options = {"id": run.model, "api_key": run.api_key, "timeout": 5}
    if run.api == "anthropic-messages":
        model = Claude(client_params={"base_url": run.base_url, "max_retries": 0}, **options)
    else:
        model = OpenAIChat(base_url=f"{run.base_url}/v1", max_retries=0, **options)
    tools = [
        {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}
        for name, description, schema in normal.read_tools(run.request)
    ]
    messages = [Message(role="user", content=normal.read_prompt(run.request))]
    for item in model.response_stream(messages, tools=tools or None):
        if item.event == END:  # agno would run the calls next
            break
    # No stop reason: an answer that ends without an exception is whole.
    return {"status": "complete", "content": [*convert(messages[-1])]}


def convert(message):
    if message.reasoning_content:
        yield {"type": "thinking", "text": message.reasoning_content}
    if message.redacted_reasoning_content:
        yield {
            "type": "thinking",
            "text": "",
            "redacted": True,
            "signature": message.redacted_reasoning_content,
        }
    if message.content:
        yield {"type": "text", "text": message.content}
    for call in message.tool_calls or []:
        function = call["function"]
        yield normal.build_call(call.get("id"), function.get("name"), function.get("arguments"))


adapter.info = {"name": "agno", "version": version("agno")}
adapter.inputs = ["http"]
adapter.apis = ["anthropic-messages", "openai-chat"]
adapter.capabilities = ["tool_calls", "parallel_tool_calls", "thinking"]
