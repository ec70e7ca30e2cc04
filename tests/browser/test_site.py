"""The website in a browser: on a phone, in the dark, on paper, without JavaScript, for a screen reader."""

from __future__ import annotations

import pytest

from .axe import list_violations

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CASE = "matrix/cases/anthropic-messages/tool-use/call-cut-by-max-tokens.html"
FINDING = "findings/truncated-call-gets-the-arguments-parsed-so-far.html"
CLIENT = "matrix/clients/pydantic-ai.html"
PAGES = {
    "home": "index.html",
    "start": "start.html",
    "matrix": "matrix/index.html",
    "matrix by API": "matrix/api.html",
    "cases": "matrix/cases.html",
    "api": "matrix/api/openai-chat.html",
    "client": CLIENT,
    "case": CASE,
    "finding": FINDING,
    "findings": "findings/index.html",
    "docs": "docs/adapters.html",
    "commands": "docs/reference/commands.html",
    "schema": "docs/reference/outcome.v1.html",
    "search": "search.html",
}
PHONE = {"viewport": {"width": 390, "height": 844}}


def test_axe_finds_nothing(opened, site):
    page = opened(site / "index.html")  # one for all pages: starting it takes twice as long as opening one
    found = {}
    for name, path in PAGES.items():
        page.goto(f"file://{site / path}")
        found[name] = list_violations(page)
    assert {name: violations for name, violations in found.items() if violations} == {}


def test_a_phone_scrolls_one_way(opened, site):
    page = opened(site / "index.html", **PHONE)
    widths = {}
    for name, path in PAGES.items():
        page.goto(f"file://{site / path}")
        widths[name] = page.evaluate("document.documentElement.scrollWidth")
    assert {name: width for name, width in widths.items() if width > PHONE["viewport"]["width"]} == {}


def test_a_failure_is_in_the_first_screen(opened, site):
    page = opened(site / "index.html", viewport={"width": 1440, "height": 900})
    box = page.locator(".failure .wrong").bounding_box()
    assert box["y"] + box["height"] < 900


def test_everything_is_readable_without_javascript(opened, site):
    page = opened(site / CASE, java_script_enabled=False)
    assert "anthropic-helper" in page.locator(".marks .fail").inner_text()
    assert "stop_reason" in page.locator(".frames").inner_text()
    page.get_by_role("link", name="A truncated call gets the arguments parsed so far").click()
    assert page.get_by_role("heading", name="Documented").is_visible()
    page.get_by_role("navigation", name="Site").get_by_role("link", name="Docs").click()
    assert page.get_by_role("navigation", name="Documentation").get_by_role("link", name="Guide").is_visible()


def test_a_client_is_two_clicks_from_the_bytes(opened, site):
    page = opened(site / "matrix/index.html")
    page.get_by_role("rowheader", name="anthropic-helper").get_by_role("link").click()
    page.locator(".cause summary").first.click()
    page.locator(".cause a.case").first.click()
    assert page.locator(".frames li").count() > 1


def test_the_search_finds_sections_and_findings(opened, site):
    page = opened(site / "index.html")
    page.keyboard.press("/")
    page.keyboard.type("known failures")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=known+failures")
    page.locator("#results li").first.wait_for()
    assert "Known failures" in page.locator("#results a").all_inner_texts()
    page.locator("#query").fill("truncated arguments parsed")
    page.get_by_role("link", name="A truncated call gets the arguments parsed so far").click()
    page.wait_for_url(f"**/{FINDING}")


def test_tables_become_cards_on_a_phone(opened, site):
    page = opened(site / "matrix/index.html", **PHONE)
    row = page.get_by_role("row").filter(has_text="pydantic-ai")
    assert row.evaluate("row => getComputedStyle(row).display") == "grid"
    assert row.locator("td:visible").count() < row.locator("td").count()


def test_dark_is_what_the_system_has(opened, site):
    paper = "getComputedStyle(document.body).backgroundColor"
    assert opened(site / "index.html", color_scheme="light").evaluate(paper) == "rgb(253, 253, 252)"
    assert opened(site / "index.html", color_scheme="dark").evaluate(paper) == "rgb(20, 22, 26)"


def test_print_is_light_and_has_no_controls(opened, site):
    page = opened(site / "docs/adapters.html", color_scheme="dark")
    page.emulate_media(media="print")
    assert not page.get_by_role("navigation", name="Site").is_visible()
    assert not page.get_by_role("searchbox").is_visible()
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(22, 24, 29)"
