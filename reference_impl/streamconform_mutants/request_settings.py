"""Mutants that lose settings, files and instructions, or ignore the version and the host of a request.

`body` mutants change the finished body; `conversation` mutants change what the builder is given; `request`
mutants also change headers and the path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from streamconform_reference.requests.conversation import part_text
from streamconform_reference.requests.option_table import SAMPLING
from streamconform_reference.requests.options import restrict_tools

from .registry import Body, Conversation, RequestMutants

mutants = RequestMutants()

_BODY: Final = ("**:body.**",)
_MESSAGES: Final = ("**:body.messages", "**:body.messages.**")
_CONTENTS: Final = ("**:body.contents", "**:body.contents.**")
_INPUT: Final = ("**:body.input", "**:body.input.**")
_THINKING: Final = (
    "**:body.thinking.**",
    "**:body.reasoning.**",
    "**:body.reasoning_effort",
    "**:body.output_config.**",
    "**:body.generationConfig.**",
    "**:body.generation_config.**",
)
_CHOICE: Final = (
    "**:body.tools",
    "**:body.tools.**",
    "**:body.tool_choice",
    "**:body.tool_choice.**",
    "**:body.toolConfig",
    "**:body.toolConfig.**",
    "**:body.generation_config",
    "**:body.generation_config.**",
)
_NEW_VERSION: Final = "2026-10-21"


def _drop(conversation: Conversation, *names: str) -> Conversation:
    return {key: value for key, value in conversation.items() if key not in names}


def _change_parts(conversation: Conversation, change: Callable[[Body], Body]) -> Conversation:
    """Return the conversation with `change` applied to each part of the user's messages and of results."""

    def change_content(holder: Body) -> Body:
        content = holder["content"]
        return holder if isinstance(content, str) else {**holder, "content": [*map(change, content)]}

    messages = []
    for message in conversation["messages"]:
        if message["role"] == "user":
            messages.append(change_content(message))
        elif message["role"] == "tool":
            messages.append({**message, "results": [*map(change_content, message["results"])]})
        else:
            messages.append(message)
    return {**conversation, "messages": messages}


# Settings


@mutants.conversation(
    "anthropic-messages",
    "bedrock-converse",
    "bedrock-invoke",
    "cohere-chat",
    "google-generate",
    "google-interactions",
    "ollama-chat",
    "openai-chat",
    kind="setting-lost",
    fails=_BODY,
)
def stop_sequences_lost(conversation: Conversation) -> Conversation:
    """Does not send stop sequences."""
    return _drop(conversation, "stop")


@mutants.conversation(
    "anthropic-messages",
    "bedrock-converse",
    "bedrock-invoke",
    "cohere-chat",
    "google-generate",
    "ollama-chat",
    "openai-chat",
    "openai-responses",
    kind="setting-lost",
    fails=_BODY,
)
def sampling_lost(conversation: Conversation) -> Conversation:
    """Does not send `top_p` and `top_k`."""
    return _drop(conversation, "top_p", "top_k")


@mutants.conversation(
    "cohere-chat",
    "google-generate",
    "google-interactions",
    "ollama-chat",
    "openai-chat",
    kind="setting-lost",
    fails=_BODY,
)
def zero_seed_lost(conversation: Conversation) -> Conversation:
    """Tests the seed for truthiness, and so does not send 0."""
    return conversation if conversation.get("seed") else _drop(conversation, "seed")


@mutants.conversation(
    "cohere-chat",
    "google-generate",
    "ollama-chat",
    "openai-chat",
    kind="setting-lost",
    fails=_BODY,
)
def penalties_lost(conversation: Conversation) -> Conversation:
    """Does not send the penalties."""
    return _drop(conversation, "presence_penalty", "frequency_penalty")


@mutants.body(
    "cohere-chat",
    "google-generate",
    "ollama-chat",
    "openai-chat",
    "openai-responses",
    kind="setting-lost",
    fails=_BODY,
)
def alternatives_alone(conversation: Conversation, body: Body) -> None:
    """Sends the number of alternatives without asking for log probabilities."""
    if "logprobs" in conversation:
        body.pop("include", None)
        body.get("generationConfig", body).pop("responseLogprobs", None)
        body.pop("logprobs", None)


@mutants.conversation(
    "anthropic-messages",
    "bedrock-converse",
    "google-generate",
    "google-interactions",
    "openai-chat",
    "openai-responses",
    kind="setting-lost",
    fails=_BODY,
)
def service_tier_lost(conversation: Conversation) -> Conversation:
    """Does not send the service tier."""
    return _drop(conversation, "service_tier")


