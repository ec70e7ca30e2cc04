"""What InvokeModel cannot express: the same as Anthropic Messages, but with Bedrock's errors."""

from __future__ import annotations

from typing import Final

from streamconform_reference.apis.anthropic_messages.losses import LOSSES as ANTHROPIC_LOSSES
from streamconform_reference.apis.bedrock_converse.losses import ERRORS
from streamconform_reference.encoding.encoder import Loss

LOSSES: Final[tuple[Loss, ...]] = (*(row for row in ANTHROPIC_LOSSES if row.name != "error"), *ERRORS)
