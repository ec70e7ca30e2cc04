"""What is legal in a stream, by the grammar of its API: the rules it breaks, and the members it has to keep.

A stream is reduced only to streams that break no rule that it did not break before. The grammars are the
reference's, which tools may import. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from streamconform_reference.apis.grammars import GRAMMARS

from streamconform.apis import APIS


def broken_rules(api: str, body: bytes, request: Mapping[str, Any]) -> frozenset[str]:
    """Return the rules that `body`, the answer to `request`, breaks; empty for a legal stream.

    Places are left out: they move while a stream gets smaller.
    """
    return frozenset(deviation.rule for deviation in GRAMMARS[api].of_body([body], request))


@cache
def kept_members(api: str) -> frozenset[str]:
    """Return the names of the members that a payload has to keep, wherever they are in it.

    A name kept too often costs a few bytes; a member dropped wrongly makes the stream illegal.
    """
    required = (field for fields in GRAMMARS[api].fields.values() for field in fields if field.needed)
    return APIS[api].reducing.kept | {field.path.rpartition(".")[2].removesuffix("[]") for field in required}
