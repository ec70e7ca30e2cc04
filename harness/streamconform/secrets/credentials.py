"""The headers that contain keys."""

from __future__ import annotations

from typing import Final

from streamconform.apis import APIS

CREDENTIALS: Final = frozenset(
    {
        "api-key",
        "authorization",
        "cookie",
        "proxy-authorization",
        "x-auth-token",
        *(api.key.header for api in APIS.values()),
    }
)
"""Headers that contain keys. `--header` rejects them, because other users of the machine can read command
lines.
"""
