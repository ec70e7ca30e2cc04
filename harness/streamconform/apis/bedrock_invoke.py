"""Amazon Bedrock's `InvokeModel` for Anthropic's models: `POST /model/{id}/invoke-with-response-stream`.

The stream is binary, and its messages contain Anthropic's events without their SSE framing. The service sends
errors as separate messages, as in Converse.
"""

from __future__ import annotations

import re
from typing import Final

from streamconform.apis import anthropic
from streamconform.apis.api import (
    Api,
    CannedReply,
    Ending,
    Endpoints,
    Extensions,
    Importing,
    Key,
    Probing,
    RequestForm,
    SmokeStreams,
    require,
)
from streamconform.apis.payloads import Payload
from streamconform.wire import eventstream, invoke_stream


def _is_terminal(payload: Payload) -> bool:
    """Return whether the payload ends Anthropic's stream or is an exception, which has text in `message`."""
    return anthropic.is_terminal(payload) or isinstance(payload.get("message"), str)


API: Final = Api(
    name="bedrock-invoke",
    title="Amazon Bedrock InvokeModel (Anthropic)",
    bodies_of="anthropic-messages",
    extensions=Extensions(
        event={"invoke_stream": invoke_stream.encode_event(b'{"type":"future_event","detail":{"n":1}}')},
        event_level="must",
        objects=anthropic.OBJECTS,
        field_level="must",
        source="https://docs.claude.com/en/api/versioning",
    ),
    write=invoke_stream.write_chunks,
    ending=Ending(
        is_terminal=_is_terminal,
        count_ended_calls=anthropic.count_ended_calls,
        is_settled=anthropic.is_settled,
        content=anthropic.CONTENT,
        kinds=anthropic.KINDS,
        text_keys=anthropic.TEXT_KEYS,
        delta_keys=anthropic.DELTA_KEYS,
        error_frame={
            "invoke_stream": eventstream.encode_event(
                b'{"message":"Too many requests, please wait before trying again."}',
                "throttlingException",
                "exception",
            )
        },
        error_type="throttlingException",
        error_names=("ThrottlingException", "rate_limit_error"),
        error_message="Too many requests, please wait before trying again.",
        source="https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ResponseStream.html",
    ),
    endpoints=Endpoints(
        # `+`, because the model may be an ARN, which contains a slash.
        streams=("/model/{model+}/invoke-with-response-stream",),
        documents=("/model/{model+}/invoke",),
        document_path=lambda path: path.removesuffix("-with-response-stream"),
    ),
    canned_replies=(
        CannedReply(
            path="/model/{model+}/invoke-with-response-stream",
            content_type="application/vnd.amazon.eventstream",
            write=invoke_stream.write_chunks,
            payloads=anthropic.stream,
            document=anthropic.message,
        ),
    ),
    requests=RequestForm(
        canonical=anthropic.canonical,
        instructions=anthropic.INSTRUCTIONS,
        thoughts=anthropic.THOUGHTS,
        marks=anthropic.CACHE_MARKS,
        call_ids=anthropic.CALL_IDS,
    ),
    opt_ins=anthropic.OPT_INS,
    key=Key(
        header="authorization",
        prefix="Bearer ",
        variable="AWS_BEARER_TOKEN_BEDROCK",
        addresses={"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": ""},
    ),
    importing=Importing(
        # other models have other events; a profile may have any name
        stream=re.compile(
            r"/model/(?:[^/]*anthropic\.|arn(?::|%3A)).*/invoke-with-response-stream/?$", re.IGNORECASE
        ),
        document=re.compile(r"/model/.+/invoke$"),
        path="/model/anthropic.claude/invoke-with-response-stream",
        types=anthropic.TYPES,
    ),
    # https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages-request-response.html
    probing=Probing(
        answer=anthropic.ANSWER,
        error=require("name", "message"),
        stop_sequences=("stop_sequences",),
        tool_by_name=True,
        parallel_calls_off=True,
        tool_types=True,
    ),
    smoke=SmokeStreams(
        text_cassette="plain-text",
        text="The ferry leaves at seven.",
        call_cassette="single-call",
        call_name="get_tide",
        call_arguments={"harbor": "Oban"},
    ),
    reducing=anthropic.REDUCING,
    variants={"half-pairs": anthropic.HALF_PAIRS, "empty-deltas": anthropic.EMPTY_DELTAS},
)
