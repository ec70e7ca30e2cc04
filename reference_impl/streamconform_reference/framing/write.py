"""Write server-sent events: a payload in, the bytes of its event out.

Payloads are compact JSON, which contains no line breaks, so one line is one event. Characters that only some
libraries treat as line ends (U+0085, U+2028) stay unescaped, because the format does not break lines there.
"""

from __future__ import annotations

from typing import Any, Final

from streamconform_reference.json_text.codec import dumps

SSE_COMMENT: Final = b": keepalive\n\n"
"""An SSE comment, which clients ignore and which keeps a connection open."""
SSE_DONE: Final = b"data: [DONE]\n\n"


def sse(payload: Any, event: str | None = None) -> bytes:
    """Return a server-sent event, with an optional name."""
    name_line = b"" if event is None else b"event: %s\n" % event.encode()
    return b"%sdata: %s\n\n" % (name_line, dumps(payload))
