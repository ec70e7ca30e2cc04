"""Options that are one member of a body: where each API has them, and how a client's are read.

Each API states its options once, in the table `OPTIONS` of `request.py`, which the request builder, the
reader of requests and the proxy share. Options with a structure (tools, thinking,
schemas) are code, because no two APIs have the same one.

The harness states whole bodies in its cases instead, and `apis` never imports a parser: a judge that took the
name of an option from the implementation under test could not see that the name is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from streamconform_reference.outcome import Json
from streamconform_reference.requests.conversation import Conversation
from streamconform_reference.requests.fields import read_choice, read_field
from streamconform_reference.requests.options import is_streamed, read_limit

Reader = Callable[[Mapping[str, Any], str, str], Any]
"""A function that reads a member, given its object, its key and the object's path; None if it is absent."""

CONVERSATION: Final = frozenset(
    {"cache", "max_tokens", "parallel_tool_calls", "session", "stream", "temperature"}
)
"""The options that a conversation contains; the proxy passes on the others from body to body."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option of one API."""

    name: str
    """The name that all APIs share: the one in the conversation, if it contains the option."""
    path: str
    """The member of the body, with dots between the levels."""
    read: Reader | None = None
    """None if requests of this API are only written, or if the option is read by other code."""
    written: bool = True
    """False if the option is only read."""


def read_options(
    options: Sequence[Option], body: Mapping[str, Any], names: Container[str] = CONVERSATION
) -> Json:
    """Return the values of the options in `names`; of several members for an option, the first one counts.

    Raises:
        RequestError: a member is invalid.
    """
    values: Json = {}
    for option in options:
        if option.read is None or option.name not in names or option.name in values:
            continue
        *_, parent, key = ("", *option.path.rsplit(".", 1))
        holder = (read_field(body, parent, "object") or {}) if parent else body
        value = option.read(holder, key, parent)
        if value is not None:
            values[option.name] = value
    return values


SAMPLING: Final = ("temperature", "top_p", "top_k", "presence_penalty", "frequency_penalty")
"""The options that models reject while they think."""
_COPIED: Final = ("stop", "seed", "service_tier", "metadata", "user")
"""The options whose values all APIs share."""


def collect_options(conversation: Conversation, *, sampling: bool = True) -> Json:
    """Return the values to write; `sampling` is whether the model accepts the options in `SAMPLING`."""
    names = (*_COPIED, *(SAMPLING if sampling else ()))
    values = {"max_tokens": read_limit(conversation), "stream": is_streamed(conversation)}
    values |= {name: conversation.get(name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def write_options(options: Sequence[Option], values: Mapping[str, Any], body: Json) -> None:
    """Add the values to the body, each at the first member for its option; existing members stay."""
    paths = {option.name: option.path for option in reversed(options) if option.written}
    for name, path in paths.items():
        if name not in values:
            continue
        holder, (*parents, key) = body, path.split(".")
        for parent in parents:
            holder = holder.setdefault(parent, {})
        holder.setdefault(key, values[name])


def read_kind(kind: str) -> Reader:
    """Return the reader of a member of a kind; see `grammars.fields.KINDS`."""
    return lambda holder, key, parent: read_field(holder, key, kind, parent)


def read_choice_of(choices: Mapping[str, Any]) -> Reader:
    """Return the reader of a member whose values are listed in the table."""
    return lambda holder, key, parent: read_choice(holder, key, choices, parent)


def read_name(holder: Mapping[str, Any], key: str, parent: str) -> str | None:
    """Return text, or None if it is empty."""
    return read_field(holder, key, "text", parent) or None
