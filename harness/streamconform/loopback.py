"""Tell addresses of this machine from others, so that a web page cannot use a local server. Pure."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

LOOPBACK: Final = re.compile(r"localhost|127(\.[0-9]+){3}|::1")


def is_loopback(url: str) -> bool:
    """Return whether the host of `url` is this machine."""
    try:
        host = urlsplit(url).hostname
    except ValueError:
        return False
    return host is not None and LOOPBACK.fullmatch(host) is not None
