"""Build the documents that the proxy serves itself, for GET requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from streamconform_proxy.translate import Route
from streamconform_reference.outcome import Json

# Both APIs require a creation time for each model; the proxy does not know any, so it returns a fixed one.
CREATED: Final = "2025-01-01T00:00:00Z"
CREATED_EPOCH: Final = 1_735_689_600


def build_health(route: Route, running: int) -> Json:
    """Return the health document: the two APIs, and the number of requests being answered."""
    return {"status": "ok", "from": route.client, "to": route.upstream, "running": running}


def build_models(route: Route, running: int) -> Json:
    """Return the models of the route's table, in the form of the client's API."""
    del running
    names = [name for name in route.models if name != "*"]
    if route.client == "openai-chat":
        data = [
            {"id": name, "object": "model", "created": CREATED_EPOCH, "owned_by": "proxy"} for name in names
        ]
        return {"object": "list", "data": data}
    models = [{"type": "model", "id": name, "display_name": name, "created_at": CREATED} for name in names]
    ends = {"first_id": names[0] if names else None, "last_id": names[-1] if names else None}
    return {"data": models, "has_more": False, **ends}


LOCAL_DOCUMENTS: Final[Mapping[str, Callable[[Route, int], Json]]] = {
    "/": build_health,
    "/health": build_health,
    "/v1/models": build_models,
}
"""The documents served without asking the upstream, by path."""
