"""The filters of the page: their query, and the way back to them."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def count_cases(page, query):
    """Return how many cases a query selects."""
    page.locator("#f-q").fill(query)
    return int(page.locator("#f-count").inner_text().split()[0])


def test_a_query_has_words_fields_and_exclusions(opened, report):
    page = opened(report)
    every = count_cases(page, "")
    doubled, lost = (
        f"impl:{name} verdict:fail" for name in ("final-text-doubled", "argument-fragments-lost")
    )
    assert 0 < count_cases(page, "verdict:fail") < every
    assert count_cases(page, "verdict:fail") + count_cases(page, "-verdict:fail") == every
    assert count_cases(page, "api:cohere-chat") == every
    assert count_cases(page, "-api:cohere") == 0
    assert count_cases(page, "v1-plain -repeated") < count_cases(page, "v1-plain")
    assert count_cases(page, "tag:text") + count_cases(page, "-tag:text") == every
    assert count_cases(page, doubled) != count_cases(page, lost)
    assert count_cases(page, "no:such-field") == 0
    assert count_cases(page, "-") == count_cases(page, "!") == every


def test_quotes_and_exclamation_marks_are_understood(opened, report):
    page = opened(report)
    every = count_cases(page, "")
    assert 0 < count_cases(page, '"in separate lines"') < count_cases(page, "in lines")
    assert count_cases(page, '"separate lines in"') == 0
    assert count_cases(page, '"in separate') == count_cases(page, '"in separate"')  # still being typed
    assert count_cases(page, '!"in separate lines"') + count_cases(page, '"in separate lines"') == every
    assert count_cases(page, "!tag:text") == count_cases(page, "-tag:text")
    assert count_cases(page, 'tag:"text"') == count_cases(page, "tag:text")
    assert not page.locator("#f-note").is_visible()


def test_unknown_keys_and_values_are_named_with_those_that_exist(opened, report):
    page = opened(report)
    note = page.locator("#f-note")
    assert count_cases(page, "harm:bills") == 0
    assert "Unknown key \u201charm\u201d. Keys: api, tag, verdict, impl." in note.inner_text()
    assert 'quote it: "harm:bills"' in note.inner_text()
    assert count_cases(page, "tag:nope") == 0
    assert "Nothing in this run has tag:nope. Known: " in note.inner_text()
    count_cases(page, "verdict:failed")
    assert "Known: pass, fail, warn, known, stale, skipped, faulted, hang, unexpected." in note.inner_text()
    count_cases(page, "api:openai impl:final")
    assert "has api:openai. Known: cohere-chat." in note.inner_text()
    assert "impl:final" not in note.inner_text()
    count_cases(page, "api:cohere")
    assert not note.is_visible()


def test_the_help_explains_the_filter_and_the_marks(opened, report):
    page = opened(report)
    page.get_by_text("How to filter, and what the marks mean").click()
    assert "without these cases" in page.locator(".help").inner_text()
    assert "adapter error" in page.locator(".help .legend").inner_text()


def test_a_filter_survives_the_way_to_a_case_and_back(opened, report):
    page = opened(report)
    page.locator("#f-q").fill("v1 verdict:unexpected")
    shown = page.locator("#f-count").inner_text()
    # Immediately, although the address follows the text with a delay.
    page.locator(".examples a").first.click()
    page.locator("#back").click()
    assert page.locator("#f-q").input_value() == "v1 verdict:unexpected"
    assert page.locator("#f-count").inner_text() == shown
    page.locator(".examples a").first.click()
    page.locator("#case-title").wait_for()
    page.go_back()
    page.locator("#filters").wait_for()
    assert page.locator("#f-q").input_value() == "v1 verdict:unexpected"
    assert page.locator("#f-count").inner_text() == shown


def test_the_next_failure_is_one_that_the_filter_selects(opened, report):
    page = opened(report)
    page.locator(".examples a").first.click()
    whole = int(page.locator(".steps .dim").inner_text().split()[-1])
    page.locator("#back").click()
    page.locator("#f-q").fill("tool-use")
    page.locator(".examples a").first.click()
    selected = int(page.locator(".steps .dim").inner_text().split()[-1])
    assert 1 < selected < whole
    for place in range(2, selected + 1):
        page.get_by_text("next failure").click()
        # The page follows its address a moment after the click.
        page.get_by_text(f"{place} of {selected}", exact=True).wait_for()
        assert "/tool-use/" in page.locator(".top .id code").inner_text()
    assert not page.get_by_text("next failure").count()


def test_the_page_names_the_run_in_its_footer(opened, report):
    facts = opened(report).locator("#run-facts")
    assert facts.locator("dt").all_inner_texts() == ["Date", "Duration", "Command", "Platform"]
    assert "conform run -i mutant:final-text-doubled" in facts.inner_text()
