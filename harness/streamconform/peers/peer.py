"""What is told of a peer: a library of a release, and what it claims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from streamconform.model.capability import Capability

Capabilities = tuple[Capability, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A library, reached as its own documentation tells its users to."""

    name: str
    """What stands behind `peer:`."""
    distribution: str
    version: str
    """The release that is installed, and no other; peers of one release share an environment."""
    module: str
    """The adapter, beside this table; those in JavaScript lie in `node`, and words behind are given to it."""
    apis: tuple[str, ...]
    through: str
    """What of the library the adapter calls."""
    issues: str
    """Where the library's maintainers hear of bugs."""
    claims: tuple[Capability, ...]
    """What the library says that it reads."""
    reads: Mapping[str, tuple[Capability, ...]] = field(default_factory=dict)
    """Where it is not the same for every api: what is claimed for one."""
    extras: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    """Distributions of the same library that are installed with it; the pins say which release."""
    language: str = "python"

    @property
    def key(self) -> str:
        """Return the name of its environment, and of its pins."""
        plain = f"{self.distribution.lstrip('@').replace('/', '-')}-{self.version}"
        return plain if self.language == "python" else f"node-{plain}"

    @property
    def requirements(self) -> tuple[str, ...]:
        """Return what pip, or npm, is asked for."""
        if self.language == "javascript":
            return (f"{self.distribution}@{self.version}", *self.beside)
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        return (f"{self.distribution}{extras}=={self.version}", *self.beside)

    @property
    def capabilities(self) -> Mapping[str, tuple[Capability, ...]]:
        """Return what is claimed for each api."""
        return {api: self.reads.get(api, self.claims) for api in self.apis}


CALLS: Final[tuple[Capability, ...]] = ("tool_calls", "parallel_tool_calls", "usage", "errors", "raw_stop")
CACHED: Final[tuple[Capability, ...]] = (*CALLS, "cache_usage")
THINKS: Final[tuple[Capability, ...]] = (*CALLS, "thinking")
SIGNED: Final[tuple[Capability, ...]] = (*CACHED, "thinking", "signatures")
HOSTED: Final[tuple[Capability, ...]] = (*SIGNED, "provider_tools")
CHAT: Final[tuple[Capability, ...]] = (*CACHED, "refusals")
"""Of the OpenAI SDK for Chat Completions: reasoning is not among the fields of its chunks."""
