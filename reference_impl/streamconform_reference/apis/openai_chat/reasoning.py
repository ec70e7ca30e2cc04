"""Reasoning in a delta: read each vendor's field for it, and count repeated text once.

None of these fields is OpenAI's. DeepSeek, vLLM, llama.cpp, xAI and Moonshot use `reasoning_content`;
OpenRouter, Groq, Ollama and newer vLLM use `reasoning`; Copilot uses `reasoning_text`. Some servers send the
same text under two names, so only the first name with text counts.

OpenRouter adds `reasoning_details`, and LiteLLM `thinking_blocks`; these repeat the text, and add the
signatures and encrypted reasoning that the next request must return (see `details`). Copilot's
`reasoning_opaque` is the signature of the reasoning before it.

Source: https://api-docs.deepseek.com/guides/reasoning_model,
https://openrouter.ai/docs/use-cases/reasoning-tokens, https://docs.litellm.ai/docs/reasoning_content
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from streamconform_reference.decoding.decoder import Payload
from streamconform_reference.decoding.fields import read_index

TEXT_KEYS: Final = ("reasoning_content", "reasoning", "reasoning_text")
DETAIL_KEYS: Final = ("reasoning_details", "thinking_blocks")
OPAQUE_KEY: Final = "reasoning_opaque"


class DetailForm(Struct, frozen=True):
    """The keys that hold the text and the signature in one detail type."""

    text: str | None
    signature: str | None
    hidden: bool = False
    """Whether the signature replaces reasoning that is not shown."""


DETAIL_FORMS: Final[Mapping[str, DetailForm]] = {
    "reasoning.text": DetailForm("text", "signature"),
    "reasoning.summary": DetailForm("summary", None),
    "reasoning.encrypted": DetailForm(None, "data", hidden=True),
    "thinking": DetailForm("thinking", "signature"),
    "redacted_thinking": DetailForm(None, "data", hidden=True),
}

# Only Anthropic's encrypted details are redacted thinking; OpenAI's and Google's are signatures of other
# reasoning.
_REDACTING_FORMAT: Final = "anthropic"


class Reasoning(Struct, frozen=True):
    """A piece of reasoning: its text, its signature, or both. `part` identifies the signed part."""

    text: str
    signature: str = ""
    redacted: bool = False
    part: Hashable = None


def read_reasoning(delta: Payload) -> Iterator[Reasoning]:
    """Yield the pieces of reasoning in a delta, each text only once."""
    plain_text = next((text for key in TEXT_KEYS if (text := _read_text(delta.get(key)))), "")
    if plain_text:
        yield Reasoning(plain_text)
    if opaque := _read_text(delta.get(OPAQUE_KEY)):
        yield Reasoning("", opaque, part=OPAQUE_KEY)
    for key in DETAIL_KEYS:
        details = delta.get(key)
        if isinstance(details, list) and details:
            yield from _read_details(details, texts=not plain_text)
            return


def _read_details(details: list[Any], *, texts: bool) -> Iterator[Reasoning]:
    for detail in details:
        kind = detail.get("type") if isinstance(detail, dict) else None
        form = DETAIL_FORMS.get(kind) if isinstance(kind, str) else None
        if form is None:
            continue
        text = _read_text(detail.get(form.text)) if form.text and texts else ""
        signature = _read_text(detail.get(form.signature)) if form.signature else ""
        if text or signature:
            family = _read_text(detail.get("format")) or (
                _REDACTING_FORMAT if kind == "redacted_thinking" else ""
            )
            yield Reasoning(
                text,
                signature,
                redacted=form.hidden and family.startswith(_REDACTING_FORMAT),
                part=(kind, read_index(detail, "index") or 0),
            )


def _read_text(value: Any) -> str:
    return value if isinstance(value, str) else ""
