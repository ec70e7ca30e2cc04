"""Assign fragments to tool calls: entries of `delta.tool_calls` in, tool calls out.

OpenAI identifies a call by `index` and sends its id and name once. Other servers omit the index, use one
index for all calls, or use several for one call; they send the id and name with every fragment, late, or
never. So:

1. The index identifies the call. Without an index, a known id identifies it; otherwise, a new id or a name
   starts a call; otherwise, the fragment belongs to the call of the previous fragment.
2. A different id under a known index identifies a separate call if the fragment also has a name; without a
   name, the server makes up a new id for every fragment. A different name also starts a separate call once
   the arguments of the first call have started, as does any name without an id once that call has ended.
3. Ids are never joined: the first id is kept. A repeated name counts once; different pieces of a name are
   joined until the arguments start, and only then is the start of the call emitted.
4. A known id under another index is the same call, unless the name differs, or the arguments differ and the
   call's own are already complete. In either case, two calls share one id, and the second gets a new one.
   Repeated equal arguments are ignored.
5. A call ends when the decoder ends it, never because its arguments happen to be valid JSON.
6. If every fragment of the arguments repeats the text before it, and only the last one is valid JSON, the
   server resends the text so far each time, so the last fragment contains the arguments.

Source: https://platform.openai.com/docs/api-reference/chat-streaming and reports of other servers:
mudler/LocalAI#9722 (several indexes), HKUDS/nanobot#3943 (one id), poolsideai/pool#9 (an id per fragment),
AstrBotDevs/AstrBot#6692 (no index), NousResearch/hermes-agent#11984 (name repeated),
NousResearch/hermes-agent#35718 (text so far), can1357/oh-my-pi#1779 (arguments as an object).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.decoder import BrokenPayloadError
from streamconform_reference.json_text import codec

from .value_tracker import ValueTracker

# The deprecated `function_call` has neither an index nor an id, and there is at most one. llama-cpp-python
# sends each fragment both in it and in `tool_calls`.
LEGACY_INDEX: Final = "function_call"


@dataclass(slots=True, eq=False)
class WireCall:
    """The state of a call; `id` and `name` are empty until they arrive."""

    slot: Hashable
    id: str = ""
    name: str = ""
    has_arguments: bool = False
    """Whether the call's arguments have started."""
    text_so_far: str | None = ""
    """The last fragment of the arguments if each one starts with the one before; otherwise None."""
    repeats: bool = False
    """Whether a fragment was longer than the previous one and started with it."""
    free_text: bool = False
    """Whether the arguments are not JSON; such text does not reveal whether it was truncated."""
    ended: bool = False
    tracker: ValueTracker = field(default_factory=ValueTracker)


class Twin(Struct, frozen=True):
    """An index under which a call's id was repeated, either for that call or for another one."""

    original: WireCall


class Fragment(Struct, frozen=True):
    """One entry of `tool_calls`. `index` is None if it is absent."""

    index: Hashable
    id: str
    name: str
    arguments: Any
    signature: str = ""
    free_text: bool = False
    """Whether the arguments are the input of a custom tool, which is not JSON."""

    @property
    def empty(self) -> bool:
        """Whether the fragment contains nothing that could start a call."""
        return not (self.id or self.name) and self.arguments in (None, "")


