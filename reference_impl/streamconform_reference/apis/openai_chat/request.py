"""Build the body of `POST /v1/chat/completions` from a conversation, for OpenAI and compatible hosts.

Source: https://platform.openai.com/docs/api-reference/chat/create, the types in the `openai` package
(3.54.0), and the hosts' documentation: https://api-docs.deepseek.com/guides/thinking_mode,
https://openrouter.ai/docs/use-cases/reasoning-tokens, https://docs.z.ai/guides/capabilities/thinking-mode,
https://docs.mistral.ai/api; badlogic/pi-mono for other fields that they reject.

- An answer is one message: its text, then its calls. The results follow directly, one message per result, and
  then the user's text. Results are text only: each one mentions its images, which are sent in a user message
  after the last result.
- OpenAI has no field for thinking. The hosts in `_HOSTS_WITH_ECHO` require it to be sent back, under their
  own name for it.
- Some fields are OpenAI's own, and other hosts reject them: `store`, the cache retention, and the role
  `developer`, which replaces `system` for models that think. If no host is given, none of them is sent.
- Without tools, no tool choice is sent, because the API would reject it.
- OpenAI's models accept sampling options only if they do not think (vercel/ai#10932); models that always
  think never accept them. `top_k` is not OpenAI's.
- Files are given as a data URL or by id; images also by address. A document that is plain text is text.
- Cache points are OpenAI's own, and so is the name `safety_identifier` for the end user.
- Azure and Bedrock have the same API under `/openai/v1`.
- The cache key has at most 64 characters; a longer name is hashed, not truncated, because two names may
  share a prefix.
- DeepSeek requires `reasoning_content` with calls even without thinking (camel-ai/camel#4028).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

from streamconform_reference.requests.conversation import (
    MEDIA,
    AnswerTurn,
    Block,
    Conversation,
    SystemTurn,
    ToolResult,
    UserTurn,
    arguments_text,
    filter_images,
    find_url,
    format_data_url,
    is_client_call,
    is_free_text,
    join_text,
    part_text,
    read_turns,
)
from streamconform_reference.requests.errors import invalid_request
from streamconform_reference.requests.fields import join_path, read_positive
from streamconform_reference.requests.option_table import (
    Option,
    collect_options,
    read_choice_of,
    read_kind,
    read_name,
    write_options,
)
from streamconform_reference.requests.options import (
    Request,
    ThinkingOptions,
    build_description,
    build_function_tool,
    build_strict,
    can_think,
    find_tool_kind,
    format_bearer,
    is_on_host,
    make_request,
    read_facts,
    read_grammar,
    read_output_schema,
    read_thinking,
)

from .details import DETAILS

API: Final = "openai-chat"
_RETENTIONS: Final = {"24h": "long", "in_memory": "short", "in-memory": "short"}


def _read_stop(holder: Mapping[str, Any], key: str, parent: str) -> Any:
    """Return stop sequences as a list; a single one may be given as a string."""
    value = holder.get(key)
    if isinstance(value, str):
        return [value]
    if value is not None and not (isinstance(value, list) and all(isinstance(part, str) for part in value)):
        raise invalid_request(f"{join_path(parent, key)}: expected a string or a list of strings")
    return value


OPTIONS: Final = (
    Option("parallel_tool_calls", "parallel_tool_calls", read_kind("true or false")),
    Option("max_tokens", "max_completion_tokens", read_positive),
    Option("max_tokens", "max_tokens", read_positive),
    Option("temperature", "temperature", read_kind("number")),
    Option("seed", "seed"),
    Option("presence_penalty", "presence_penalty"),
    Option("frequency_penalty", "frequency_penalty"),
    Option("service_tier", "service_tier"),
    Option("metadata", "metadata"),
    Option("session", "prompt_cache_key", read_name),
    Option("cache", "prompt_cache_retention", read_choice_of(_RETENTIONS), written=False),
    Option("stream", "stream", read_kind("true or false")),
    Option("stop", "stop", _read_stop),
    Option("top_p", "top_p", read_kind("number")),
    # Not in OpenAI's API, but other servers accept it.
    Option("top_k", "top_k", read_kind("count"), written=False),
    Option("user", "user", read_kind("text"), written=False),
    Option("effort", "reasoning_effort"),  # in a conversation, the effort is an option of thinking
)
_OPTIONS_OF_OLD_HOSTS: Final = tuple(option for option in OPTIONS if option.path != "max_completion_tokens")
IDS: Final = r"[\s\S]{1,40}"
OPENAI: Final = "openai.com"
_MISTRAL: Final = "mistral.ai"
_MISTRAL_IDS: Final = "[a-zA-Z0-9]{9}"

# Hosts that know only the older name of the limit.
_HOSTS_WITH_OLD_LIMIT: Final = (
    "chutes.ai",
    _MISTRAL,
    "deepseek.com",
    "z.ai",
    "bigmodel.cn",
    "moonshot.ai",
    "moonshot.cn",
)
# Hosts that require thinking to be sent back; OpenRouter requires its signatures too.
_HOSTS_WITH_ECHO: Final = (
    "deepseek.com",
    "moonshot.ai",
    "moonshot.cn",
    "z.ai",
    "bigmodel.cn",
    "fireworks.ai",
)
_HOSTS_WITH_DETAILS: Final = ("openrouter.ai",)
_DEEPSEEK: Final = "deepseek.com"
# Hosts that switch thinking on and off with an object.
_HOSTS_WITH_SWITCH: Final = ("deepseek.com", "moonshot.ai", "moonshot.cn", "z.ai", "bigmodel.cn")

# Clouds that offer OpenAI's API.
_CLOUDS: Final = ("openai.azure.com", "amazonaws.com")

AUDIO_FORMATS: Final = {"audio/wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
DEFAULT_FILENAME: Final = "document"
_MAX_CACHE_KEY: Final = 64
IMAGES_FOLLOW: Final = "(the images of this result follow the results)"
_IMAGES_TITLE: Final = "Images from the result of {name}:"


def build_request(conversation: Conversation) -> Request:
    """Return the request for a conversation."""
    body: dict[str, Any] = {"model": conversation["model"], "messages": list(build_messages(conversation))}
    if conversation.get("tools"):
        body["tools"] = [build_tool(entry) for entry in conversation["tools"]]
        if "tool_choice" in conversation:
            body["tool_choice"] = _build_tool_choice(conversation)
        if "parallel_tool_calls" in conversation:
            body["parallel_tool_calls"] = conversation["parallel_tool_calls"]
    options = read_thinking(conversation)
    if options:
        body |= build_thinking(conversation, options)
    table = _OPTIONS_OF_OLD_HOSTS if is_on_host(conversation, *_HOSTS_WITH_OLD_LIMIT) else OPTIONS
    sampling = accepts_sampling(conversation, options)
    write_options(table, collect_options(conversation, sampling=sampling), body)
    body |= build_user(conversation)
    if sampling and "logprobs" in conversation:
        body |= {"logprobs": True, "top_logprobs": conversation["logprobs"]}
    if "top_k" in conversation and _is_foreign(conversation):
        body["top_k"] = conversation["top_k"]
    output = read_output_schema(conversation)
    if output:
        schema = {"name": output.name, "schema": output.schema, **output.build_strict()}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    body |= _build_storage(conversation)
    if body["stream"]:
        body["stream_options"] = {"include_usage": True}
    return make_request(f"{find_prefix(conversation)}/chat/completions", body, authorization=format_bearer())


def find_prefix(conversation: Conversation) -> str:
    """Return the beginning of the path on the host; also used for Responses."""
    return "/openai/v1" if is_on_host(conversation, *_CLOUDS) else "/v1"


def build_user(conversation: Conversation) -> dict[str, Any]:
    """Return the id of the end user as a field; also used for Responses."""
    key = "user" if _is_foreign(conversation) else "safety_identifier"
    return {key: conversation["user"]} if "user" in conversation else {}


def build_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool in the API's format."""
    if "format" in tool:
        grammar = read_grammar(tool)
        form = {"format": {"type": "grammar", "grammar": grammar}} if grammar else {}
        return {"type": "custom", "custom": {"name": tool["name"], **build_description(tool), **form}}
    form = build_function_tool(tool)
    return {**form, "function": {**form["function"], **build_strict(tool)}}


