"""A text that has not ended is null, as if its key had none."""

from __future__ import annotations

import re
from typing import Any, Final

from streamconform_reference.json_text.incremental import partial_value

from ._calls import calling

CUT: Final = re.compile(r'(:\s*)"(?:[^"\\]|\\.)*\\?\Z', re.DOTALL)


def partial(api: str | None, given: str) -> Any:
    """Put null in the place of a member's text that is open."""
    del api
    return partial_value(CUT.sub(r"\1null", given))


adapter = calling("cut-text-as-null", partial=partial)
