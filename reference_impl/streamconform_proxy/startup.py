"""Format the message that the proxy prints when it starts listening."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from streamconform_proxy.model_capabilities import THINKING_CAPABLE
from streamconform_proxy.translate import ENDPOINTS, Route

CLIENT_VARIABLES: Final[Mapping[str, tuple[str, str]]] = {
    "anthropic-messages": ("ANTHROPIC_BASE_URL", ""),
    "openai-chat": ("OPENAI_BASE_URL", "/v1"),
}
"""By API: the variable from which the provider's own clients read their base URL, and the path in that URL.
"""


def format_startup(url: str, route: Route, upstream: str, *, keys: str, bounds: str) -> Iterator[str]:
    """Yield the lines; the first starts with the proxy's address.

    `keys` says whose key the upstream gets, and `bounds` says which limits apply.
    """
    yield f"{url}  {route.client} -> {route.upstream} at {upstream}"
    variable, path = CLIENT_VARIABLES[route.client]
    yield f"  clients:  {variable}={url}{path}"
    yield f"  serves:   {', '.join(f'POST {path}' for path in ENDPOINTS[route.client])}"
    yield f"  models:   {_format_models(route)}"
    if route.upstream == "ollama-chat":
        yield f"  thinking: {', '.join(THINKING_CAPABLE)}; requests to other models are rejected (400)"
    yield f"  keys:     {keys}"
    yield f"  bounds:   {bounds}"


def _format_models(route: Route) -> str:
    mapped = [f"{name} = {model}" for name, model in route.models.items() if name != "*"]
    default = route.models.get("*")
    if default is None:
        return ", ".join([*mapped, "others unchanged"]) if mapped else "unchanged"
    return ", ".join([*mapped, f"all others = {default}" if mapped else f"all = {default}"])
