"""Convert what libraries return to outcomes in the normal form: an adapter may import this, and need not.

For each known shape, a function such as `convert_chat_chunks` returns the outcome; `read_stream` calls it
with what a stream yields. For other libraries, there are functions that build blocks and outcomes. Nothing
here reads a wire format, and nothing imports a library. The bundled peers use the same functions.
"""

from __future__ import annotations

from streamconform.adapters.request_reader import build_keywords, read_prompt, read_tools
from streamconform.normal.anthropic import convert_anthropic_events, convert_anthropic_message
from streamconform.normal.blocks import append_text, build_call, build_other, build_outcome, parse_arguments
from streamconform.normal.chat import ChatFields, convert_chat_chunks, convert_chat_completion
from streamconform.normal.google import convert_google_chunks
from streamconform.normal.langchain import convert_langchain_chunks, convert_langchain_message
from streamconform.normal.pydantic_ai import convert_pydantic_ai_response
from streamconform.normal.responses import convert_response, convert_response_events
from streamconform.normal.stop_reasons import translate_stop
from streamconform.normal.stream import read_stream

__all__ = [
    "ChatFields",
    "append_text",
    "build_call",
    "build_keywords",
    "build_other",
    "build_outcome",
    "convert_anthropic_events",
    "convert_anthropic_message",
    "convert_chat_chunks",
    "convert_chat_completion",
    "convert_google_chunks",
    "convert_langchain_chunks",
    "convert_langchain_message",
    "convert_pydantic_ai_response",
    "convert_response",
    "convert_response_events",
    "parse_arguments",
    "read_prompt",
    "read_stream",
    "read_tools",
    "translate_stop",
]
