"""Check streams against their API's grammar: which rules they violate, and which members they need. Pure.

A reduced stream must not violate a rule that the original follows, because a failure on an invalid stream
proves nothing. The grammars belong to the reference, which tools may import.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from streamconform.apis import APIS
from streamconform_reference.apis.grammars import GRAMMARS


def find_broken_rules(api: str, body: bytes, request: Mapping[str, Any]) -> frozenset[str]:
    """Return the rules that `body`, the answer to `request`, violates; empty for a valid stream.

    Rules are listed without frame numbers, which change as a stream gets smaller.
    """
    return frozenset(deviation.rule for deviation in GRAMMARS[api].of_body([body], request))


@cache
def list_required_members(api: str) -> frozenset[str]:
    """Return the names of the members that a payload must keep, at any depth.

    An unnecessary name costs a few bytes, but dropping a required member makes the stream invalid.
    """
    required = (field for fields in GRAMMARS[api].fields.values() for field in fields if field.needed)
    return APIS[api].reducing.kept | {field.path.rpartition(".")[2].removesuffix("[]") for field in required}
