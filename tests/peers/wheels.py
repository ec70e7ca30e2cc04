"""Build a wheel with a peer's name and release: a small client that queries a given server."""

from __future__ import annotations

import hashlib
import zipfile

from streamconform_peers.table import PEERS

LIBRARY = """\
import json
import sys
import urllib.request
from types import SimpleNamespace

class ResponseError(Exception):
    pass

class Client:
    def __init__(self, host, timeout):
        self.url = host + "/api/chat"
        assert "streamconform" not in {name.partition(".")[0] for name in map(str, sys.path)}

    def chat(self, model, messages, stream, tools=None, options=None):
        sys.stdout.write("what a library prints\\n")
        body = json.dumps({"model": model, "messages": messages, "stream": stream}).encode()
        with urllib.request.urlopen(urllib.request.Request(self.url, body)) as response:
            for line in response:
                record = json.loads(line)
                message = {"thinking": None, "content": None, "tool_calls": None} | record["message"]
                yield SimpleNamespace(
                    message=SimpleNamespace(**message),
                    done=record["done"],
                    **{n: record.get(n) for n in ("model", "done_reason", "prompt_eval_count", "eval_count")},
                )
"""
WHEEL = "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
TRANSPORT = "class TransportError(Exception):\n    pass\n"


def build_wheel(folder, name, *, requires=()):
    """Write a wheel of the release that the peer `name` pins to `folder`; it contains a stub of `httpx`.

    Return its line in a file of pins.
    """
    peer = PEERS[name]
    stem = f"{peer.distribution.replace('-', '_')}-{peer.version}"
    metadata = [f"Metadata-Version: 2.1\nName: {peer.distribution}\nVersion: {peer.version}"]
    metadata += [f"Requires-Dist: {requirement}" for requirement in requires]
    files = {
        f"{peer.distribution}.py": LIBRARY,
        "httpx.py": TRANSPORT,
        f"{stem}.dist-info/METADATA": "\n".join(metadata) + "\n",
        f"{stem}.dist-info/WHEEL": WHEEL,
    }
    record = f"{stem}.dist-info/RECORD"
    files[record] = "".join(f"{path},,\n" for path in (*files, record))
    path = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name_in_wheel, text in files.items():
            wheel.writestr(name_in_wheel, text)
    return (
        f"{peer.distribution}=={peer.version} --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"
    )
