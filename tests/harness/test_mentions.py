"""The ids and signatures that a stream mentions: a list for judges that parse no stream."""

from __future__ import annotations

import json
from itertools import chain

from streamconform.apis import APIS
from streamconform.judge.mentions import find_mention, index_mentions
from streamconform.model.leaf import Literally, list_values
from streamconform.model.trial import DELIVERY_SETS
from streamconform.suite.expand import expand
from streamconform.wire.framings import split
from tests.bundled_suite import documents, sample, streams
from tests.for_each import for_each

ROTATED = "openai-chat/llama-cpp/parallel-calls"


def search(api, body, text):
    """Return where a text is first in the payloads of a body, as JSON writes it, under whatever key."""
    framed = APIS[api].detect_framing(200, body)
    payloads = [frame.payload for frame in split(framed, body)] if framed != "document" else [body]
    place = b"\n".join(payloads).find(json.dumps(text).encode())
    return place if place >= 0 else None


def list_expected(case, name):
    """Return the texts that a case expects in a field of its blocks, except redacted ones."""
    blocks = [
        block for block in case.expect.content or () if block.fields.get("redacted") != Literally(value=True)
    ]
    values = chain.from_iterable(list_values(block.fields.get(name)) or () for block in blocks)
    return [value for value in values if value]


@for_each("case", sample((*streams(), *documents())), ids=lambda case: case.id)
def test_ids_and_signatures_are_mentioned_in_the_order_in_which_a_search_finds_them(case):
    mentions = index_mentions(case.api, case.cassette.body)
    for name in ("id", "signature"):
        texts = dict.fromkeys(list_expected(case, name))
        found = {text: search(case.api, case.cassette.body, text) for text in texts}
        found = {text: place for text, place in found.items() if place is not None}
        assert sorted(found, key=found.get) == sorted(found, key=mentions.__getitem__)
    assert search(case.api, case.cassette.body, "made-up") is mentions.get("made-up") is None


def test_a_signature_is_mentioned_as_it_reads_however_json_escapes_it():
    body = b'data: {"thoughtSignature": "a\\u003d\\/b"}\n\ndata: {"id": "c", "text": "id", "signature": "d'
    assert index_mentions("google-generate", body + b"\n\n") == {"a=/b": 0, "c": 1}


def test_only_the_frames_of_another_server_have_ids_of_their_own():
    case = next(case for case in streams() if case.id == ROTATED)
    trials = {trial.delivery: trial for trial in expand((case,), DELIVERY_SETS["full"], "bytes", 0, "all")}
    first, second = list_expected(case, "id")
    assert find_mention(trials["as-is"], first) < find_mention(trials["as-is"], second)
    assert find_mention(trials["cut-after-frame.0"], second) == find_mention(trials["as-is"], second)
    assert find_mention(trials["ids-empty"], "") is not None
    assert find_mention(trials["ids-absent"], second) is find_mention(trials["as-is"], "") is None
