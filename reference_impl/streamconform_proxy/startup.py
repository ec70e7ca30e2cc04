"""What the proxy says when it has begun to listen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from streamconform_proxy.model_capabilities import THINKING_CAPABLE
from streamconform_proxy.translate import ENDPOINTS, Route

CLIENT_VARIABLES: Final[Mapping[str, tuple[str, str]]] = {
    "anthropic-messages": ("ANTHROPIC_BASE_URL", ""),
    "openai-chat": ("OPENAI_BASE_URL", "/v1"),
}
"""The variable from which the provider's own clients read a base URL, and what of the path it has."""


def banner(url: str, route: Route, upstream: str, *, keys: str, bounds: str) -> Iterator[str]:
    """Yield the lines; the first begins with the address. `keys` says whose keys go upstream."""
    yield f"{url}  {route.client} -> {route.upstream} at {upstream}"
    variable, path = CLIENT_VARIABLES[route.client]
    yield f"  clients:  {variable}={url}{path}"
    yield f"  serves:   {', '.join(f'POST {each}' for each in ENDPOINTS[route.client])}"
    yield f"  models:   {_models(route)}"
    if route.upstream == "ollama-chat":
        yield f"  thinking: {', '.join(THINKING_CAPABLE)}; asked of other models it is refused (400)"
    yield f"  keys:     {keys}"
    yield f"  bounds:   {bounds}"


def _models(route: Route) -> str:
    named = [f"{ours} = {theirs}" for ours, theirs in route.models.items() if ours != "*"]
    rest = route.models.get("*")
    if rest is None:
        return ", ".join([*named, "others by their own names"]) if named else "by their own names"
    return ", ".join([*named, f"all others = {rest}" if named else f"all = {rest}"])
