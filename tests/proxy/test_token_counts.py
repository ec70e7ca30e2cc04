"""The rule by which the proxy estimates tokens, over `POST /v1/messages/count_tokens`.

Text is split at white space, and each word counts one token per four code points, rounded up. The system
prompt, text blocks, tool results and the input of calls as compact JSON count as text. So do the name, the
description and the schema of each tool. An image counts by its size; thinking and ids do not count.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from streamconform_proxy.failures import build_token_count
from streamconform_reference.image_size import read_size


def image(media_type: str, header: bytes) -> dict[str, Any]:
    source = {"type": "base64", "media_type": media_type, "data": base64.b64encode(header).decode()}
    return {"type": "image", "source": source}


JPEG = image(
    "image/jpeg",
    bytes.fromhex("ffd8 ffe0 0010 4a46494600010100000100010000 ffc0 0011 08 0bb8 0fa0 03 011100021100031100"),
)
"""The header of an image of 4000 times 3000 pixels."""

COUNTS: dict[str, tuple[int, dict[str, Any]]] = {
    "one-short-word": (1, {"messages": [{"role": "user", "content": "hi"}]}),
    "four-letters": (1, {"messages": [{"role": "user", "content": "four"}]}),
    "five-letters": (2, {"messages": [{"role": "user", "content": "hello"}]}),
    "long-word": (5, {"messages": [{"role": "user", "content": "abcdefgh abcdefghi"}]}),
    "words-are-counted-alone": (7, {"messages": [{"role": "user", "content": "hello world a b c"}]}),
    "punctuation-belongs-to-its-word": (4, {"messages": [{"role": "user", "content": "Stop! (now)..."}]}),
    "runs-of-white-space": (
        4,
        {"messages": [{"role": "user", "content": "  multiple \t\r\n\n  spaces\x0c\x0b "}]},
    ),
    "unicode-white-space": (4, {"messages": [{"role": "user", "content": "ab\xa0cd\u2003ef\u3000gh"}]}),
    "zero-width-space": (2, {"messages": [{"role": "user", "content": "ab\u200bcd"}]}),
    "empty-text": (0, {"messages": [{"role": "user", "content": ""}]}),
    "white-space-only": (0, {"messages": [{"role": "user", "content": " \n\t "}]}),
    "code-points-of-cjk": (2, {"messages": [{"role": "user", "content": "東京タワーへ行く"}]}),
    "code-points-of-emoji": (3, {"messages": [{"role": "user", "content": "😀😀😀😀 😀😀😀😀😀"}]}),
    "joined-emoji": (2, {"messages": [{"role": "user", "content": "👩\u200d👩\u200d👧\u200d👦"}]}),
    "combining-marks": (3, {"messages": [{"role": "user", "content": "café café"}]}),
    "system-text": (4, {"system": "Be brief.", "messages": [{"role": "user", "content": "hi"}]}),
    "system-blocks": (
        4,
        {
            "system": [
                {"type": "text", "text": "Be"},
                {"type": "text", "text": "brief.", "cache_control": {"type": "ephemeral"}},
            ],
            "messages": [{"role": "user", "content": "hi"}],
        },
    ),
    "all-messages": (
        7,
        {
            "messages": [
                {"role": "user", "content": "one two"},
                {
                    "role": "assistant",
                    "content": [{"type": "text", "text": "three"}, {"type": "text", "text": "four"}],
                },
                {"role": "user", "content": [{"type": "text", "text": "five six"}]},
            ]
        },
    ),
    "blocks-are-no-one-word": (
        2,
        {
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "ab"}, {"type": "text", "text": "cd"}]}
            ]
        },
    ),
    "result-text": (
        3,
        {
            "messages": [
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "toolu_01", "content": "Rain today"}],
                }
            ]
        },
    ),
    "result-blocks": (
        5,
        {
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "toolu_01",
                            "is_error": True,
                            "content": [
                                {"type": "text", "text": "Rain today"},
                                {
                                    "type": "image",
                                    "source": {
                                        "type": "base64",
                                        "media_type": "image/png",
                                        "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB",
                                    },
                                },
                                {"type": "text", "text": "ok"},
                            ],
                        }
                    ],
                }
            ]
        },
    ),
    "result-without-content": (
        0,
        {"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_01"}]}]},
    ),
    "input-of-a-call": (
        6,
        {
            "messages": [
                {
                    "role": "assistant",
                    "content": [
                        {
                            "type": "tool_use",
                            "id": "toolu_01",
                            "name": "get_weather",
                            "input": {"city": "Graz", "days": 2},
                        }
                    ],
                }
            ]
        },
    ),
    "white-space-in-an-input": (
        5,
        {
            "messages": [
                {
                    "role": "assistant",
                    "content": [
                        {"type": "tool_use", "id": "toolu_01", "name": "say", "input": {"text": "a bc\nd"}}
                    ],
                }
            ]
        },
    ),
    "empty-input": (
        1,
        {
            "messages": [
                {
                    "role": "assistant",
                    "content": [{"type": "tool_use", "id": "toolu_01", "name": "now", "input": {}}],
                }
            ]
        },
    ),
    "nested-input": (
        8,
        {
            "messages": [
                {
                    "role": "assistant",
                    "content": [
                        {
                            "type": "tool_use",
                            "id": "toolu_01",
                            "name": "f",
                            "input": {"a": [1, True, None, {"b": 'x"y'}]},
                        }
                    ],
                }
            ]
        },
    ),
    "other-scripts-in-an-input": (
        3,
        {
            "messages": [
                {
                    "role": "assistant",
                    "content": [{"type": "tool_use", "id": "toolu_01", "name": "f", "input": {"to": "東京"}}],
                }
            ]
        },
    ),
    "tools": (
        33,
        {
            "messages": [{"role": "user", "content": "hi"}],
            "tools": [
                {
                    "name": "get_weather",
                    "description": "The weather of a city, today",
                    "input_schema": {
                        "type": "object",
                        "properties": {"city": {"type": "string"}},
                        "required": ["city"],
                    },
                }
            ],
            "tool_choice": {"type": "auto"},
        },
    ),
    "thinking-does-not-count": (
        2,
        {
            "messages": [
                {"role": "user", "content": "hi"},
                {
                    "role": "assistant",
                    "content": [
                        {
                            "type": "thinking",
                            "thinking": "Seven times one hundred and forty-three.",
                            "signature": "EqQBCkYIARgCKkBh",
                        },
                        {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3p"},
                        {"type": "text", "text": "No."},
                    ],
                },
            ],
            "thinking": {"type": "enabled", "budget_tokens": 1024},
        },
    ),
    "a-small-image": (
        2,
        {
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "image",
                            "source": {
                                "type": "base64",
                                "media_type": "image/png",
                                "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
                            },
                        },
                        {"type": "text", "text": "hi"},
                    ],
                }
            ]
        },
    ),
    "a-photograph": (
        1601,
        {"messages": [{"role": "user", "content": [JPEG, {"type": "text", "text": "hi"}]}]},
    ),
    "an-image-that-is-named": (
        1600,
        {
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "image", "source": {"type": "url", "url": "https://images.example/x.png"}}
                    ],
                }
            ]
        },
    ),
    "everything-at-once": (
        43,
        {
            "max_tokens": 100,
            "system": [{"type": "text", "text": "You are brief."}],
            "tools": [
                {
                    "name": "get_weather",
                    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
                }
            ],
            "messages": [
                {"role": "user", "content": "Weather in Graz?"},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "The tool knows.", "signature": "EqQBCkYIARgCKkBh"},
                        {"type": "text", "text": "I look."},
                        {
                            "type": "tool_use",
                            "id": "toolu_01",
                            "name": "get_weather",
                            "input": {"city": "Graz"},
                        },
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "toolu_01",
                            "content": [{"type": "text", "text": "Rain, 9 degrees"}],
                        },
                        {"type": "text", "text": "And tomorrow?"},
                    ],
                },
            ],
        },
    ),
}
"""By name, the estimate for a request and the request without its model."""


SIZES = [
    (JPEG, (4000, 3000)),
    (image("image/gif", b"GIF89a" + (320).to_bytes(2, "little") + (200).to_bytes(2, "little")), (320, 200)),
    (image("image/png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\3\xe8\0\0\1\xf4"), (1000, 500)),
    (image("image/jpeg", b"\xff\xd8\xff\xc4\0\0"), None),
    (image("image/png", b"\x89PNG\r\n\x1a\n"), None),
    (image("image/webp", b"RIFF"), None),
    ({"source": {"data": "not base64!"}}, None),
]


@pytest.mark.parametrize(("block", "size"), SIZES, ids=lambda value: str(value)[:40])
def test_the_size_of_an_image_is_read_from_its_header(block: Any, size: Any) -> None:
    assert read_size(block["source"]["data"]) == size


@pytest.mark.parametrize("name", COUNTS)
def test_the_estimate_follows_the_rule(name: str) -> None:
    count, request = COUNTS[name]
    response = build_token_count(json.dumps({"model": "m", **request}).encode())
    assert json.loads(response.body) == {"input_tokens": count}
