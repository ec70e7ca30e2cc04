"""Function calls of Gemini: `functionCall` parts in, tool calls out.

- A part is a complete call. Its arguments are an object, which is absent if there are none. Parallel calls
  are parts in one or several chunks, and may share a name: each part is a separate call.
- Vertex AI may stream the arguments. A part with a name and `willContinue` opens the call; parts without a
  name continue it with `partialArgs`; a part without `willContinue` closes it. If that last part never
  arrives, the next call or the end of the answer closes it.
- A part without a name never starts a call, and is ignored if no call is open.
- The id is optional. A call that repeats an earlier id, name and arguments is the same call.
- Gateways send arguments as the JSON text of an object, which counts as a fragment.

Source: https://ai.google.dev/gemini-api/docs/function-calling,
https://docs.cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling, and reports:
NousResearch/hermes-agent#101536 (calls that share a name), smallmain/vscode-unify-chat-provider#49 (parts
without a name), allenhutchison/obsidian-gemini#230 (a repeated call).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload

from .partial_args import PartialArgs


class FunctionCalls:
    """The calls in one answer; `before_call` runs before each call starts."""

    def __init__(self, message: Assembler, before_call: Callable[[], None]) -> None:
        """Start with no calls."""
        self.message = message
        self.open: Hashable = None
        self._before_call = before_call
        self._number = 0
        self._identified: dict[str, tuple[str, Any]] = {}
        self._open_name = ("", "")  # id and name of the open call
        self._partial = PartialArgs()

    def take(self, part: Any, signature: str) -> None:
        """Read one `functionCall`.

        Raises:
            BrokenPayloadError: the call is not an object, or its partial arguments have no valid path.
        """
        if not isinstance(part, dict):
            raise BrokenPayloadError("`functionCall` is not an object")
        name, call_id = _text(part.get("name")), _text(part.get("id"))
        if name and not self._continues(part, call_id, name):
            args = part.get("args")
            if call_id and self._identified.get(call_id) == (name, args):
                return
            self.close()
            self._identified[call_id] = (name, args)
            self._begin(part, call_id, name)
        elif self.open is None:
            return
        elif part.get("args") is not None:
            self._settle(part["args"])
        self.message.sign_content(self.open, signature)
        for entry in _read_entries(part):
            self._partial.add(entry)
        if part.get("willContinue") is not True and not (_read_entries(part) and self._partial.is_open):
            self.close()

    def close(self) -> None:
        """End the open call, if there is one."""
        if self.open is None:
            return
        if self._partial.has_values:
            self.message.settle_arguments(self.open, self._partial.value())
        self.message.end(self.open)
        self.open = None

    def add_provider_call(self, part: Payload, signature: str) -> None:
        """Read a call to a tool that the provider runs; the tool's response arrives as another part."""
        self.close()
        self._start(part, _text(part.get("id")), _text(part.get("toolType")), provider=True)
        self.message.sign_content(self.open, signature)
        self.close()

    def _continues(self, part: Payload, call_id: str, name: str) -> bool:
        """Whether a part with a name continues the open call: it repeats the id or has partial arguments."""
        if self.open is None or (call_id, name) != self._open_name:
            return False
        return bool(call_id or _read_entries(part))

    def _begin(self, part: Payload, call_id: str, name: str) -> None:
        self._start(part, call_id, name, provider=False)
        self._open_name = (call_id, name)
        self._partial = PartialArgs()

    def _start(self, part: Payload, call_id: str, name: str, *, provider: bool) -> None:
        self._before_call()
        self._number += 1
        self.open = ("call", self._number)
        self.message.start_call(
            self.open,
            id=call_id or None,
            name=name,
            executor="provider" if provider else "client",
        )
        self._settle(part.get("args"))

    def _settle(self, args: Any) -> None:
        if args is not None:
            self.message.settle_arguments(self.open, args)


def _read_entries(part: Payload) -> list[Payload]:
    entries = part.get("partialArgs")
    if entries is None:
        return []
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise BrokenPayloadError("`partialArgs` is not a list of objects")
    return entries


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
