"""The reference behind a real HTTP client, as an adapter: `python:over_http:adapter`."""

from __future__ import annotations

import httpx

from streamconform.model.case import Turn
from streamconform.run.round_trip import extend
from streamconform_reference.adapter import CAPABILITIES, OF_REQUESTS, build_request
from streamconform_reference.apis import DECODERS

PATHS = {
    "anthropic-messages": "/v1/messages",
    "openai-chat": "/chat/completions",
    "openai-responses": "/responses",
    "google-generate": "/v1beta/models/{model}:streamGenerateContent?alt=sse",
    "google-interactions": "/v1beta/interactions",
    "ollama-chat": "/api/chat",
    "cohere-chat": "/v2/chat",
    "bedrock-converse": "/model/{model}/converse-stream",
    "bedrock-invoke": "/model/{model}/invoke-with-response-stream",
}
CLIENT = httpx.Client(timeout=5, trust_env=False)  # kept, so connections outlive trials


def adapter(run):
    if run.conversation is None:
        headers = {"authorization": f"Bearer {run.api_key}"}
        decoder = yield from streamed(run, PATHS[run.api].format(model=run.model), run.request, headers)
        yield {"outcome": decoder.outcome.to_json()}
    else:
        yield {"outcome": converse(run)}


def converse(run):
    """Return the outcome of the last answer of a conversation."""
    conversation = run.conversation
    outcome = ask(run, conversation)
    for turn in run.turns or ():
        conversation = extend(conversation, outcome, Turn(turn.get("results", ()), turn.get("messages", ())))
        outcome = ask(run, conversation)
    return outcome


def streamed(run, path, body, headers):
    """Yield the events of the answer, and return the decoder that read it."""
    with CLIENT.stream("POST", run.base_url + path, json=body, headers=headers) as response:
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
    return decoder


def ask(run, conversation):
    """Return the outcome of the next answer in a conversation."""
    built = build_request(run.api, conversation)
    if conversation.get("stream") is False:
        answer = CLIENT.post(run.base_url + built["path"], json=built["body"], headers=built["headers"])
        answer.raise_for_status()
        return {"status": "complete", "stop": {"reason": "stop"}, "content": []}
    return post(run, built)


def post(run, built):
    """Send a request, and return the outcome of the answer."""
    reading = streamed(run, built["path"], built["body"], built["headers"])
    while True:
        try:
            next(reading)
        except StopIteration as end:
            return end.value.outcome.to_json()


def continued(conversation, outcome, results):
    """Return a conversation with an answer and the results of its calls."""
    return extend(conversation, outcome, Turn(tuple(results)))


adapter.info = {"name": "reference over httpx", "language": "python"}
adapter.inputs = ["http"]
adapter.capabilities = [*CAPABILITIES, "requests", *OF_REQUESTS]
