"""The OpenAI SDK's errors, as it and the frameworks that use it raise them.

`APIError` is the provider's error; `APIConnectionError` means a lost connection.
"""

from __future__ import annotations

from typing import Final

import openai

from streamconform.normal.blocks import Error, get
from streamconform_peers.library_call import describe_exception

CONNECTION_ERRORS: Final = (openai.APIConnectionError,)
"""The connection was lost or timed out; the provider sent no error."""


def describe_error(error: Exception) -> Error | None:
    """Return the error in an SDK exception; None if the connection was lost."""
    if isinstance(error, CONNECTION_ERRORS):
        return None
    if not isinstance(error, openai.APIError):
        return describe_exception(error)
    message = get(error.body, "message")
    return {
        "type": error.type or error.code,
        "message": message if isinstance(message, str) else error.message,
        "status": getattr(error, "status_code", None),
    }
