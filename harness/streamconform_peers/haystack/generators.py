"""`peer:haystack`: `run()` of Haystack's generators for OpenAI's two APIs, with a `streaming_callback`.

The answer is the message that `run()` returns or, if it raises, the sum of the chunks that the callback
received. A message contains one reasoning block, one text and a list of calls; only the chunks show their
order. The request's prompt and tools are sent in the library's own form.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

# Before the imports: Haystack starts its telemetry when it is imported.
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

from haystack.components.generators.chat import OpenAIChatGenerator, OpenAIResponsesChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import Tool
from haystack.utils import Secret
from jsonschema import Draft202012Validator

from streamconform.adapters import request_reader
from streamconform_peers.haystack.messages import add_up_chunks, convert_message, read_usage
from streamconform_peers.normal_form import TIMEOUT_SECONDS, Error, ExceptionKeeper, build_outcome, get
from streamconform_peers.openai_errors import describe_error
from streamconform_peers.stop_reasons import OPENAI_CHAT

GENERATORS: Final = {"openai-chat": OpenAIChatGenerator, "openai-responses": OpenAIResponsesChatGenerator}
SCHEMAS: Final = Draft202012Validator(Draft202012Validator.META_SCHEMA)
SETTINGS: Final[Mapping[str, Any]] = {"openai-chat": {"stream_options": {"include_usage": True}}}


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of a run."""
    chunks: list[Any] = []
    reply: Any = None
    with ExceptionKeeper(describe_error) as kept:
        generator = GENERATORS[run.api](
            api_key=Secret.from_token(run.api_key),
            model=run.model,
            api_base_url=f"{run.base_url}/v1",
            streaming_callback=chunks.append,
            timeout=TIMEOUT_SECONDS,
            max_retries=0,
            generation_kwargs=SETTINGS.get(run.api),
            tools=[
                # A `Tool` needs a function, but a generator never calls it.
                Tool(name=name, description=description, parameters=dict(schema), function=print)
                for name, description, schema in request_reader.read_tools(run.request)
                # `Tool` rejects other schemas, but in these cases the server must reject them.
                if SCHEMAS.is_valid(schema)
            ],
        )
        reply = generator.run([ChatMessage.from_user(request_reader.read_prompt(run.request))])["replies"][0]
    meta = get(reply, "meta") or {}
    stop = meta.get("finish_reason")
    return build_outcome(
        add_up_chunks(chunks) if reply is None else convert_message(reply, chunks, complete=bool(stop)),
        OPENAI_CHAT.get(stop, "other") if stop else None,
        None,
        usage=read_usage(meta.get("usage")),
        error=kept.error or _read_failure(meta),
        model=meta.get("model"),
        # For Chat Completions, Haystack does not expose the provider's id.
        **({"response_id": meta.get("id")} if run.api == "openai-responses" else {}),
    )


def _read_failure(meta: Mapping[str, Any]) -> Error | None:
    """Return the error of a failed response, whose fields are in the message's `meta`."""
    if meta.get("status") != "failed":
        return None
    return {"type": get(meta, "error", "code"), "message": get(meta, "error", "message"), "status": None}
