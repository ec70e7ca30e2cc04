"""Render the pages of the matrix, the home page and the start page, with jinja2."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import jinja2
from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from streamconform.causes.table import HARMS
from streamconform.init.kits import KITS
from streamconform.install import INSTALL
from streamconform.model.case import Case
from streamconform.reports.matrix.context import GITHUB_ISSUE, SAFE_URL
from streamconform_dev.docs.findings import _name_thread
from streamconform_dev.docs.matrix import RESULTS
from streamconform_dev.site.badge import describe_badge, measure_badge
from streamconform_dev.site.case_data import describe_case
from streamconform_dev.site.feed import list_entries
from streamconform_dev.site.matrix_data import FAILING, MARKS, Client, Matrix, Score
from streamconform_dev.site.reproduction import Reproduction, list_reproductions
from streamconform_dev.site.start import list_starts
from streamconform_peers.findings import Library
from streamconform_peers.table import PEERS

TEMPLATES: Final = Path(__file__).parent / "templates"
LANGUAGES: Final[Mapping[str, str]] = {"python": "Python", "javascript": "Node.js"}
MEANINGS: Final[Mapping[str, str]] = {
    "runs a wrong or unfinished call": (
        "An agent executes a tool call that the model did not finish, or did not make."
    ),
    "reports a broken stream as success": (
        "The connection broke, and the program mistakes half an answer for the whole one."
    ),
    "crashes on a valid stream": "The provider sends what it documents, and the program gets an exception.",
    "loses or changes content": "Text, calls or thinking are missing, repeated or in a different order.",
    "gives an answer to the wrong user": "One user reads what was written for another.",
    "keeps the provider generating, and billing, after the user pressed stop": (
        "The program leaves the connection open, so the provider writes on, and the user pays for it."
    ),
    "pays for an answer twice": "The program asks again although the answer had begun.",
    "hangs, or keeps an overloaded server busy": "A retry waits for very long, or never stops.",
    "runs out of memory with many slow users": "The program reads faster than its users do, into memory.",
    "bills incorrectly": "Tokens or costs are counted incorrectly, most often because of the cache.",
    "wrong metadata": "The stop reason, the model or an error is reported incorrectly.",
    "exposes less": "The library does not expose something that the provider sends.",
}
"""What each harm means for a client's users."""
SHOWN_CASE: Final = "anthropic-messages/tool-use/call-cut-by-max-tokens"
SHOWN_FINDING: Final = "truncated-call-gets-the-arguments-parsed-so-far"
SHOWN_LIBRARY: Final = "anthropic"
"""The failure on the home page."""
MARKDOWN: Final = MarkdownIt("commonmark", {"html": False})
MAX_CASES: Final = 60
"""The maximum number of cases listed per cause on a client's page."""
LOCAL_LINK: Final = re.compile(r'href="findings\.md#([a-z0-9-]+)"')


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a view of the matrix."""

    title: str
    href: str = ""
    anchor: str = ""
    """The link target of its cells on a client's page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A table of clients."""

    name: str
    title: str
    legend: str
    columns: Sequence[Column]
    rows: Sequence[tuple[Client, Sequence[Score]]]


class Renderer:
    """Renders templates with the variables that all pages share."""

    def __init__(self, context: Mapping[str, Any]) -> None:
        """Take the variables."""
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(TEMPLATES),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters |= {
            "markdown": _render_markdown,
            "markdown_inline": _render_inline,
            "with_code": _render_title,
            "host": lambda url: urlsplit(url).hostname or url,
            "thread_name": _name_thread,
        }
        self._environment.globals |= {"languages": LANGUAGES, "harms": HARMS}
        self._context = context
        self.home = urlsplit(context["site"]).path
        """The path of the home page on its server: the page for errors is shown at any depth."""

    def render(self, template: str, path: str, **variables: Any) -> str:
        """Return the page at `path` in the site."""
        root = "../" * path.count("/")
        return self._environment.get_template(template).render(
            {**self._context, "root": root, "section": "", **variables}
        )


