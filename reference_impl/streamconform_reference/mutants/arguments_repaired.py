"""Arguments that were cut off are closed with what is missing, and the call is called complete."""

from __future__ import annotations

import json
from typing import Final

from streamconform_reference.outcome import Json

from ._tools import rewriting

CLOSING: Final = {"{": "}", "[": "]"}


def repaired(text: str) -> str:
    """Return the text with its open string, objects and arrays closed, as a tool that mends JSON does."""
    open_: list[str] = []
    inside = escaped = False
    for character in text:
        if inside:
            inside = character != '"' or escaped
            escaped = character == "\\" and not escaped
        elif character == '"':
            inside = True
        elif character in CLOSING:
            open_.append(CLOSING[character])
        elif open_ and character == open_[-1]:
            open_.pop()
    return text + '"' * inside + "".join(reversed(open_))


def repair(block: Json) -> None:
    """Make a whole call of one that was cut off."""
    if block.get("complete") is not False:
        return
    try:
        block["arguments"] = json.loads(repaired(block.get("arguments_text") or "{}"))
    except ValueError:
        return
    block["complete"] = True


adapter = rewriting("arguments-repaired", repair)
