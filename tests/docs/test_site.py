"""The website: its links, sizes and escaping, and its machine-readable files."""

from __future__ import annotations

import gzip
import html
import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest

from streamconform.causes.harms import SERIOUS
from streamconform.cli.verbs import load_verbs
from streamconform.schemas import NAMES
from streamconform_dev.checkout import ROOT
from streamconform_dev.site.badge import COLORS, describe_badge
from streamconform_dev.site.build import read_context
from streamconform_dev.site.feed import list_entries
from streamconform_dev.site.matrix_data import read_matrix
from streamconform_dev.site.pages import SHOWN_CASE, SHOWN_FINDING, Renderer, render_pages
from streamconform_peers.findings import read_findings
from streamconform_peers.history import describe, find_history
from streamconform_peers.table import PEERS

MAX_FIRST_LOAD = 100_000
"""Bytes of a page with everything that it loads, as web servers send them: compressed."""
HOSTILE = "'><img src=x onerror=alert(1)>${7*7}{{7*7}}"
ATOM = "{http://www.w3.org/2005/Atom}"


class Page(HTMLParser):
    """Collects the links of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.ids, self.tags = [], [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        self.tags.append(tag)
        if named.get("id"):
            self.ids.add(named["id"])
        if tag == "a" and "href" in named:
            self.links.append(named["href"])
        if tag in ("img", "script") and "src" in named and named.get("loading") != "lazy":
            self.loads.append(named["src"])
        if tag == "link" and named["rel"] in ("stylesheet", "icon"):
            self.loads.append(named["href"])


@pytest.fixture(scope="session")
def pages(site):
    paths = [path for path in site.rglob("*.html") if path.name != "404.html"]
    return {path: Page(path.read_text("utf-8")) for path in paths}


@pytest.fixture(scope="session")
def matrix():
    return read_matrix()


def test_every_link_inside_the_site_leads_somewhere(site, pages):
    broken = []
    for path, page in pages.items():
        for link in {*page.links, *page.loads}:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = pages.get(target)
            if not target.is_file() or (
                parts.fragment and known and unquote(parts.fragment) not in known.ids
            ):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert broken == []


def test_links_into_the_repository_name_what_is_there(pages):
    prefix = read_context()["repository"]
    links = {link for page in pages.values() for link in page.links if link.startswith(prefix)}
    paths = {re.sub(rf"^{re.escape(prefix)}/(?:blob|tree)/main/|#.*$", "", link) for link in links}
    own = {prefix, *(path for path in paths if path.startswith(f"{prefix}/issues"))}
    assert [path for path in sorted(paths - own) if not (ROOT / path).exists()] == []


def test_nothing_is_loaded_from_elsewhere(pages):
    assert {load for page in pages.values() for load in page.loads if urlsplit(load).scheme} == set()


def test_a_first_load_is_small(site, pages):
    sizes = {
        path.relative_to(site).as_posix(): sum(
            len(gzip.compress((path.parent / load).read_bytes())) for load in (path.name, *page.loads)
        )
        for path, page in pages.items()
    }
    assert {path: size for path, size in sizes.items() if size > MAX_FIRST_LOAD} == {}
    assert sizes["index.html"] < MAX_FIRST_LOAD / 5


def test_every_client_finding_verb_and_schema_has_its_page(site, matrix):
    names = [client.name for client in matrix.clients]
    assert [name for name in names if not (site / f"matrix/clients/{name}.html").exists()] == []
    assert [slug for slug in read_findings() if not (site / f"findings/{slug}.html").exists()] == []
    assert [name for name in NAMES if not (site / f"schemas/{name}.json").exists()] == []
    commands = Page((site / "docs/reference/commands.html").read_text("utf-8"))
    assert [verb for verb in load_verbs() if f"conform-{verb}" not in commands.ids] == []


def test_every_case_that_a_client_fails_has_a_page(site, matrix):
    failing = {case for client in matrix.clients for cause in client.failures for case in cause.cases}
    assert [case for case in sorted(failing) if not (site / f"matrix/cases/{case}.html").exists()] == []


def test_every_page_of_the_documentation_is_in_its_menu(site, pages):
    (menu,) = {tuple(links) for links in [pages[site / "docs/index.html"].links]}
    inside = {path.relative_to(site / "docs").as_posix() for path in pages if site / "docs" in path.parents}
    reachable = {(link.partition("#")[0]) for link in menu}
    linked_elsewhere = {f"reference/{name}.html" for name in NAMES}
    linked_elsewhere |= {path for path in inside if path.startswith("matrix/")}
    assert sorted(inside - reachable - linked_elsewhere) == []


def test_the_feed_is_atom_and_its_entries_have_distinct_ids(site, matrix):
    feed = ET.fromstring((site / "feed.xml").read_text("utf-8"))  # noqa: S314 - we made it
    ids = [entry.findtext(f"{ATOM}id") for entry in feed.findall(f"{ATOM}entry")]
    assert len(ids) == len(set(ids)) == len(list_entries(matrix))
    assert feed.findtext(f"{ATOM}updated") == max(
        entry.findtext(f"{ATOM}updated") for entry in feed.findall(f"{ATOM}entry")
    )
    assert any("CHANGELOG" in entry or "changelog" in entry for entry in ids)


def test_badges_and_json_say_what_the_scores_say(site, matrix):
    listed = {entry["peer"]: entry for entry in json.loads((site / "matrix/clients.json").read_text("utf-8"))}
    assert listed.keys() == {client.name for client in matrix.clients}
    for client in matrix.clients:
        badge = json.loads((site / f"badges/{client.name}.json").read_text("utf-8"))
        assert badge["schemaVersion"] == 1
        assert badge["message"] == client.summarize(most=1)
        image = ET.fromstring((site / f"badges/{client.name}.svg").read_text("utf-8"))  # noqa: S314
        assert badge["message"] in image.get("aria-label")
        bugs = listed[client.name]["bugs"]
        for api, counts in listed[client.name]["apis"].items():
            assert counts["bugs"] == sum(api in bug["cases"] for bug in bugs)
            assert (counts["failing"] == 0) == (counts["bugs"] == 0)
        assert (site / listed[client.name]["page"]).exists()


def test_the_search_finds_clients_findings_cases_and_documents(site):
    text = (site / "search.js").read_text("utf-8")
    entries = json.loads(text.removeprefix("window.conformIndex = ").rstrip(";\n"))
    assert {kind for kind, *_ in entries} == {"docs", "client", "finding", "case"}
    assert [path for _, path, *_ in entries if not (site / path.partition("#")[0]).exists()] == []


def test_text_that_is_not_ours_is_escaped(matrix):
    """The text of a stream, of a library's exception, and of a finding."""
    case = matrix.cases[SHOWN_CASE]
    slug, finding = SHOWN_FINDING, matrix.findings[SHOWN_FINDING]
    client = next(client for client in matrix.clients if client.failures)
    body = case.cassette.body.replace(b"Writing the file now.", HOSTILE.encode())
    cause = replace(client.failures[0], title=HOSTILE, example=HOSTILE)
    hostile = replace(
        matrix,
        cases={case.id: replace(case, cassette=replace(case.cassette, body=body))},
        findings={slug: replace(finding, title=HOSTILE, does=HOSTILE, stream=HOSTILE)},
        clients=(replace(client, failures=(cause,)),),
    )
    made = dict(render_pages(hostile, Renderer(read_context()), {}))
    for path in (
        f"matrix/cases/{case.id}.html",
        f"matrix/clients/{client.name}.html",
        f"findings/{slug}.html",
    ):
        page = Page(made[path])
        assert "onerror=alert(1)" in made[path]
        assert page.tags.count("img") == path.startswith("matrix/clients/")  # its badge
        assert "{{7*7}}" in made[path]


