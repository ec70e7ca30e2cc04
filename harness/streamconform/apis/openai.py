"""The key, the host and the error document shared by OpenAI's two APIs. Pure."""

from __future__ import annotations

from typing import Final

from streamconform.apis.api import Key, OptIn, Recording, require
from streamconform.apis.request_forms import declares_tool

KEY: Final = Key(
    header="authorization",
    prefix="Bearer ",
    variable="OPENAI_API_KEY",
    # older clients and LiteLLM use the second name
    addresses={"OPENAI_BASE_URL": "/v1", "OPENAI_API_BASE": "/v1"},
)
RECORDING: Final = Recording(streaming_only=("stream_options",), host="api.openai.com")

# https://platform.openai.com/docs/guides/error-codes
ERROR: Final = (*require("object", "error"), *require("name", "error.message", "error.type"))

# https://platform.openai.com/docs/guides/function-calling#custom-tools
CUSTOM_TOOLS: Final = OptIn("custom tools (`type: custom`)", declares_tool("custom"))
