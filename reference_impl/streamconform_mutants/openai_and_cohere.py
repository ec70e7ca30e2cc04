"""Mutants of Chat Completions, of Responses and of Cohere, which have the same bugs in other forms."""

from __future__ import annotations

from typing import Any, Final

from streamconform_reference.apis.openai_responses.calls import CALLS
from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload
from streamconform_reference.outcome import Json

from .every_api import SomeApis
from .json_values import drop_key, object_at
from .model import BOTH, CONTENT, GIVES_UP, STOP_REASON, USAGE

_OPENAI: Final = ("openai-chat", "openai-responses")
_ALL: Final = (*_OPENAI, "cohere-chat")
_CHOICE: Final = {"index", "delta", "message", "finish_reason", "logprobs"}
_ITEMS: Final = {"message", "reasoning", *CALLS}
_COHERE_PARTS: Final = {"text", "thinking"}
_STARTS: Final = ("tool-call-start", "response.output_item.added")
_ENDS: Final = {"response.output_item.done", "content-end", "tool-call-end"}


mutants = SomeApis()


def _choices(payload: Payload) -> list[Payload]:
    return [choice for choice in payload.get("choices") or () if isinstance(choice, dict)]


def _items(payload: Payload) -> list[Payload]:
    """Return the output items in a payload of Responses."""
    output = object_at(payload, "response").get("output") or ()
    return [item for item in [object_at(payload, "item"), *output] if item]


# Bytes


# Forms of values


@mutants.payloads(*_ALL, kind="unknown-fatal", paths=BOTH, fails=GIVES_UP)
def unknown_kind_fatal(payload: Payload) -> Payload:
    """Fails on a member of a choice, a type of an item, or a type of a part that it does not know."""
    message = object_at(object_at(payload, "delta"), "message")
    part = object_at(message, "content").get("type", "text")
    if (
        any(not choice.keys() <= _CHOICE for choice in _choices(payload))
        or any(item.get("type") not in _ITEMS for item in _items(payload))
        or (payload.get("type") == "content-start" and part not in _COHERE_PARTS)
    ):
        raise BrokenPayloadError("unknown member or type")
    return payload


@mutants.payloads(*_ALL, kind="absent-fatal", paths=BOTH, fails=GIVES_UP)
def usage_required(payload: Payload) -> Payload:
    """Fails if the end of an answer has no usage, or the usage has no details."""
    usages = {
        "response.completed": (object_at(payload, "response"), "input_tokens_details"),
        "message-end": (object_at(payload, "delta"), "tokens"),
    }
    holder, details = usages.get(str(payload.get("type")), (payload, "prompt_tokens_details"))
    ends = holder is not payload or payload.get("object") == "chat.completion" or payload.get("usage")
    if ends and not object_at(object_at(holder, "usage"), details):
        raise BrokenPayloadError("the usage is incomplete")
    return payload


@mutants.payloads("openai-chat", kind="old-form-unread", paths=BOTH, fails=(*CONTENT, *STOP_REASON))
def function_call_unread(payload: Payload) -> Payload:
    """Reads `tool_calls`, but not the `function_call` of older models."""
    changed: Payload = drop_key(payload, "function_call")
    return changed


@mutants.payloads(
    "openai-responses", kind="old-form-unread", paths=("document",), fails=(*CONTENT, *STOP_REASON)
)
def single_action_unread(payload: Payload) -> Payload:
    """Reads a call of the computer tool only if it has a list of actions."""
    response = object_at(payload, "response")
    output = [
        item
        for item in response.get("output") or ()
        if item.get("type") != "computer_call" or "actions" in item
    ]
    return {**payload, "response": {**response, "output": output}} if "output" in response else payload


# The end


@mutants.decoder(*_ALL, kind="end-too-early", fails=GIVES_UP)
class FirstEndEnds:
    """Ends the answer with its first block, item or reason, before what follows."""

    message: Any

    def read(self, payload: Payload) -> None:
        super().read(payload)  # type: ignore[misc]
        if payload.get("type") in _ENDS or any(choice.get("finish_reason") for choice in _choices(payload)):
            self.message.complete()


# Calls and content


@mutants.payloads(*_OPENAI, kind="arguments-lost", paths=BOTH, fails=(*CONTENT, *STOP_REASON))
def custom_input_unread(payload: Payload) -> Payload:
    """Reads a custom call's input from the deltas of Responses alone, not where a member has it."""
    changed: Payload = drop_key(payload, "input")
    return changed


@mutants.payloads("cohere-chat", kind="identity-trusted", fails=GIVES_UP)
def index_required(payload: Payload) -> Payload:
    """Fails on an event of a block or a call that has no index."""
    if str(payload.get("type")).startswith(("content-", "tool-call-")) and "index" not in payload:
        raise BrokenPayloadError("no index")
    return payload


