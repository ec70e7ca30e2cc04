"""The input of every request builder: a conversation in a neutral form, read as turns.

These rules apply to all APIs:

- An answer and its results are one turn. Results are in the order of the calls, one per call. A call without
  a result gets an error result that says so, because providers reject histories with unanswered calls.
  Results for unknown or omitted calls are omitted.
- An incomplete call is omitted, along with the thinking directly before it: the call was not run, and
  thinking belongs to the block after it. A call that ended but cannot be parsed stays, with its result; its
  text is wrapped in an object, because servers that parse the calls in a history would otherwise reject every
  later request.
- Thinking is sent back only to the model that wrote it, through the same API. For other models it is dropped,
  never shown as text: no provider documents a place for another model's reasoning, and signatures (even those
  of text and calls) are useless to another model. Content that only the provider understands (its own tools,
  citations, phases) is sent back through the same API. So is `echo`, whose members each builder adds.
- Empty blocks are dropped, because Anthropic and Bedrock reject them, and they contain no information.
- Call ids are sent unchanged if the host accepts them and they are unique in the conversation. Other ids are
  rewritten consistently in the call and its result, and in the same way in every later request.

Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls,
https://platform.openai.com/docs/guides/function-calling, and reports: badlogic/pi-mono (other hosts' ids),
BerriAI/litellm#23137 (block order), 1Panel-dev/MaxKB#6683 (a malformed call and its result),
vllm-project/vllm#43995 and OpenHands/software-agent-sdk#2887 (unparseable arguments in a history).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from streamconform_reference.json_text import codec

Block = Mapping[str, Any]
Conversation = Mapping[str, Any]

NO_RESULT: Final = "There is no result for this call."
ANY_ID: Final = r"[\s\S]+"
_BROKEN_INPUT_KEY: Final = "INVALID_JSON"
"""The key that Anthropic's documentation proposes for arguments that are not JSON.

https://platform.claude.com/docs/en/agents-and-tools/tool-use/fine-grained-tool-streaming
"""

_NOT_IN_IDS: Final = re.compile(r"[^a-zA-Z0-9_-]")
_PREFIXES: Final = ("call_", "toolu_", "", "fc_")
_LENGTHS: Final = (24, 32, 40, 64, 16, 9)
_USUAL_LENGTHS: Final = (64, 40)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call; `id` is the id to send."""

    id: str
    name: str
    parts: tuple[Block, ...]
    error: bool = False


@dataclass(frozen=True, slots=True)
class UserTurn:
    """A message of the user."""

    parts: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class SystemTurn:
    """Instructions of the developer between other messages."""

    text: str
    before_user: bool = False
    """Whether the user's next message follows."""


@dataclass(frozen=True, slots=True)
class AnswerTurn:
    """An answer from the model, as outcome blocks, and a result for each of the client's calls."""

    blocks: tuple[Block, ...]
    results: tuple[ToolResult, ...]
    by_same_model: bool
    """Whether the requested model wrote the answer, through this API."""


Turn = UserTurn | SystemTurn | AnswerTurn

MEDIA: Final = ("image", "document", "audio")
"""The types of parts that are files."""


def read_turns(conversation: Conversation, api: str, *, ids: str = ANY_ID) -> Iterator[Turn]:
    """Yield the turns. `ids` is the pattern of accepted ids, unless the facts contain one."""
    call_ids = RequestCallIds(conversation.get("facts", {}).get("tool_ids", ids))
    messages = conversation["messages"]
    for position, message in enumerate(messages):
        if message["role"] == "user":
            yield UserTurn(_to_parts(message["content"]))
        elif message["role"] == "system":
            following = next((each["role"] for each in messages[position + 1 :]), None)
            yield SystemTurn(message["content"], before_user=following == "user")
        elif message["role"] == "assistant":
            same_api = message.get("api", api) == api
            by_same_model = same_api and message.get("model", conversation["model"]) == conversation["model"]
            blocks_to_send = _filter_blocks(
                message["content"], same_api=same_api, by_same_model=by_same_model
            )
            blocks, results = _pair_results(
                blocks_to_send, _collect_results(messages[position + 1 :]), call_ids
            )
            if blocks:
                yield AnswerTurn(blocks, results, by_same_model)


def _to_parts(content: str | Sequence[Block]) -> tuple[Block, ...]:
    """Return the parts of a message or a result; text becomes one part."""
    return ({"type": "text", "text": content},) if isinstance(content, str) else tuple(content)


def join_text(parts: Sequence[Block]) -> str:
    """Return the parts' text, with JSON values as JSON text; images are skipped."""
    return "\n".join(part_text(part) for part in parts if part["type"] != "image")


def part_text(part: Block) -> str:
    """Return the text of one part that is not an image.

    A file without text is named, because leaving it out silently would change what the user asks.
    """
    if part["type"] == "json":
        return format_json(part["value"])
    if "text" in part:
        return str(part["text"])
    return f"({part['type']} of type {part['media_type']} is left out)"


def filter_images(parts: Sequence[Block]) -> list[Block]:
    """Return the parts that are images."""
    return [part for part in parts if part["type"] == "image"]


def format_data_url(media: Block) -> str:
    """Return a file as a data URL."""
    return f"data:{media['media_type']};base64,{media['data']}"


def find_url(media: Block) -> str | None:
    """Return the address of a file, which is a data URL if its bytes are given; None if it only has an id."""
    return format_data_url(media) if "data" in media else media.get("url")


