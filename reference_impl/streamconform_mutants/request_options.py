"""Mutants that send wrong tools, limits and settings.

`body` mutants change the finished body; `conversation` mutants change what the builder is given.
"""

from __future__ import annotations

import json
from typing import Final
from urllib.parse import unquote

from streamconform_reference.apis import REQUEST_BUILDERS
from streamconform_reference.outcome import Json

from .registry import Body, Conversation, RequestMutants

mutants = RequestMutants()

_TOOLS: Final = ("**:body.tools", "**:body.tools.**", "**:body.toolConfig", "**:body.toolConfig.**")
_TOOL_CHOICE: Final = ("**:body.tool_choice", "**:body.tool_choice.**")
_LIMITS: Final = ("**:body.max_tokens", "**:body.max_completion_tokens")
_BUDGETS: Final = ("**:body.thinking.**", "**:body.additionalModelRequestFields.**")
_MESSAGES: Final = ("**:body.messages.**",)
_FORMATS: Final = (
    "**:body.format",
    "**:body.format.**",
    "**:body.output_config",
    "**:body.output_config.**",
    "**:body.outputConfig",
    "**:body.outputConfig.**",
    "**:body.response_format",
    "**:body.response_format.**",
    "**:body.text",
    "**:body.text.**",
)
_CONFIGURATION: Final = (
    "**:body.generationConfig",
    "**:body.generationConfig.**",
    "**:body.generation_config",
    "**:body.generation_config.**",
)
_STREAM_OPTIONS: Final = ("**:body.stream_options", "**:body.stream_options.**")


# Tools


@mutants.conversation(
    *REQUEST_BUILDERS,
    kind="tools-changed",
    fails=_TOOLS,
)
def schemas_emptied(conversation: Conversation) -> Conversation:
    """Sends every tool with a schema that has no properties."""
    if "tools" not in conversation:
        return conversation
    empty = {"type": "object", "properties": {}}
    return {**conversation, "tools": [{**tool, "parameters": empty} for tool in conversation["tools"]]}


@mutants.body(
    "openai-chat",
    "openai-responses",
    "ollama-chat",
    kind="tools-changed",
    fails=_TOOLS,
)
def no_properties_sent(_: Conversation, body: Body) -> None:
    """Leaves `properties` out of the schema of a tool without parameters."""
    for tool in body.get("tools", ()):
        schema = tool.get("function", tool).get("parameters", {})
        if schema.get("properties") == {}:
            del schema["properties"]


@mutants.body("openai-chat", "openai-responses", kind="tool-choice-changed", fails=_TOOL_CHOICE)
def custom_choice_as_function(_: Conversation, body: Body) -> None:
    """Names any tool that must be called as a function."""
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice["type"] == "custom":
        body["tool_choice"] = {"type": "function", "function": choice.get("custom", choice)}


@mutants.body("openai-chat", "openai-responses", kind="tools-changed", fails=_TOOLS)
def custom_tools_unsent(_: Conversation, body: Body) -> None:
    """Declares functions alone, and no custom tools."""
    if "tools" in body:
        body["tools"] = [tool for tool in body["tools"] if tool["type"] == "function"]


@mutants.body(
    "anthropic-messages",
    "bedrock-converse",
    "bedrock-invoke",
    "cohere-chat",
    "google-generate",
    "google-interactions",
    "openai-chat",
    "openai-responses",
    kind="tool-choice-changed",
    fails=(*_TOOL_CHOICE, *_TOOLS, *_CONFIGURATION),
)
def tool_choice_lost(_: Conversation, body: Body) -> None:
    """Does not send the tool choice."""
    body.pop("tool_choice", None)
    if "contents" in body:
        body.pop("toolConfig", None)
    body.get("toolConfig", {}).pop("toolChoice", None)
    body.get("generation_config", {}).pop("tool_choice", None)


