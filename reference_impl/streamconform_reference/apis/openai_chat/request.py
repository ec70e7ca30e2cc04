"""A conversation in, the body of `POST /v1/chat/completions` out, for OpenAI and hosts that speak like it.

Source: https://platform.openai.com/docs/api-reference/chat/create, the types of the `openai` package 3.54.0,
and what hosts document: https://api-docs.deepseek.com/guides/thinking_mode,
https://openrouter.ai/docs/use-cases/reasoning-tokens, https://docs.z.ai/guides/capabilities/thinking-mode,
https://docs.mistral.ai/api; badlogic/pi-mono for what else they refuse.

- An answer is one message: its text, then its calls. The results follow it directly, one message each, and
  then what the user says. A result is text: of its images it says that they follow, and they do, in a
  message of the user behind the last result.
- Thinking has no place at OpenAI. The hosts in `ECHOED` want it back, under the name by which they sent it.
- Some fields are OpenAI's own, and other hosts refuse them: `store`, how long the cache is kept, and the
  role `developer`, which is the system's for models that think. Where no host is named, none is promised.
- Without tools there is no choice of them, which the api refuses.
- Models of OpenAI take a temperature only while they do not think (vercel/ai#10932); one that always does,
  takes none anywhere.
- The key of the cache has at most 64 characters; a longer name is hashed, since two may begin alike.
- DeepSeek wants `reasoning_content` at calls even where nothing was thought (camel-ai/camel#4028).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

from streamconform_reference.requests.conversation import (
    AnswerTurn,
    Block,
    Conversation,
    Result,
    UserTurn,
    arguments_text,
    data_url,
    images_of,
    is_client_call,
    is_free_text,
    part_text,
    text_of,
    turns,
)
from streamconform_reference.requests.options import (
    Request,
    Thinking,
    bearer,
    facts,
    function_tool,
    is_thinker,
    limit,
    on_host,
    streamed,
    strictness,
    thinking,
    to_json,
)

API: Final = "openai-chat"
IDS: Final = r"[\s\S]{1,40}"
OPENAI: Final = "openai.com"
MISTRAL: Final = "mistral.ai"
MISTRAL_IDS: Final = "[a-zA-Z0-9]{9}"

# Hosts that know the limit by its older name only.
OLD_LIMIT: Final = ("chutes.ai", MISTRAL, "deepseek.com", "z.ai", "bigmodel.cn", "moonshot.ai", "moonshot.cn")
# Hosts that want thinking back; OpenRouter wants it with what signs it.
ECHOED: Final = ("deepseek.com", "moonshot.ai", "moonshot.cn", "z.ai", "bigmodel.cn", "fireworks.ai")
DETAILED: Final = ("openrouter.ai",)
DEEPSEEK: Final = "deepseek.com"
# Hosts that switch thinking on and off by an object.
SWITCHED: Final = ("deepseek.com", "moonshot.ai", "moonshot.cn", "z.ai", "bigmodel.cn")

LONGEST_KEY: Final = 64
IMAGES_FOLLOW: Final = "(the images of this result follow behind the results)"
IMAGES_OF: Final = "Images of the result of {name}:"


def build(conversation: Conversation) -> Request:
    """Return the request."""
    body: dict[str, Any] = {"model": conversation["model"], "messages": list(messages(conversation))}
    if conversation.get("tools"):
        body["tools"] = [tool(each) for each in conversation["tools"]]
        if "tool_choice" in conversation:
            body["tool_choice"] = tool_choice(conversation["tool_choice"])
        if "parallel_tool_calls" in conversation:
            body["parallel_tool_calls"] = conversation["parallel_tool_calls"]
    if "max_tokens" in conversation:
        old = on_host(conversation, *OLD_LIMIT)
        body["max_tokens" if old else "max_completion_tokens"] = limit(conversation)
    wish = thinking(conversation)
    if wish:
        body |= thinking_fields(conversation, wish)
    if "temperature" in conversation and takes_temperature(conversation, wish):
        body["temperature"] = conversation["temperature"]
    body |= kept_fields(conversation)
    body["stream"] = streamed(conversation)
    if body["stream"]:
        body["stream_options"] = {"include_usage": True}
    return to_json("/v1/chat/completions", body, authorization=bearer())


def tool(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool."""
    form = function_tool(given)
    return {**form, "function": {**form["function"], **strictness(given)}}


def tool_choice(asked: str | Mapping[str, Any]) -> Any:
    """Return the choice, which is a word unless it names a tool."""
    if isinstance(asked, str):
        return asked
    return {"type": "function", "function": {"name": asked["name"]}}


def thinking_fields(conversation: Conversation, wish: Thinking) -> dict[str, Any]:
    """Return what tells the model how to think, in the host's words."""
    if on_host(conversation, *DETAILED):
        if wish.off:
            return {"reasoning": {"effort": "none"}}
        if wish.by_budget and wish.budget:
            return {"reasoning": {"max_tokens": wish.budget}}
        return {"reasoning": {"effort": wish.effort} if wish.effort else {"enabled": True}}
    if on_host(conversation, *SWITCHED):
        switch: dict[str, Any] = {"thinking": {"type": "disabled" if wish.off else "enabled"}}
        leveled = wish.effort and on_host(conversation, DEEPSEEK)
        return switch | ({"reasoning_effort": wish.effort} if leveled else {})
    effort = "none" if wish.off else wish.effort
    return {"reasoning_effort": effort} if effort else {}


