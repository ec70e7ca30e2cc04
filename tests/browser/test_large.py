"""Pages of large runs: small enough to send, quick to open, quick to filter."""

from __future__ import annotations

import pytest
from streamconform.reports import html

from .many import many

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PAINTED = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
FILTER = """words => {
  const field = document.getElementById('f-q');
  field.value = words;
  field.dispatchEvent(new Event('input', { bubbles: true }));
  document.body.getBoundingClientRect();
}"""


def busy(session):
    """Return for how many milliseconds the page's thread has worked: other processes do not count."""
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


@pytest.mark.parametrize("implementations", [1, 12])
def test_twenty_thousand_trials_open_and_filter_at_once(opened, judged, tmp_path, implementations):
    run = many(judged, 20_000, implementations)
    assert len(run.trials) == 20_000
    path = tmp_path / "large.html"
    path.write_text(html.render(run), "utf-8")
    assert path.stat().st_size < 10_000_000
    page = opened(path)
    assert page.evaluate(PAINTED) < 2000
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    for words in ("tool", "reasoning content", ""):
        assert 0 < min(filtered(page, session, words) for _ in range(5)) < 100
    assert "without the wire" in page.locator(".verdict").inner_text()
    assert page.locator("#causes > ol > li").count() > 0
    assert page.evaluate("document.querySelectorAll('*').length") < 15_000
