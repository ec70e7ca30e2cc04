"""What the proxy says of itself: the small documents behind GET."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from streamconform_reference.outcome import Json

from streamconform_proxy.translate import Route

SINCE: Final = "2025-01-01T00:00:00Z"
"""Both apis have a time in each model; there is none that the proxy knows."""
SINCE_EPOCH: Final = 1_735_689_600


def health(route: Route, running: int) -> Json:
    """Return that the proxy serves, from which api to which, and how many requests are on."""
    return {"status": "ok", "from": route.client, "to": route.upstream, "running": running}


def models(route: Route, running: int) -> Json:
    """Return the models that the proxy has names for, in the form of the client's api."""
    del running
    names = [name for name in route.models if name != "*"]
    if route.client == "openai-chat":
        data = [
            {"id": name, "object": "model", "created": SINCE_EPOCH, "owned_by": "proxy"} for name in names
        ]
        return {"object": "list", "data": data}
    listed = [{"type": "model", "id": name, "display_name": name, "created_at": SINCE} for name in names]
    ends = {"first_id": names[0] if names else None, "last_id": names[-1] if names else None}
    return {"data": listed, "has_more": False, **ends}


LOCAL: Final[Mapping[str, Callable[[Route, int], Json]]] = {
    "/": health,
    "/health": health,
    "/v1/models": models,
}
"""What is answered without the upstream."""
