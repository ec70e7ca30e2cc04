r"""Repair malformed tool arguments from small models and their servers, so that they become an object.

Healing is a separate step that callers request; decoders never heal. The first matching form applies, so
valid JSON is never changed:

1. An object stays as it is.
2. The JSON text of an object becomes that object. The JSON text of a string is decoded, then healed.
3. Text that was escaped one time too many (`{\"path\":\"C:\\\\temp\"}`) is treated as the inside of a JSON
   string: exactly one layer of escapes is undone, and the result must be the JSON text of an object.
4. Missing arguments (null, or empty or blank text) become an empty object.
5. Anything else becomes `{"raw": ...}`, unchanged, for a person or the model to inspect. This includes
   truncated text, because closing its brackets would invent arguments.

Source: https://www.rfc-editor.org/rfc/rfc8259 section 7, and the issues named by the cases in
`specs/common/heal.yaml`.
"""

from __future__ import annotations

import json
from typing import Any, Final

from streamconform_reference.json_text import codec

_LAYERS: Final = 3
"""The maximum number of nested layers of JSON text to decode."""


def heal_tool_arguments(arguments: Any) -> dict[str, Any]:
    """Return the arguments as an object; never raises, whatever the input."""
    if arguments is None:
        return {}
    if isinstance(arguments, dict):
        return arguments
    if not isinstance(arguments, str):
        return {"raw": arguments}
    if not arguments.strip():
        return {}
    healed = _heal_text(arguments, _LAYERS)
    return {"raw": arguments} if healed is None else healed


def _heal_text(text: str, layers: int) -> dict[str, Any] | None:
    """Return the object that the text encodes, or None if it encodes no object."""
    try:
        value = codec.loads_text(text)
    except codec.NotJsonError:
        inner = _undo_escapes(text)
    else:
        if value is None:
            return {}
        if isinstance(value, dict):
            return value
        inner = value if isinstance(value, str) else None
    return None if inner is None or layers == 1 else _heal_text(inner, layers - 1)


def _undo_escapes(text: str) -> str | None:
    """Return the text with one layer of escapes undone; None if it has no escapes or an invalid one."""
    # `strict=False`: such texts contain raw line ends and tabs between tokens, which a JSON string forbids.
    try:
        value: str = json.loads(f'"{text}"', strict=False)
    except (ValueError, RecursionError):
        return None
    return None if value == text else value