@mutants.body(
    "anthropic-messages",
    "openai-chat",
    kind="tool-choice-changed",
    fails=_TOOL_CHOICE,
)
def choice_without_tools(conversation: Conversation, body: Body) -> None:
    """Sends a tool choice without any tools."""
    if "tool_choice" in conversation and "tools" not in body:
        body["tool_choice"] = {"type": "any"}


@mutants.body(
    "cohere-chat",
    kind="tool-choice-changed",
    fails=("**:body.tool_choice",),
)
def choice_in_lower_case(_: Conversation, body: Body) -> None:
    """Sends the tool choice in another API's spelling."""
    if "tool_choice" in body:
        body["tool_choice"] = body["tool_choice"].lower()


@mutants.body(
    "openai-chat",
    kind="empty-sent",
    fails=("**:body.tools",),
)
def empty_tools_sent(_: Conversation, body: Body) -> None:
    """Sends an empty `tools` list if there are no tools."""
    body.setdefault("tools", [])


@mutants.conversation("ollama-chat", kind="tool-choice-changed", fails=_TOOLS)
def tools_despite_none(conversation: Conversation) -> Conversation:
    """Sends the tools although none may be called, to a server that has no tool choice."""
    return {key: value for key, value in conversation.items() if key != "tool_choice"}


@mutants.body(
    "bedrock-converse",
    kind="tools-changed",
    fails=_TOOLS,
)
def declarations_dropped(conversation: Conversation, body: Body) -> None:
    """Declares no tools if none may be called, even if the history contains tool calls."""
    if conversation.get("tool_choice") == "none" or not conversation.get("tools"):
        body.pop("toolConfig", None)


# Limits and temperature


@mutants.body(
    "anthropic-messages",
    "bedrock-invoke",
    kind="limit-changed",
    fails=("**:body.max_tokens",),
)
def limit_unsent(conversation: Conversation, body: Body) -> None:
    """Sends no token limit unless one was requested, although the API has no default."""
    if "max_tokens" not in conversation:
        del body["max_tokens"]


@mutants.body(
    "bedrock-converse",
    "google-generate",
    "google-interactions",
    kind="limit-changed",
    fails=(
        *_CONFIGURATION,
        "**:body.inferenceConfig",
        "**:body.inferenceConfig.**",
        "**:body.maxTokens",
        "**:body.maxOutputTokens",
        "**:body.max_output_tokens",
    ),
)
def limit_outside_the_configuration(_: Conversation, body: Body) -> None:
    """Sends the token limit beside the configuration of which it is a part."""
    for name in ("inferenceConfig", "generationConfig", "generation_config"):
        configuration = body.get(name, {})
        for limit in configuration.keys() & {"maxTokens", "maxOutputTokens", "max_output_tokens"}:
            body[limit] = configuration.pop(limit)


@mutants.body(
    "ollama-chat",
    kind="limit-changed",
    fails=("**:body.max_tokens", "**:body.options", "**:body.options.**"),
)
def limit_outside_options(_: Conversation, body: Body) -> None:
    """Sends the token limit outside `options`, so the server ignores it."""
    if "num_predict" in body.get("options", {}):
        body["max_tokens"] = body["options"].pop("num_predict")


@mutants.body(
    "openai-chat",
    kind="limit-changed",
    fails=_LIMITS,
)
def older_limit_sent(_: Conversation, body: Body) -> None:
    """Sends the token limit as `max_tokens`, which reasoning models reject."""
    if "max_completion_tokens" in body:
        body["max_tokens"] = body.pop("max_completion_tokens")


@mutants.body(
    "openai-chat",
    kind="limit-changed",
    fails=_LIMITS,
)
def newer_limit_sent(_: Conversation, body: Body) -> None:
    """Sends the token limit as `max_completion_tokens` to hosts that support only `max_tokens`."""
    if "max_tokens" in body:
        body["max_completion_tokens"] = body.pop("max_tokens")


