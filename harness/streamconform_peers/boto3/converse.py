"""`peer:boto3`: the AWS SDK's `converse_stream()`, aggregated as in its examples, and `converse()`."""

from __future__ import annotations

from typing import Any

from streamconform.normal.blocks import Block, build_outcome, get
from streamconform.normal.stop_reasons import BEDROCK
from streamconform_peers import control
from streamconform_peers.bedrock_client import describe_error, get_client
from streamconform_peers.bedrock_events import aggregate_content, convert_block, read_usage
from streamconform_peers.library_call import ExceptionKeeper


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of `converse_stream()`, or `converse()`."""
    events: list[Any] = []
    response: dict[str, Any] = {}
    if not run.stream:
        with ExceptionKeeper(describe_error) as kept:
            response = get_client(run).converse(modelId=run.model, **(run.request or {}))
        blocks = get(response, "output", "message", "content") or []
        content = [convert_block(block) for block in blocks]
        return _build_result(content, get(response, "stopReason"), get(response, "usage"), response, kept)
    with ExceptionKeeper(describe_error) as kept:
        control.read(
            run, events, lambda: {"content": aggregate_content(events)}, lambda: _open_stream(run, response)
        )
    stop = next((event["messageStop"].get("stopReason") for event in events if "messageStop" in event), None)
    usage = next((event["metadata"].get("usage") for event in reversed(events) if "metadata" in event), None)
    return _build_result(aggregate_content(events), stop, usage, response, kept)


def _open_stream(run: Any, response: dict[str, Any]) -> Any:
    """Return the stream of an answer, whose other members go into `response`."""
    response |= get_client(run).converse_stream(modelId=run.model, **(run.request or {}))
    return response.pop("stream")


def _build_result(
    content: list[Block], stop: str | None, usage: Any, response: Any, kept: ExceptionKeeper
) -> dict[str, Any]:
    reason = BEDROCK.get(stop, "other") if stop else None
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
