"""All cache writes are priced as if they were kept for five minutes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.anthropic_messages import decode
from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.decoder import Payload

from ._tools import part


def without_split(usage: Payload) -> Payload:
    """Return the usage without the 5-minute and 1-hour parts of its cache writes."""
    return {key: value for key, value in usage.items() if key != "cache_creation"}


def on_message_start(message: Assembler, payload: Payload) -> None:
    """Read the start without the split."""
    start = part(payload, "message")
    usage = without_split(part(start, "usage"))
    decode.on_message_start(message, {**payload, "message": {**start, "usage": usage}})


def on_message_delta(message: Assembler, payload: Payload) -> None:
    """Read the delta without the split, which gateways send here."""
    decode.on_message_delta(message, {**payload, "usage": without_split(part(payload, "usage"))})


class Broken(decode.AnthropicMessagesDecoder):
    """The decoder with the wrong handlers."""

    handlers: ClassVar[Mapping[str, decode.Handler]] = {
        **decode.HANDLERS,
        "message_start": on_message_start,
        "message_delta": on_message_delta,
    }


adapter = adapter_for({"anthropic-messages": Broken}, name="mutant:cache-split-ignored")
