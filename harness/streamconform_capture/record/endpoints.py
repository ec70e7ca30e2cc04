"""The endpoints that `conform record scenarios` knows: addresses, APIs, and variables that contain keys."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from streamconform.apis.api import Key
from streamconform.errors import UsageError

_VARIABLE: Final = re.compile(r"\{([A-Z_]+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A server, or a kind of server, and the APIs that it supports."""

    name: str
    """The prefix of cassette names."""
    title: str
    base_url: str
    """The address that precedes each request's path. `{NAME}` stands for an environment variable."""
    apis: tuple[str, ...]
    key: Key | None = None
    """How the key is sent, if not in the API's usual way."""
    paths: Mapping[str, str] = field(default_factory=dict)
    """Path prefixes and their replacements."""
    prices: str | None = None
    """The provider's id in genai-prices; None if its answers are free."""
    model: str | None = None
    """The model that is requested by default; a server with one model accepts any name."""
    source: str
    """A link to the documentation for the address."""

    @property
    def is_local(self) -> bool:
        """Return whether the server runs on the user's machine."""
        return self.prices is None


def _bearer(variable: str) -> Key:
    return Key(header="authorization", prefix="Bearer ", variable=variable)


CHAT: Final = ("openai-chat",)
OPENAI: Final = ("openai-chat", "openai-responses")

ENDPOINTS: Final[Mapping[str, Endpoint]] = {
    endpoint.name: endpoint
    for endpoint in (
        Endpoint(
            name="openai",
            title="OpenAI",
            base_url="https://api.openai.com",
            apis=OPENAI,
            prices="openai",
            source="https://platform.openai.com/docs/api-reference/introduction",
        ),
        Endpoint(
            name="anthropic",
            title="Anthropic",
            base_url="https://api.anthropic.com",
            apis=("anthropic-messages",),
            prices="anthropic",
            source="https://platform.claude.com/docs/en/api/overview",
        ),
        Endpoint(
            name="google",
            title="Gemini",
            base_url="https://generativelanguage.googleapis.com",
            apis=("google-generate", "google-interactions"),
            prices="google",
            source="https://ai.google.dev/api",
        ),
        Endpoint(
            name="cohere",
            title="Cohere",
            base_url="https://api.cohere.com",
            apis=("cohere-chat",),
            prices="cohere",
            source="https://docs.cohere.com/reference/chat-stream",
        ),
        Endpoint(
            name="azure",
            title="Azure OpenAI",
            base_url="https://{AZURE_OPENAI_RESOURCE}.openai.azure.com/openai",
            apis=OPENAI,
            key=Key(header="api-key", variable="AZURE_OPENAI_API_KEY"),
            prices="azure",
            source="https://learn.microsoft.com/en-us/azure/ai-foundry/openai/api-version-lifecycle",
        ),
        Endpoint(
            name="vertex",
            title="Vertex AI",
            base_url="https://{GOOGLE_CLOUD_LOCATION}-aiplatform.googleapis.com",
            apis=("google-generate",),
            key=_bearer("GOOGLE_CLOUD_ACCESS_TOKEN"),
            paths={
                "/v1beta/models/": "/v1/projects/{GOOGLE_CLOUD_PROJECT}/locations/{GOOGLE_CLOUD_LOCATION}"
                "/publishers/google/models/"
            },
            prices="google",
            source="https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference",
        ),
        Endpoint(
            name="bedrock",
            title="Amazon Bedrock",
            base_url="https://bedrock-runtime.{AWS_REGION}.amazonaws.com",
            apis=("bedrock-converse",),
            prices="aws",
            source="https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys-use.html",
        ),
        Endpoint(
            name="openrouter",
            title="OpenRouter",
            base_url="https://openrouter.ai/api",
            apis=CHAT,
            key=_bearer("OPENROUTER_API_KEY"),
            prices="openrouter",
            source="https://openrouter.ai/docs/api-reference/overview",
        ),
        Endpoint(
            name="groq",
            title="Groq",
            base_url="https://api.groq.com/openai",
            apis=OPENAI,
            key=_bearer("GROQ_API_KEY"),
            prices="groq",
            source="https://console.groq.com/docs/openai",
        ),
        Endpoint(
            name="mistral",
            title="Mistral",
            base_url="https://api.mistral.ai",
            apis=CHAT,
            key=_bearer("MISTRAL_API_KEY"),
            prices="mistral",
            source="https://docs.mistral.ai/api/",
        ),
        Endpoint(
            name="deepseek",
            title="DeepSeek",
            base_url="https://api.deepseek.com",
            apis=CHAT,
            key=_bearer("DEEPSEEK_API_KEY"),
            prices="deepseek",
            source="https://api-docs.deepseek.com/",
        ),
        Endpoint(
            name="xai",
            title="xAI",
            base_url="https://api.x.ai",
            apis=OPENAI,
            key=_bearer("XAI_API_KEY"),
            prices="x-ai",
            source="https://docs.x.ai/docs/api-reference",
        ),
        Endpoint(
            name="llama-cpp",
            title="llama.cpp's server",
            base_url="http://127.0.0.1:8080",
            apis=(*OPENAI, "anthropic-messages"),
            model="default",
            source="https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md",
        ),
        Endpoint(
            name="vllm",
            title="vLLM",
            base_url="http://127.0.0.1:8000",
            apis=(*OPENAI, "anthropic-messages"),
            source="https://docs.vllm.ai/en/latest/serving/openai_compatible_server/",
        ),
        Endpoint(
            name="ollama",
            title="Ollama",
            base_url="http://127.0.0.1:11434",
            apis=("ollama-chat", *OPENAI, "anthropic-messages"),
            source="https://docs.ollama.com/api/introduction",
        ),
        Endpoint(
            name="lm-studio",
            title="LM Studio",
            base_url="http://127.0.0.1:1234",
            apis=OPENAI,
            source="https://lmstudio.ai/docs/developer/openai-compat",
        ),
    )
}


def fill_in(text: str, endpoint: Endpoint) -> str:
    """Return `text` with environment variables filled in. Raises `UsageError` if one is missing."""

    def read(match: re.Match[str]) -> str:
        value = os.environ.get(match[1], "")
        # A `/`, `@` or `?` in the value could change the host, to which the key is sent.
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._:-]*", value):
            problem = "is missing" if not value else "is not a name"
            raise UsageError(f"the address of `{endpoint.name}` needs `{match[1]}`, which {problem}")
        return value

    return _VARIABLE.sub(read, text)


def rewrite_path(path: str, endpoint: Endpoint) -> str:
    """Return the path on `endpoint` that corresponds to `path` on other servers."""
    for beginning, replacement in endpoint.paths.items():
        if path.startswith(beginning):
            return fill_in(replacement, endpoint) + path.removeprefix(beginning)
    return path


def get_host(base_url: str) -> str:
    """Return the host's name."""
    return urlsplit(base_url).hostname or ""