@mutants.body(
    "anthropic-messages",
    "bedrock-converse",
    "bedrock-invoke",
    "openai-chat",
    "openai-responses",
    kind="thinking-settings-wrong",
    fails=("**:body.temperature", "**:body.inferenceConfig.**"),
)
def temperature_beside_thinking(conversation: Conversation, body: Body) -> None:
    """Sends a temperature to a model that is thinking."""
    if "temperature" in conversation:
        flat = body.keys() & {"model", "anthropic_version"}
        place = body if flat else body.setdefault("inferenceConfig", {})
        place["temperature"] = conversation["temperature"]


# Thinking


@mutants.body(
    "anthropic-messages",
    "bedrock-converse",
    "bedrock-invoke",
    kind="thinking-settings-wrong",
    fails=_BUDGETS,
)
def budget_above_limit(conversation: Conversation, body: Body) -> None:
    """Sends a thinking budget that exceeds the answer's token limit."""
    thinking = conversation.get("thinking")
    field = body.get("additionalModelRequestFields", body).get("thinking", {})
    if "budget_tokens" in field and isinstance(thinking, dict):
        field["budget_tokens"] = max(thinking.get("budget", 0), field["budget_tokens"])


@mutants.body(
    "anthropic-messages",
    kind="thinking-settings-wrong",
    fails=_BUDGETS,
)
def budget_too_small(conversation: Conversation, body: Body) -> None:
    """Sends a thinking budget below the minimum."""
    thinking = conversation.get("thinking")
    field = body.get("thinking", {})
    if "budget_tokens" in field and isinstance(thinking, dict):
        field["budget_tokens"] = min(thinking.get("budget", 1024), field["budget_tokens"])


@mutants.body(
    "google-generate",
    kind="thinking-settings-wrong",
    fails=("**:body.generationConfig.thinkingConfig.**",),
)
def level_beside_budget(_: Conversation, body: Body) -> None:
    """Sends both a thinking level and a thinking budget."""
    config = body.get("generationConfig", {}).get("thinkingConfig", {})
    if {"thinkingLevel", "thinkingBudget"} & config.keys():
        config.setdefault("thinkingLevel", "HIGH")
        config.setdefault("thinkingBudget", 8192)


@mutants.body("google-interactions", kind="thinking-settings-wrong", fails=_CONFIGURATION)
def level_in_a_configuration(_: Conversation, body: Body) -> None:
    """Sends the thinking level in the form of Google's other API."""
    configuration = body.get("generation_config", {})
    if "thinking_level" in configuration:
        configuration["thinking_config"] = {"thinking_level": configuration.pop("thinking_level")}


@mutants.body(
    "ollama-chat",
    kind="thinking-settings-wrong",
    fails=("**:body.think",),
)
def think_always(_: Conversation, body: Body) -> None:
    """Enables thinking for every model."""
    body.setdefault("think", True)


@mutants.body(
    "ollama-chat",
    kind="thinking-settings-wrong",
    fails=("**:body.think",),
)
def level_as_truth(conversation: Conversation, body: Body) -> None:
    """Sends true or false to a model that expects a thinking level."""
    if "thinking" in conversation and ("think" in body or conversation["facts"].get("thinking") == "effort"):
        body["think"] = conversation["thinking"] != "off"


# Storage and caching


@mutants.body(
    "openai-chat",
    kind="field-to-another-host",
    fails=("**:body.store",),
)
def stored_everywhere(_: Conversation, body: Body) -> None:
    """Sends `store` to hosts that reject it."""
    body["store"] = False


@mutants.body(
    "google-interactions",
    "openai-responses",
    kind="stored-unasked",
    fails=("**:body.store",),
)
def stored_by_default(_: Conversation, body: Body) -> None:
    """Leaves `store` out, so the provider stores the answers."""
    body.pop("store", None)


@mutants.body(
    "openai-responses",
    kind="cache-unasked",
    fails=("**:body.prompt_cache_key",),
)
def cache_key_unsent(_: Conversation, body: Body) -> None:
    """Does not send the session as the cache key."""
    body.pop("prompt_cache_key", None)


