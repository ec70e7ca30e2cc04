"""The environment for the program under test: ours, without API keys and proxy settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

SECRET_NAME: Final = re.compile(
    r"(^|_)(api_?key|apikey|key_id|access_key|token|secret|secrets|password|passwd|credentials?)(_|$)"
    r"|(^|_)(http|https|all|no|ftp)_proxy$|^aws_|^anthropic_|^openai_|^azure_openai|^google_application|^cohere_",
    re.IGNORECASE,
)
"""Variables that are not passed on: a run must never reach a real provider or leak a key to one."""


def remove_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Return `environment` without provider keys, provider settings or proxies."""
    return {name: value for name, value in environment.items() if not SECRET_NAME.search(name)}
