"""A text that ends in half an escape is left out as a whole."""

from __future__ import annotations

import re
from typing import Any, Final

from streamconform_reference.json_text.incremental import partial_value

from ._calls import calling

CUT: Final = re.compile(r'"(?:[^"\\]|\\(?:[^u]|u[0-9a-fA-F]{4}))*\\(?:u[0-9a-fA-F]{0,3})?\Z')


def partial(api: str | None, given: str) -> Any:
    """Drop a last text that cannot be closed."""
    del api
    return partial_value(CUT.sub("", given))


adapter = calling("cut-escape-loses-text", partial=partial)