def test_a_history_dates_a_finding(matrix, site):
    slug = "cut-stream-ends-with-finish-reason-stop-or-tool"
    (library,) = matrix.findings[slug].libraries
    dates = describe(*find_history(slug, library))
    for path in ("matrix/clients/litellm.html", f"findings/{slug}.html"):
        assert dates in (site / path).read_text("utf-8")


def test_a_badge_is_green_only_without_serious_bugs(matrix):
    colors = {client.name: describe_badge(client)["color"] for client in matrix.clients}
    for client in matrix.clients:
        if any(bug.harm in SERIOUS for bug in client.bugs):
            assert colors[client.name] in (COLORS["bad"][1:], COLORS["some"][1:]), client.name
    assert len(set(colors.values())) == len(COLORS)


def test_the_worst_harm_leads_in_words(matrix):
    client = matrix.find_client("google-genai")
    assert client.summarize().startswith("2 bugs: loses or changes content (1), keeps the provider")
    assert client.summarize().endswith("; 1 more on streams that no provider was seen to send")


def test_an_answer_of_the_maintainers_leads_a_finding(site):
    slug = "signatures-of-gemini-are-not-sent-in-chat-completions"
    page = (site / f"findings/{slug}.html").read_text("utf-8")
    reply = '<a href="https://github.com/langchain-ai/langchain/issues/37347">the maintainers say'
    assert page.index("langchain-openai: " + reply) < page.index("<table")


def test_one_can_contest_a_client_and_a_finding(site):
    for path in ("matrix/clients/openai.html", f"findings/{SHOWN_FINDING}.html"):
        assert "issues/new?title=Contest" in (site / path).read_text("utf-8")


def test_a_case_lists_only_the_findings_that_its_own_failures_show(matrix):
    causes = [cause for client in matrix.clients for cause in client.failures if SHOWN_CASE in cause.cases]
    slugs = matrix.list_findings_of_case(SHOWN_CASE)
    assert SHOWN_FINDING in slugs
    # Another case of the same cause may show another finding.
    assert any(
        slug not in matrix.list_findings_of_case(case)
        for client in matrix.clients
        for cause in client.failures
        for slug, shown in cause.findings.items()
        for case in cause.cases
        if case not in shown
    )
    assert all(
        set(names) <= set(cause.cases[case])
        for cause in causes
        for shown in cause.findings.values()
        for case, names in shown.items()
    )


def test_a_case_shows_the_deliveries_in_which_each_finding_shows(matrix, site):
    names = matrix.list_findings_of_case(SHOWN_CASE)[SHOWN_FINDING]
    assert names[0] == "as-is"
    page = (site / f"matrix/cases/{SHOWN_CASE}.html").read_text("utf-8")
    assert f"<small>in {', '.join(names[:4])}" in page


def test_peers_of_the_matrix_are_known(matrix):
    assert {client.name for client in matrix.clients} <= PEERS.keys()


def test_the_page_of_a_finding_has_a_program_and_an_issue_for_each_client_with_a_snippet(site):
    pages = sorted((site / "findings").glob("*.html"))
    issues = {path.stem for path in (site / "findings").glob("*.md")}
    shown = set()
    for page in pages:
        text = html.unescape(page.read_text("utf-8"))
        for peer in re.findall(r"<summary>With ([\w-]+)</summary>", text):
            issue = (site / "findings" / f"{page.stem}.{peer}.md").read_text("utf-8")
            program = re.search(r"^```(?:python|js)\n(.+?)\n```$", issue, re.DOTALL | re.MULTILINE)
            assert program[1].rstrip() in text, (page, peer)
            shown.add(f"{page.stem}.{peer}")
    assert shown == issues
    assert len(shown) > 100
