"""A client is not judged on settings that it says it does not have."""

from __future__ import annotations

import pytest

from streamconform import load_cases
from streamconform.adapters.interface import Greeting
from streamconform.adapters.protocol import parse_greeting
from streamconform.model.capability import CAPABILITIES
from streamconform.run.plan import explain_skip

LACKING = Greeting(name="x", capabilities=CAPABILITIES, lacks=frozenset({"output_schema", "stream"}))
ALL = Greeting(name="x", capabilities=CAPABILITIES)


@pytest.mark.parametrize(
    ("name", "lacking"), [("requests-output/schema", "output_schema"), ("requests/no-stream", "stream")]
)
def test_a_request_case_that_asks_for_a_missing_setting_is_skipped(name, lacking):
    (case,) = load_cases([f"openai-responses/{name}"])
    assert explain_skip(case, LACKING) == f"the client has no setting for {lacking}"
    assert explain_skip(case, ALL) is None


@pytest.mark.parametrize(
    "name", ["requests-history/refusal", "round-trips/encrypted-reasoning", "text/phases"]
)
def test_other_cases_are_judged(name):
    (case,) = load_cases([f"openai-responses/{name}"])
    assert explain_skip(case, LACKING) is None


def test_a_greeting_names_them():
    line = b'{"op": "hello", "protocol": 1, "implementation": {"name": "x"}, "lacks": ["cache"]}'
    assert parse_greeting(line, "x").lacks == {"cache"}
