"""Translate between APIs: a client's request to the upstream's API, and the upstream's answer back again.

Nothing exported here does any I/O: bytes and values in, bytes and values out. Only `server` and the modules
that it imports use the network; they need aiohttp, so they are not imported here.

    request = translate_request(route, body, headers)   # or raises RequestError; see `build_refusal`
    ...                                                 # POST request.content to the upstream at request.path
    relay = StreamRelay(request, headers=headers)       # if the status is below 400 and request.stream is set
    for chunk in chunks:
        client.write(relay.receive(chunk))
    client.write(relay.end())
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from streamconform_proxy.failures import (
        DocumentResponse,
        build_refusal,
        build_token_count,
        build_upstream_failure,
    )
    from streamconform_proxy.model_capabilities import THINKING_CAPABLE, can_think, is_thinking_refusal
    from streamconform_proxy.relay import StreamRelay, relay_document
    from streamconform_proxy.translate import (
        ENDPOINTS,
        ROUTES,
        Route,
        UpstreamRequest,
        remove_thinking,
        translate_request,
    )

__all__ = [
    "ENDPOINTS",
    "ROUTES",
    "THINKING_CAPABLE",
    "DocumentResponse",
    "Route",
    "StreamRelay",
    "UpstreamRequest",
    "build_refusal",
    "build_token_count",
    "build_upstream_failure",
    "can_think",
    "is_thinking_refusal",
    "relay_document",
    "remove_thinking",
    "translate_request",
]

_MODULES: Final[Mapping[str, str]] = {
    "ENDPOINTS": "translate",
    "ROUTES": "translate",
    "THINKING_CAPABLE": "model_capabilities",
    "DocumentResponse": "failures",
    "Route": "translate",
    "StreamRelay": "relay",
    "UpstreamRequest": "translate",
    "build_refusal": "failures",
    "build_token_count": "failures",
    "build_upstream_failure": "failures",
    "can_think": "model_capabilities",
    "is_thinking_refusal": "model_capabilities",
    "relay_document": "relay",
    "remove_thinking": "translate",
    "translate_request": "translate",
}


def __getattr__(name: str) -> Any:
    # Imported on first use, because the command line imports this package to list its command.
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
