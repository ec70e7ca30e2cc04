"""Whose fragment is it? Entries of `delta.tool_calls` in, tool calls of the accumulator out.

OpenAI names a call by `index` and sends its id and name once. Others leave the index out, use one
index for all calls, or several for one; send id and name with every fragment, late, or never. So:

1. The index names the call. Without one, a known id names it, else a new id or a name begins a call,
   else the fragment belongs to the call that was spoken of last.
2. Another id under an index that is taken names its own call. So does another name, once the
   arguments of the first call have begun, and any name without an id once it has ended.
3. An id is never joined: the first one stays. A name that is repeated is one name; other pieces are
   joined until the arguments begin, and only then is the start of the call told.
4. A known id under another index is the same call, but for another name, and for other arguments
   where those of the call are whole already: then two calls share one id, and the second gets a new
   one. The same arguments once more are a repetition.
5. A call ends when the decoder says so, never because its arguments happen to parse.

Source: https://platform.openai.com/docs/api-reference/chat-streaming and reports of other servers:
ollama/ollama#15457 (one index), mudler/LocalAI#9722 (several), HKUDS/nanobot#3943 (one id),
AstrBotDevs/AstrBot#6692 (no index), NousResearch/hermes-agent#11984 (name repeated),
can1357/oh-my-pi#1779 (arguments as an object).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.decoder import BrokenPayloadError
from streamconform_reference.json_text import codec

from .wholeness import Wholeness

# The deprecated `function_call` has neither index nor id: there is one at most.
LEGACY_INDEX: Final = "function_call"


@dataclass(slots=True, eq=False)
class Call:
    """What the wire said of a call; `id` and `name` are empty as long as it did not name them."""

    slot: Hashable
    id: str = ""
    name: str = ""
    argued: bool = False
    """Whether its arguments have begun."""
    ended: bool = False
    wholeness: Wholeness = field(default_factory=Wholeness)


@dataclass(frozen=True, slots=True)
class Twin:
    """An index under which the id of a call came again: that call, or another one with its id."""

    original: Call


@dataclass(frozen=True, slots=True)
class Fragment:
    """One entry of `tool_calls`, read. `index` is None where it is absent."""

    index: Hashable
    id: str
    name: str
    arguments: Any

    @property
    def empty(self) -> bool:
        """Whether it says nothing that a call could begin with."""
        return not (self.id or self.name) and self.arguments in (None, "")


class Calls:
    """The tool calls of one answer; `before_call` is called before one begins."""

    def __init__(self, message: Assembler, before_call: Callable[[], None]) -> None:
        """Begin with no calls."""
        self.message = message
        self._before_call = before_call
        self._calls: list[Call] = []
        self._open: list[Call] = []
        self._by_index: dict[Hashable, Call | Twin] = {}
        self._by_id: dict[str, Call] = {}
        self._last: Call | None = None

    @property
    def begun(self) -> bool:
        """Whether there is any call."""
        return bool(self._calls)

    def take(self, fragment: Fragment) -> None:
        """Give a fragment to its call, which may begin with it."""
        call = self.resolve(fragment)
        if call is None:
            return
        self._last = call
        if fragment.id or fragment.name:
            self.describe(call, fragment)
        if fragment.arguments is not None:
            self.add_arguments(call, fragment.arguments)

    def end(self, *, truncated: bool) -> None:
        """End all calls. The last one of a truncated answer needs to have arguments for that."""
        last = self._calls[-1] if self._calls else None
        cut = last if truncated and last and not last.argued else None
        for call in self._open:
            if call is not cut:
                call.ended = True
                self.message.end(call.slot)
        self._open = [cut] if cut and not cut.ended else []

    def resolve(self, fragment: Fragment) -> Call | None:
        """Return the call of a fragment; None where it says nothing new, or nothing yet."""
        known = self._by_id.get(fragment.id)
        if fragment.index is None:
            named = fragment.id or fragment.name
            return self._same_or_next(known if named else self._last, fragment)
        found = self._by_index.get(fragment.index)
        if found is None and known:
            found = Twin(known)
        if isinstance(found, Twin):
            call = self._tell_twin(found.original, fragment)
        elif found and fragment.id and found.id not in ("", fragment.id):
            call = self._same_or_next(known, fragment)
        else:
            call = self._same_or_next(found, fragment)
        here = call or found
        if here:
            self._by_index[fragment.index] = here
        return call

    def describe(self, call: Call, fragment: Fragment) -> None:
        """Take id and name of a fragment, if they are new."""
        if fragment.id and not call.id:
            call.id = fragment.id
            self._by_id[call.id] = call
        if fragment.name != call.name and not (call.argued and call.name):
            call.name += fragment.name
        self.message.describe_call(call.slot, id=call.id, name=call.name)

    def add_arguments(self, call: Call, arguments: Any) -> None:
        """Append a fragment of text. An object is the whole arguments, as MiniMax sends them."""
        if isinstance(arguments, (dict, list)):
            self.message.settle_arguments(call.slot, arguments)
            call.argued = True
        else:
            text = arguments if isinstance(arguments, str) else codec.dumps(arguments).decode()
            self.message.add_arguments(call.slot, text)
            call.argued = call.argued or bool(text.strip())
        if call.argued and call.name:
            self.message.tell_call(call.slot)

    def _same_or_next(self, call: Call | None, fragment: Fragment) -> Call | None:
        if call is None or (fragment.name and _is_next(call, fragment)):
            return None if fragment.empty else self._begin()
        return call

    def _begin(self) -> Call:
        self._before_call()
        if self._calls and self._calls[-1].name:
            self.message.tell_call(self._calls[-1].slot)
        call = Call(slot=("call", len(self._calls)))
        self._calls.append(call)
        self._open.append(call)
        self.message.start_call(call.slot, id=None, name="", told=False)
        return call

    def _tell_twin(self, original: Call, fragment: Fragment) -> Call | None:
        """Return whose arguments came under a repeated id; None where none came, or the same again."""
        another = bool(fragment.name and original.name) and fragment.name != original.name
        if not another:
            arguments = fragment.arguments
            if arguments in (None, ""):
                return None
            if not original.argued:
                return original
            text = self.message.text(original.slot)
            if arguments == text:
                return None
            if isinstance(arguments, str) and not original.wholeness.of(text):
                return original
        call = self._begin()
        self.describe(call, replace(fragment, id=original.id, name=fragment.name or original.name))
        return call


def _is_next(call: Call, fragment: Fragment) -> bool:
    """Whether the name in a fragment is that of a call behind this one."""
    if call.ended:
        return not fragment.id or fragment.name != call.name
    return call.argued and bool(call.name) and fragment.name != call.name


def read_fragment(entry: Any, *, index: Hashable = None) -> Fragment:
    """Return what an entry says; old llama.cpp has the id in `function` (ggml-org/llama.cpp#13800).

    Raises:
        BrokenPayloadError: it is no object.
    """
    if not isinstance(entry, dict):
        raise BrokenPayloadError("a tool call is no object")
    given = entry.get("index")
    function = entry.get("function")
    if not isinstance(function, dict):
        function = {}
    name = function.get("name")
    return Fragment(
        given if type(given) is int else index,
        _id(entry.get("id")) or _id(function.get("id")),
        name if isinstance(name, str) else "",
        function.get("arguments"),
    )


def _id(value: Any) -> str:
    """Return an id as text; some servers send a number."""
    if type(value) is int:
        return str(value)
    return value if isinstance(value, str) else ""