def _build_tool_choice(conversation: Conversation) -> Any:
    """Return the tool choice, which is a string unless it names tools."""
    requested = conversation["tool_choice"]
    if isinstance(requested, str):
        return requested
    if "allowed" in requested:
        tools = [_name_tool(conversation, name) for name in requested["allowed"]]
        return {"type": "allowed_tools", "allowed_tools": {"mode": requested["mode"], "tools": tools}}
    return _name_tool(conversation, requested["name"])


def _name_tool(conversation: Conversation, name: str) -> dict[str, Any]:
    kind = find_tool_kind(conversation, name)
    return {"type": kind, kind: {"name": name}}


def build_thinking(conversation: Conversation, options: ThinkingOptions) -> dict[str, Any]:
    """Return the thinking options in the host's format."""
    if is_on_host(conversation, *_HOSTS_WITH_DETAILS):
        if options.off:
            return {"reasoning": {"effort": "none"}}
        if options.by_budget and options.budget:
            return {"reasoning": {"max_tokens": options.budget}}
        hidden = {"exclude": True} if options.display == "omitted" else {}
        return {"reasoning": ({"effort": options.effort} if options.effort else {"enabled": True}) | hidden}
    if is_on_host(conversation, *_HOSTS_WITH_SWITCH):
        switch: dict[str, Any] = {"thinking": {"type": "disabled" if options.off else "enabled"}}
        leveled = options.effort and is_on_host(conversation, _DEEPSEEK)
        return switch | ({"reasoning_effort": options.effort} if leveled else {})
    effort = "none" if options.off else options.effort
    return {"reasoning_effort": effort} if effort else {}


