"""`Peer`: a library at its pinned release, the adapter that uses it, and their files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from streamconform.model.capability import Capability

PACKAGE: Final = Path(__file__).parent
Capabilities = tuple[Capability, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A library, used as its own documentation recommends."""

    name: str
    """The name after `peer:`."""
    library: str
    """The folder of the library, below this package."""
    language: Literal["python", "javascript"]
    distribution: str
    version: str
    """The only release that is installed; the peers of a library share an environment."""
    module: str
    """The adapter's module, in the library's folder."""
    arguments: tuple[str, ...] = ()
    """Further arguments of the adapter's program, for JavaScript."""
    apis: tuple[str, ...]
    through: str
    """The library functions that the adapter calls."""
    issues: str
    """The library's issue tracker."""
    claims: Capabilities
    """The capabilities that the adapter claims, apart from `stop`."""
    claims_by_api: Mapping[str, Capabilities] = field(default_factory=dict)
    """Claims for individual APIs, which replace `claims`."""
    controls: Capabilities = ()
    """The claimed capabilities about behavior on a connection, for every API."""
    vendor: str | None = None
    """The vendor whose servers the library is written for; it is judged only on that vendor's streams."""
    lacks: tuple[str, ...] = ()
    """The members of a conversation for which the library has no setting, and the controls it has not."""
    extras: tuple[str, ...] = ()
    companions: tuple[str, ...] = ()
    """Distributions that are installed with the library; for Python, the pins list their releases."""

    @property
    def folder(self) -> Path:
        """The folder with everything about the library."""
        return PACKAGE / self.library

    @property
    def pins(self) -> Path:
        """The file with the release and the digests of each distribution in the environment."""
        return self.folder / ("requirements.txt" if self.language == "python" else "package-lock.json")

    @property
    def known_failures(self) -> Path:
        """The file with the known failures; there is none if the peer passes everything."""
        return self.folder / "known" / f"{self.name}.yaml"

    @property
    def history(self) -> Path:
        """The file with the history of the peer's findings; there may be none."""
        return self.folder / "history" / f"{self.name}.yaml"

    @property
    def snippet(self) -> Path:
        """The file with the code that calls the library, for the programs of findings."""
        return self.folder / "snippets" / f"{self.name}.yaml"

    @property
    def key(self) -> str:
        """The name of the environment's folder."""
        release = f"{self.distribution.lstrip('@').replace('/', '-')}-{self.version}"
        return release if self.language == "python" else f"node-{release}"

    @property
    def requirements(self) -> tuple[str, ...]:
        """The library and its companions, as pip or npm names them."""
        if self.language == "javascript":
            return (f"{self.distribution}@{self.version}", *self.companions)
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        return (f"{self.distribution}{extras}=={self.version}", *self.companions)

    @property
    def capabilities(self) -> Mapping[str, Capabilities]:
        """The capabilities claimed for each API."""
        # Each of these libraries says why an answer ended.
        return {api: (*self.claims_by_api.get(api, self.claims), *self.controls, "stop") for api in self.apis}

    @property
    def hello(self) -> Mapping[str, object]:
        """What the peer's program says about itself; its first argument, because it reads no YAML."""
        return {
            "name": self.name,
            "package": self.distribution,
            "issues": self.issues,
            "apis": self.capabilities,
            "vendor": self.vendor,
            "lacks": self.lacks,
        }