@mutants.body(
    "openai-chat",
    "openai-responses",
    kind="cache-unasked",
    fails=("**:body.prompt_cache_key",),
)
def cache_key_uncut(conversation: Conversation, body: Body) -> None:
    """Sends the session name as the cache key without truncating it."""
    if "prompt_cache_key" in body:
        body["prompt_cache_key"] = conversation["session"]


@mutants.body(
    "openai-chat",
    "openai-responses",
    kind="field-to-another-host",
    fails=("**:body.prompt_cache_retention",),
)
def retention_everywhere(_: Conversation, body: Body) -> None:
    """Asks every host to keep the cache for a day, even if nobody requested it."""
    body["prompt_cache_retention"] = "24h"


@mutants.conversation(
    "anthropic-messages",
    "bedrock-converse",
    "bedrock-invoke",
    kind="cache-unasked",
    fails=("**:body.system.**", *_MESSAGES),
)
def cache_unmarked(conversation: Conversation) -> Conversation:
    """Does not mark where the cached part of the prompt ends."""
    return {**conversation, "cache": "none"}


@mutants.body(
    "anthropic-messages",
    kind="field-to-another-host",
    fails=("**:body.system.**", *_MESSAGES),
)
def lifetime_everywhere(_: Conversation, body: Body) -> None:
    """Asks every host to keep the cache for an hour."""
    system = body.get("system", ())
    blocks = [*(system if isinstance(system, list) else ()), *body["messages"][-1]["content"]]
    for block in blocks:
        if "cache_control" in block:
            block["cache_control"]["ttl"] = "1h"


@mutants.body(
    "bedrock-converse",
    kind="field-to-another-host",
    fails=_BUDGETS,
)
def thinking_of_claude_everywhere(_: Conversation, body: Body) -> None:
    """Asks models of every family for thinking with Claude's field."""
    fields = body.get("additionalModelRequestFields", {})
    if fields.pop("reasoningConfig", None):
        fields["thinking"] = {"type": "enabled", "budget_tokens": 1024}


# Stream options


@mutants.body(
    "openai-chat",
    kind="usage-unasked",
    fails=_STREAM_OPTIONS,
)
def usage_unasked(_: Conversation, body: Body) -> None:
    """Does not request usage for a stream."""
    body.pop("stream_options", None)


@mutants.body(
    "openai-chat",
    kind="field-to-another-host",
    fails=_STREAM_OPTIONS,
)
def stream_options_always(_: Conversation, body: Body) -> None:
    """Sends stream options with a request that does not stream."""
    body["stream_options"] = {"include_usage": True}


# Content


@mutants.body(
    "anthropic-messages",
    "bedrock-converse",
    "bedrock-invoke",
    "google-generate",
    "google-interactions",
    kind="image-in-another-form",
    fails=(*_MESSAGES, "**:body.contents.**", "**:body.input.**"),
)
def image_as_data_url(_: Conversation, body: Body) -> None:
    """Sends an image's data as a data URL, where the API expects base64 alone."""
    for message in (*body.get("messages", ()), *body.get("contents", ()), *body.get("input", ())):
        for block in message.get("parts", message.get("content", ())):
            source = block.get("inlineData", block.get("image", block).get("source", block))
            for key in source.keys() & {"data", "bytes"}:
                source[key] = f"data:image/png;base64,{source[key]}"


@mutants.body(
    "ollama-chat",
    kind="image-in-another-form",
    fails=_MESSAGES,
)
def image_as_address(_: Conversation, body: Body) -> None:
    """Sends images as data URLs to a server that accepts only base64."""
    for message in body["messages"]:
        if "images" in message:
            message["images"] = [f"data:image/png;base64,{data}" for data in message["images"]]