def accepts_sampling(conversation: Conversation, options: ThinkingOptions | None) -> bool:
    """Whether the model accepts sampling options with these thinking options; also used for Responses."""
    if read_facts(conversation).get("thinking") == "always":
        return False
    return options is None or options.off or _is_foreign(conversation)


def _build_storage(conversation: Conversation) -> dict[str, Any]:
    """Return the storage fields: answers are not stored, and the cache is keyed by session."""
    fields: dict[str, Any] = {"store": False} if is_on_host(conversation, OPENAI) else {}
    return fields | build_cache(conversation)


def build_cache(conversation: Conversation) -> dict[str, Any]:
    """Return the cache fields, which only OpenAI supports; also used for Responses."""
    cache = conversation.get("cache")
    if cache == "none" or _is_foreign(conversation):
        return {}
    fields: dict[str, Any] = {}
    if conversation.get("session"):
        fields["prompt_cache_key"] = _compute_cache_key(conversation["session"])
    if cache == "long" and is_on_host(conversation, "api.openai.com"):
        fields["prompt_cache_retention"] = "24h"
    return fields


def _compute_cache_key(session: str) -> str:
    """Return the session's name, or its digest if it is too long."""
    long = len(session) > _MAX_CACHE_KEY
    return sha256(session.encode("utf-8", "surrogatepass")).hexdigest() if long else session


def _is_foreign(conversation: Conversation) -> bool:
    """Whether the host is known and not OpenAI."""
    return "host" in read_facts(conversation) and not is_on_host(conversation, OPENAI)


def build_messages(conversation: Conversation) -> Iterator[dict[str, Any]]:
    """Yield the messages."""
    if conversation.get("system"):
        yield build_system_message(conversation, conversation["system"])
    ids = _MISTRAL_IDS if is_on_host(conversation, _MISTRAL) else IDS
    for turn in read_turns(conversation, API, ids=ids):
        if isinstance(turn, UserTurn):
            yield {"role": "user", "content": build_user_content(turn.parts, conversation)}
            continue
        if isinstance(turn, SystemTurn):
            yield build_system_message(conversation, turn.text)
            continue
        content = build_answer(conversation, turn)
        if content:
            yield content
        yield from (build_tool_message(result) for result in turn.results)
        images = list(build_result_images(turn.results))
        if images:
            yield {"role": "user", "content": images}


def build_system_message(conversation: Conversation, text: str) -> dict[str, Any]:
    """Return the message for instructions; models that think have another name for the role."""
    developer = can_think(conversation) and is_on_host(conversation, OPENAI)
    return {"role": "developer" if developer else "system", "content": text}


def build_user_content(parts: Sequence[Block], conversation: Conversation) -> Any:
    """Return the user's content; text alone becomes plain text, which every host accepts."""
    sent = [
        _build_user_part(part) | build_breakpoint(conversation, part.get("cache"))
        for part in parts
        if part["type"] in MEDIA or part_text(part)
    ]
    return join_text(parts) if all(part.keys() == {"type", "text"} for part in sent) else sent


