"""The first half of a surrogate pair is shown alone."""

from __future__ import annotations

import re
from typing import Any, Final

from streamconform_reference.json_text.incremental import partial_value

from ._calls import calling

HALF: Final = re.compile(r"(\\u[dD][89abAB][0-9a-fA-F]{2})(\\|\\u[0-9a-fA-F]{0,3})?\Z")


def partial(api: str | None, given: str) -> Any:
    """Take half a pair at the end for a whole character, as a text that ends there would have it."""
    del api
    return partial_value(HALF.sub(r"\1 ", given)) if HALF.search(given) else partial_value(given)


adapter = calling("half-character-shown", partial=partial)
