"""Source distributions for tests: vcrpy cassettes in an archive that pip accepts."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from dataclasses import replace
from pathlib import Path

from streamconform_capture.corpus.sources import SOURCES, Source

from ..harness.builders import TEXT_FRAMES, sse_body

BODY = sse_body(TEXT_FRAMES)
KNOWN = SOURCES["openllmetry-anthropic"]
ROOT = f"{KNOWN.distribution.replace('-', '_')}-{KNOWN.version}"
MESSAGES = "https://api.anthropic.com/v1/messages"
PROJECT = {
    "pyproject.toml": b'[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n',
    "PKG-INFO": f"Metadata-Version: 2.4\nName: {KNOWN.distribution}\nVersion: {KNOWN.version}\n".encode(),
}


def interaction(url=MESSAGES, body=BODY, *, status=200, stream=True, media="text/event-stream"):
    return {
        "request": {
            "method": "POST",
            "uri": url,
            "body": json.dumps({"model": "m", "stream": stream} if stream is not None else {}),
            "headers": {"x-api-key": ["sk-ant-secret"]},
        },
        "response": {
            "status": {"code": status, "message": "-"},
            "headers": {"content-type": [media]},
            "body": {"string": body.decode()},
        },
    }


def vcr(*interactions):
    """Return a vcrpy cassette as JSON, which is also YAML."""
    return json.dumps({"version": 1, "interactions": interactions}, ensure_ascii=False).encode()


def langchain(*interactions):
    """Return a cassette of LangChain's serializer: gzip, two lists, and headers without their values."""
    parts = {
        "requests": [each["request"] for each in interactions],
        "responses": [each["response"] for each in interactions],
    }
    for message in (*parts["requests"], *parts["responses"]):
        message["headers"] = {name: ["**REDACTED**"] for name in message["headers"]}
    return gzip.compress(json.dumps(parts, ensure_ascii=False).encode(), mtime=0)


def packed(members):
    """Return a `.tar.gz` of (name or TarInfo, bytes) pairs."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in members:
            info = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return gzip.compress(buffer.getvalue(), mtime=0)


def special(name, kind, target=""):
    """Return a member that is not a regular file."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def sdist(folder: Path, files) -> Source:
    """Write a source distribution with `files` to `folder`, and return it as a source."""
    data = packed((f"{ROOT}/{name}", content) for name, content in {**PROJECT, **files}.items())
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{ROOT}.tar.gz").write_bytes(data)
    return replace(KNOWN, sha256=hashlib.sha256(data).hexdigest())
