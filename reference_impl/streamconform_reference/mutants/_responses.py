"""What several mutants of the Responses decoder need: payloads whose calls have lost their arguments."""

from __future__ import annotations

from typing import Final

from streamconform_reference.decoding.decoder import Payload

from ._tools import part

_ARGUMENTS: Final = {"function_call": "arguments", "custom_tool_call": "input"}


def without_repeated_arguments(payload: Payload) -> Payload:
    """Return the payload without the arguments that it repeats of a call of the client."""
    kind = payload.get("type")
    if kind in ("response.function_call_arguments.done", "response.custom_tool_call_input.done"):
        return {key: value for key, value in payload.items() if key not in _ARGUMENTS.values()}
    if kind == "response.output_item.done":
        return {**payload, "item": without_arguments(part(payload, "item"))}
    output = part(payload, "response").get("output")
    if isinstance(output, list):
        items = [without_arguments(item) for item in output if isinstance(item, dict)]
        return {**payload, "response": {**part(payload, "response"), "output": items}}
    return payload


def without_arguments(item: Payload) -> Payload:
    """Return a call of the client without its arguments, and any other item as it is."""
    kind = item.get("type")
    return {**item, _ARGUMENTS[kind]: None} if isinstance(kind, str) and kind in _ARGUMENTS else item