@mutants.conversation(
    "bedrock-converse",
    "google-interactions",
    "openai-chat",
    "openai-responses",
    kind="setting-lost",
    fails=_BODY,
)
def labels_lost(conversation: Conversation) -> Conversation:
    """Does not send labels."""
    return _drop(conversation, "metadata")


@mutants.conversation(
    "anthropic-messages",
    "openai-chat",
    "openai-responses",
    kind="setting-lost",
    fails=_BODY,
)
def end_user_lost(conversation: Conversation) -> Conversation:
    """Does not send the id of the end user."""
    return _drop(conversation, "user")


@mutants.conversation(
    "google-interactions",
    "openai-responses",
    kind="setting-lost",
    fails=_BODY,
)
def stored_answer_lost(conversation: Conversation) -> Conversation:
    """Does not name the stored answer or the stored prompt."""
    return _drop(conversation, "previous_response_id", "prompt")


@mutants.body("ollama-chat", kind="setting-lost", fails=_BODY)
def options_at_the_top(_: Conversation, body: Body) -> None:
    """Sends the model's options as members of the body, where the server ignores them."""
    body |= body.pop("options", {})


@mutants.body("cohere-chat", kind="setting-lost", fails=_BODY)
def settings_named_as_elsewhere(_: Conversation, body: Body) -> None:
    """Sends settings under the names of another API."""
    for name, other in (("p", "top_p"), ("k", "top_k"), ("stop_sequences", "stop")):
        if name in body:
            body[other] = body.pop(name)


@mutants.body("bedrock-converse", kind="setting-lost", fails=_BODY)
def top_k_beside_top_p(_: Conversation, body: Body) -> None:
    """Sends `top_k` to Bedrock in a member that does not have it."""
    fields = body.get("additionalModelRequestFields", {})
    if "top_k" in fields:
        body.setdefault("inferenceConfig", {})["topK"] = fields.pop("top_k")


@mutants.conversation(
    "anthropic-messages",
    "google-generate",
    "google-interactions",
    "openai-responses",
    kind="thinking-settings-wrong",
    fails=_THINKING,
)
def display_lost(conversation: Conversation) -> Conversation:
    """Does not say whether the thinking is to be shown."""
    thinking = conversation.get("thinking")
    if not isinstance(thinking, Mapping):
        return conversation
    return {**conversation, "thinking": {key: value for key, value in thinking.items() if key != "display"}}


@mutants.conversation(
    "anthropic-messages",
    "google-interactions",
    "openai-chat",
    "openai-responses",
    kind="thinking-settings-wrong",
    fails=_THINKING,
)
def xhigh_effort_lowered(conversation: Conversation) -> Conversation:
    """Sends the effort xhigh as high."""
    thinking = conversation.get("thinking")
    if not isinstance(thinking, Mapping) or thinking.get("effort") != "xhigh":
        return conversation
    return {**conversation, "thinking": {**thinking, "effort": "high"}}


@mutants.conversation(
    "openai-chat",
    "openai-responses",
    kind="tool-choice-changed",
    fails=_CHOICE,
)
def other_tools_undeclared(conversation: Conversation) -> Conversation:
    """Declares only the allowed tools, instead of naming them in the tool choice."""
    return restrict_tools(conversation)


@mutants.conversation(
    "google-generate",
    "google-interactions",
    "openai-chat",
    "openai-responses",
    kind="tool-choice-changed",
    fails=_CHOICE,
)
def allowed_tools_lost(conversation: Conversation) -> Conversation:
    """Sends the mode of the tool choice without the tools that are allowed."""
    choice = conversation.get("tool_choice")
    if not isinstance(choice, Mapping) or "allowed" not in choice:
        return conversation
    return {**conversation, "tool_choice": choice["mode"]}


@mutants.conversation(
    "anthropic-messages",
    "bedrock-converse",
    "openai-chat",
    "openai-responses",
    kind="cache-unasked",
    fails=_BODY,
)
def cache_points_lost(conversation: Conversation) -> Conversation:
    """Does not ask for the cache: sends neither cache points nor the name of the session."""
    cleared = _change_parts(_drop(conversation, "session"), lambda part: dict(_drop(part, "cache")))
    tools = [_drop(tool, "cache") for tool in conversation.get("tools", ())]
    return {**cleared, "tools": tools} if tools else cleared


# Files


@mutants.conversation(
    "anthropic-messages",
    "bedrock-converse",
    "bedrock-invoke",
    "cohere-chat",
    "google-generate",
    "google-interactions",
    "openai-chat",
    "openai-responses",
    kind="file-in-another-form",
    fails=_BODY,
)
def documents_as_text(conversation: Conversation) -> Conversation:
    """Sends a document as text of the message: what it says, or only that it is left out."""
    return _change_parts(
        conversation,
        lambda part: {"type": "text", "text": part_text(part)} if part["type"] == "document" else part,
    )