@mutants.decoder("cohere-chat", kind="identity-trusted", fails=CONTENT)
class CallsById:
    """Keeps calls by their id, so the second of two calls with the same id is lost."""

    known: frozenset[str] = frozenset()
    lost: object = None

    def read(self, payload: Payload) -> None:
        if payload.get("type") == "tool-call-start":
            name = object_at(object_at(object_at(payload, "delta"), "message"), "tool_calls").get("id")
            self.lost = payload.get("index") if name in self.known else None
            self.known |= {name} if name else set()
        if self.lost is None or payload.get("index") != self.lost:
            super().read(payload)  # type: ignore[misc]


@mutants.decoder("cohere-chat", "openai-responses", kind="identity-trusted", fails=GIVES_UP)
class IndexUsedTwiceFatal:
    """Fails on a call or an item whose index another one had."""

    used: frozenset[object] = frozenset()

    def read(self, payload: Payload) -> None:
        kind, index = payload.get("type"), payload.get("index", payload.get("output_index"))
        if kind in _STARTS and index is not None:
            if index in self.used:
                raise BrokenPayloadError("two calls or items have one index")
            self.used |= {index}
        super().read(payload)  # type: ignore[misc]


@mutants.decoder("cohere-chat", "openai-responses", kind="order-trusted", fails=GIVES_UP)
class StrayEndFatal:
    """Fails on the end of a call or an item that is not open."""

    open: frozenset[object] = frozenset()

    def read(self, payload: Payload) -> None:
        kind, index = payload.get("type"), payload.get("index", payload.get("output_index"))
        if kind in _STARTS:
            self.open |= {index}
        elif kind in ("tool-call-end", "response.output_item.done"):
            if index not in self.open:
                raise BrokenPayloadError("no such call or item is open")
            self.open -= {index}
        super().read(payload)  # type: ignore[misc]


@mutants.decoder("openai-chat", kind="identity-trusted", fails=CONTENT)
class ChatCallOfAKnownIdLost:
    """Keeps calls by their id, so the second of two calls with the same id is lost."""

    def begin(self) -> None:
        self.indices: dict[str, object] = {}
        self.lost: set[object] = set()
        super().begin()  # type: ignore[misc]

    def read(self, payload: Payload) -> None:
        for delta in [object_at(choice, "delta") for choice in _choices(payload)]:
            entries = delta.get("tool_calls")
            if isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries):
                delta["tool_calls"] = [entry for entry in entries if not self._is_lost(entry)]
        super().read(payload)  # type: ignore[misc]

    def _is_lost(self, entry: Payload) -> bool:
        identity, index = entry.get("id"), entry.get("index")
        if identity and self.indices.setdefault(identity, index) != index:
            self.lost.add(index)
        return index in self.lost


@mutants.outcome("openai-chat", kind="absent-fatal", paths=("stream",), fails=GIVES_UP)
def announced_call_required(outcome: Json) -> None:
    """Fails on an answer whose stop reason announces a call that is not there."""
    calls = [block for block in outcome["content"] if block["type"] == "tool_call"]
    if outcome["stop"]["raw"] == "tool_calls" and not calls:
        error = {"type": "protocol", "message": "", "status": None}
        outcome |= {"status": "error", "content": [], "error": error}


@mutants.outcome("openai-chat", kind="thinking-as-text", fails=CONTENT)
def think_tags_expected(outcome: Json) -> None:
    """Takes an answer without a closing think tag for thinking, and removes the tags from other answers."""
    for block in outcome["content"]:
        if block["type"] == "text" and "</think>" in block["text"]:
            block["text"] = block["text"].replace("<think>", "").replace("</think>", "")
        elif block["type"] == "text":
            block |= {"type": "thinking", "redacted": False, "signature": None}


@mutants.payloads("openai-chat", kind="absent-fatal", fails=GIVES_UP)
def empty_content_fatal(payload: Payload) -> Payload:
    """Fails on an empty text, or an empty fragment of arguments, without anything else."""
    for choice in _choices(payload):
        delta = object_at(choice, "delta")
        functions = [object_at(call, "function") for call in delta.get("tool_calls") or ()]
        if [*delta.values()] == [""] or {"arguments": ""} in functions:
            raise BrokenPayloadError("an empty delta")
    return payload


@mutants.payloads("cohere-chat", kind="absent-fatal", fails=GIVES_UP)
def empty_delta_fatal(payload: Payload) -> Payload:
    """Takes an empty text or fragment for a missing one, and fails."""
    message = object_at(object_at(payload, "delta"), "message")
    values = [*object_at(message, "content").values()]
    values += object_at(object_at(message, "tool_calls"), "function").values()
    if str(payload.get("type")).endswith("-delta") and "" in values:
        raise BrokenPayloadError("an empty delta")
    return payload