def takes_temperature(conversation: Conversation, wish: Thinking | None) -> bool:
    """Whether the model takes a temperature beside what it is told of thinking; Responses does the same."""
    if facts(conversation).get("thinking") == "always":
        return False
    return wish is None or wish.off or is_foreign(conversation)


def kept_fields(conversation: Conversation) -> dict[str, Any]:
    """Return what the host is to keep: answers never, the cache by session."""
    fields: dict[str, Any] = {"store": False} if on_host(conversation, OPENAI) else {}
    return fields | cache_fields(conversation)


def cache_fields(conversation: Conversation) -> dict[str, Any]:
    """Return the fields on the cache, which hosts other than OpenAI do not know; Responses has the same."""
    cache = conversation.get("cache")
    if cache == "none" or is_foreign(conversation):
        return {}
    fields: dict[str, Any] = {}
    if conversation.get("session"):
        fields["prompt_cache_key"] = cache_key(conversation["session"])
    if cache == "long" and on_host(conversation, "api.openai.com"):
        fields["prompt_cache_retention"] = "24h"
    return fields


def cache_key(session: str) -> str:
    """Return the session's name, or its digest where that is too long."""
    long = len(session) > LONGEST_KEY
    return sha256(session.encode("utf-8", "surrogatepass")).hexdigest() if long else session


def is_foreign(conversation: Conversation) -> bool:
    """Whether the host is named, and is not OpenAI."""
    return "host" in facts(conversation) and not on_host(conversation, OPENAI)


def messages(conversation: Conversation) -> Iterator[dict[str, Any]]:
    """Yield the messages."""
    if conversation.get("system"):
        developer = is_thinker(conversation) and on_host(conversation, OPENAI)
        yield {"role": "developer" if developer else "system", "content": conversation["system"]}
    ids = MISTRAL_IDS if on_host(conversation, MISTRAL) else IDS
    for turn in turns(conversation, API, ids=ids):
        if isinstance(turn, UserTurn):
            yield {"role": "user", "content": user_content(turn.parts)}
            continue
        said = answer(conversation, turn)
        if said:
            yield said
        yield from (tool_message(result) for result in turn.results)
        shown = list(result_images(turn.results))
        if shown:
            yield {"role": "user", "content": shown}


def user_content(parts: Sequence[Block]) -> Any:
    """Return what the user says: text alone as text, which every host takes."""
    if not images_of(parts):
        return text_of(parts)
    return [user_part(part) for part in parts if part["type"] == "image" or part_text(part)]


def user_part(part: Block) -> dict[str, Any]:
    """Return a part of what the user says."""
    if part["type"] == "image":
        return {"type": "image_url", "image_url": {"url": data_url(part)}}
    return {"type": "text", "text": part_text(part)}


def answer(conversation: Conversation, turn: AnswerTurn) -> dict[str, Any] | None:
    """Return the message of an answer, None where nothing is left of it."""
    texts = [block["text"] for block in turn.blocks if block["type"] == "text"]
    refusals = [block["text"] for block in turn.blocks if block["type"] == "refusal"]
    calls = [tool_call(block) for block in turn.blocks if is_client_call(block)]
    if not turn.own or is_foreign(conversation):
        texts, refusals = texts + refusals, []
    message: dict[str, Any] = {"role": "assistant", "content": "".join(texts) or None}
    if refusals:
        message["refusal"] = "".join(refusals)
    message |= echoed(conversation, turn.blocks, calls=bool(calls))
    if calls:
        message["tool_calls"] = calls
    return message if texts or refusals or calls else None


def echoed(conversation: Conversation, blocks: Iterable[Block], *, calls: bool) -> dict[str, Any]:
    """Return the thinking that this host wants back, as a field, if it does."""
    thoughts = [block for block in blocks if block["type"] == "thinking"]
    if thoughts and on_host(conversation, *DETAILED):
        return {"reasoning_details": [detail(block) for block in thoughts]}
    text = "".join(block.get("text") or "" for block in thoughts)
    wish = thinking(conversation)
    empty = calls and wish is not None and not wish.off and on_host(conversation, DEEPSEEK)
    return {"reasoning_content": text} if empty or (text and on_host(conversation, *ECHOED)) else {}


def detail(block: Block) -> dict[str, Any]:
    """Return thinking as OpenRouter's detail: encrypted, or text with its signature."""
    if not block.get("text"):
        return {"type": "reasoning.encrypted", "data": block["signature"]}
    signed = {"signature": block["signature"]} if block.get("signature") else {}
    return {"type": "reasoning.text", "text": block["text"], **signed}


def tool_call(call: Block) -> dict[str, Any]:
    """Return a call."""
    if is_free_text(call):
        custom = {"name": call["name"], "input": call["arguments"]}
        return {"id": call["id"], "type": "custom", "custom": custom}
    function = {"name": call["name"], "arguments": arguments_text(call)}
    return {"id": call["id"], "type": "function", "function": function}


def tool_message(result: Result) -> dict[str, Any]:
    """Return the message of a result."""
    said = text_of(result.parts)
    if images_of(result.parts):
        said = f"{said}\n{IMAGES_FOLLOW}" if said else IMAGES_FOLLOW
    return {"role": "tool", "tool_call_id": result.id, "content": said}


def result_images(results: Iterable[Result]) -> Iterator[dict[str, Any]]:
    """Yield the parts of the message that shows the images of results."""
    for result in results:
        images = images_of(result.parts)
        if images:
            yield {"type": "text", "text": IMAGES_OF.format(name=result.name)}
        yield from map(user_part, images)
