"""Reasoning in a delta: which of the many fields that vendors chose for it, and what of them counts.

No such field is OpenAI's. DeepSeek, vLLM, llama.cpp, xAI and Moonshot say `reasoning_content`,
OpenRouter, Groq, Ollama and newer vLLM say `reasoning`, Copilot says `reasoning_text`. Some servers
send the same text under two names, so the first name with text counts and the others do not.

OpenRouter adds `reasoning_details`, LiteLLM `thinking_blocks`, with the same text once more and with
what the next request has to send back: signatures and encrypted reasoning.

Source: https://api-docs.deepseek.com/guides/reasoning_model,
https://openrouter.ai/docs/use-cases/reasoning-tokens, https://docs.litellm.ai/docs/reasoning_content
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from streamconform_reference.decoding.decoder import Payload

TEXT_KEYS: Final = ("reasoning_content", "reasoning", "reasoning_text")
DETAIL_KEYS: Final = ("reasoning_details", "thinking_blocks")


@dataclass(frozen=True, slots=True)
class DetailForm:
    """Where a detail of one type holds its text and its signature."""

    text: str | None
    signature: str | None
    hidden: bool = False
    """Whether the signature stands for reasoning that is not shown."""


DETAIL_FORMS: Final[Mapping[str, DetailForm]] = {
    "reasoning.text": DetailForm("text", "signature"),
    "reasoning.summary": DetailForm("summary", None),
    "reasoning.encrypted": DetailForm(None, "data", hidden=True),
    "thinking": DetailForm("thinking", "signature"),
    "redacted_thinking": DetailForm(None, "data", hidden=True),
}

# Of the encrypted details only Anthropic's are its redacted thinking; OpenAI's and Google's are
# what other reasoning is signed with.
_REDACTING_FORMAT: Final = "anthropic"


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A piece of reasoning: its text, its signature, or both. `part` tells signatures apart."""

    text: str
    signature: str = ""
    redacted: bool = False
    part: Hashable = None


def read_reasoning(delta: Payload) -> Iterator[Reasoning]:
    """Yield the pieces of reasoning in a delta, each text once."""
    plain = next((text for key in TEXT_KEYS if (text := _text(delta.get(key)))), "")
    if plain:
        yield Reasoning(plain)
    for key in DETAIL_KEYS:
        details = delta.get(key)
        if isinstance(details, list) and details:
            yield from _read_details(details, texts=not plain)
            return


def _read_details(details: list[Any], *, texts: bool) -> Iterator[Reasoning]:
    for detail in details:
        kind = detail.get("type") if isinstance(detail, dict) else None
        form = DETAIL_FORMS.get(kind) if isinstance(kind, str) else None
        if form is None:
            continue
        text = _text(detail.get(form.text)) if form.text and texts else ""
        signature = _text(detail.get(form.signature)) if form.signature else ""
        if text or signature:
            index = detail.get("index")
            family = _text(detail.get("format")) or (_REDACTING_FORMAT if kind == "redacted_thinking" else "")
            yield Reasoning(
                text,
                signature,
                redacted=form.hidden and family.startswith(_REDACTING_FORMAT),
                part=(kind, index if isinstance(index, int) else 0),
            )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
