"""Recognize answers that are not in the format of Anthropic Messages, and are not read.

InvokeModel passes on each model family's own format. To ignore an unknown one would look like a cut stream.

Source: https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters.html and the pages below it
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload

# The families, by a member that every payload or document of theirs has and no message or event does.
_FAMILIES: Final[Mapping[str, str]] = {
    "messageStart": "Amazon Nova",
    "contentBlockStart": "Amazon Nova",
    "contentBlockDelta": "Amazon Nova",
    "contentBlockStop": "Amazon Nova",
    "messageStop": "Amazon Nova",
    "output": "Amazon Nova",
    "outputText": "Amazon Titan",
    "results": "Amazon Titan",
    "generation": "Meta Llama",
    "outputs": "Mistral",
    "choices": "an OpenAI-compatible family",
    "event_type": "Cohere",
    "generations": "Cohere",
    "generation_id": "Cohere",
    "completions": "AI21",
    "completion": "Anthropic's older models",
}
_OWN_TYPE: Final = "completion"
"""The `type` of answers of Anthropic's older models; other families have none."""


def refuse_other_families(payload: Payload) -> None:
    """Check that an answer without the type of a message or event is not in another known format.

    Raises:
        BrokenPayloadError: it is.
    """
    family = next((_FAMILIES[key] for key in payload if key in _FAMILIES), None)
    if family and payload.get("type") in (None, _OWN_TYPE):
        raise BrokenPayloadError(f"the answer is in the format of {family}, not of Anthropic Messages")
