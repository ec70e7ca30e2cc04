"""The page in a browser, used like somebody in a hurry would."""

from __future__ import annotations

import re

import pytest

from streamconform_dev.docs.screenshots import wait_until_drawn

from .axe import list_violations
from .conftest import MUTANTS

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TEXT = "Swifts sleep on the wing."
CASE = "cohere-chat/v1/v1-plain-text"
DEEP = f"#case/{CASE}@as-is?i=0"


def visible_text(page):
    return page.locator("main").inner_text()


def test_the_bug_is_two_clicks_away(opened, report):
    page = opened(report)
    assert re.fullmatch(r"Failed: [\d,]+ causes, in [\d,]+ of [\d,]+ trials", page.locator("h1").inner_text())
    page.locator(".cause", has_text="Repeats text").locator(".examples a").first.click()
    page.get_by_role("heading", name="Differences").wait_for()
    assert page.locator("mark.g").count() > 0
    page.locator("a[href^='#frame-']").first.click()
    assert page.locator("tr.relevant:focus").count() == 1
    assert "text_delta" in page.locator("tr.diverged .event.wrong").inner_text()


def test_a_case_page_can_be_linked_to_and_says_all_of_it(opened, report):
    page = opened(report, DEEP)
    page.get_by_text("Why this is expected").click()
    text = visible_text(page)
    assert page.locator("h1:visible").inner_text() == "Text in separate lines, repeated in stream-end"
    assert "A client that shows both repeats the answer." in text
    assert page.get_by_role("link", name="langchain-ai/langchain-cohere#57", exact=True).get_attribute(
        "href"
    ) == ("https://github.com/langchain-ai/langchain-cohere/issues/57")
    assert f"conform run -i {MUTANTS[0]} -k {CASE}@as-is" in text
    assert "POST /v1/chat" in text
    assert page.locator(".sides tbody td").all_inner_texts() == [TEXT, TEXT * 2]
    assert page.locator("mark.g").inner_text() == TEXT
    assert page.locator("tr[id^=frame-]").count() == 8
    assert page.locator("tr.relevant").count() == 1
    page.get_by_role("button", name="Raw bytes").click()
    assert r"\n" in page.locator("#frame-1 .esc").inner_text()
    assert page.locator("#frame-1 .cut").count() == 1
    page.get_by_role("button", name="Hex").click()
    assert page.locator("#frame-1 .code").inner_text().startswith("000069  7b 22 69 73")


def test_a_trial_that_passed_and_a_case_that_nobody_knows_say_so(opened, report):
    page = opened(report, f"#case/{CASE}@as-is?i=1")
    assert "This trial passed." in visible_text(page)
    assert f"conform explain '{CASE}@as-is' -i '{MUTANTS[1]}'" in visible_text(page)
    page.goto(f"file://{report}#case/no/such/case")
    assert page.locator("h1:visible").inner_text() == "No such case in this run"


def test_filters_narrow_every_list_and_live_in_the_address(opened, report):
    page = opened(report)
    whole = page.locator("#f-count").inner_text()
    page.locator("#f-q").fill("v1-plain")
    assert page.locator("#f-count").inner_text() == f"1 of {whole}"
    assert page.locator("#by-case tbody tr").count() == 2
    page.wait_for_url("**/r.html#q=v1-plain")
    page.reload()
    wait_until_drawn(page)
    assert page.locator("#f-q").input_value() == "v1-plain"
    assert page.locator("#f-count").inner_text() == f"1 of {whole}"
    page.locator("#by-case a.id").click()
    page.locator("#case-title").wait_for()
    page.keyboard.press("Escape")
    page.wait_for_url("**/r.html#q=v1-plain")
    page.get_by_role("button", name="Clear").click()
    assert page.locator("#f-count").inner_text() == whole
    page.goto(f"file://{report}#verdict=warn&impl=0&tag=text")
    warned = page.locator("#f-count").inner_text()
    assert warned != whole
    assert page.locator("#by-case thead th").count() == 2
    tallies = page.locator("#causes .tally").all_inner_texts()  # mutants are judged strictly
    assert tallies
    assert all("warn in" in each for each in tallies)


