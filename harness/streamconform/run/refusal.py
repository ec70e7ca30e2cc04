"""Tell a client that refuses on purpose to send a request from one that crashes or does not connect.

A client may refuse a model that is not in its table, or a tool that it does not support. That reveals nothing
about how it reads the stream, so the trial is skipped. A crash is a bug wherever it happens.
"""

from __future__ import annotations

import builtins
import re
import sys
from typing import Final

from streamconform.model.result import Raised

DELIBERATE: Final = frozenset(
    {
        *("ValueError", "NotImplementedError"),  # Python; Ruby has the second one too
        "Error",  # JavaScript, whose engine itself raises only subclasses
        *("ArgumentError", "InvalidArgumentException"),  # Ruby; PHP
        *("IllegalArgumentException", "UnsupportedOperationException"),  # Java
        *("ArgumentException", "NotSupportedException"),  # .NET
    }
)
"""The exceptions of languages' own libraries that code raises on purpose."""
CRASHES: Final = (
    frozenset(
        {
            *(name for name in vars(builtins) if name.endswith(("Error", "Exception", "Exit", "Interrupt"))),
            *("RangeError", "URIError", "EvalError", "AggregateError"),  # JavaScript
            *("NoMethodError", "FrozenError"),  # Ruby
            *("NullPointerException", "ClassCastException", "IndexOutOfBoundsException"),  # Java
            *("NullReferenceException", "InvalidCastException", "IndexOutOfRangeException"),  # .NET
            *("ArgumentCountError", "DivisionByZeroError"),  # PHP
        }
    )
    - DELIBERATE
)
"""The exceptions of languages' own libraries that show a bug."""
NETWORK_WORDS: Final = re.compile(
    r"Connect|Disconnect|Time(d)?_?out|Network|Transport|Socket|SSL|TLS|DNS|gaierror|Protocol|IncompleteRead"
    r"|ReadError|WriteError|FetchError|HTTPError|IOException|OSError"
)
"""Matches the names of exceptions about the connection, which are not refusals in any library."""


def is_refusal(raised: Raised | None) -> bool:
    """Return whether the library raised the exception on purpose: its own class, or one that means that."""
    # Without a frame inside the library, nothing shows that it is the library that refuses.
    if raised is None or raised.where is None:
        return False
    *packages, name = re.split(r"[.\\]|::", raised.type)
    if name in CRASHES or NETWORK_WORDS.search(name):
        return False
    return name in DELIBERATE or not packages or packages[0] not in sys.stdlib_module_names
