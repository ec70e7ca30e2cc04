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
OPENTELEMETRY: Final = "tests of OpenTelemetry's instrumentations of model libraries, recorded by vcrpy"
OPENINFERENCE: Final = "tests of the instrumentations of OpenInference, recorded by pytest-recording"
LANGCHAIN: Final = "LangChain's tests of its integrations, recorded by vcrpy with a serializer of its own"

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
    Source(
        name="magentic",
        distribution="magentic",
        version="0.41.1",
        sha256="91e9fde3455c53891d43301cc15ca6dfd5bb5670a1e9ebb173c0ec880187fbad",
        backend="hatchling.build",
        licence="MIT",
        select=("tests/*cassettes/*.yaml",),
        apis=(
            "openai-chat",
            "anthropic-messages",
            "ollama-chat",
        ),
        note="its tests, several providers with OpenAI's format among them, recorded by pytest-recording",
    ),
    Source(
        name="langsmith",
        distribution="langsmith",
        version="0.15.0",
        sha256="74e9524c65e7acb7db907f04dee703bb81f0d8529509f9438057cee5fd62209f",
        backend="hatchling.build",
        licence="MIT",
        select=("tests/integration_tests/cassettes/*.yaml",),
        apis=(
            "anthropic-messages",
            "google-generate",
            "openai-chat",
            "openai-responses",
        ),
        note="its integration tests, recorded by vcrpy",
    ),
    Source(
        name="openllmetry-openai",
        distribution="opentelemetry-instrumentation-openai",
        version="0.62.4",
        sha256="a2c03cf4b8c18ed5e53d4a59b3299df39858640e41b91379ca72153a3f85a716",
        backend="hatchling.build",
        licence="Apache-2.0",
        select=("tests/*/cassettes/*.yaml",),
        apis=(
            "openai-chat",
            "openai-responses",
        ),
        note=OPENLLMETRY,
    ),
    Source(
        name="crewai",
        distribution="crewai",
        version="1.15.30",
        sha256="17de4b7cc3f2c207033e9f82be4f7d749e540b0e415a3885a8d97bb43a90a318",
        backend="hatchling.build",
        licence="MIT",
        select=("tests/cassettes/*.yaml",),
        apis=(
            "openai-chat",
            "anthropic-messages",
            "google-generate",
            "openai-responses",
        ),
        note="its tests, recorded by vcrpy; the licence is that of its repository",
    ),
    Source(
        name="opentelemetry-openai",
        distribution="opentelemetry-instrumentation-genai-openai",
        version="1.3b0",
        sha256="84c9f05227d213eeaeced4fac9630ffc908956195e73ada853a34883dfc4961f",
        backend="hatchling.build",
        licence="Apache-2.0",
        select=("tests/cassettes/*.yaml",),
        apis=(
            "openai-responses",
            "openai-chat",
        ),
        note=OPENTELEMETRY,
    ),
    Source(
        name="opentelemetry-anthropic",
        distribution="opentelemetry-instrumentation-genai-anthropic",
        version="1.3b0",
        sha256="0581962ba8c79aa317a7d8d23d899de31888465c14e391ab2c5923c512df348e",
        backend="hatchling.build",
        licence="Apache-2.0",
        select=("tests/cassettes/*.yaml",),
        apis=("anthropic-messages",),
        note=OPENTELEMETRY,
    ),
    Source(
        name="openllmetry-langchain",
        distribution="opentelemetry-instrumentation-langchain",
        version="0.62.4",
        sha256="7727f752c803f6ea59aa6cc0c9617fb461417ea3f8416ee9a0f3c1cb5a33029f",
        backend="hatchling.build",
        licence="Apache-2.0",
        select=("tests/cassettes/*.yaml",),
        apis=(
            "openai-chat",
            "cohere-chat",
        ),
        note=OPENLLMETRY,
    ),
    Source(
        name="openllmetry-openai-agents",
        distribution="opentelemetry-instrumentation-openai-agents",
        version="0.62.4",
        sha256="4217916a05af6d75fda7f45efe9c24f5deb679e0441f9932aea091c752619e65",
        backend="hatchling.build",
        licence="Apache-2.0",
        select=("tests/cassettes/*.yaml",),
        apis=("openai-responses",),
        note=OPENLLMETRY,
    ),
    Source(
        name="openinference-google-genai",
        distribution="openinference-instrumentation-google-genai",
        version="1.4.14",
        sha256="75fc9c49a27327e25c8802fb23dbeb80839988a17fb6b6ee5dedaa20912bb3d7",
        backend="hatchling.build",
        licence="Apache-2.0",
        select=("tests/cassettes/*.yaml",),
        apis=(
            "google-generate",
            "google-interactions",
        ),
        note=OPENINFERENCE,
    ),
    Source(
        name="opentelemetry-bedrock",
        distribution="opentelemetry-instrumentation-genai-bedrock",
        version="1.3b0",
        sha256="c08fc7bc28aff5a3b5f134b6e509ca93f28621630202eb717a412009590af290",
        backend="hatchling.build",
        licence="Apache-2.0",
        select=("tests/cassettes/*.yaml",),
        apis=("bedrock-converse",),
        note=OPENTELEMETRY,
    ),
    Source(
        name="openinference-mistralai",
        distribution="openinference-instrumentation-mistralai",
        version="2.2.2",
        sha256="41287b753830f516575a548b6e801ce3bdec976c5e83dc8382040287f501f189",
        backend="hatchling.build",
        licence="Apache-2.0",
        select=("tests/*/cassettes/*.yaml",),
        apis=("openai-chat",),
        note=OPENINFERENCE,
    ),
    Source(
        name="openllmetry-mistralai",
        distribution="opentelemetry-instrumentation-mistralai",
        version="0.62.4",
        sha256="cc8f379420b809c3f20b18a0670978a6917d720f44df2f1f2f4db220c065a1b2",
        backend="hatchling.build",
        licence="Apache-2.0",
        select=("tests/cassettes/*.yaml",),
        apis=("openai-chat",),
        note=OPENLLMETRY,
    ),
    Source(
        name="openinference-bedrock",
        distribution="openinference-instrumentation-bedrock",
        version="0.1.61",
        sha256="52972a82f360d9ee2429a531c3fbca776f53f82ea9dfe072e3819ff7453daaeb",
        backend="hatchling.build",
        licence="Apache-2.0",
        select=("tests/*/cassettes/*.yaml",),
        apis=(
            "bedrock-converse",
            "bedrock-invoke",
        ),
        note=OPENINFERENCE,
    ),
    Source(
        name="langtrace",
        distribution="langtrace-python-sdk",
        version="3.8.21",
        sha256="f35726453c8e35bdd87b8c5dce58b2477658eac5fa1d5dadd25726c0afbc1b51",
        backend="hatchling.build",
        licence="Apache-2.0",
        select=("src/tests/*/cassettes/*.yaml",),
        apis=(
            "openai-chat",
            "anthropic-messages",
            "cohere-chat",
        ),
        note="its tests, Groq's answers among them, recorded by vcrpy",
    ),
    Source(
        name="openllmetry-traceloop",
        distribution="traceloop-sdk",
        version="0.62.4",
        sha256="033dbeb200021c4381a3e2aaf8678747b61d85c758ef9e36648e29b16d0d8deb",
        backend="hatchling.build",
        licence="Apache-2.0",
        select=("tests/cassettes/*.yaml",),
        apis=("openai-chat",),
        note=OPENLLMETRY,
    ),
    Source(
        name="langchain-openai",
        distribution="langchain-openai",
        version="1.7.4",
        sha256="8fd90e41588526d990f32262447adf8e130d7ce28ed66cefa315e64cc9dd12ce",
        backend="hatchling.build",
        licence="MIT",
        select=("tests/cassettes/*.yaml.gz",),
        apis=(
            "openai-responses",
            "openai-chat",
        ),
        note=LANGCHAIN,
    ),
    Source(
        name="langchain-anthropic",
        distribution="langchain-anthropic",
        version="1.7.10",
        sha256="72869686960b3d6665f99e7c91c9f6dd4a1d9ccf73d23edd8702eb603cc2e498",
        backend="hatchling.build",
        licence="MIT",
        select=("tests/cassettes/*.yaml.gz",),
        apis=("anthropic-messages",),
        note=LANGCHAIN,
    ),
    Source(
        name="langchain-aws",
        distribution="langchain-aws",
        version="1.9.1",
        sha256="e594476409f7fd41ae0989179866758338f7e5a9abbee93c0b2cff528aee2bb8",
        backend="hatchling.build",
        licence="MIT",
        select=("tests/cassettes/*.yaml.gz",),
        apis=("bedrock-converse",),
        note=LANGCHAIN,
    ),
    Source(
        name="langchain-anthropic-1.1",
        distribution="langchain-anthropic",
        version="1.1.0",
        sha256="427e102b76a417fb5713e81e853225e7459d71fc7abdf4d86722f0e01ad43845",
        backend="hatchling.build",
        licence="MIT",
        select=("tests/cassettes/*.yaml.gz",),
        apis=("anthropic-messages",),
        note=LANGCHAIN,
    ),
    Source(
        name="langchain-anthropic-0.3",
        distribution="langchain-anthropic",
        version="0.3.20",
        sha256="8ad996817a051db1dbaa1b76d710ad2588b93b9bf3c4ac7ecf66c1d480f921fc",
        backend="pdm.backend",
        licence="MIT",
        select=("tests/cassettes/*.yaml.gz",),
        apis=("anthropic-messages",),
        note=LANGCHAIN,
    ),
    Source(
        name="langsmith-0.6",
        distribution="langsmith",
        version="0.6.0",
        sha256="b60f1785aed4dac5e01f24db01aa18fa1af258bad4531e045e739438daa3f8c2",
        backend="hatchling.build",
        licence="MIT",
        select=("tests/integration_tests/cassettes/*.yaml",),
        apis=(
            "openai-responses",
            "openai-chat",
            "anthropic-messages",
        ),
        note="its integration tests of 2025, recorded by vcrpy",
    ),
    Source(
        name="opentelemetry-google-genai-0.6",
        distribution="opentelemetry-instrumentation-google-genai",
        version="0.6b0",
        sha256="76229c51a166d53e58e0376487f420562f1ab155511fe932110b4ea9c5718aad",
        backend="hatchling.build",
        licence="Apache-2.0",
        select=("tests/*/cassettes/*.yaml",),
        apis=("google-generate",),
        note=OPENTELEMETRY,
    ),
)

SOURCES: Final[Mapping[str, Source]] = {each.name: each for each in _ALL}
"""Every source by its name, in the order of lists."""
