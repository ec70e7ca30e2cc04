"""Errors of boto3: `ClientError` (which includes `EventStreamError`) is the provider's error.

botocore and urllib3 raise their own exceptions for a lost connection; `ParserError` means that botocore
rejected the bytes.
"""

from __future__ import annotations

from typing import Final

import botocore.exceptions
import urllib3.exceptions
from botocore.eventstream import ParserError

from streamconform_peers.normal_form import Error, describe_exception, get

CONNECTION_ERRORS: Final = (botocore.exceptions.HTTPClientError, urllib3.exceptions.HTTPError)


def describe_error(error: Exception) -> Error | None:
    """Return the error in an exception; None if the connection was lost."""
    if isinstance(error, CONNECTION_ERRORS):
        return None
    if isinstance(error, botocore.exceptions.ClientError):
        details, status = (
            error.response.get("Error", {}),
            get(error.response, "ResponseMetadata", "HTTPStatusCode"),
        )
        return {"type": details.get("Code"), "message": details.get("Message"), "status": status}
    return describe_exception(error) | ({"type": "protocol"} if isinstance(error, ParserError) else {})
