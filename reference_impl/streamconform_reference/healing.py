r"""Tool arguments as small models and their servers write them, brought back to an object.

Healing is a step of its own, for whoever asks for it: no decoder does it. It takes the forms in which
arguments come, and the first one that fits holds, so JSON that is right is never changed:

1. An object is itself.
2. JSON text of an object is that object. Where the text is of a text, that text is healed.
3. Text that was escaped once too often (`{\"path\":\"C:\\\\temp\"}`) is the inside of a JSON string:
   exactly one layer is undone, every escape in it, and what comes out is JSON text of an object.
4. No arguments (null, or text that is empty or blank) are an empty object.
5. Anything else is `{"raw": ...}`: kept as it came, for a person or the model to look at. A text that was
   cut is one of these: closing its brackets would make up arguments.

Source: https://www.rfc-editor.org/rfc/rfc8259 section 7, and the issues that the cases in
`specs/common/heal.yaml` name.
"""

from __future__ import annotations

import json
from typing import Any, Final

from streamconform_reference.json_text import codec

_LAYERS: Final = 3
"""How often text is looked for inside text."""


def heal_tool_arguments(arguments: Any) -> dict[str, Any]:
    """Return the arguments as an object; nothing raises."""
    if arguments is None:
        return {}
    if isinstance(arguments, dict):
        return arguments
    if not isinstance(arguments, str):
        return {"raw": arguments}
    if not arguments.strip():
        return {}
    healed = _object(arguments, _LAYERS)
    return {"raw": arguments} if healed is None else healed


def _object(text: str, layers: int) -> dict[str, Any] | None:
    """Return the object that the text means, None where it means none."""
    try:
        value = codec.loads_text(text)
    except codec.NotJsonError:
        inner = _unescaped(text)
    else:
        if value is None:
            return {}
        if isinstance(value, dict):
            return value
        inner = value if isinstance(value, str) else None
    return None if inner is None or layers == 1 else _object(inner, layers - 1)


def _unescaped(text: str) -> str | None:
    """Return the text with one layer of string escapes undone, None where it is not escaped so.

    Line ends and tabs stand raw between the tokens of such texts, which a JSON string may not have.
    """
    try:
        value: str = json.loads(f'"{text}"', strict=False)
    except (ValueError, RecursionError):
        return None
    return None if value == text else value