class ToolCalls:
    """The tool calls in one answer; `before_call` runs before each call starts."""

    def __init__(self, message: Assembler, before_call: Callable[[], None]) -> None:
        """Start with no calls."""
        self.message = message
        self._before_call = before_call
        self._calls: list[WireCall] = []
        self._open: list[WireCall] = []
        self._by_index: dict[Hashable, WireCall | Twin] = {}
        self._by_id: dict[str, WireCall] = {}
        self._last: WireCall | None = None

    @property
    def begun(self) -> bool:
        """Whether any call has started."""
        return bool(self._calls)

    @property
    def listed(self) -> bool:
        """Whether any call has arrived in `tool_calls`."""
        return self.begun and LEGACY_INDEX not in self._by_index

    def take(self, fragment: Fragment) -> None:
        """Add a fragment to its call; the fragment may start the call."""
        call = self.resolve(fragment)
        if call is None:
            return
        self._last = call
        if fragment.id or fragment.name:
            self.describe(call, fragment)
        if fragment.arguments is not None:
            self.add_arguments(call, fragment.arguments)
        self.message.sign_content(call.slot, fragment.signature)

    def sign_last(self, signature: str) -> None:
        """Sign the call of the last fragment."""
        if self._last:
            self.message.sign_content(self._last.slot, signature)

    def end(self, *, truncated: bool) -> None:
        """End all calls, except the last one of a truncated answer if it has free text or no arguments."""
        last = self._calls[-1] if self._calls else None
        cut = last if truncated and last and (last.free_text or not last.has_arguments) else None
        for call in self._open:
            if call is not cut:
                call.ended = True
                self._settle_cumulative(call)
                self.message.end(call.slot)
        self._open = [cut] if cut and not cut.ended else []

    def resolve(self, fragment: Fragment) -> WireCall | None:
        """Return the call that a fragment belongs to; None if the fragment is a repetition or empty."""
        known = self._by_id.get(fragment.id)
        if fragment.index is None:
            named = fragment.id or fragment.name
            return self._continue_or_begin(known if named else self._last, fragment)
        known_call = self._by_index.get(fragment.index)
        if known_call is None and known:
            known_call = Twin(known)
        if isinstance(known_call, Twin):
            call = self._resolve_twin(known_call.original, fragment)
        elif (
            known_call and fragment.id and known_call.id not in ("", fragment.id) and (known or fragment.name)
        ):
            call = self._continue_or_begin(known, fragment)
        else:
            call = self._continue_or_begin(known_call, fragment)
        target = call or known_call
        if target:
            self._by_index[fragment.index] = target
        return call

    def describe(self, call: WireCall, fragment: Fragment) -> None:
        """Set the call's id and name from a fragment, if they are new."""
        if fragment.id and not call.id:
            call.id = fragment.id
            self._by_id[call.id] = call
        if fragment.name != call.name and not (call.has_arguments and call.name):
            call.name += fragment.name
        if fragment.free_text:
            call.free_text, call.text_so_far = True, None
        self.message.describe_call(call.slot, id=call.id, name=call.name, free_text=fragment.free_text)

    def add_arguments(self, call: WireCall, arguments: Any) -> None:
        """Append a fragment of text. An object is the complete arguments, as MiniMax sends them."""
        if isinstance(arguments, (dict, list)):
            self.message.settle_arguments(call.slot, arguments)
            call.has_arguments = True
        else:
            text = arguments if isinstance(arguments, str) else codec.dumps(arguments).decode()
            self.message.add_arguments(call.slot, text)
            call.has_arguments = call.has_arguments or bool(text.strip())
            if text and call.text_so_far is not None:
                call.repeats = call.repeats or 0 < len(call.text_so_far) < len(text)
                call.text_so_far = text if text.startswith(call.text_so_far) else None
        if call.has_arguments and call.name:
            self.message.announce_call(call.slot)

    def _settle_cumulative(self, call: WireCall) -> None:
        """If each fragment was the text so far, replace the arguments with the last fragment."""
        last = call.text_so_far
        if not (last and call.repeats):
            return
        joined, alone = (
            # Escapes may have left half a surrogate pair, which cannot be encoded.
            codec.is_json(text.encode("utf-8", "replace"))
            for text in (self.message.text(call.slot), last)
        )
        if alone and not joined:
            self.message.settle_arguments(call.slot, last)

    def _continue_or_begin(self, call: WireCall | None, fragment: Fragment) -> WireCall | None:
        if call is None or (fragment.name and _starts_next(call, fragment)):
            return None if fragment.empty else self._begin()
        return call

    def _begin(self) -> WireCall:
        self._before_call()
        if self._calls and self._calls[-1].name:
            self.message.announce_call(self._calls[-1].slot)
        call = WireCall(slot=("call", len(self._calls)))
        self._calls.append(call)
        self._open.append(call)
        self.message.start_call(call.slot, id=None, name="", announced=False)
        return call

    def _resolve_twin(self, original: WireCall, fragment: Fragment) -> WireCall | None:
        """Return the call for arguments under a repeated id; None if they are empty or repeated."""
        differs = bool(fragment.name and original.name) and fragment.name != original.name
        if not differs:
            arguments = fragment.arguments
            if arguments in (None, ""):
                return None
            if not original.has_arguments:
                return original
            text = self.message.text(original.slot)
            if arguments == text:
                return None
            if isinstance(arguments, str) and not original.tracker.is_whole(text):
                return original
        call = self._begin()
        self.describe(call, replace(fragment, id=original.id, name=fragment.name or original.name))
        return call


def _starts_next(call: WireCall, fragment: Fragment) -> bool:
    """Whether the name in a fragment starts the call after this one."""
    if call.ended:
        return not fragment.id or fragment.name != call.name
    return call.has_arguments and bool(call.name) and fragment.name != call.name


def read_fragment(entry: Any, *, index: Hashable = None) -> Fragment:
    """Return one entry as a fragment; old llama.cpp puts the id in `function` (ggml-org/llama.cpp#13800).

    Raises:
        BrokenPayloadError: the entry is not an object.
    """
    if not isinstance(entry, dict):
        raise BrokenPayloadError("a tool call is not an object")
    index_on_wire = entry.get("index")
    custom = entry.get("custom")
    free_text = isinstance(custom, dict)
    function = custom if free_text else entry.get("function")
    if not isinstance(function, dict):
        function = {}
    name = function.get("name")
    return Fragment(
        index_on_wire if type(index_on_wire) is int else index,
        _read_id(entry.get("id")) or _read_id(function.get("id")),
        name if isinstance(name, str) else "",
        function.get("input" if free_text else "arguments"),
        read_signature(entry),
        free_text,
    )


def read_signature(holder: dict[str, Any]) -> str:
    """Return Gemini's signature in the extensions of an entry or a delta; empty if there is none."""
    google = holder.get("extra_content")
    if not google:
        return ""
    for key in ("google", "thought_signature"):
        google = google.get(key) if isinstance(google, dict) else None
    return google if isinstance(google, str) else ""


def _read_id(value: Any) -> str:
    """Return an id as text; some servers send a number."""
    if type(value) is int:
        return str(value)
    return value if isinstance(value, str) else ""
