"""Pages of large runs are small enough to send, and quick to open and to filter."""

from __future__ import annotations

import sys

import pytest

from streamconform.reports import html

from .many import many

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
"""None until the browser has recorded it, which may be after the page has loaded."""
FILTER = """words => {
  const field = document.getElementById('f-q');
  field.value = words;
  field.dispatchEvent(new Event('input', { bubbles: true }));
  document.body.getBoundingClientRect();
}"""


def busy(session):
    """Return how long the page's thread has worked, in milliseconds; other processes do not count."""
    (seconds,) = (
        each["value"]
        for each in session.send("Performance.getMetrics")["metrics"]
        if each["name"] == "TaskDuration"
    )
    return seconds * 1000


def filtered(page, session, words):
    before = busy(session)
    page.evaluate(FILTER, words)
    return busy(session) - before


@pytest.mark.parametrize("implementations", [pytest.param(1, marks=pytest.mark.nightly), 12])
def test_a_page_of_twenty_thousand_trials_opens_and_filters(opened, judged, tmp_path, implementations):
    run = many(judged, 20_000, implementations)
    assert len(run.trials) == 20_000
    path = tmp_path / "large.html"
    path.write_text(html.render(run), "utf-8")
    assert path.stat().st_size < 3_000_000
    page = opened(path)
    painted = page.wait_for_function(PAINTED).json_value()
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    spent = [filtered(page, session, words) for words in ("tool", "call", "")]
    assert min(spent) > 0  # the time depends on the machine; `-s` shows it
    size = path.stat().st_size / 1e6
    summary = f"{implementations}: {size:.1f} MB, first paint {painted:.0f} ms, filters {max(spent):.0f} ms"
    sys.stdout.write(f"\n{summary}\n")
    assert "without the wire" in page.locator(".verdict").inner_text()
    assert page.locator("#causes > ul > li").count() > 0
    assert page.evaluate("document.querySelectorAll('*').length") < 15_000


def test_a_page_of_three_hundred_failing_cases_takes_less_than_a_megabyte(judged):
    run = many(judged, 3900, 1)
    failed = {trial.case for trial in run.trials if trial.verdict == "fail"}
    page = html.render(run)
    sys.stdout.write(f"\n{len(failed)} failing cases: {len(page) / 1e6:.2f} MB\n")
    assert len(failed) >= 300
    assert len(page) < 1_000_000
    assert "without the wire" not in page
