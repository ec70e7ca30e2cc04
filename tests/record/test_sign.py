"""A signed AWS request stays valid behind `record listen`, with a real client and a strict verifier."""

from __future__ import annotations

import hashlib
import hmac
import re
from urllib.parse import quote, urlsplit

import botocore.session
import pytest
from botocore.config import Config

from streamconform.suite import cassettes

from ..bundled_suite import SOURCES
from .server import document, replying
from .test_listen import listening

KEY, SECRET = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
STREAM = cassettes.load(SOURCES.cassettes, "bedrock-converse", "plain-text")


def is_signed(request: bytes, secret: str) -> bool:
    """Return whether the signature of `request` is right.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
    """
    head, _, body = request.partition(b"\r\n\r\n")
    line, *lines = head.decode().split("\r\n")
    method, target, _ = line.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in lines)}
    pattern = r"AWS4-HMAC-SHA256 Credential=[^/]+/([^,]+), SignedHeaders=([^,]+), Signature=([0-9a-f]+)"
    scope, names, signature = re.fullmatch(pattern, headers["authorization"]).groups()
    canonical = "\n".join([
        method,
        quote(target.partition("?")[0]),
        "",
        *(f"{name}:{headers[name]}" for name in names.split(";")),
        "",
        names,
        hashlib.sha256(body).hexdigest(),
    ])  # fmt: skip
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    text = "\n".join(["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, digest])
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.compare_digest(hmac.digest(key, text.encode(), "sha256").hex(), signature)


@pytest.fixture
def client(monkeypatch):
    """Return a function that makes clients like those of an application."""
    for name in ("AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    session = botocore.session.Session()
    session.set_credentials(KEY, SECRET)
    settings = Config(retries={"total_max_attempts": 1}, proxies={})
    return lambda url: session.create_client(
        "bedrock-runtime", region_name="eu-west-1", endpoint_url=url, config=settings
    )


def converse(client):
    answer = client.converse_stream(
        modelId="eu.anthropic.claude-haiku-4-5-20251001-v1:0",
        messages=[{"role": "user", "content": [{"text": "Hi."}]}],
    )
    return [*answer["stream"]]


def reply(request: bytes):
    """Answer like AWS: with a stream if the signature is right."""
    if not is_signed(request, SECRET):
        return document(b"403 Forbidden", b'{"message":"The request signature does not match."}')
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.amazon.eventstream\r\n"
    return (head + b"Content-Length: %d\r\n\r\n" % len(STREAM.body), STREAM.body)


def test_the_verifier_accepts_what_the_client_signs_and_nothing_else(client):
    with replying(reply, reply) as server:
        assert converse(client(server.base_url))
        (request,) = server.requests
    assert not is_signed(request.replace(b"Hi.", b"Ho."), SECRET)
    assert not is_signed(request, "another secret")


def test_a_signed_request_is_signed_again_for_the_upstream(client, tmp_path):
    env = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}
    with replying(reply) as server, listening(tmp_path, server.base_url, env=env) as proxy:
        events = converse(client(proxy.url))
        code, err = proxy.stop()
        assert f"host: {urlsplit(server.base_url).netloc}".encode() in server.requests[0].lower()
    assert code == 0, err
    assert [next(iter(event)) for event in events][-1] == "metadata"
    kept = proxy.load(api="bedrock-converse")
    assert kept.body == STREAM.body
    assert kept.provenance.model == "eu.anthropic.claude-haiku-4-5-20251001-v1:0"
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(KEY.encode() in data or b"AWS4-HMAC" in data for data in files)


def test_no_key_but_the_clients_own_is_used(client, tmp_path):
    env = {"AWS_ACCESS_KEY_ID": "AKIAANOTHERKEY000000", "AWS_SECRET_ACCESS_KEY": SECRET}
    with replying(reply) as server, listening(tmp_path, server.base_url, env=env) as proxy:
        with pytest.raises(botocore.exceptions.ClientError, match="502"):
            converse(client(proxy.url))
        code, err = proxy.stop()
        assert server.requests == []
    assert "the key that it uses is not in this environment" in err
    assert code == 2