@mutants.conversation(
    "anthropic-messages",
    "openai-responses",
    kind="file-in-another-form",
    fails=_BODY,
)
def ids_as_addresses(conversation: Conversation) -> Conversation:
    """Sends the id of an uploaded file as its address."""
    return _change_parts(
        conversation,
        lambda part: {**_drop(part, "file_id"), "url": part["file_id"]} if "file_id" in part else part,
    )


@mutants.conversation(
    "anthropic-messages",
    "bedrock-converse",
    "google-generate",
    "google-interactions",
    "openai-chat",
    "openai-responses",
    kind="file-in-another-form",
    fails=(*_MESSAGES, *_CONTENTS, *_INPUT),
)
def files_without_bytes_left_out(conversation: Conversation) -> Conversation:
    """Sends only files whose bytes it has, and leaves out those with an address or an id."""
    return _change_parts(
        conversation,
        lambda part: {"type": "text", "text": "(a file)"} if part.keys() & {"url", "file_id"} else part,
    )


@mutants.conversation(
    "bedrock-converse",
    "google-generate",
    "google-interactions",
    "openai-chat",
    kind="file-in-another-form",
    fails=(*_MESSAGES, *_CONTENTS, *_INPUT),
)
def audio_as_data_url(conversation: Conversation) -> Conversation:
    """Sends audio as a data URL, where the API expects base64 alone."""
    return _change_parts(
        conversation,
        lambda part: (
            {**part, "data": f"data:{part['media_type']};base64,{part['data']}"}
            if part["type"] == "audio"
            else part
        ),
    )


@mutants.body("bedrock-converse", kind="file-in-another-form", fails=_MESSAGES)
def document_name_unchanged(conversation: Conversation, body: Body) -> None:
    """Sends a document's title as its name, with characters that the API rejects."""
    titles = [
        part["title"]
        for message in conversation["messages"]
        for part in message.get("content", ())
        if isinstance(part, Mapping) and "title" in part
    ]
    for message in body["messages"]:
        for block in message["content"]:
            if "document" in block and titles:
                block["document"]["name"] = titles[0]


@mutants.body("bedrock-converse", kind="file-in-another-form", fails=("**:invariant.unique-ids",))
def documents_named_alike(_: Conversation, body: Body) -> None:
    """Gives documents without a title the same name, which the API rejects."""
    for message in body["messages"]:
        for block in message["content"]:
            if block.get("document", {}).get("name", "").startswith("document"):
                block["document"]["name"] = "document"


@mutants.body("bedrock-converse", kind="file-in-another-form", fails=_MESSAGES)
def document_without_a_text(conversation: Conversation, body: Body) -> None:
    """Sends a document alone, which the API rejects."""
    parts = [part for message in conversation["messages"] for part in message.get("content", ())]
    if not any(isinstance(part, str) or part.get("type") == "text" for part in parts):
        for message in body["messages"]:
            message["content"] = [block for block in message["content"] if "text" not in block]


# Instructions between messages


@mutants.conversation(
    "anthropic-messages",
    "bedrock-converse",
    "cohere-chat",
    "ollama-chat",
    "openai-chat",
    "openai-responses",
    kind="system-message-misplaced",
    fails=(*_MESSAGES, *_INPUT),
)
def system_messages_as_user(conversation: Conversation) -> Conversation:
    """Sends instructions between messages as the user's text."""
    messages = [
        {**message, "role": "user"} if message["role"] == "system" else message
        for message in conversation["messages"]
    ]
    return {**conversation, "messages": messages}


@mutants.conversation(
    "anthropic-messages",
    "bedrock-converse",
    "cohere-chat",
    "ollama-chat",
    "openai-chat",
    "openai-responses",
    kind="system-message-misplaced",
    fails=(*_MESSAGES, *_INPUT, "**:body.system", "**:body.system.**"),
)
def system_messages_moved_up(conversation: Conversation) -> Conversation:
    """Adds instructions between messages to the system prompt, which changes the cached prefix."""
    later = [message["content"] for message in conversation["messages"] if message["role"] == "system"]
    if not later:
        return conversation
    messages = [message for message in conversation["messages"] if message["role"] != "system"]
    return {
        **conversation,
        "messages": messages,
        "system": "\n\n".join([conversation.get("system", ""), *later]),
    }