def test_what_changed_since_an_earlier_run_is_reported_case_by_case(opened, report):
    page = opened(report)
    since = page.locator("#since")
    numbers = dict(
        zip(since.locator("dt").all_inner_texts(), since.locator("dd").all_inner_texts(), strict=True)
    )
    assert int(numbers["still failing"]) > 0
    assert numbers["new failures"] != "0"
    assert page.locator(".cause .fresh").count() > 0


def test_the_keyboard_reaches_everything(opened, report):
    page = opened(report)
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "f-q"
    fold = page.locator("#by-case .fold").first
    fold.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    page.locator(".examples a").first.focus()
    page.keyboard.press("Enter")
    page.locator("#case-title:focus").wait_for()
    page.keyboard.press("Escape")
    page.locator("#overview").wait_for()


def test_copy_buttons_copy(opened, report):
    page = opened(report, DEEP, permissions=["clipboard-read", "clipboard-write"])
    button = page.get_by_role("button", name="Copy the id of the trial")
    button.click()
    page.get_by_text("Copied", exact=True).wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == f"{CASE}@as-is"


def test_dark_is_what_the_system_has_or_what_was_chosen(opened, report):
    paper = "getComputedStyle(document.body).backgroundColor"
    light, dark = "rgb(253, 253, 252)", "rgb(20, 22, 26)"
    assert opened(report, color_scheme="light").evaluate(paper) == light
    page = opened(report, color_scheme="dark")
    assert page.evaluate(paper) == dark
    page.locator("#theme").click()
    assert page.evaluate(paper) == light
    page.locator("#theme").click()
    assert page.evaluate(paper) == dark


@pytest.mark.parametrize("width", [1280, 390], ids=["desktop", "phone"])
@pytest.mark.parametrize("address", ["", DEEP], ids=["first", "case"])
def test_axe_finds_nothing(opened, report, address, width):
    size = {"width": width, "height": 844}
    page = opened(report, address, viewport=size, bypass_csp=True)  # axe is a script that is not ours
    assert list_violations(page) == []


@pytest.mark.parametrize("address", ["", DEEP], ids=["first", "case"])
def test_a_phone_scrolls_one_way(opened, report, address):
    page = opened(report, address, viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_phone_shows_all_counts_of_an_implementation(opened, report):
    page = opened(report, viewport={"width": 390, "height": 844})
    box = page.locator(".counts").locator("xpath=..")
    assert box.evaluate("box => box.scrollWidth <= box.clientWidth")
    assert page.locator(".counts td:visible").count() >= 4


def test_a_case_page_begins_with_what_differs(opened, report):
    page = opened(report, DEEP, viewport={"width": 1366, "height": 850})
    headings = page.locator("main h2:visible").all_inner_texts()
    assert headings == ["Differences", "Wire", "Reproduce", "Why this is expected", "Request and response"]
    assert page.locator("mark.g").first.bounding_box()["y"] < 450
    assert page.locator(".reasons").bounding_box()["height"] < 50
    assert page.locator(".cause-line").inner_text().startswith("! warn: Repeats text (harm: ")


def test_the_causes_are_listed_without_a_script(opened, report):
    page = opened(report)
    listed = page.locator("#overview .causes-table th a").all_inner_texts()
    page = opened(report, wait=False, java_script_enabled=False)
    assert page.locator("#overview .causes-table th a").all_inner_texts() == listed
    assert "Repeats text" in listed
    assert not page.locator("#filters").is_visible()  # nothing that needs the script


def test_a_cause_in_the_table_leads_to_its_details(opened, report):
    page = opened(report)
    row = page.locator("#overview .causes-table tr", has_text="Repeats text").first
    number = row.locator("td").first.inner_text()
    row.locator("a").click()
    page.locator(f"#cause-{number}:focus").wait_for()
    assert "Repeats text" in page.locator(f"#cause-{number} h3").inner_text()


def test_a_browser_that_cannot_unpack_the_page_says_so(opened, report):
    page = opened(report, wait=False, init="delete window.DecompressionStream")
    page.locator("#too-old").wait_for()
    assert page.locator("#overview .causes-table").first.is_visible()


def test_print_is_light_and_without_controls(opened, report):
    page = opened(report, DEEP, color_scheme="dark")
    page.emulate_media(media="print")
    assert not page.get_by_role("button", name="Raw bytes").is_visible()
    assert page.locator("mark.g").is_visible()
