"""Turn output items into blocks: how each family of items starts, grows and gets its final value.

- message: each content part is a text or refusal block. Its annotations are the text's citations.
  Every text block of the message has the message's phase.
- reasoning: one block. The parts of its summary and content are joined by empty lines. The signature is the
  `encrypted_content` of the finished item; its start event has a different one, which the API does not
  accept. Text that is in both the summary and the content counts once.
- call: one block; see `calls`.
- Any other item is an `other` block, whose kind is the item's type and whose data is the finished item.

Source: https://platform.openai.com/docs/api-reference/responses/object, and the types in the `openai` package
(3.54.0).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from streamconform_reference.decoding import fields
from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.citations import (
    CitationFields,
)
from streamconform_reference.decoding.decoder import Payload
from streamconform_reference.json_text import codec
from streamconform_reference.outcome import ProseKind

from .calls import CALLS, ECHOED, Tools, read_call_id, read_call_name
from .items import Family, Item, Items

_PART_SEPARATOR: Final = "\n\n"
# The members of a finished item with its content.
_CONTENT: Final[Mapping[Family, tuple[str, ...]]] = {
    "message": ("content",),
    "reasoning": ("summary", "content", "encrypted_content"),
}

# The prose parts of a message, by type: their block kind, and the field with their text.
PROSE: Final[Mapping[str, tuple[ProseKind, str]]] = {
    "output_text": ("text", "text"),
    "text": ("text", "text"),
    "refusal": ("refusal", "refusal"),
}
CITATIONS: Final = CitationFields(
    source=("url", "file_id"), title=("title", "filename"), start="start_index", end="end_index"
)
# The parts of a reasoning item, which some servers send as content parts.
REASONING_PARTS: Final[Mapping[str, str]] = {"reasoning_text": "content", "summary_text": "summary"}


@dataclass(slots=True)
class ResponseState:
    """The state of one response."""

    message: Assembler
    items: Items = field(default_factory=Items)
    tools: Tools = ()
    cut: tuple[str, ...] = ("incomplete",)
    """The statuses of a finished call that was cut; in an incomplete response, also `in_progress`."""


def identify(answer: ResponseState, response: Payload) -> None:
    """Set the model and id only once, because GitHub Copilot sends a different id in each event."""
    answer.message.model = answer.message.model or fields.read_text(response, "model") or None
    answer.message.response_id = answer.message.response_id or fields.read_text(response, "id") or None
    answer.tools = answer.tools or fields.read_objects(response, "tools")


# Whole items.


def begin_item(answer: ResponseState, index: int | None, data: Payload) -> Item:
    """Start an item. A message has no block before its first part."""
    item = answer.items.add(data["type"], index, data)
    match item.family:
        case "reasoning":
            answer.message.start(item, "thinking")
        case "call":
            if not CALLS[item.kind].late:
                begin_call(answer, item, data)
        case "other":
            answer.message.add_other(item.kind, data, slot=item)
        case "message":
            pass
    return item


def finish_item(answer: ResponseState, item: Item, data: Payload) -> None:
    """Read the finished item, which has the final values, and end it.

    An empty message or reasoning item may be complete in the finished response, so it stays open until then.
    """
    content = _CONTENT.get(item.family)
    if item.ended or (content and not any(data.get(key) for key in content)):
        return
    item.ended, item.data = True, data
    _FINISHERS[item.family](answer, item, data)


def finish_message(answer: ResponseState, item: Item, data: Payload) -> None:
    """Read all content parts."""
    content = fields.read_objects(data, "content")
    item.phase = fields.read_text(data, "phase") or item.phase
    for index, part in zip(_list_part_indexes(item, len(content)), content, strict=True):
        settle_part(answer, item, index, part)
        answer.message.set_phase((item, index), item.phase)
        answer.message.end((item, index))


def _list_part_indexes(item: Item, count: int) -> list[int]:
    """Return the indexes that the events use for the `count` parts of a finished item.

    Some servers count from 1 if reasoning came before. If an index is too high for the finished item, the
    parts are therefore matched by their order.
    """
    seen = sorted(item.parts)
    if not seen or seen[-1] < count:
        return [*range(count)]
    return [*seen[:count], *range(seen[-1] + 1, seen[-1] + 1 + count - len(seen))]


def _finish_reasoning(answer: ResponseState, item: Item, data: Payload) -> None:
    """Read the complete text and the signature."""
    texts = {
        kind: [
            fragment
            for part in fields.read_objects(data, kind)
            if (fragment := fields.read_text(part, "text"))
        ]
        for kind in ("summary", "content")
    }
    first = item.thinking[0][0] if item.thinking else "summary"
    second = "content" if first == "summary" else "summary"
    repeated = texts[first] == texts[second]
    whole = _PART_SEPARATOR.join(texts[first] if repeated else texts[first] + texts[second])
    if whole:
        answer.message.settle(item, "thinking", whole)
    answer.message.sign(item, fields.read_text(data, "encrypted_content"))
    answer.message.end(item)


def _finish_call(answer: ResponseState, item: Item, data: Payload) -> None:
    """Read the complete arguments. A call that was cut does not end."""
    form = CALLS[item.kind]
    if form.late:
        begin_call(answer, item, data)
    settle_call(answer, item, form.arguments(data))
    answer.message.keep(item, fields.select(data, ECHOED))
    if data.get("status") not in answer.cut:
        answer.message.end(item)
    if form.executor(data, answer.tools) == "provider":
        answer.message.add_other(item.kind, data)


def _finish_other(answer: ResponseState, item: Item, data: Payload) -> None:
    """Replace the data with the finished item."""
    answer.message.replace_other(item, data)
    answer.message.end(item)


_FINISHERS: Final[Mapping[Family, Callable[[ResponseState, Item, Payload], None]]] = {
    "message": finish_message,
    "reasoning": _finish_reasoning,
    "call": _finish_call,
    "other": _finish_other,
}


# Parts of a message.


def settle_part(answer: ResponseState, item: Item, index: int, part: Payload) -> None:
    """Read a complete content part."""
    kind = fields.read_text(part, "type")
    slot = (item, index)
    if kind in PROSE:
        prose, key = PROSE[kind]
        answer.message.settle(slot, prose, fields.read_text(part, key))
        for citation in fields.read_objects(part, "annotations")[item.citations.get(index, 0) :]:
            add_citation(answer, item, index, citation)
    elif kind in REASONING_PARTS:
        settle_thinking(answer, item, (REASONING_PARTS[kind], index), fields.read_text(part, "text"))
    elif answer.message.other(slot) is None:
        answer.message.add_other(kind or "part", part, slot=slot)
    else:
        answer.message.replace_other(slot, part)


def add_citation(answer: ResponseState, item: Item, index: int, citation: Any) -> None:
    """Append a citation, which may arrive before the text of its part."""
    item.citations[index] = item.citations.get(index, 0) + 1
    answer.message.cite(use_part(item, index), [CITATIONS.read(citation)])


# Reasoning.


def add_thinking(answer: ResponseState, item: Item, part: tuple[str, int], fragment: str) -> None:
    """Append to the thinking; a new part is separated by an empty line."""
    if not fragment:
        return
    if not item.thinking or item.thinking[-1] != part:
        before = answer.message.text(item)
        fragment = _PART_SEPARATOR + fragment if before else fragment
        item.thinking_from = len(before) + len(_PART_SEPARATOR) if before else 0
        item.thinking.append(part)
    answer.message.add(item, "thinking", fragment)


def settle_thinking(answer: ResponseState, item: Item, part: tuple[str, int], whole: str) -> None:
    """Read the complete text of a part; only the part that started last can still grow."""
    if part not in item.thinking:
        add_thinking(answer, item, part, whole)
    elif whole and item.thinking[-1] == part:
        before = answer.message.text(item)[: item.thinking_from]
        answer.message.settle(item, "thinking", before + whole)


# Calls.


def begin_call(answer: ResponseState, item: Item, data: Payload) -> None:
    """Start a call; if its initial arguments are complete, later fragments replace them."""
    form = CALLS[item.kind]
    arguments = form.arguments(data)
    fragment, initial_arguments = "", arguments
    if isinstance(arguments, str):
        fragment, initial_arguments = ("", None) if form.free_text else _whole_or_fragment(arguments)
    answer.message.start_call(
        item,
        id=read_call_id(data),
        name=read_call_name(data, form),
        executor=form.executor(data, answer.tools),
        initial_arguments=initial_arguments,
        free_text=form.free_text,
    )
    answer.message.keep(item, fields.select(data, ECHOED))
    if fragment:
        answer.message.add_arguments(item, fragment)


def settle_call(answer: ResponseState, item: Item, arguments: Any) -> None:
    """Read the complete arguments; null and empty text do not replace earlier arguments."""
    if arguments not in (None, ""):
        answer.message.settle_arguments(item, arguments)


def _whole_or_fragment(text: str) -> tuple[str, Any]:
    """Return the text as the first fragment, or the JSON value that it encodes."""
    try:
        return "", codec.loads_text(text)
    except codec.NotJsonError:
        return text, None


def use_part(item: Item, index: int) -> Hashable:
    """Return the slot of a message part, and remember that the part had an event."""
    item.parts[index] = None
    return (item, index)