@mutants.body(
    "ollama-chat",
    kind="answer-in-another-form",
    fails=_MESSAGES,
)
def content_as_parts(_: Conversation, body: Body) -> None:
    """Sends content as a list of parts to a server that accepts only text."""
    for message in body["messages"]:
        message["content"] = [{"type": "text", "text": message["content"]}]


# The format of the answer


@mutants.body(
    *REQUEST_BUILDERS,
    kind="answer-schema-lost",
    fails=(*_FORMATS, *_CONFIGURATION),
)
def schema_lost(_: Conversation, body: Body) -> None:
    """Does not send the answer's schema."""
    for member in ("format", "outputConfig", "response_format", "text"):
        body.pop(member, None)
    body.get("output_config", {}).pop("format", None)
    for member in ("responseMimeType", "responseSchema", "responseJsonSchema"):
        body.get("generationConfig", {}).pop(member, None)


@mutants.body(
    "openai-chat",
    "openai-responses",
    kind="answer-schema-lost",
    fails=_FORMATS,
)
def schema_name_lost(conversation: Conversation, body: Body) -> None:
    """Sends an unnamed schema without adding a name, which the API rejects."""
    if "name" not in conversation.get("output_schema", {"name": None}):
        flat = body.get("text", {}).get("format", {})
        body.get("response_format", {}).get("json_schema", flat).pop("name", None)


@mutants.body(
    "ollama-chat",
    kind="answer-schema-lost",
    fails=_FORMATS,
)
def schema_as_text(_: Conversation, body: Body) -> None:
    """Sends the schema as escaped text, which the server does not accept as a schema."""
    if isinstance(body.get("format"), dict):
        body["format"] = json.dumps(body["format"])


@mutants.body(
    "cohere-chat",
    kind="answer-schema-lost",
    fails=_FORMATS,
)
def schema_wrapped(_: Conversation, body: Body) -> None:
    """Sends the schema in OpenAI's form, which the API rejects."""
    schema = body.get("response_format", {}).get("json_schema")
    if schema is not None:
        wrapped = {"name": "answer", "schema": schema}
        body["response_format"] = {"type": "json_schema", "json_schema": wrapped}


# Members that belong elsewhere


@mutants.body(
    "google-generate",
    "google-interactions",
    kind="field-to-another-host",
    fails=("**:body.contents.**", "**:body.input.**"),
)
def citations_sent_as_they_are(conversation: Conversation, body: Body) -> None:
    """Sends the sources of an earlier answer's text in a member that the API rejects."""
    answers = [message for message in conversation["messages"] if message["role"] == "assistant"]
    blocks = [block for message in answers for block in message["content"]]
    cited = {block["text"]: block["citations"] for block in blocks if "citations" in block}
    for holder in (*body.get("contents", ()), *body.get("input", ())):
        for part in holder.get("parts", holder.get("content", ())):
            if part.get("text") in cited:
                part["citations"] = cited[part["text"]]


@mutants.body("ollama-chat", kind="field-to-another-host", fails=_TOOL_CHOICE)
def choice_without_meaning(conversation: Conversation, body: Body) -> None:
    """Sends a tool choice, which this server does not know, so the user's wish has no effect."""
    if "tool_choice" in conversation:
        body["tool_choice"] = conversation["tool_choice"]


@mutants.body(
    "bedrock-invoke",
    kind="field-to-another-host",
    fails=("**:body.model", "**:body.stream"),
)
def model_in_the_body(conversation: Conversation, body: Body) -> None:
    """Sends members that belong to Anthropic's own API, which Bedrock rejects."""
    body |= {"model": conversation["model"], "stream": True}


@mutants.conversation("google-generate", kind="tools-changed", fails=("**:body", "**:body.**"))
def crashes_without_parameters(conversation: Conversation) -> Conversation:
    """Crashes while it declares a tool without parameters, and declares all others."""
    for tool in conversation.get("tools", ()):
        next(iter(tool["parameters"]["properties"]))
    return conversation


