"""No bytes raise in the chat decoder, and every answer ends with exactly one terminal event."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from streamconform_dev.fuzz import chunkings
from streamconform_dev.fuzz.exchange import assert_event_rules
from streamconform_dev.fuzz.exchange import decode as decode_any
from streamconform_reference.apis.openai_chat.decode import FIELDS, PARTS, STOP_REASONS
from streamconform_reference.apis.openai_chat.reasoning import DETAIL_FORMS, DETAIL_KEYS, TEXT_KEYS
from streamconform_reference.json_text.codec import dumps


def decode(body: Any, **fields: Any) -> Any:
    return decode_any(body, api="openai-chat", **fields)


WORDS = st.sampled_from([*STOP_REASONS, *PARTS, *DETAIL_FORMS, "error", "x", ""])
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-2, 3), st.just(2**70), st.floats(), WORDS)
KEYS = st.sampled_from(
    [
        *("choices", "delta", "message", "finish_reason", "index", "id", "model", "usage", "error", "object"),
        *(
            "function",
            "name",
            "arguments",
            "type",
            "text",
            "thinking",
            "signature",
            "data",
            "summary",
            "x_groq",
        ),
        *("prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details", "service_tier"),
        *FIELDS,
        *TEXT_KEYS,
        *DETAIL_KEYS,
    ]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)
DELTAS = st.dictionaries(st.sampled_from([*FIELDS, *TEXT_KEYS, *DETAIL_KEYS]), VALUES, max_size=3)
CHOICES = st.fixed_dictionaries(
    {}, optional={"delta": DELTAS | VALUES, "finish_reason": WORDS | VALUES, "index": SCALARS}
)
PAYLOADS = st.fixed_dictionaries(
    {},
    optional={"choices": st.lists(CHOICES, max_size=2) | VALUES, "usage": VALUES, "error": SCALARS | VALUES},
)


@settings(max_examples=40)
@given(payloads=st.lists(PAYLOADS, max_size=6))
def test_any_payloads(payloads: list[dict[str, Any]]) -> None:
    body = b"".join(b"data: %s\n\n" % json.dumps(payload).encode() for payload in payloads)
    answer = decode(body)
    assert_event_rules(answer)
    assert decode(chunkings.at_random(body, 1)).outcome == answer.outcome
    dumps(answer.outcome)
