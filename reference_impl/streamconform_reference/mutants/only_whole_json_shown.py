"""Each prefix is parsed anew, as a whole."""

from __future__ import annotations

from typing import Any

from streamconform_reference.json_text import codec

from ._calls import calling


def partial(api: str | None, given: str) -> Any:
    """Parse what came; an empty object for what does not parse."""
    del api
    try:
        return codec.loads_text(given)
    except codec.NotJsonError:
        return {}


adapter = calling("only-whole-json-shown", partial=partial)
