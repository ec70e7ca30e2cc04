"""Judging takes linear time, whatever an implementation returns, and can be interrupted."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from dataclasses import replace

import pytest
from msgspec import structs

from streamconform.adapters.interface import Greeting, Observation
from streamconform.judge.judge import judge
from streamconform.model.capability import CAPABILITIES
from streamconform.model.leaf import Matches
from streamconform.run import pool
from streamconform.run.blame import Blame
from streamconform.run.interruptible import interrupt_at_once, run_interruptible
from streamconform.run.plan import ImplementationPlan, plan_implementation

from . import builders

COUNT = 10_000
CPU_SECONDS = 5
"""The quadratic judge took between 12 and 60 s for these answers."""

CALL = {"type": "tool_call", "name": "f", "arguments": {}}
TEXT = {"type": "text", "text": "x" * 1500}
DELTA = {"type": "text_delta", "content_index": 0, "delta": "x"}
ANSWERS = {
    "calls": ([CALL | {"id": f"call_{i}"} for i in range(COUNT)], None),
    "texts": ([TEXT] * COUNT, None),
    "texts-with-citations": ([TEXT | {"citations": [{"start": 0, "end": 1}]}] * COUNT, None),
    "thoughts": ([TEXT | {"type": "thinking"}] * COUNT, None),
    "refusals": ([TEXT | {"type": "refusal"}] * COUNT, None),
    "malformed-blocks": ([CALL | {"id": 5}] * COUNT, None),
    "a-malformed-block-at-the-end": ([CALL] * COUNT + [CALL | {"id": 5}], None),
    "a-malformed-event-at-the-end": ([TEXT], [DELTA] * 8 * COUNT + [{"type": "end"}]),
    "events": ([TEXT], [DELTA] * 8 * COUNT),
}


@pytest.mark.parametrize(("content", "events"), ANSWERS.values(), ids=ANSWERS)
def test_judging_takes_linear_time(content, events):
    answer = Observation({"status": "complete", "content": content, "stop": {"reason": "stop"}}, events)
    claims = CAPABILITIES if events else CAPABILITIES - {"events"}
    started = time.process_time()
    assert judge(builders.trial(), answer, claims, lambda _: None).verdict == "fail"
    assert time.process_time() - started < CPU_SECONDS


def test_only_the_first_malformed_blocks_are_described():
    answer = Observation({"status": "done", "content": [TEXT, CALL | {"id": 5}, "x"]})
    (check,) = judge(builders.trial(), answer, CAPABILITIES, lambda _: None).checks
    for message in ("content.1.id: `5` is not", 'content.2: `"x"` is not', 'status: `"done"` is not one of'):
        assert message in check.message
    assert "content.0" not in check.message


ENDLESS = Matches(re.compile("(x+x+)+y"))


def plan_endless() -> tuple[ImplementationPlan, Observation]:
    """Return a trial whose pattern takes years to match against the answer."""
    case = builders.case()
    block = structs.replace(case.expect.content[0], fields={"text": ENDLESS})
    trial = builders.trial(replace(case, expect=replace(case.expect, content=(block,))))
    greeting = Greeting(name="small", capabilities=CAPABILITIES - {"events"})
    connection = builders.Connection("cmd:small", ("small",))
    answer = Observation(builders.TEXT_OUTCOME | {"content": [{"type": "text", "text": "x" * 60}]})
    return plan_implementation(0, connection, greeting, (trial,), None), answer


def test_an_answer_that_takes_too_long_to_judge_is_a_fault(monkeypatch):
    monkeypatch.setattr(pool, "JUDGING_SECONDS", 0.1)
    plan, answer = plan_endless()
    result = pool.build_result(plan, plan.trials[0], answer, None, 1.0, Blame(None))
    assert (result.verdict, result.culprit) == ("faulted", "adapter")
    assert result.reason.startswith("too-slow-to-judge: judging the answer took more than 0.1 s")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_interrupts_the_judging(number):
    plan, answer = plan_endless()
    cleaned = []

    async def judge_forever():
        try:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.05)
            pool.build_result(plan, plan.trials[0], answer, None, 1.0, Blame(None))
        finally:
            cleaned.append(True)

    previous = signal.signal(signal.SIGVTALRM, lambda *_: os.kill(os.getpid(), number))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore it
    try:
        with pytest.raises(KeyboardInterrupt):
            run_interruptible(judge_forever())
    finally:
        signal.signal(signal.SIGVTALRM, previous)
        signal.signal(signal.SIGINT, before)
    assert cleaned == [True]


def test_the_timer_and_its_handler_are_gone_afterwards():
    before = signal.getsignal(signal.SIGALRM)
    with interrupt_at_once(30):
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    assert signal.getsignal(signal.SIGALRM) == before


def test_in_another_thread_nothing_is_interrupted():
    def run() -> str:
        with interrupt_at_once(0.001):
            until = time.monotonic() + 0.05
            while time.monotonic() < until:
                pass
        return "ended"

    assert asyncio.run(asyncio.to_thread(run)) == "ended"