def render_pages(
    matrix: Matrix, renderer: Renderer, documents: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each file; `documents` has the titles of MkDocs' pages by URL."""
    yield "index.html", _render_home(matrix, renderer)
    starts = list_starts()
    yield (
        "start.html",
        renderer.render("start.html", "start.html", matrix=matrix, starts=starts, section="start"),
    )
    yield "search.html", renderer.render("search.html", "search.html", pages=sorted(documents.items()))
    yield "404.html", renderer.render("404.html", "404.html", root=renderer.home)
    for view in (_view_apis(matrix), _view_capabilities(matrix)):
        path = f"matrix/{'index' if view.name == 'api' else view.name}.html"
        yield path, renderer.render("matrix.html", path, matrix=matrix, view=view, section="matrix")
    yield "matrix/harm.html", _render_harms(matrix, renderer)
    yield "matrix/cases.html", _render_case_list(matrix, renderer)
    for api in matrix.apis:
        yield f"matrix/api/{api}.html", _render_api(matrix, renderer, api)
    for client in matrix.clients:
        yield from _render_client(matrix, renderer, client)
    for id_ in matrix.cases:
        yield f"matrix/cases/{id_}.html", _render_case(matrix, renderer, id_)
    path = "findings/index.html"
    yield (
        path,
        renderer.render(
            "findings.html", path, matrix=matrix, groups=list(matrix.list_by_harm()), section="findings"
        ),
    )
    for slug in matrix.findings:
        shown = list(list_reproductions(matrix.findings[slug], matrix.affected.get(slug, ()), matrix.catalog))
        yield f"findings/{slug}.html", _render_finding(matrix, renderer, slug, shown)
        yield from ((each.path, each.issue) for each in shown)
    yield "matrix/clients.json", json.dumps(list(map(_summarize, matrix.clients)), indent=1) + "\n"
    yield "feed.xml", renderer.render("feed.xml", "feed.xml", entries=list_entries(matrix))


def _render_home(matrix: Matrix, renderer: Renderer) -> str:
    case = matrix.cases[SHOWN_CASE]
    assert isinstance(case, Case), "the home page shows a stream"
    finding = matrix.findings[SHOWN_FINDING]
    release = next(library.release for library in finding.libraries if library.name == SHOWN_LIBRARY)
    return renderer.render(
        "home.html",
        "index.html",
        matrix=matrix,
        case=case,
        finding=SHOWN_FINDING,
        release=release,
        frames=list(_pick_frames(case)),
        harm_rows=[
            (harm, MEANINGS[harm], len(counts), sum(counts))
            for harm in HARMS
            if (counts := [n for client in matrix.clients if (n := len(client.list_harmed(harm)))])
        ],
        peer_count=len(PEERS),
        install=INSTALL,
        languages=[kit.title for kit in KITS.values()],
    )


def _pick_frames(case: Case) -> Iterator[dict[str, Any]]:
    """Yield the frames of the call, each with its relevant part."""
    for line in case.cassette.body.decode().splitlines():
        if not line.startswith("data:"):
            continue
        match json.loads(line.removeprefix("data:")):
            case {"type": "content_block_start", "content_block": {"type": "tool_use", "name": name}}:
                yield {"event": "content_block_start", "text": f"tool_use {name}", "relevant": False}
            case {"type": "content_block_delta", "delta": {"partial_json": str(text)}} if text:
                yield {"event": "input_json_delta", "text": text, "relevant": False}
            case {"type": "content_block_stop", "index": 1}:
                yield {"event": "content_block_stop", "text": "", "relevant": False}
            case {"type": "message_delta", "delta": {"stop_reason": reason}}:
                yield {"event": "message_delta", "text": f"stop_reason: {reason}", "relevant": True}
            case _:
                pass


def _view_apis(matrix: Matrix) -> View:
    extra = {"framing": "delivered otherwise", "truncation": "cut off"}
    return View(
        name="api",
        title="Clients by API",
        legend=(
            "Each cell shows the share of the cases that a client reads correctly as they were recorded, and"
            " below it the number that fail. Delivered otherwise: the same bytes arrive in one piece, byte"
            " by byte or with comments. Cut off: the stream is cut, reset or ended by an error. Both are"
            " shares of the cases that the client reads."
        ),
        columns=[
            *(Column(api, f"api/{api}.html", f"#{api}") for api in matrix.apis),
            *(Column(title) for title in extra.values()),
        ],
        rows=[
            (
                client,
                [
                    *(client.by_api.get(api, Score()) for api in matrix.apis),
                    *(client.score_column(name) for name in extra),
                ],
            )
            for client in matrix.clients
        ],
    )


def _view_capabilities(matrix: Matrix) -> View:
    return View(
        name="capability",
        title="Clients by capability",
        legend=(
            "Each cell shows the share of a capability's cases that a client reads correctly, in all of its"
            " APIs together; below it, how many fail. A case can count in several columns."
        ),
        columns=[Column(title) for title in matrix.columns.values()],
        rows=[(client, [client.score_column(name) for name in matrix.columns]) for client in matrix.clients],
    )


def _render_harms(matrix: Matrix, renderer: Renderer) -> str:
    groups = []
    for harm in HARMS:
        counts = [(client, len(client.list_harmed(harm))) for client in matrix.clients]
        most = max((count for _, count in counts), default=0)
        members = sorted((pair for pair in counts if pair[1]), key=lambda pair: (-pair[1], pair[0].name))
        groups.append(
            (harm, MEANINGS[harm], [(each, count, max(1, count * 100 // most)) for each, count in members])
        )
    return renderer.render("harm.html", "matrix/harm.html", matrix=matrix, groups=groups, section="matrix")


def _render_case_list(matrix: Matrix, renderer: Renderer) -> str:
    groups: dict[str, dict[str, list[tuple[Any, int]]]] = {}
    for id_, case in sorted(matrix.cases.items()):
        api, topic, _ = id_.split("/")
        failing = sum(client.marks.get(id_) in FAILING for client in matrix.clients)
        groups.setdefault(api, {}).setdefault(topic, []).append((case, failing))
    listed = [(api, list(topics.items())) for api, topics in groups.items()]
    return renderer.render("cases.html", "matrix/cases.html", matrix=matrix, groups=listed, section="matrix")


def _render_api(matrix: Matrix, renderer: Renderer, api: str) -> str:
    clients = [client for client in matrix.clients if api in client.by_api]
    columns = _pick_columns(matrix, clients, [api])
    findings = [
        finding
        for finding in matrix.findings.values()
        if any(case.startswith(f"{api}/") for case in finding.cases)
    ]
    return renderer.render(
        "api.html",
        f"matrix/api/{api}.html",
        matrix=matrix,
        api=api,
        columns=columns,
        titles=list(columns.values()),
        rows=[
            (client, client.by_api[api], [client.score_column(name, api) for name in columns])
            for client in clients
        ],
        findings=sorted(findings, key=lambda each: _rank(matrix, each.slug)),
        section="matrix",
    )


def _pick_columns(matrix: Matrix, clients: Iterable[Client], apis: Sequence[str]) -> dict[str, str]:
    """Return the columns in which one of `clients` is judged."""
    members = list(clients)
    return {
        name: title
        for name, title in matrix.columns.items()
        if any(client.score_column(name, api).judged for client in members for api in apis)
    }


def _render_client(matrix: Matrix, renderer: Renderer, client: Client) -> Iterator[tuple[str, str]]:
    apis = list(client.by_api)
    columns = _pick_columns(matrix, [client], apis)
    slugs = sorted(
        {*client.list_findings(), *client.history} & matrix.findings.keys(),
        key=lambda slug: _rank(matrix, slug),
    )
    path = f"matrix/clients/{client.name}.html"
    yield (
        path,
        renderer.render(
            "client.html",
            path,
            matrix=matrix,
            client=client,
            most_cases=MAX_CASES,
            rows=[
                ("all cases", list(client.by_api.items())),
                *(
                    (title, [(api, client.score_column(name, api)) for api in apis])
                    for name, title in columns.items()
                ),
            ],
            findings=[(matrix.findings[slug], _describe_history(client, slug)) for slug in slugs],
            section="matrix",
        ),
    )
    yield f"matrix/clients/{client.name}.json", (RESULTS / f"{client.name}.json").read_text("utf-8")
    badge = describe_badge(client)
    yield f"badges/{client.name}.json", json.dumps(badge) + "\n"
    yield f"badges/{client.name}.svg", renderer.render("badge.svg", "badge.svg", **measure_badge(badge))


def _render_case(matrix: Matrix, renderer: Renderer, id_: str) -> str:
    case = matrix.cases[id_]
    return renderer.render(
        "case.html",
        f"matrix/cases/{id_}.html",
        matrix=matrix,
        case=case,
        details=describe_case(case),
        facts=matrix.facts.get(id_, ()),
        guards=[(guard, _find_issue(guard)) for guard in case.guards],
        marks=matrix.group_marks(id_),
        mark_titles=MARKS,
        findings=[
            (matrix.findings[slug], names) for slug, names in matrix.list_findings_of_case(id_).items()
        ],
        section="matrix",
    )


def _render_finding(
    matrix: Matrix, renderer: Renderer, slug: str, reproductions: Sequence[Reproduction]
) -> str:
    names = matrix.affected.get(slug, ())
    clients = [(name, matrix.find_client(name)) for name in names]
    return renderer.render(
        "finding.html",
        f"findings/{slug}.html",
        matrix=matrix,
        finding=matrix.findings[slug],
        libraries=[
            (library, *_date_finding(matrix, slug, library)) for library in matrix.findings[slug].libraries
        ],
        harm=matrix.harms.get(slug),
        reproductions=reproductions,
        affected=[
            (name, client, _describe_history(client, slug) if client else "") for name, client in clients
        ],
        section="findings",
    )


def _date_finding(matrix: Matrix, slug: str, library: Library) -> tuple[str, str]:
    """Return the releases of a library that introduced and fixed a finding; empty if unknown."""
    since, fixed = library.since or "", library.fixed or ""
    for client in matrix.clients:
        entry = client.history.get(slug)
        if entry is None or entry["package"] != library.name:
            continue
        since = since or (entry["oldest"] if "without" in entry else f"{entry['oldest']} or earlier")
        newest = client.newest.get(library.name)
        has_it = f"not in {newest}, the newest" if newest and entry.get("newest") == "present" else ""
        fixed = fixed or entry.get("fixed", has_it)
    return "its first release" if since == "first" else since, fixed


def _describe_history(client: Client, slug: str) -> str:
    """Return the first and last releases of a client with a finding; empty if its history does not say."""
    entry = client.history.get(slug)
    if entry is None:
        return ""
    since = f"since {entry['oldest']}" if "without" in entry else f"at least since {entry['oldest']}"
    parts = [f"{entry['package']}: {since}"]
    newest = client.newest.get(entry["package"])
    if "fixed" in entry:
        parts.append(f"fixed in {entry['fixed']}")
    elif newest is not None and entry.get("newest") == "present":
        parts.append(f"the newest release, {newest}, has it")
    return ", ".join(parts)


def _summarize(client: Client) -> dict[str, Any]:
    """Return the entry of a client in `clients.json`."""
    return {
        "peer": client.name,
        "library": client.peer.distribution,
        "version": client.scores.implementation.version,
        "language": client.peer.language,
        "date": client.scores.date,
        "apis": {
            api: {"passed": score.passed, "failed": score.failed, "skipped": score.skipped}
            for api, score in client.by_api.items()
        },
        "page": f"matrix/clients/{client.name}.html",
        "scores": f"matrix/clients/{client.name}.json",
        "badge": f"badges/{client.name}.svg",
    }


def _rank(matrix: Matrix, slug: str) -> tuple[int, str]:
    """Return the order of a finding: by harm, the worst first, then by title."""
    harm = matrix.harms.get(slug)
    return (HARMS.index(harm) if harm in HARMS else len(HARMS), matrix.findings[slug].title)


def _find_issue(guard: str) -> str:
    """Return the address of an issue, `owner/repo#1` or a link; empty if it has another form."""
    issue = GITHUB_ISSUE.fullmatch(guard)
    if issue:
        return f"https://github.com/{issue[1]}/issues/{issue[2]}"
    return guard if SAFE_URL.fullmatch(guard) else ""


def _render_markdown(text: str, root: str) -> Markup:
    """Return Markdown as HTML; HTML in it is escaped."""
    return Markup(LOCAL_LINK.sub(rf'href="{root}findings/\1.html"', MARKDOWN.render(text)))  # noqa: S704


def _render_title(text: str) -> Markup:
    """Return a title as HTML, with its code spans."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704


def _render_inline(text: str, root: str) -> Markup:
    """Return one paragraph of Markdown as HTML without the paragraph."""
    return Markup(LOCAL_LINK.sub(rf'href="{root}findings/\1.html"', MARKDOWN.renderInline(text)))  # noqa: S704
