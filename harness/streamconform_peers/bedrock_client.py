"""boto3's client and errors: `ClientError` (which includes `EventStreamError`) is the provider's error.

botocore and urllib3 raise their own exceptions for a lost connection; `ParserError` means that botocore
rejected the bytes.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import boto3
import botocore.exceptions
import urllib3.exceptions
from botocore.config import Config
from botocore.eventstream import ParserError

from streamconform_peers.normal_form import TIMEOUT_SECONDS, Error, describe_exception, get

CONFIG: Final = Config(
    retries={"total_max_attempts": 1},
    connect_timeout=TIMEOUT_SECONDS,
    read_timeout=TIMEOUT_SECONDS,
    # Not None, which means the proxies in the environment.
    proxies={},
)
BEFORE_SIGN: Final = "before-sign.bedrock-runtime"
"""The event that botocore emits before it signs a request, while a handler can still change the address."""
CONNECTION_ERRORS: Final = (botocore.exceptions.HTTPClientError, urllib3.exceptions.HTTPError)


@cache
def _get_shared_client() -> Any:
    """Return the process's client; it reads no AWS configuration from the machine."""
    session = boto3.Session(aws_access_key_id="x", aws_secret_access_key="x", region_name="us-east-1")  # noqa: S106
    return session.client("bedrock-runtime", config=CONFIG)


def get_client(run: Any) -> Any:
    """Return the shared client, with its requests redirected to the run's address.

    A boto3 client is slow to create and its endpoint is fixed, so a handler redirects each request instead.
    """

    def redirect(request: Any, **_: Any) -> None:
        _, model, rest = request.url.partition("/model/")
        request.url = run.base_url + model + rest

    events = _get_shared_client().meta.events
    # botocore ignores a second handler with the same id, so the previous run's handler is removed first.
    events.unregister(BEFORE_SIGN, unique_id=BEFORE_SIGN)
    events.register(BEFORE_SIGN, redirect, unique_id=BEFORE_SIGN)
    return _get_shared_client()


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
