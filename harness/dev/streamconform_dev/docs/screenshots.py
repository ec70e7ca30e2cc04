"""Make the screenshots in docs/screenshots: `python -m streamconform_dev.docs.screenshots`.

The pages show a library with one real bug for each of three APIs. The pictures depend on the fonts of the
machine, so no test compares them.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, Page, sync_playwright

from streamconform_dev.checkout import ROOT
from streamconform_dev.docs.command import run_conform

QUIET: Final = (
    "--no-sandbox",  # Chromium has no sandbox for root, who runs CI
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
FOLDER: Final = ROOT / "docs" / "screenshots"
ADAPTER: Final = """
import streamconform_mutants

BUGS = {
    "anthropic-messages": "cut-call-executable",
    "openai-chat": "cached-subset-not-subtracted",
    "cohere-chat": "final-text-doubled",
}


def adapter(run):
    return getattr(streamconform_mutants, BUGS[run.api])(run)


adapter.info = {"name": "mypkg", "version": "2.4.1", "language": "python"}
adapter.apis = list(BUGS)
adapter.capabilities = list(getattr(streamconform_mutants, "final-text-doubled").capabilities)
"""
CALL: Final = "#case/anthropic-messages/tool-use/call-cut-by-max-tokens@as-is"
COST: Final = "#case/openai-chat/cost/cost-cached@as-is"
NUMBERED: Final = (
    "#case-title",
    ".cause-line",
    ".check h3",
    "tr.differs",
    "p.relevant",
    "table.trials",
    "tr.relevant",
    ".command",
    ".reasons > summary",
)
"""What the numbers in `reading-report.png` point at, in the order of the list in docs/reading-reports.md."""
ANNOTATE: Final = """([selector, number]) => {
  document.body.style.paddingLeft = '20px';
  const box = document.querySelector(selector).getBoundingClientRect();
  const mark = document.createElement('div');
  mark.textContent = number;
  Object.assign(mark.style, {
    position: 'absolute', left: `${box.left + scrollX - 36}px`, top: `${box.top + scrollY}px`,
    width: '26px', height: '26px', borderRadius: '13px', background: '#16181d', color: '#fff', zIndex: 9,
    font: '700 15px/26px system-ui, sans-serif', textAlign: 'center',
  });
  document.body.append(mark);
}"""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of one address of the report."""

    name: str
    address: str
    width: int
    height: int | None
    """None for the whole page."""
    dark: bool = False
    numbered: bool = False


PICTURES: Final = (
    Picture("first-page", "", 1100, 1000),
    Picture("case-page", CALL, 1100, 1300),
    Picture("reading-report", CALL, 1180, None, numbered=True),
    Picture("bill", COST, 1100, 640),
    Picture("dark", CALL, 1100, 1000, dark=True),
    Picture("phone", "", 390, 844),
)


def main() -> None:
    """Judge the library, and write each picture."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "mypkg.py").write_text(ADAPTER, "utf-8")
        ran = run_conform("conform run -i python:mypkg:adapter -n 2 --report html=r.html", Path(folder))
        if ran.code != 1:
            sys.exit(ran.err)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=[*QUIET])
            for picture in PICTURES:
                take(browser, Path(folder) / "r.html", picture)
            browser.close()


def take(browser: Browser, report: Path, picture: Picture) -> None:
    """Write one picture."""
    context = browser.new_context(
        viewport={"width": picture.width, "height": picture.height or 900},
        color_scheme="dark" if picture.dark else "light",
        bypass_csp=True,  # for the numbers
    )
    page = context.new_page()
    page.goto(f"file://{report}{picture.address}")
    wait_until_drawn(page)
    if picture.numbered:
        for number, selector in enumerate(NUMBERED, start=1):
            page.evaluate(ANNOTATE, [selector, number])
    page.screenshot(path=FOLDER / f"{picture.name}.png", full_page=picture.height is None)
    context.close()


def wait_until_drawn(page: Page) -> None:
    """Wait for the script of a report, which unpacks its data first; other pages are drawn when loaded."""
    page.wait_for_function(
        "!document.getElementById('data') || document.querySelector('main[aria-busy=false]') !== null"
    )


if __name__ == "__main__":
    main()