@mutants.conversation("anthropic-messages", kind="system-message-misplaced", fails=_MESSAGES)
def system_role_for_every_model(conversation: Conversation) -> Conversation:
    """Sends messages with the role system to models that reject them."""
    return {**conversation, "facts": {**conversation.get("facts", {}), "system_messages": True}}


@mutants.body("anthropic-messages", kind="system-message-misplaced", fails=_MESSAGES)
def system_message_before_the_user(conversation: Conversation, body: Body) -> None:
    """Sends a message with the role system between two messages of the user."""
    roles = [message["role"] for message in conversation["messages"]]
    if roles == ["user", "system", "user"]:
        first, middle, last = body["messages"][0]["content"]
        body["messages"] = [
            {"role": "user", "content": [first]},
            {"role": "system", "content": [middle]},
            {"role": "user", "content": [last]},
        ]


# The version of the API, and the host


def _name_new_version(request: dict[str, Any]) -> None:
    if "anthropic-version" in request["headers"]:
        request["headers"]["anthropic-version"] = _NEW_VERSION


@mutants.request(
    "anthropic-messages",
    kind="field-to-another-host",
    fails=("**:body.temperature", "**:body.top_p", "**:body.top_k"),
)
def new_version_with_sampling(conversation: Conversation, request: dict[str, Any]) -> None:
    """Sends sampling options under a version of the API that rejects them."""
    if not conversation.keys().isdisjoint(SAMPLING):
        _name_new_version(request)


@mutants.request(
    "anthropic-messages",
    kind="field-to-another-host",
    fails=("**:body.temperature", "**:body.top_p", "**:body.top_k"),
)
def new_version_with_a_default(conversation: Conversation, request: dict[str, Any]) -> None:
    """Sends the default temperature under a version of the API that rejects even that."""
    if conversation.keys().isdisjoint(SAMPLING) and len(conversation["messages"]) == 1:
        _name_new_version(request)
        request["body"]["temperature"] = 1


@mutants.body(
    "anthropic-messages",
    "bedrock-converse",
    kind="field-to-another-host",
    fails=("**:body.temperature", "**:body.inferenceConfig.temperature"),
)
def temperature_for_every_model(conversation: Conversation, body: Body) -> None:
    """Sends a temperature to models that accept only the default."""
    if "temperature" in conversation:
        holder = body if "model" in body else body.setdefault("inferenceConfig", {})
        holder["temperature"] = conversation["temperature"]


@mutants.body("openai-chat", kind="field-to-another-host", fails=_BODY)
def sampling_for_every_model(conversation: Conversation, body: Body) -> None:
    """Sends sampling options to models that accept only the defaults."""
    body |= {name: conversation[name] for name in SAMPLING if name in conversation}


@mutants.request("anthropic-messages", kind="field-to-another-host", fails=_BODY)
def new_version_with_documents(conversation: Conversation, request: dict[str, Any]) -> None:
    """Sends an earlier answer's document back under a version of the API that rejects it there."""
    if conversation.keys().isdisjoint(SAMPLING):
        _name_new_version(request)


@mutants.request("anthropic-messages", kind="field-to-another-host", fails=_BODY)
def new_version_with_citations(conversation: Conversation, request: dict[str, Any]) -> None:
    """Sends a user's text with citations under a version of the API that rejects them there."""
    parts = [
        part
        for message in conversation["messages"]
        if message["role"] == "user" and not isinstance(message["content"], str)
        for part in message["content"]
        if part.get("citations") and part["type"] == "text"
    ]
    if parts:
        _name_new_version(request)
    for message in request["body"]["messages"]:
        for block in message["content"] if parts and message["role"] == "user" else ():
            if block.get("text") == parts[0]["text"]:
                block["citations"] = [citation["data"] for citation in parts[0]["citations"]]


@mutants.request("anthropic-messages", kind="field-to-another-host", fails=("**:body.model",))
def model_in_the_body_on_vertex(conversation: Conversation, request: dict[str, Any]) -> None:
    """Sends the model to Vertex AI in the body too."""
    request["body"]["model"] = conversation["model"]


@mutants.request("openai-chat", kind="field-to-another-host", fails=("**:path",))
def deployment_without_a_version(conversation: Conversation, request: dict[str, Any]) -> None:
    """Sends a request to a deployment on Azure without the version that it needs."""
    if request["path"].startswith("/openai/"):
        request["path"] = f"/openai/deployments/{conversation['model']}/chat/completions"


@mutants.request("openai-responses", kind="field-to-another-host", fails=("**:path",))
def cloud_without_v1(_: Conversation, request: dict[str, Any]) -> None:
    """Sends a request to Bedrock's runtime under another prefix."""
    request["path"] = request["path"].replace("/openai/v1/", "/openai/")
