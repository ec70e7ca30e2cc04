"""The forms in which a key may get into a stream, with the reason why each is a real leak."""

from __future__ import annotations

import base64
import gzip
import html
import json
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .anthropic import answer, frame

KEY = "sk-ant-" + "api03-Zk7Qx9mP2wL5vT8rB3nH6yDsKe4Jc1Ug-tRfAA"
"""A text in the form of a key, so that it is found even if nobody says that it is one. Not a real key."""
REQUEST = {"model": "m", "max_tokens": 16, "stream": True, "messages": [{"role": "user", "content": "Hi."}]}


@dataclass(frozen=True)
class Exchange:
    """An exchange; the defaults contain no key."""

    body: bytes = field(default_factory=lambda: answer("Hello"))
    request: dict[str, Any] = field(default_factory=lambda: dict(REQUEST))
    query: str = ""
    request_headers: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    status: int = 200
    chunk: int = 100


@dataclass(frozen=True)
class Form:
    name: str
    why: str
    plant: Callable[[str], Exchange]
    in_body: bool = True
    """Whether the response's body contains the key, so that every importer and `minimise` encounters it."""


def exchange_of(*texts: str) -> Exchange:
    return Exchange(body=answer(*texts))


def pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def block(*deltas: dict[str, Any], start: dict[str, Any] | None = None) -> Exchange:
    """Return an answer with one more content block, before the end of the message."""
    payloads = [
        {"type": "content_block_start", "index": 1, "content_block": start or {"type": "text", "text": ""}},
        *({"type": "content_block_delta", "index": 1, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 1},
    ]
    return inserted(*payloads)


def inserted(*payloads: dict[str, Any]) -> Exchange:
    head, mark, tail = answer("Hello").partition(b"event: message_delta")
    return Exchange(body=head + b"".join(map(frame, payloads)) + mark + tail)


def tool(*texts: str) -> Exchange:
    start = {"type": "tool_use", "id": "toolu_01", "name": "run", "input": {}}
    return block(*({"type": "input_json_delta", "partial_json": text} for text in texts), start=start)


def escaped(key: str) -> str:
    return "".join(f"\\u{ord(each):04x}" for each in key)


def in_base64(text: str, before: str = "", *, urlsafe: bool = False) -> str:
    encode = base64.urlsafe_b64encode if urlsafe else base64.b64encode
    return encode(f"{before}{text}".encode()).decode()


def raw(text: str) -> Exchange:
    """Return an answer with `text` inserted into JSON unchanged; `json.dumps` would escape its escapes."""
    return Exchange(body=answer("@@").replace(b"@@", text.encode()))


def in_two_blocks(key: str) -> Exchange:
    """Return an answer whose two blocks receive pieces in turn."""
    deltas = [
        {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}}
        for index, text in zip((1, 2) * 50, pieces(key, 4), strict=False)
    ]
    starts = [
        {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}
        for index in (1, 2)
    ]
    ends = [{"type": "content_block_stop", "index": index} for index in (1, 2)]
    return inserted(*starts, *deltas, *ends)


def with_request(text: str) -> Exchange:
    return Exchange(request={**REQUEST, "messages": [{"role": "user", "content": text}]})


def error(text: str) -> Exchange:
    payload = {"type": "error", "error": {"type": "authentication_error", "message": text}}
    return Exchange(
        body=json.dumps(payload).encode(), status=401, headers={"content-type": "application/json"}
    )


def error_page(text: str) -> Exchange:
    page = f"<html><body>Bad key {text}</body></html>".encode()
    return Exchange(body=page, status=502, headers={"content-type": "text/html"})


def by_bytes(key: str) -> Exchange:
    tokens = [{"token": piece, "bytes": [*piece.encode()]} for piece in pieces(key, 5)]
    return inserted(*({"type": "vendor.logprobs", "bytes": each["bytes"]} for each in tokens))


THINKING = {"type": "thinking", "thinking": "", "signature": ""}

