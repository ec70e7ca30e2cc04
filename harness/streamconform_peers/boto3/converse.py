"""`peer:boto3`: the AWS SDK's `converse_stream()`, aggregated as in its examples, and `converse()`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import boto3
from botocore.config import Config

from streamconform_peers.boto3.errors import describe_error
from streamconform_peers.boto3.events import aggregate_content, convert_block, read_usage
from streamconform_peers.normal_form import TIMEOUT_SECONDS, Block, ExceptionKeeper, build_outcome, get

STOP_REASONS: Final[Mapping[str, str]] = {
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
    retries={"total_max_attempts": 1},
    connect_timeout=TIMEOUT_SECONDS,
    read_timeout=TIMEOUT_SECONDS,
    # Not None, which means the proxies in the environment.
    proxies={},
)


BEFORE_SIGN: Final = "before-sign.bedrock-runtime"
"""The event that botocore emits before it signs a request, while a handler can still change the address."""


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


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of `converse_stream()`, or `converse()`."""
    events: list[Any] = []
    response: Any = None
    if not run.stream:
        with ExceptionKeeper(describe_error) as kept:
            response = get_client(run).converse(modelId=run.model, **(run.request or {}))
        blocks = get(response, "output", "message", "content") or []
        content = [convert_block(block) for block in blocks]
        return _build_result(content, get(response, "stopReason"), get(response, "usage"), response, kept)
    with ExceptionKeeper(describe_error) as kept:
        response = get_client(run).converse_stream(modelId=run.model, **(run.request or {}))
        for event in response["stream"]:
            events.append(event)  # noqa: PERF402 - events before an exception must be kept
    stop = next((event["messageStop"].get("stopReason") for event in events if "messageStop" in event), None)
    usage = next((event["metadata"].get("usage") for event in reversed(events) if "metadata" in event), None)
    return _build_result(aggregate_content(events), stop, usage, response, kept)


def _build_result(
    content: list[Block], stop: str | None, usage: Any, response: Any, kept: ExceptionKeeper
) -> dict[str, Any]:
    reason = STOP_REASONS.get(stop, "other") if stop else None
    error = kept.error
    if reason == "error" and not error:
        error = {"type": stop, "message": None, "status": None}
    return build_outcome(
        content,
        reason,
        stop,
        usage=read_usage(usage or {}),
        error=error,
        response_id=get(response, "ResponseMetadata", "RequestId"),
    )