@mutants.payloads("openai-responses", "cohere-chat", kind="identity-joined", fails=CONTENT)
def names_of_both_ends_joined(payload: Payload) -> Payload:
    """Joins the name in the first event of a call with the one that its last event repeats."""
    if payload.get("type") in ("response.output_item.added", "response.output_item.done"):
        item = object_at(payload, "item")
        return {**payload, "item": {**item, "name": item["name"] * 2} if "name" in item else item}
    delta = object_at(payload, "tool_call_delta")
    return (
        {**payload, "tool_call_delta": {**delta, "name": delta["name"] * 2}} if "name" in delta else payload
    )


@mutants.payloads(
    "openai-chat",
    "cohere-chat",
    kind="final-content-unread",
    fails=(*CONTENT, *STOP_REASON, "**:error.message"),
)
def whole_answer_unread(payload: Payload) -> Payload:
    """Ignores the whole answer at the end, although some servers send nothing else."""
    if "choices" in payload and payload.get("object") != "chat.completion":
        choices = [drop_key(choice, "message") for choice in _choices(payload)]
        return {**payload, "choices": choices}
    if payload.get("event_type") == "stream-end":
        return drop_key(drop_key(payload, "text"), "tool_calls")  # type: ignore[no-any-return]
    return payload


@mutants.payloads("openai-responses", kind="details-lost", paths=BOTH, fails=CONTENT)
def phases_unread(payload: Payload) -> Payload:
    """Reads messages without their phase."""
    changed: Payload = drop_key(payload, "phase")
    return changed


@mutants.payloads("openai-responses", kind="parts-glued", paths=("document",), fails=CONTENT)
def summaries_glued(payload: Payload) -> Payload:
    """Joins the parts of a whole summary without a separator."""
    for item in _items(payload):
        if item.get("type") == "reasoning" and item.get("summary"):
            text = "".join(part["text"] for part in item["summary"])
            item["summary"] = [{"type": "summary_text", "text": text}]
    return payload


@mutants.outcome("openai-responses", "cohere-chat", kind="thoughts-split", fails=CONTENT)
def thought_per_word(outcome: Json) -> None:
    """Makes a block of each delta of a thought, which is a word."""
    content = []
    for block in outcome["content"]:
        words = block["text"].split(" ") if block["type"] == "thinking" else ()
        content += [{**block, "text": word} for word in words] or [block]
    outcome["content"] = content


# Usage


@mutants.decoder("openai-responses", kind="usage-outdated", fails=USAGE)
class EarlyUsageKept:
    """Keeps the first report of the usage, so the last one is ignored."""

    first: Any = None

    def read(self, payload: Payload) -> None:
        response = object_at(payload, "response")
        self.first = self.first or response.get("usage")
        if response.get("usage"):
            payload = {**payload, "response": {**response, "usage": self.first}}
        super().read(payload)  # type: ignore[misc]


@mutants.payloads(*_OPENAI, kind="other-counts", paths=BOTH, fails=USAGE)
def total_as_output(payload: Payload) -> Payload:
    """Takes the total, which contains the input, for the output."""
    for holder, name in ((payload, "completion_tokens"), (object_at(payload, "response"), "output_tokens")):
        usage = object_at(holder, "usage")
        if name in usage and "total_tokens" in usage:
            usage[name] = usage["total_tokens"]
    return payload


@mutants.payloads("cohere-chat", kind="other-counts", paths=BOTH, fails=USAGE)
def tokens_as_billed(payload: Payload) -> Payload:
    """Takes every token that the model read and wrote for a billed one."""
    holders = (object_at(payload, "delta"), object_at(payload, "response"))
    for counts in [object_at(holder, key) for holder in holders for key in ("usage", "meta")]:
        if "tokens" in counts:
            counts["billed_units"] = counts["tokens"]
    return payload


@mutants.payloads("cohere-chat", kind="cache-counted-twice", paths=BOTH, fails=USAGE)
def cached_beside_billed(payload: Payload) -> Payload:
    """Adds the cached tokens to the billed ones, which already contain what they cost."""
    usage = object_at(object_at(payload, "delta"), "usage")
    billed = object_at(usage, "billed_units")
    if "input_tokens" in billed:
        billed["input_tokens"] += usage.get("cached_tokens") or 0
    return payload


@mutants.payloads(*_OPENAI, kind="price-variant-ignored", paths=BOTH, fails=("**:cost.**",))
def tier_ignored(payload: Payload) -> Payload:
    """Bills every request at the standard price, whatever tier served it."""
    changed: Payload = drop_key(payload, "service_tier")
    return changed
