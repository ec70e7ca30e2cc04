"""Clients that use a freedom pass every script: they need not retry, keep connections or offer an abort."""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest

from streamconform.adapters import host, protocol
from streamconform.adapters.connect import connect
from streamconform.apis import NAMES
from streamconform.judge.judge import explain_unclaimed
from streamconform.model.trial import Behavior
from streamconform.run.blame import Blame
from streamconform.run.plan import ImplementationPlan
from streamconform.run.pool import build_result
from streamconform_client.adapter import CONTROLS, adapter_for
from streamconform_client.client import HttpClient
from streamconform_dev.selftest.behavior import perform

from .. import bundled_suite

AT_ONCE = 4
"""How many scripts are performed at the same time."""


class NeverRetries(HttpClient):
    retries = 0


class RetriesOnce(HttpClient):
    retries = 1


class RetriesAtOnce(HttpClient):
    """Waits for nothing before a retry."""

    def compute_wait(self, retry_after, attempt):
        del retry_after, attempt
        return 0.0


class OneConnectionEach(HttpClient):
    """Keeps no connection."""

    def make_http(self):
        limits = httpx.Limits(max_keepalive_connections=0)
        return httpx.AsyncClient(timeout=60, limits=limits, trust_env=False)


CLIENTS = {
    "never-retries": adapter_for(NeverRetries),
    "retries-once": adapter_for(RetriesOnce),
    "retries-at-once": adapter_for(RetriesAtOnce),
    "one-connection-each": adapter_for(OneConnectionEach),
    "no-abort": adapter_for(controls=tuple(name for name in CONTROLS if name != "abort")),
    "nothing-claimed": adapter_for(controls=()),
}


def scripts():
    """Return the scripts of one API, or of all at night."""
    apis = NAMES if bundled_suite.NIGHTLY else ["anthropic-messages"]
    return [Behavior(case) for api in apis for case in bundled_suite.scripts(api)]


@pytest.mark.parametrize("name", CLIENTS)
def test_no_freedom_of_a_client_fails_a_must(name):
    adapter = CLIENTS[name]
    greeting = protocol.parse_greeting(json.dumps(host.build_greeting(adapter, name)).encode(), name)
    plan = ImplementationPlan(0, connect("reference"), greeting, (), ())
    judged = [
        trial for trial in scripts() if explain_unclaimed(trial.case, greeting.claims(trial.case.api)) is None
    ]
    assert len(judged) > 5 or name == "nothing-claimed"

    async def perform_all():
        free = asyncio.Semaphore(AT_ONCE)

        async def perform_one(trial):
            async with free:
                return await perform(adapter, plan, trial)

        return await asyncio.gather(*map(perform_one, judged))

    for trial, (answer, record) in zip(judged, asyncio.run(perform_all()), strict=True):
        result = build_result(plan, trial, answer, record, 0.0, Blame(None))
        assert result.verdict == "pass", (trial.id, result.checks)
