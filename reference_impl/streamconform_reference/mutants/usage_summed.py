"""The cumulative usage of `message_delta` is added to that of `message_start`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.anthropic_messages import decode
from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.decoder import Payload

from ._tools import part


def on_message_delta(message: Assembler, payload: Payload) -> None:
    """Report the sum of what was and what is reported now."""
    before = message.usage()
    decode.on_message_delta(message, payload)
    now = decode.read_counts(part(payload, "usage"))
    message.report_usage(
        {name: count + (getattr(before, name, None) or 0) for name, count in now.items() if count is not None}
    )


class Broken(decode.AnthropicMessagesDecoder):
    """The decoder with the wrong handler."""

    handlers: ClassVar[Mapping[str, decode.Handler]] = {
        **decode.HANDLERS,
        "message_delta": on_message_delta,
    }


adapter = adapter_for({"anthropic-messages": Broken}, name="mutant:usage-summed")
