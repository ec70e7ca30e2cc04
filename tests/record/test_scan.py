"""What the scan before writing reports as a secret, and what it accepts."""

from __future__ import annotations

import base64
import json
import os

import pytest

from streamconform.secrets.key_forms import compile_pattern
from streamconform.secrets.placeholders import Placeholders
from streamconform.secrets.scan import scan

RANDOM = "Qz8Kw2Lm5Xv9Rt3Yp7Nc4Hb6Jd1Fg0"


def looks_like(text):
    return [finding.looks_like for finding in scan({"body": text.encode()})]


@pytest.mark.parametrize(
    "text",
    [
        "sk-" + "ant-api03-" + RANDOM,
        "sk-proj-" + RANDOM,
        "AKIA" + "ABCDEFGHIJKLMNOP",
        "AIza" + "0123456789abcdefghijABCDEFGHIJ01234",
        "ghp_" + "0123456789abcdefghijABCDEFGHIJ",
        "Authorization: Bearer " + "abcdefghijklmnop0123",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.x",
        "-----BEGIN " + "RSA PRIVATE KEY-----",
        "write to jane.doe@corp.io",
        "call +47 912 34 567",
        r'{"text": "call \u002b4791234567"}',
        '{"phone": "0171 2345 678"}',
        "pay with 4929 4212 3460 0821",
        f"it is {RANDOM} here",
        "0123456789abcdef" * 2 + "f7",
    ],
)
def test_a_secret_is_found_once(text):
    assert len(looks_like(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "A long sentence without anything, and supercalifragilisticexpialidocious-words.",
        f'{{"id": "chatcmpl-{RANDOM}", "call_id": "call_{RANDOM}"}}',
        f'{{"signature": "{base64.b64encode(bytes(range(200))).decode()}"}}',
        f'{{"url": "data:image/png;base64,{base64.b64encode(bytes(range(200))).decode()}"}}',
        "jane@example.com",
        "call 212-555-0142, or pay with 4111 1111 1111 1111",
        '{"tel": "1000001"}',
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx1",
        "sk-xxxxxxxxxxxxxxxxxxxxxxxx",
        "claude-opus-5-5-20261101 and gpt-5.6-luna-2026-07-30-preview",
        "https://docs.claude.com/en/docs/build-with-claude/streaming",
        "a" * 4000,
    ],
)
def test_text_without_secrets_passes(text):
    assert looks_like(text) == []


def test_a_finding_names_the_place_and_not_the_secret():
    (finding,) = scan({"response body": b'{"x": 1, "token": "' + RANDOM.encode() + b'"}'})
    assert (finding.part, finding.offset, finding.field, finding.size) == ("response body", 19, "token", 30)
    assert RANDOM not in str(finding)
    assert finding.fingerprint in str(finding)


def test_a_scan_of_many_megabytes_ends():
    noise = base64.b64encode(os.urandom(3_000_000)) + b'"' * 1_000_000 + b"a@" * 500_000
    assert scan({"body": noise}) is not None


@pytest.mark.parametrize("before", [b"", b"x", b"xx", b"user:"])
def test_a_key_in_base64_is_found_at_any_offset(before):
    key = b"A-Key/0123+456789"
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        assert compile_pattern(key).search(encode(before + key + b" and more"))
    assert not compile_pattern(key).search(base64.b64encode(b"something else altogether"))


@pytest.mark.parametrize("key", [b"Key.With*Meta(chars)[a]", b'quote"and\\slash', b"%2F%5c-percent"])
def test_a_key_of_any_characters_is_found_plain_and_in_json(key):
    assert compile_pattern(key).fullmatch(key)
    assert compile_pattern(key).search(json.dumps(key.decode()).encode())
    assert not compile_pattern(key).search(b"Key")


def test_a_placeholder_has_as_many_bytes_and_is_the_same_everywhere():
    placeholders = Placeholders(("Zoë Müller",))
    data = "Zoë Müller, zoe@corp.io, req_0123456789ab; zoe@corp.io, max@corp.io".encode()
    placeholders.learn(data)
    replaced = placeholders.apply(data)
    assert len(replaced) == len(data)
    assert placeholders.apply(data[4:]) != data[4:]
    words = replaced.split()
    assert words[-2].strip(b",") == words[-4].strip(b",")
    assert words[-1] != words[-2].strip(b",")
    assert placeholders.counts == {"name given": 1, "e-mail address": 2, "request id": 1}
    assert scan({"replaced": replaced}) == ()


def test_short_values_are_not_replaced():
    placeholders = Placeholders(("me",))
    placeholders.learn_request({"user": "me", "messages": "me"})
    assert placeholders.apply(b"some names for me") == b"some names for me"
