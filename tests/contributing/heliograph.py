"""The source of `heliograph`, a fictional client of Ollama's chat: the library of the example peer."""

from __future__ import annotations

from typing import Final

SOURCE: Final = """
import json
import urllib.request
from types import SimpleNamespace


class Client:
    def __init__(self, url):
        self.url = url

    def stream(self, request):
        return Stream(self.url + "/api/chat", request)


class Stream:
    model = stop_reason = None

    def __init__(self, url, request):
        self.request = urllib.request.Request(url, json.dumps(request).encode())

    def __iter__(self):
        with urllib.request.urlopen(self.request) as lines:
            for record in map(json.loads, lines):
                self.model = record["model"]
                yield record["message"]["content"]
                for call in record["message"].get("tool_calls", []):
                    yield SimpleNamespace(id=call["id"], **call["function"])
                if record["done"]:
                    self.stop_reason = record["done_reason"]
"""
