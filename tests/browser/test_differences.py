"""The differences on a case's page: a call as one object, a bill, signatures, and a color for each."""

from __future__ import annotations

import pytest

from ..cli.project import Project
from .axe import list_violations

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ADAPTER = """
from decimal import Decimal

from streamconform_reference import adapter as reference


def adapter(run):
    *_, last = reference(run)
    outcome = last["outcome"]
    for block in outcome["content"]:
        if block["type"] == "tool_call" and block["arguments"]:
            block["arguments"] = {}
        if block["type"] == "thinking" and block["signature"]:
            block["signature"] = block["signature"][:30] + "*" + block["signature"][31:]
    if outcome["cost"] is not None:
        outcome["usage"]["input"] += 81_000
        for name in ("input", "total"):
            outcome["cost"][name] = str(Decimal(outcome["cost"][name]) + Decimal("0.81"))
    return outcome


adapter.capabilities = [name for name in reference.capabilities if name != "events"]
adapter.apis = ["anthropic-messages"]
"""
COST = "anthropic-messages/cost/cost-every-bucket"
THINKING = "anthropic-messages/fallback/two-hops-with-thinking"


@pytest.fixture(scope="module")
def page_path(tmp_path_factory):
    project = Project(tmp_path_factory.mktemp("differences"), {"wrong.py": ADAPTER})
    chosen = ("-k", f"{COST}@as-is", "-k", f"{THINKING}@as-is")
    ran = project.run("run", "-i", "python:wrong:adapter", *chosen, "--report", "html=r.html")
    assert ran.code == 1, ran.err
    return project.folder / "r.html"


def test_the_cause_comes_first_and_each_call_is_one_object(opened, page_path):
    page = opened(page_path, f"#case/{COST}@as-is")
    titles = page.locator(".check h3 code").all_inner_texts()
    assert titles == ["content.0.tool_call", "usage and cost", "content.1.tool_call"]
    cause = page.locator(".check").first
    assert cause.locator("small").inner_text() == "arguments: fail"
    assert '"name": "web_search",' in cause.locator(".sides").inner_text()
    assert cause.locator("mark.e").first.inner_text().strip() == '"query": "bell foundry"'


def test_a_bill_shows_differences_and_prices(opened, page_path):
    page = opened(page_path, f"#case/{COST}@as-is")
    rows = {
        row.locator("th").inner_text(): row.locator("td").all_inner_texts()
        for row in page.locator(".bill tbody tr").all()
    }
    assert rows["input"] == [
        "700\n$0.007",
        "81,700\n$0.817",
        "✗ +81,000 (117 times)\n✗ +$0.81 (117 times)",
        "$10 per million",
    ]
    assert rows["output"] == ["150\n$0.0075", "150\n$0.0075", "", "$50 per million"]
    assert rows["total"][2] == "✗ +$0.81 (7.65 times)"


def test_each_difference_has_a_number_and_a_color_that_its_frames_have_too(opened, page_path):
    page = opened(page_path, f"#case/{COST}@as-is")
    numbers = [text.split()[-1] for text in page.locator(".check .badge").all_inner_texts()]
    assert numbers == ["1", "2", "3"]
    colors = {
        badge.evaluate("badge => getComputedStyle(badge).backgroundColor")
        for badge in page.locator(".check .badge").all()
    }
    assert len(colors) == 3
    ranges = page.locator(".check p.relevant").all_inner_texts()
    assert ranges == ["Relevant frames: 1-4", "Relevant frames: 0, 17", "Relevant frames: 7-10"]
    page.locator("p.relevant a", has_text="7-10").click()
    assert page.locator("#frame-7:focus .badge.c3").count() == 1


def test_a_signature_says_from_which_byte_it_differs(opened, page_path):
    page = opened(page_path, f"#case/{THINKING}@as-is")
    row = page.locator(".briefly tbody tr").first
    assert "differs from byte 30 of 80" in row.inner_text()
    assert row.locator("mark.g").inner_text() == "*"


@pytest.mark.parametrize("width", [1280, 390], ids=["desktop", "phone"])
@pytest.mark.parametrize("case", [COST, THINKING], ids=["bill", "signature"])
def test_axe_finds_nothing_and_nothing_overflows(opened, page_path, case, width):
    size = {"width": width, "height": 844}
    page = opened(page_path, f"#case/{case}@as-is", viewport=size, bypass_csp=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(
        "[...document.querySelectorAll('.check .wide')].every((box) => box.scrollWidth <= box.clientWidth)"
    )
    assert list_violations(page) == []
