"""The reference behind a real HTTP client, as an adapter: `python:over_http:adapter`."""

from __future__ import annotations

import httpx
from streamconform_reference.adapter import CAPABILITIES
from streamconform_reference.apis import DECODERS

PATHS = {
    "anthropic-messages": "/v1/messages",
    "openai-chat": "/chat/completions",
    "openai-responses": "/responses",
    "google-generate": "/v1beta/models/{model}:streamGenerateContent?alt=sse",
    "ollama-chat": "/api/chat",
    "cohere-chat": "/v2/chat",
    "bedrock-converse": "/model/{model}/converse-stream",
}
CLIENT = httpx.Client(timeout=5, trust_env=False)  # kept, so connections outlive trials


def adapter(run):
    url = run.base_url + PATHS[run.api].format(model=run.model)
    headers = {"authorization": f"Bearer {run.api_key}"}
    with CLIENT.stream("POST", url, json=run.request, headers=headers) as response:
        decoder = DECODERS[run.api](
            status=response.status_code, headers=dict(response.headers), pricing=run.pricing
        )
        try:
            for chunk in response.iter_bytes():
                for event in decoder.receive_data(chunk):
                    yield event.to_json()
        except httpx.TransportError:
            pass  # an answer that breaks off is incomplete
        for event in decoder.receive_eof():
            yield event.to_json()
    yield {"outcome": decoder.outcome.to_json()}


adapter.info = {"name": "reference over httpx", "language": "python"}
adapter.inputs = ["http"]
adapter.capabilities = list(CAPABILITIES)