def format_json(value: Any) -> str:
    """Return compact JSON text."""
    return codec.dumps(value).decode()


def read_echo(block: Block) -> Mapping[str, Any]:
    """Return the members that the provider put on a block or an answer, and that go back unchanged."""
    return block.get("echo") or {}


def is_client_call(block: Block) -> bool:
    """Whether the block is a call that the client runs."""
    return block["type"] == "tool_call" and block.get("executor") != "provider"


def is_free_text(call: Block) -> bool:
    """Whether the arguments are text rather than JSON, as with OpenAI's custom tools."""
    return isinstance(call.get("arguments"), str) and call.get("arguments_text") in (None, call["arguments"])


def _is_empty_arguments(text: str) -> bool:
    """Whether the text means that there are no arguments; some models write `null` for that."""
    return text.strip() in ("", "null")


def arguments_text(call: Block) -> str:
    """Return the arguments for APIs that accept text.

    The result is the streamed text if it encodes `arguments_object`, or else the JSON text of that object.
    Missing arguments become `{}`, which is JSON, rather than empty text.
    """
    text, value = call.get("arguments_text") or "", arguments_object(call)
    try:
        same = codec.loads_text(text) == value
    except codec.NotJsonError:
        same = False
    return text if same else format_json(value)


def arguments_object(call: Block) -> dict[str, Any]:
    """Return the arguments as an object, for APIs that require one.

    Malformed text is wrapped in an object, because `{}` would be a valid call that the model never made.
    """
    value = call.get("arguments")
    if isinstance(value, dict):
        return value
    text = call.get("arguments_text") or ""
    if value is None and _is_empty_arguments(text):
        return {}
    return {_BROKEN_INPUT_KEY: text if text.strip() else format_json(value)}


@dataclass(slots=True)
class RequestCallIds:
    """Makes the ids to send, which are unique and match a pattern."""

    pattern: str
    used: set[str] = field(default_factory=set)

    def choose(self, call_id: str) -> str:
        """Return the id if it is usable, else its first usable rewritten form, else the id unchanged."""
        spellings = self._generate_spellings(call_id)
        spelling = next(filter(self._fits, (call_id, *spellings)), call_id)
        self.used.add(spelling)
        return spelling

    def _fits(self, spelling: str) -> bool:
        return spelling not in self.used and re.fullmatch(self.pattern, spelling) is not None

    def _generate_spellings(self, call_id: str) -> Iterator[str]:
        clean = _NOT_IN_IDS.sub("_", call_id)
        yield from (clean[:length] for length in _USUAL_LENGTHS)
        digest = sha256(f"{call_id} {len(self.used)}".encode("utf-8", "surrogatepass")).hexdigest()
        yield from (f"{prefix}{digest}"[:length] for prefix in _PREFIXES for length in _LENGTHS)


def _filter_blocks(blocks: Sequence[Block], *, same_api: bool, by_same_model: bool) -> list[Block]:
    blocks_to_send: list[Block] = []
    for block in blocks:
        match block["type"]:
            case "text" | "refusal":
                is_sent = bool(block.get("text") or (by_same_model and block.get("signature")))
            case "thinking":
                is_sent = by_same_model and bool(block.get("text") or block.get("signature"))
            case "tool_call":
                is_sent = same_api or is_client_call(block)
                if block.get("complete") is False:
                    is_sent = False
                    while blocks_to_send and blocks_to_send[-1]["type"] == "thinking":
                        blocks_to_send.pop()
            case _:
                is_sent = same_api
        if is_sent:
            blocks_to_send.append(_drop_foreign(block, same_api=same_api, by_same_model=by_same_model))
    return blocks_to_send


def _drop_foreign(block: Block, *, same_api: bool, by_same_model: bool) -> Block:
    """Return the block without the fields that mean nothing to the model that receives it."""
    foreign = [
        *([] if by_same_model else ["signature"]),
        *([] if same_api else ["phase", "citations", "echo"]),
    ]
    if foreign and block["type"] in ("text", "tool_call"):
        return {key: value for key, value in block.items() if key not in foreign}
    return block


def _collect_results(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the results before the next answer."""
    results: list[Mapping[str, Any]] = []
    for message in messages:
        if message["role"] == "assistant":
            break
        results += message.get("results", ())
    return results


def _pair_results(
    blocks: Sequence[Block], results_of_answer: Sequence[Mapping[str, Any]], ids: RequestCallIds
) -> tuple[tuple[Block, ...], tuple[ToolResult, ...]]:
    """Return the blocks with the ids to send, and their calls' results."""
    pending = list(results_of_answer)
    sent: list[Block] = []
    results: list[ToolResult] = []
    for block in blocks:
        if not is_client_call(block):
            sent.append({"id": "", "name": "", **block} if block["type"] == "tool_call" else block)
            continue
        call_id, name = block.get("id", ""), block.get("name", "")
        spelling = ids.choose(call_id)
        sent.append({**block, "id": spelling, "name": name})
        result = next((result for result in pending if result["id"] == call_id), None)
        if result is None:
            results.append(ToolResult(spelling, name, _to_parts(NO_RESULT), error=True))
        else:
            pending.remove(result)
            results.append(
                ToolResult(spelling, name, _to_parts(result["content"]), error=result.get("error", False))
            )
    return tuple(sent), tuple(results)
