"""Public projects that ship recorded streams in their source distributions: a table, and no code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One source distribution, and which of its files are recordings."""

    name: str
    """What the command line calls it."""
    distribution: str
    version: str
    sha256: str
    """Of the archive; nothing in an archive that differs is read."""
    backend: str
    """Its build backend, as `pyproject.toml` names it: pip asks for metadata there, and gets ours."""
    licence: str
    select: tuple[str, ...]
    """Globs of its cassettes (vcrpy), below the archive's own folder; `*` crosses folders."""
    apis: tuple[str, ...]
    """The apis whose streams were found in it."""
    note: str
    """Who recorded them, and how."""

    @property
    def key(self) -> str:
        """Return the name of its folder in the cache."""
        return f"{self.name}-{self.version}"


OPENLLMETRY: Final = "tests of the instrumentations of OpenLLMetry, recorded by pytest-recording"

_ALL: Final = (
    Source(
        name="mirascope",
        distribution="mirascope",
        version="2.8.2",
        sha256="743079786d5015a8953e4221d99333b54a59d24272ae365d8a9b4ffb89c8d7c9",
        backend="hatchling.build",
        licence="MIT",
        select=("tests/*/cassettes/*.yaml",),
        apis=("anthropic-messages", "openai-chat", "openai-responses", "google-generate"),
        note="its end-to-end tests, several models of each provider, recorded by pytest-recording",
    ),
    Source(
        name="openllmetry-anthropic",
        distribution="opentelemetry-instrumentation-anthropic",
        version="0.62.4",
        sha256="861d893c0e20022fa5bee6134cc36c1b5bf847cf831ec0d8b78b0a8267e2a21b",
        backend="hatchling.build",
        licence="Apache-2.0",
        select=("tests/cassettes/*.yaml",),
        apis=("anthropic-messages",),
        note=OPENLLMETRY,
    ),
    Source(
        name="openllmetry-bedrock",
        distribution="opentelemetry-instrumentation-bedrock",
        version="0.62.4",
        sha256="3a43e79814a71e5ce9502dbb83bb9e1ae749e9ad71dc483a38c9ee996105213f",
        backend="hatchling.build",
        licence="Apache-2.0",
        select=("tests/*/cassettes/*.yaml",),
        apis=("bedrock-converse", "bedrock-invoke"),
        note=OPENLLMETRY,
    ),
    Source(
        name="openllmetry-cohere",
        distribution="opentelemetry-instrumentation-cohere",
        version="0.62.4",
        sha256="9f981c5f87b6396adf5b07e3363773bb911f83307231d319db923aa91f5cb4c5",
        backend="hatchling.build",
        licence="Apache-2.0",
        select=("tests/cassettes/*.yaml",),
        apis=("cohere-chat",),
        note=OPENLLMETRY,
    ),
    Source(
        name="openllmetry-groq",
        distribution="opentelemetry-instrumentation-groq",
        version="0.62.4",
        sha256="398bb08c901b15c8fe04b065142511c02bc44d1d1c287ce0eba6ef3d440e7878",
        backend="hatchling.build",
        licence="Apache-2.0",
        select=("tests/traces/cassettes/*.yaml",),
        apis=("openai-chat",),
        note=OPENLLMETRY,
    ),
    Source(
        name="openllmetry-ollama",
        distribution="opentelemetry-instrumentation-ollama",
        version="0.62.4",
        sha256="2b3bbc92975a8a8ee8bea947c588f1160fbd1ec115c83bba22b4ab52fe799b55",
        backend="hatchling.build",
        licence="Apache-2.0",
        select=("tests/cassettes/*.yaml",),
        apis=("ollama-chat",),
        note=OPENLLMETRY,
    ),
    Source(
        name="opentelemetry-botocore",
        distribution="opentelemetry-instrumentation-botocore",
        version="0.66b2",
        sha256="744959d5f6bae940d3d41e5f2663fad733b50dedf742bc55da9bbbcfb9773903",
        backend="hatchling.build",
        licence="Apache-2.0",
        select=("tests/cassettes/*.yaml",),
        apis=("bedrock-converse", "bedrock-invoke"),
        note="tests of OpenTelemetry's instrumentation of botocore, recorded by vcrpy",
    ),
)

SOURCES: Final[Mapping[str, Source]] = {each.name: each for each in _ALL}
"""Every source by its name, in the order of lists."""