# Chat Completions, Responses and Cohere


@mutants.body(
    "cohere-chat",
    "openai-responses",
    kind="limit-changed",
    fails=("**:body.max_tokens", "**:body.max_output_tokens", "**:body.max_completion_tokens"),
)
def limit_under_another_name(_: Conversation, body: Body) -> None:
    """Sends the token limit under the newer name in Chat Completions, which these APIs do not know."""
    for name in ("max_tokens", "max_output_tokens"):
        if name in body:
            body["max_completion_tokens"] = body.pop(name)


@mutants.body(
    "cohere-chat", kind="thinking-settings-wrong", fails=("**:body.thinking", "**:body.thinking.**")
)
def budget_tokens_sent(_: Conversation, body: Body) -> None:
    """Sends the thinking budget under the name in another API."""
    thinking = body.get("thinking", {})
    if "token_budget" in thinking:
        thinking["budget_tokens"] = thinking.pop("token_budget")


@mutants.body("cohere-chat", kind="field-to-another-host", fails=("**:body.prompt_cache_key",))
def cache_key_to_cohere(conversation: Conversation, body: Body) -> None:
    """Sends OpenAI's cache key to Cohere, which rejects fields that it does not know."""
    if "session" in conversation:
        body["prompt_cache_key"] = conversation["session"]


@mutants.body("openai-chat", kind="stored-unasked", fails=("**:body.store",))
def storage_switched_on(_: Conversation, body: Body) -> None:
    """Asks the provider to store every answer."""
    body["store"] = True


@mutants.body(
    "cohere-chat",
    "openai-chat",
    "openai-responses",
    kind="image-in-another-form",
    fails=(*_MESSAGES, "**:body.input.**"),
)
def image_without_its_type(_: Conversation, body: Body) -> None:
    """Sends the base64 of an image alone, where the API expects a data URL."""
    for message in [*body.get("messages", ()), *body.get("input", ())]:
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            if "image_url" in part:
                holder, key = (part, "image_url") if "input" in body else (part["image_url"], "url")
                holder[key] = holder[key].partition(",")[2]


@mutants.request("bedrock-converse", "bedrock-invoke", kind="address-wrong", fails=("**:path",))
def model_not_encoded(_: Conversation, request: Json) -> None:
    """Puts the name of the model into the path as it is, so that the slash of an ARN splits it."""
    request["path"] = unquote(request["path"])


@mutants.request("google-generate", kind="address-wrong", fails=("**:path",))
def models_named_twice(conversation: Conversation, request: Json) -> None:
    """Puts `models/` before a name that already begins with it."""
    if conversation["model"].startswith("models/"):
        request["path"] = request["path"].replace("models/", "models/models/", 1)


@mutants.body("ollama-chat", kind="thinking-settings-wrong", fails=("**:body.think",))
def think_unsent(_: Conversation, body: Body) -> None:
    """Does not say whether the model should think."""
    body.pop("think", None)


@mutants.body("openai-chat", kind="thinking-settings-wrong", fails=("**:body.reasoning_effort",))
def effort_always_sent(_: Conversation, body: Body) -> None:
    """Sends an effort to every model."""
    body.setdefault("reasoning_effort", "none")


@mutants.body("openai-chat", kind="tools-changed", fails=_TOOLS)
def strict_unsent(_: Conversation, body: Body) -> None:
    """Does not send that a tool is strict."""
    for tool in body.get("tools", ()):
        tool.get("function", {}).pop("strict", None)


@mutants.body(
    "google-interactions",
    kind="tool-choice-changed",
    fails=("**:body.generation_config", "**:body.generation_config.**", "**:body.toolConfig"),
)
def choice_of_the_other_api(_: Conversation, body: Body) -> None:
    """Sends the tool choice as Google's other API expects it."""
    if choice := body.get("generation_config", {}).pop("tool_choice", None):
        body["toolConfig"] = {"functionCallingConfig": {"mode": choice}}
