"""Answer the requests of request cases with the shortest possible answer in their API. Pure."""

from __future__ import annotations

import json

from streamconform.apis import APIS
from streamconform.delivery.plan import Recipe
from streamconform.model.case import NOTHING_EXPECTED, Case
from streamconform.model.cassette import Authored, Cassette, Request, Transport
from streamconform.model.trial import AS_IS, WEBSOCKET, Delivered, Trial
from streamconform.replay.endpoints import read_target


def make_canned_trial(api: str, target: str, id_: str, model: str, transport: Transport = "http") -> Trial:
    """Return a trial with the shortest answer to a request for `target`, and with its non-streaming twin."""
    reply = APIS[api].choose_reply(read_target(target))
    body = reply.write(json.dumps(payload).encode() for payload in reply.payloads(model))
    cassette = Cassette(
        api=api,
        name="plain",
        request=Request(method="POST", path=reply.path, headers={}, body={"model": model, "stream": True}),
        status=200,
        headers={"content-type": reply.content_type},
        body=body,
        suffix="",
        marks=(),
        provenance=Authored("", note="the canned reply to a request under test"),
        twin=json.dumps(reply.document(model)).encode(),
    )
    case = Case(id=id_, api=api, title="the shortest answer", cassette=cassette, expect=NOTHING_EXPECTED)
    if transport == "websocket":
        return Trial(case, WEBSOCKET, "must", Recipe(id_))
    return Trial(case, AS_IS, "must", Delivered((body,)))
