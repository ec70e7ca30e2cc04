"""The translating proxy: the request of one api in, the request of another out, and the answer back.

Everything here is pure: bytes and values in, bytes and values out. `server` and `upstream`, which talk to
the network and need aiohttp, are imported by whoever serves.

    asked = ask(route, body, headers)           # or RefusedError, which `refused` makes an answer
    ...                                         # POST asked.content to the upstream at asked.path
    relay = Relay(asked, headers=headers)       # status below 400 and asked.stream
    for chunk in chunks:
        client.write(relay.receive(chunk))
    client.write(relay.end())
"""

from streamconform_proxy.failures import Answer, counted, failed, refused
from streamconform_proxy.model_capabilities import THINKING_CAPABLE, thinking_refused, thinks
from streamconform_proxy.relay import Relay, whole
from streamconform_proxy.translate import ENDPOINTS, ROUTES, Asked, Route, ask, without_thinking

__all__ = [
    "ENDPOINTS",
    "ROUTES",
    "THINKING_CAPABLE",
    "Answer",
    "Asked",
    "Relay",
    "Route",
    "ask",
    "counted",
    "failed",
    "refused",
    "thinking_refused",
    "thinks",
    "whole",
    "without_thinking",
]
