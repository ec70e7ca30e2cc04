"""Counts cache reads as input again, as if the input tokens did not exclude them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.anthropic_messages import decode
from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.decoder import Payload

from ._tools import part


def on_message_start(message: Assembler, payload: Payload) -> None:
    """Read the start, then add its cache reads to the input."""
    decode.on_message_start(message, payload)
    count_reads_as_input(message, part(part(payload, "message"), "usage"))


def on_message_delta(message: Assembler, payload: Payload) -> None:
    """Read the delta in the same way."""
    decode.on_message_delta(message, payload)
    count_reads_as_input(message, part(payload, "usage"))


def count_reads_as_input(message: Assembler, usage: Payload) -> None:
    """Report the input of this usage again, with its cache reads in it."""
    counts = decode.read_counts(usage)
    if counts["input"] is not None:
        message.report_usage({"input": counts["input"] + (counts["cache_read"] or 0)})


class Broken(decode.AnthropicMessagesDecoder):
    """The decoder with the wrong handlers."""

    handlers: ClassVar[Mapping[str, decode.Handler]] = {
        **decode.HANDLERS,
        "message_start": on_message_start,
        "message_delta": on_message_delta,
    }


adapter = adapter_for({"anthropic-messages": Broken}, name="mutant:cached-tokens-twice")
