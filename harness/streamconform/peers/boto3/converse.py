"""`peer:boto3`: the AWS SDK, `converse_stream()` of `bedrock-runtime`, events added up as AWS's examples do.

`ClientError`, of which `EventStreamError` is one, is the provider's error. botocore and urllib3 tell a lost
connection; `ParserError` is how it refuses bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import boto3
import botocore.exceptions
import urllib3.exceptions
from botocore.config import Config
from botocore.eventstream import ParserError

from streamconform.peers.boto3.events import content, counts
from streamconform.peers.normal_form import SECONDS, Error, at, outcome, raised

STOPS: Final[Mapping[str, str]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_use",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "content_filtered": "content_filter",
    "guardrail_intervened": "content_filter",
    "malformed_model_output": "error",
    "malformed_tool_use": "error",
}
CONFIG: Final = Config(
    retries={"total_max_attempts": 1}, connect_timeout=SECONDS, read_timeout=SECONDS, proxies={}
)


SIGNED: Final = "before-sign.bedrock-runtime"
"""The event before a request is signed, whose handlers may change its address."""


@cache
def _client() -> Any:
    """Return the client of this process, which knows no machine's settings."""
    session = boto3.Session(aws_access_key_id="x", aws_secret_access_key="x", region_name="us-east-1")  # noqa: S106
    return session.client("bedrock-runtime", config=CONFIG)


def client(run: Any) -> Any:
    """Return the client; what it asks from now on goes to the run's address."""

    def to_the_run(request: Any, **_: Any) -> None:
        _, model, rest = request.url.partition("/model/")
        request.url = run.base_url + model + rest

    events = _client().meta.events
    events.unregister(SIGNED, unique_id=SIGNED)
    events.register(SIGNED, to_the_run, unique_id=SIGNED)
    return _client()


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of `converse_stream()`."""
    events: list[Any] = []
    error: Error | None = None
    response: Any = None
    try:
        response = client(run).converse_stream(modelId=run.model, **(run.request or {}))
        for event in response["stream"]:
            events.append(event)  # noqa: PERF402 - those before an exception count
    except Exception as thrown:  # noqa: BLE001 - what its user sees
        error = told(thrown)
    stop = next((event["messageStop"].get("stopReason") for event in events if "messageStop" in event), None)
    usage = next((event["metadata"].get("usage") for event in reversed(events) if "metadata" in event), None)
    reason = STOPS.get(stop, "other") if stop else None
    if reason == "error" and not error:
        error = {"type": stop, "message": None, "status": None}
    return outcome(
        content(events),
        reason,
        stop,
        usage=counts(usage or {}),
        error=error,
        response_id=at(response, "ResponseMetadata", "RequestId"),
    )


LOST: Final = (botocore.exceptions.HTTPClientError, urllib3.exceptions.HTTPError)


def told(error: Exception) -> Error | None:
    """Return the error that an exception tells; None where the connection was lost."""
    if isinstance(error, LOST):
        return None
    if isinstance(error, botocore.exceptions.ClientError):
        said, status = (
            error.response.get("Error", {}),
            at(error.response, "ResponseMetadata", "HTTPStatusCode"),
        )
        return {"type": said.get("Code"), "message": said.get("Message"), "status": status}
    return raised(error) | ({"type": "protocol"} if isinstance(error, ParserError) else {})
