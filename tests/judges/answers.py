"""Recorded answers for the tests of the judges in other languages."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Final

from streamconform.apis import NAMES
from streamconform.model.case import Case
from streamconform_dev.artifact import write_suite
from streamconform_dev.judges.answers import encode_judged, expand_covered
from streamconform_dev.judges.files import record_answers, write_answers
from tests.bundled_suite import cases
from tests.judges.made import make_cases

MADE_FOR: Final = ("anthropic-messages", "openai-chat")
"""An API whose messages record the order of text and calls, and one whose messages do not."""
STEP: Final = 80
"""One of so many cases is in the sample, besides `RARE`."""
RARE: Final = frozenset(
    {
        "anthropic-messages/ccr/length",
        "anthropic-messages/ccr/tool-auto",
        "anthropic-messages/ccr/tool-result",
        "anthropic-messages/citations/unknown-kind",
        "anthropic-messages/citations/web-pages",
        "anthropic-messages/cost/cost-at-the-threshold",
        "anthropic-messages/cost/cost-cache-write-split",
        "anthropic-messages/cost/cost-cache-write-without-split",
        "anthropic-messages/documents/web-search-with-citations",
        "anthropic-messages/errors/error-as-first-event",
        "anthropic-messages/fallback/declined-by-all",
        "anthropic-messages/llama-cpp/thinking-text",
        "anthropic-messages/llama-cpp/thinking-tool",
        "anthropic-messages/server-tools/pause-turn-after-server-tool",
        "anthropic-messages/text/empty-text-block",
        "anthropic-messages/tolerance/second-message-start-mid-call",
        "anthropic-messages/tool-use/big-integers",
        "anthropic-messages/tool-use/malformed-unquoted-value",
        "anthropic-messages/tool-use/nested-arguments",
        "anthropic-messages/usage/usage-later-zero-replaces",
        "bedrock-converse/thinking/two-reasoning-blocks",
        "bedrock-invoke/text/document-citations",
        "cohere-chat/thinking/thinking-interleaved-with-text",
        "cohere-chat/truncation/cut-after-whole-call",
        "google-generate/server-tools/server-tool-signed-blocks",
        "google-generate/server-tools/signatures-of-both-calls",
        "google-generate/server-tools/two-server-tools",
        "google-generate/signatures/long-signature",
        "google-generate/signatures/text-then-signed-call",
        "google-generate/thinking/thoughts-between-texts",
        "google-generate/vertex/streamed-signed",
        "google-interactions/usage/tool-use-of-code",
        "openai-chat/cost/cost-of-tool-calls",
        "openai-chat/documents/custom-call-input",
        "openai-chat/stop-reasons/refusal",
    }
)
"""The cases whose answers reach a branch of the judge that others do not reach."""


@cache
def record_sample() -> Path:
    """Return a folder with a part of the suite, and with answers that reach every branch of a judge.

    The files are named as `conform dev export-suite --answers` names them.
    """
    folder = Path(tempfile.mkdtemp(prefix="streamconform-answers-"))
    atexit.register(_delete, folder, os.getpid())
    for api in NAMES:
        of_api = [case for case in cases() if isinstance(case, Case) and case.api == api]
        sample = [case for i, case in enumerate(of_api) if i % STEP == 0 or case.id in RARE]
        made = [*make_cases(of_api[0])] if api in MADE_FOR else []
        lines = (
            encode_judged(next(expand_covered((case,), full=False)), answered)
            for case, answers in made
            for answered in answers
        )
        write_suite(api, (*sample, *(case for case, _ in made)), folder)
        write_answers(api, chain(record_answers(sample, 2), lines), folder)
    return folder


def _delete(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # tests fork processes, which end earlier
        shutil.rmtree(folder)
