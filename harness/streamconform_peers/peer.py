"""`Peer`, a row of the peer table: a library, its pinned release and its claims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from streamconform.model.capability import Capability

Capabilities = tuple[Capability, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A library, used as its own documentation recommends."""

    name: str
    """The name after `peer:`."""
    distribution: str
    version: str
    """The only release that is installed; peers with the same release share an environment."""
    module: str
    """The adapter's module, relative to this package; for JavaScript, a file in `node` and its arguments."""
    apis: tuple[str, ...]
    through: str
    """The library functions that the adapter calls."""
    issues: str
    """The library's issue tracker."""
    claims: Capabilities
    """The capabilities that the adapter claims, apart from `stop`."""
    claims_by_api: Mapping[str, Capabilities] = field(default_factory=dict)
    """Claims for individual APIs, which replace `claims`."""
    vendor: str | None = None
    """The vendor whose servers the library is written for; it is judged only on that vendor's streams."""
    extras: tuple[str, ...] = ()
    companions: tuple[str, ...] = ()
    """Distributions that are installed with the library; for Python, the pins file lists their releases."""
    language: str = "python"

    @property
    def key(self) -> str:
        """The name of both the environment folder and the pins file."""
        release = f"{self.distribution.lstrip('@').replace('/', '-')}-{self.version}"
        return release if self.language == "python" else f"node-{release}"

    @property
    def requirements(self) -> tuple[str, ...]:
        """The requirements given to pip or npm."""
        if self.language == "javascript":
            return (f"{self.distribution}@{self.version}", *self.companions)
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        return (f"{self.distribution}{extras}=={self.version}", *self.companions)

    @property
    def capabilities(self) -> Mapping[str, Capabilities]:
        """The capabilities claimed for each API."""
        # Each of these libraries says why an answer ended.
        return {api: (*self.claims_by_api.get(api, self.claims), "stop") for api in self.apis}


# Claims that several peers share; each set extends the set with which it begins.
WITH_TOOLS: Final[Capabilities] = ("tool_calls", "parallel_tool_calls", "usage", "errors", "raw_stop")
WITH_CACHE: Final[Capabilities] = (*WITH_TOOLS, "cache_usage")
WITH_THINKING: Final[Capabilities] = (*WITH_TOOLS, "thinking")
WITH_SIGNATURES: Final[Capabilities] = (*WITH_CACHE, "thinking", "signatures")
WITH_PROVIDER_TOOLS: Final[Capabilities] = (*WITH_SIGNATURES, "provider_tools")
WITH_OWN_STOP_REASONS: Final[Capabilities] = (
    "tool_calls",
    "parallel_tool_calls",
    "usage",
    "cache_usage",
    "errors",
)
"""Libraries that replace the provider's stop reason with their own."""
OPENAI_CHAT: Final[Capabilities] = (*WITH_CACHE, "refusals")
"""The OpenAI SDK for Chat Completions; its chunks have no field for reasoning."""