FORMS = (
    Form("whole", "the model repeats a key of the prompt", lambda key: exchange_of(f"It is {key}.")),
    Form(
        "split over chunks",
        "the network cuts anywhere",
        lambda key: Exchange(body=answer(f"It is {key}."), chunk=7),
    ),
    Form(
        "split over frames", "a model streams tokens", lambda key: exchange_of("It is ", *pieces(key, 5), ".")
    ),
    Form("one character per frame", "some engines stream characters", lambda key: exchange_of(*key)),
    Form(
        "split over fields of a frame",
        "a gateway moves a part of the text to another field of the same frame",
        lambda key: block({"type": "text_delta", "text": key[:12], "vendor_text": key[12:]}),
    ),
    Form(
        "split over two fields in turn",
        "a gateway streams text in one field and reasoning in another",
        lambda key: block(
            *(
                {"type": "text_delta", ("text", "vendor_text")[number % 2]: text}
                for number, text in enumerate(pieces(key, 5))
            )
        ),
    ),
    Form("split over blocks in turn", "blocks may interleave", in_two_blocks),
    Form("JSON escapes", "encoders may escape every character", lambda key: raw(escaped(key))),
    Form(
        "JSON escapes in JSON",
        "arguments of a tool call are JSON in JSON",
        lambda key: tool('{"key": "' + escaped(key) + '"}'),
    ),
    Form("escapes of a program", "models write Python", lambda key: exchange_of(key.replace("-", "\\x2d"))),
    Form(
        "percent-encoded",
        "a URL in the text holds it",
        lambda key: exchange_of("".join(f"%{ord(each):02X}" if not each.isalnum() else each for each in key)),
    ),
    Form(
        "percent-encoded twice",
        "a URL in the query of a URL holds it",
        lambda key: exchange_of(urllib.parse.quote("".join(f"%{ord(each):02X}" for each in key))),
    ),
    Form(
        "HTML entities", "error pages escape", lambda key: exchange_of(html.escape(key).replace("-", "&#45;"))
    ),
    *(
        Form(
            f"base64 at offset {len(before)}",
            "Basic credentials and data URLs put text before it",
            lambda key, before=before: exchange_of(f"see {in_base64(key, before)} there"),
        )
        for before in ("", "u", "u:")
    ),
    Form(
        "base64url",
        "JSON Web Tokens use this alphabet",
        lambda key: exchange_of(in_base64(f"?>{key}", urlsafe=True)),
    ),
    Form(
        "base64 split over frames",
        "a model encodes it and streams tokens",
        lambda key: exchange_of(*pieces(in_base64(key), 6)),
    ),
    Form("hexadecimal", "dumps show it", lambda key: exchange_of(key.encode().hex())),
    Form(
        "upper-case hexadecimal", "other dumps show it", lambda key: exchange_of(key.encode().hex().upper())
    ),
    Form("upper case", "a gateway normalizes", lambda key: exchange_of(key.upper())),
    Form(
        "gzip in base64",
        "logs are stored so",
        lambda key: exchange_of(base64.b64encode(gzip.compress(f"log: {key}".encode(), mtime=0)).decode()),
    ),
    Form(
        "gzip as stored",
        "recorders store compressed bodies",
        lambda key: Exchange(
            body=gzip.compress(answer(f"It is {key}."), mtime=0), headers={"content-encoding": "gzip"}
        ),
    ),
    Form("tool arguments", "the model calls a tool with it", lambda key: tool(f'{{"key": "{key}"}}')),
    Form(
        "tool arguments in pieces",
        "arguments are streamed too",
        lambda key: tool('{"key": "', *pieces(key, 4), '"}'),
    ),
    Form(
        "thinking in pieces",
        "the model thinks about it",
        lambda key: block(
            *({"type": "thinking_delta", "thinking": each} for each in pieces(key, 6)), start=THINKING
        ),
    ),
    Form(
        "an id",
        "a gateway makes ids of keys",
        lambda key: Exchange(body=answer("Hello").replace(b"msg_01", key.encode())),
    ),
    Form(
        "an unknown event",
        "gateways add events of their own, which no parser reads",
        lambda key: inserted({"type": "vendor.debug", "headers": {"x-api-key": key}}),
    ),
    Form("lists of bytes", "log probabilities list the bytes of tokens", by_bytes),
    Form("error body", "providers repeat a wrong key", lambda key: error(f"invalid x-api-key {key}")),
    Form("error page", "gateways answer with HTML", error_page),
    Form("request text", "a prompt holds it", lambda key: with_request(f"My key is {key}"), in_body=False),
    Form(
        "request text in parts",
        "a prompt is a list of parts",
        lambda key: Exchange(
            request={
                **REQUEST,
                "messages": [
                    {"role": "user", "content": [{"type": "text", "text": each} for each in pieces(key, 15)]}
                ],
            }
        ),
        in_body=False,
    ),
    Form(
        "query",
        "Google and gateways take the key there",
        lambda key: Exchange(query=f"?key={key}"),
        in_body=False,
    ),
    Form(
        "request header",
        "the usual place; and the model repeats it",
        lambda key: Exchange(body=answer(*pieces(key, 3)), request_headers={"x-api-key": key}),
    ),
    Form(
        "Basic credentials",
        "proxies ask for them; and an error repeats the password",
        lambda key: Exchange(
            body=answer(f"wrong password {key}"),
            request_headers={"authorization": f"Basic {in_base64(key, 'joe:')}"},
        ),
    ),
    Form(
        "cookie",
        "sessions are keys",
        lambda key: Exchange(
            body=answer(f"session {key}"), request_headers={"cookie": f"a=b; session={key}"}
        ),
    ),
    Form(
        "response header",
        "gateways name the request by its key",
        lambda key: Exchange(headers={"request-id": key}),
        in_body=False,
    ),
    Form(
        "cookie that is set",
        "gateways start sessions",
        lambda key: Exchange(headers={"set-cookie": f"__session={key}; Path=/"}),
        in_body=False,
    ),
)


def iter_traces(key: str) -> tuple[bytes, ...]:
    """Return the texts that reveal the key, in lower case, because files are searched in lower case."""
    texts = [key, key[4:-4], escaped(key), key.replace("-", "\\x2d"), key.replace("-", "%2d"), key[::-1]]
    texts += ["".join(f"%{ord(each):02x}" for each in key), html.escape(key).replace("-", "&#45;")]
    texts += ["".join(f"%25{ord(each):02x}" for each in key), key.encode().hex()]
    for before in ("", "u", "u:", "?>", "joe:"):
        texts += [in_base64(key, before)[4:-4], in_base64(key, before, urlsafe=True)[4:-4]]
    # Pieces count as traces too, because the rest of half a key can be guessed.
    texts += pieces(key, 12)[1:-1]
    return tuple(dict.fromkeys(text.lower().encode() for text in texts))