def _build_user_part(part: Block) -> dict[str, Any]:
    """Return a part of a user message; a file that the API cannot take is named in a text."""
    match part["type"]:
        case "image" if (url := find_url(part)) is not None:
            return {"type": "image_url", "image_url": {"url": url}}
        case "audio" if "data" in part and part["media_type"] in AUDIO_FORMATS:
            audio = {"data": part["data"], "format": AUDIO_FORMATS[part["media_type"]]}
            return {"type": "input_audio", "input_audio": audio}
        case "image" | "document" if "file_id" in part:
            return {"type": "file", "file": {"file_id": part["file_id"]}}
        case "document" if "data" in part:
            name = part.get("title", DEFAULT_FILENAME)
            return {"type": "file", "file": {"filename": name, "file_data": format_data_url(part)}}
        case _:
            return {"type": "text", "text": part_text(part)}


def build_breakpoint(conversation: Conversation, keep: str | None) -> dict[str, Any]:
    """Return the end of a cached prefix as a field; also used for Responses."""
    if keep is None or _is_foreign(conversation):
        return {}
    return {"prompt_cache_breakpoint": {"mode": "explicit", **({"ttl": "12h"} if keep == "long" else {})}}


def build_answer(conversation: Conversation, turn: AnswerTurn) -> dict[str, Any] | None:
    """Return an answer's message, or None if it would be empty."""
    texts = [block["text"] for block in turn.blocks if block["type"] == "text"]
    refusals = [block["text"] for block in turn.blocks if block["type"] == "refusal"]
    calls = [build_tool_call(block) for block in turn.blocks if is_client_call(block)]
    if not turn.by_same_model or _is_foreign(conversation):
        texts, refusals = texts + refusals, []
    message: dict[str, Any] = {"role": "assistant", "content": "".join(texts) or None}
    if refusals:
        message["refusal"] = "".join(refusals)
    message |= _build_echo(conversation, turn.blocks, calls=bool(calls))
    if calls:
        message["tool_calls"] = calls
    return message if texts or refusals or calls else None


def _build_echo(conversation: Conversation, blocks: Sequence[Block], *, calls: bool) -> dict[str, Any]:
    """Return the thinking as a field, if the host requires it back; OpenRouter's details are unmodified."""
    thoughts = [block for block in blocks if block["type"] == "thinking"]
    if thoughts and is_on_host(conversation, *_HOSTS_WITH_DETAILS):
        kept = next((block["data"] for block in blocks if block.get("kind") == DETAILS), None)
        return {DETAILS: kept or [_build_detail(block) for block in thoughts]}
    text = "".join(block.get("text") or "" for block in thoughts)
    options = read_thinking(conversation)
    empty = calls and options is not None and not options.off and is_on_host(conversation, _DEEPSEEK)
    return (
        {"reasoning_content": text} if empty or (text and is_on_host(conversation, *_HOSTS_WITH_ECHO)) else {}
    )


def _build_detail(block: Block) -> dict[str, Any]:
    """Return thinking as an OpenRouter detail: encrypted, or text with its signature."""
    if not block.get("text"):
        return {"type": "reasoning.encrypted", "data": block["signature"]}
    signed = {"signature": block["signature"]} if block.get("signature") else {}
    return {"type": "reasoning.text", "text": block["text"], **signed}


def build_tool_call(call: Block) -> dict[str, Any]:
    """Return a call in the API's format."""
    if is_free_text(call):
        custom = {"name": call["name"], "input": call["arguments"]}
        return {"id": call["id"], "type": "custom", "custom": custom}
    function = {"name": call["name"], "arguments": arguments_text(call)}
    signature = call.get("signature")
    signed = {"extra_content": {"google": {"thought_signature": signature}}} if signature else {}
    return {"id": call["id"], "type": "function", "function": function, **signed}


def build_tool_message(result: ToolResult) -> dict[str, Any]:
    """Return the message for a result."""
    content = join_text(result.parts)
    if filter_images(result.parts):
        content = f"{content}\n{IMAGES_FOLLOW}" if content else IMAGES_FOLLOW
    return {"role": "tool", "tool_call_id": result.id, "content": content}


def build_result_images(results: Iterable[ToolResult]) -> Iterator[dict[str, Any]]:
    """Yield the parts of the message that contains the results' images."""
    for result in results:
        images = filter_images(result.parts)
        if images:
            yield {"type": "text", "text": _IMAGES_TITLE.format(name=result.name)}
        yield from map(_build_user_part, images)
