"""One Chromium for all tests; pages are opened from disk, and must make no network requests."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest
from playwright.sync_api import sync_playwright

from streamconform.reports import html
from streamconform.run.merge import sort_trials
from streamconform.run.reading import read
from streamconform_dev.docs.screenshots import QUIET, wait_until_drawn

from ..cli.project import Project


@pytest.fixture(scope="package")
def chromium():
    """It keeps an event loop in this thread, so no other test in the thread can have one."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=[*QUIET], timeout=120_000
        )
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium):
    """Return a function that opens a file at an address; the page must report no errors until the end."""
    contexts, wrong, requested = [], [], []

    def open_(path, address="", *, wait=True, init="", **context):
        made = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, **context})
        made.set_default_timeout(60_000)  # CI machines are shared
        contexts.append(made)
        page = made.new_page()
        page.add_init_script(init)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.on("request", lambda request: requested.append(request.url))
        page.goto(f"file://{path}{address}")
        if wait:
            wait_until_drawn(page)
        return page

    yield open_
    for each in contexts:
        each.close()
    assert wrong == []
    assert [url for url in requested if not url.startswith("file://")] == []


MUTANTS = ("mutant:final-text-doubled", "mutant:argument-fragments-lost")


@pytest.fixture(scope="session")
def judged(tmp_path_factory):
    """Two broken parsers of Cohere's format, judged on some cases."""
    made = Project(tmp_path_factory.mktemp("project"))
    impls = [word for each in MUTANTS for word in ("-i", each)]
    chosen = ("-k", "cohere-chat/v1/**", "-k", "cohere-chat/tool-use/**", "--deliver", "fast", "-n", "2")
    ran = made.run("run", *impls, *chosen, "--report", "jsonl=now.jsonl")
    assert ran.code == 1, ran.err
    return sort_trials(read(made.folder / "now.jsonl"))  # lines are in the order in which trials ended


@pytest.fixture(scope="session")
def report(judged, tmp_path_factory):
    """The page for these results, with an earlier run in which the second parser was right."""
    right = [replace(each, verdict="pass", checks=()) for each in judged.trials if each.implementation]
    wrong = [each for each in judged.trials if not each.implementation]
    path = tmp_path_factory.mktemp("page") / "r.html"
    path.write_text(html.render(judged, replace(judged, trials=(*wrong, *right))), "utf-8")
    return path
