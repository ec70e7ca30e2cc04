"""Read the facts of a recorded stream from its bytes, for the expectations in `specs/*/recorded-*.yaml`.

It was written independently of the decoders and the harness, and imports nothing from them: it reads complete
bodies in one pass, without events and without tolerance for broken streams. Each module follows the
provider's reference; docs/outcome.md defines how its fields become an outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from streamconform_dev.corpus.plain_reader import anthropic, bedrock, chat, cohere, google, ollama, responses
from streamconform_dev.corpus.plain_reader.reading import NotRead, Reading, read_error_document

__all__ = ["NotRead", "Reading", "read"]

READERS: Final[Mapping[str, Callable[[bytes], Reading]]] = {
    "anthropic-messages": anthropic.read,
    "bedrock-converse": bedrock.read_converse,
    "bedrock-invoke": bedrock.read_invoke,
    "cohere-chat": cohere.read,
    "google-generate": google.read_generate,
    "google-interactions": google.read_interactions,
    "ollama-chat": ollama.read,
    "openai-chat": chat.read,
    "openai-responses": responses.read,
}


def read(api: str, status: int, body: bytes) -> Reading:
    """Return the facts in a body; raise `NotRead` for a body that this reader does not understand."""
    try:
        if status >= 400:
            return read_error_document(body)
        return READERS[api](body)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise NotRead(f"{type(error).__name__}: {error}") from error
