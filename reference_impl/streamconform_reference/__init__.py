r"""Reference implementation of streamconform: decode and request LLM answers in nine wire formats.

    from streamconform_reference import DECODERS, ENCODERS, build_request, encode

    record = b'{"model":"m","message":{"role":"assistant","content":"Hi"},"done":true}\n'
    decoder = DECODERS["ollama-chat"](status=200)
    for event in decoder.receive_data(record) + decoder.receive_eof():
        print(event.to_json())
    stream = encode(ENCODERS, "anthropic-messages", decoder.outcome)
    messages = [{"role": "user", "content": "Hello"}]
    request = build_request("openai-chat", {"model": "m", "messages": messages})

`__all__` is the public interface. It follows semantic versioning: its names are removed or changed
incompatibly only in a new major version (before 1.0, in a new minor version). Everything else is internal and
may change in any version.

- decode: `DECODERS` (a `Decoder` class per API), `decode_document` for non-streaming answers
- events and outcomes: the modules `events` and `outcome`, with the types `Event` and `Outcome`
- encode in the formats that the proxy writes: `ENCODERS`, `encode`, `DOCUMENT_WRITERS`; `LOSSES` and
  `apply_losses` for the parts that an API cannot express
- requests: `build_request`, and `REQUEST_READERS` for the opposite direction, which raise `RequestError`
- tools: `ToolBuffer`, `JsonStream`, `partial_value`, `heal_tool_arguments`, `count_tokens`, `Pricing`
- harness: `adapter`, `adapter_for` and `snapshots`; `python -m streamconform_reference` speaks protocol v1

The package does not import the harness, which uses it like any other implementation.
"""

from streamconform_reference.decoding.decoder import Decoder
from streamconform_reference.document import decode_document
from streamconform_reference.encoding.encoder import Encoder, apply_losses, encode
from streamconform_reference.json_text.incremental import JsonStream, partial_value
from streamconform_reference.requests.errors import RequestError
from streamconform_reference.tool_buffer.buffer import BufferedCall, ToolBuffer
from streamconform_reference.tool_buffer.chunk import ToolChunk

from . import events, outcome
from .adapter import VERSION, Adapter, Run, adapter, adapter_for, build_request, snapshots
from .apis import DECODERS, DOCUMENT_WRITERS, ENCODERS, LOSSES, REQUEST_READERS
from .events import Event
from .healing import heal_tool_arguments
from .outcome import Outcome
from .pricing import Pricing
from .tokens import count_tokens

__version__ = VERSION

__all__ = [
    "DECODERS",
    "DOCUMENT_WRITERS",
    "ENCODERS",
    "LOSSES",
    "REQUEST_READERS",
    "Adapter",
    "BufferedCall",
    "Decoder",
    "Encoder",
    "Event",
    "JsonStream",
    "Outcome",
    "Pricing",
    "RequestError",
    "Run",
    "ToolBuffer",
    "ToolChunk",
    "__version__",
    "adapter",
    "adapter_for",
    "apply_losses",
    "build_request",
    "count_tokens",
    "decode_document",
    "encode",
    "events",
    "heal_tool_arguments",
    "outcome",
    "partial_value",
    "snapshots",
]
