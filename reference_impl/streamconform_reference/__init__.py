"""The reference implementation of streamconform: streamed LLM answers in, events and outcomes out.

    decoder = DECODERS["anthropic-messages"](status=200)
    for chunk in chunks:
        for event in decoder.receive_data(chunk):
            ...
    decoder.receive_eof()
    decoder.outcome

It knows nothing of the harness, which reaches it like any other implementation: by `adapter` in the
same process, or by `python -m streamconform_reference` over JSON lines.
"""

from streamconform_reference.decoding.decoder import Decoder
from streamconform_reference.document import decode_document
from streamconform_reference.json_text.incremental import JsonStream, partial_value
from streamconform_reference.tool_buffer.buffer import BufferedCall, ToolBuffer
from streamconform_reference.tool_buffer.chunk import ToolChunk

from . import events, outcome
from .adapter import VERSION, Adapter, Run, adapter, adapter_for, snapshots
from .apis import DECODERS
from .events import Event
from .healing import heal_tool_arguments
from .outcome import Outcome
from .pricing import Pricing

__version__ = VERSION

__all__ = [
    "DECODERS",
    "Adapter",
    "BufferedCall",
    "Decoder",
    "Event",
    "JsonStream",
    "Outcome",
    "Pricing",
    "Run",
    "ToolBuffer",
    "ToolChunk",
    "__version__",
    "adapter",
    "adapter_for",
    "decode_document",
    "events",
    "heal_tool_arguments",
    "outcome",
    "partial_value",
    "snapshots",
]
