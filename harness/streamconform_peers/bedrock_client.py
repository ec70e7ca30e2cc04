"""boto3's client and errors: `ClientError` (which includes `EventStreamError`) is the provider's error.

botocore and urllib3 raise their own exceptions for a lost connection; `ParserError` means that botocore
rejected the bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import boto3
import botocore.exceptions
import urllib3.exceptions
from botocore.config import Config
from botocore.eventstream import ParserError

from streamconform.normal.blocks import Error, get
from streamconform_peers import control
from streamconform_peers.library_call import TIMEOUT_SECONDS, describe_exception

_ADDRESS: Final = {"base_url": ""}
"""Where the requests of the shared clients go: to the address of the current run."""
BEFORE_SIGN: Final = "before-sign.bedrock-runtime"
"""The event that botocore emits before it signs a request, while a handler can still change the address."""
CONNECTION_ERRORS: Final = (botocore.exceptions.HTTPClientError, urllib3.exceptions.HTTPError)


@control.keep_clients
def _get_shared_client(**retries: int) -> Any:
    """Return the process's client; it reads no AWS configuration from the machine."""
    session = boto3.Session(aws_access_key_id="x", aws_secret_access_key="x", region_name="us-east-1")  # noqa: S106
    client = session.client("bedrock-runtime", config=_build_config(retries))
    client.meta.events.register(BEFORE_SIGN, _redirect)
    return client


def get_client(run: Any) -> Any:
    """Return the shared client, with its requests redirected to the run's address.

    A boto3 client is slow to create and its endpoint is fixed, so a handler redirects each request instead.
    """
    _ADDRESS["base_url"] = run.base_url
    return _get_shared_client(**control.turn_off_retries(run, total_max_attempts=1))


def build_config(run: Any) -> Config:
    """Return the settings of a client for a run."""
    return _build_config(control.turn_off_retries(run, total_max_attempts=1))


def _build_config(retries: Mapping[str, int]) -> Config:
    return Config(
        **({"retries": dict(retries)} if retries else {}),
        connect_timeout=TIMEOUT_SECONDS,
        read_timeout=TIMEOUT_SECONDS,
        # Not None, which means the proxies in the environment.
        proxies={},
    )


def _redirect(request: Any, **_: Any) -> None:
    _, model, rest = request.url.partition("/model/")
    request.url = _ADDRESS["base_url"] + model + rest


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
