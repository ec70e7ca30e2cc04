"""`peer:pydantic-ai`: Pydantic AI, `direct.model_request_stream_sync()` and the response that it builds.

`ModelAPIError` and what derives from it is the provider's error, `ModelConnectionError` a lost connection.
The prompt and the tools of the request are sent in the library's own form. Usage that it does not know it
tells by `unmeasured_requests`; what it gives as 0 is 0 here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic_ai import ModelRequest
from pydantic_ai.direct import model_request_stream_sync, model_request_sync
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from streamconform.peers import request_reader
from streamconform.peers.anthropic import errors
from streamconform.peers.google_genai import parts
from streamconform.peers.normal_form import Error, at, outcome
from streamconform.peers.pydantic_ai import messages
from streamconform.peers.pydantic_ai import settings as pydantic_ai_settings
from streamconform.peers.pydantic_ai.models import model_of, told
from streamconform.peers.pydantic_ai.parts import block, counts, signed

STOPS: Final[Mapping[str, str]] = {
    "stop": "stop",
    "length": "length",
    "tool_call": "tool_use",
    "content_filter": "content_filter",
    "error": "error",
}
RAW: Final[Mapping[str, str]] = {**errors.STOPS, **parts.STOPS}
"""The provider's words that it has none of its own for: it tells them in `provider_details` alone."""


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of a run; of a round trip both."""
    given = run.conversation
    if given is None:
        return _asked(
            run, [ModelRequest.user_text_prompt(request_reader.prompt(run.request))], _tools(run), {}
        )[0]
    said = messages.history(given, run.api)
    beside = messages.definitions(given), pydantic_ai_settings.settings(given, run.api)
    first, response = _asked(run, said, *beside)
    if run.results is None or response is None:
        return first
    back = messages.returned(response, run.results, given.get("system"))
    return {"first": first, "outcome": _asked(run, [*said, response, back], *beside)[0]}


def _tools(run: Any) -> list[ToolDefinition]:
    return [
        ToolDefinition(name=name, description=description, parameters_json_schema=dict(schema))
        for name, description, schema in request_reader.tools(run.request)
    ]


def _asked(
    run: Any, said: list[Any], tools: list[ToolDefinition], settings: Any
) -> tuple[dict[str, Any], Any]:
    """Return the outcome, and the response that its user would send back."""
    given: dict[str, Any] = {
        "model_settings": settings,
        "model_request_parameters": ModelRequestParameters(function_tools=tools),
    }
    error: Error | None = None
    response: Any = None
    whole = False
    try:
        model = model_of(run)
        if (run.conversation or {}).get("stream") is False:
            response, whole = model_request_sync(model, said, **given), True
        else:
            with model_request_stream_sync(model, said, **given) as stream:
                try:
                    for _ in stream:
                        pass
                    whole = True
                finally:
                    response = stream.response
    except Exception as thrown:  # noqa: BLE001 - what its user sees
        error = told(thrown)
    return _outcome(response, error, whole=whole), response


def _outcome(response: Any, error: Error | None, *, whole: bool) -> dict[str, Any]:
    reason = at(response, "finish_reason") if whole else None
    details = at(response, "provider_details")
    raw = (at(details, "finish_reason") or at(details, "block_reason")) if whole else None
    return outcome(
        [
            each
            for part in at(response, "parts") or []
            for each in signed(part, block(part, complete=bool(reason or raw)))
        ],
        STOPS.get(reason, "other") if reason else RAW.get(raw, "other") if raw else None,
        raw,
        usage=counts(at(response, "usage"), whole=whole),
        error=error,
        model=at(response, "model_name"),
        response_id=at(response, "provider_response_id"),
    )
