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

from streamconform.causes.harms import SERIOUS
from streamconform.causes.table import HARMS, Harm
from streamconform.init.kits import KITS
from streamconform.install import INSTALL
from streamconform.model.case import Case
from streamconform.plural import format_count
from streamconform.reports.matrix.context import GITHUB_ISSUE, SAFE_URL
from streamconform_dev.bugs import GRADES, ClientBug, Grade, grade_bugs, rank_harm
from streamconform_dev.docs.findings import _name_thread
from streamconform_dev.docs.matrix import RESULTS
from streamconform_dev.site.badge import describe_badge, measure_badge
from streamconform_dev.site.case_data import describe_case
from streamconform_dev.site.feed import list_entries
from streamconform_dev.site.matrix_data import FAILING, MARKS, Client, Matrix
from streamconform_dev.site.reproduction import Reproduction, list_reproductions
from streamconform_dev.site.start import list_starts
from streamconform_peers.answers import STATUSES, find_status, list_own_threads
from streamconform_peers.findings import SENDERS, UNSEEN, Finding, Library
from streamconform_peers.history import describe as describe_history
from streamconform_peers.history import find_history
from streamconform_peers.releases import list_packages
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


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """What a view says about a client: a number of bugs, with their grade, and a remark below it."""

    count: int
    grade: Grade
    note: str = ""
    anchor: str = "#bugs"
    """The link target on the client's page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A table of clients; a client is not judged on what it has no cell for."""

    name: str
    title: str
    legend: str
    columns: Sequence[Column]
    rows: Sequence[tuple[Client, Sequence[MatrixCell | None]]]


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
        self._environment.globals |= {"languages": LANGUAGES, "harms": HARMS, "unseen": UNSEEN}
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
    for path, view in (("matrix/index.html", _view_harms(matrix)), ("matrix/api.html", _view_apis(matrix))):
        yield path, renderer.render("matrix.html", path, matrix=matrix, view=view, section="matrix")
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
    bugs = [(client.name, bug) for client in matrix.clients for bug in client.bugs if not bug.unseen]
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
            (harm, MEANINGS[harm], len(clients), len({bug.title for _, bug in bugs if harm in bug.harms}))
            for harm in HARMS
            if (clients := {name for name, bug in bugs if harm in bug.harms})
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


def _view_harms(matrix: Matrix) -> View:
    harms = [harm for harm in HARMS if any(harm in client.bug_counts for client in matrix.clients)]
    return View(
        name="harm",
        title="Bugs by harm",
        legend=(
            "Each cell counts distinct bugs, whatever the number of cases and APIs that show them, by what"
            " they do to a user; one that does several of these counts in each. Not seen: bugs on streams"
            " that no provider was seen to send, although their format allows them or other servers send"
            " them. The best clients come first."
        ),
        columns=[*map(Column, ("bugs", *harms, "not seen"))],
        rows=[
            (
                client,
                [
                    MatrixCell(len(client.bugs), client.grade),
                    *(_count_harm(client, harm) for harm in harms),
                    _count_rest(client),
                ],
            )
            for client in sorted(matrix.clients, key=_rank_client)
        ],
    )


def _rank_client(client: Client) -> tuple[object, ...]:
    """Return the order of a client: that with fewer bugs of the worst harm first."""
    unseen = sum(bug.unseen for bug in client.bugs)
    return (
        GRADES[::-1].index(client.grade),
        *(client.bug_counts.get(harm, 0) for harm in HARMS),
        unseen,
        client.name,
    )


def _count_harm(client: Client, harm: Harm) -> MatrixCell | None:
    count = client.bug_counts.get(harm, 0)
    return MatrixCell(count, "bad" if harm in SERIOUS else "some") if count else None


def _count_rest(client: Client) -> MatrixCell | None:
    unseen = [bug for bug in client.bugs if bug.unseen]
    return MatrixCell(len(unseen), grade_bugs(unseen)) if unseen else None


def _view_apis(matrix: Matrix) -> View:
    return View(
        name="api",
        title="Bugs by API",
        legend=(
            "Each cell counts the distinct bugs that cases of an API show, and below them the cases that fail"
            " in any delivery, of those that the client is judged on. APIs are never added up: a client of"
            " five APIs is judged on five times as much."
        ),
        columns=[Column(api, f"api/{api}.html") for api in matrix.apis],
        rows=[
            (client, [_count_api(client, api) for api in matrix.apis])
            for client in sorted(matrix.clients, key=_rank_client)
        ],
    )


def _count_api(client: Client, api: str) -> MatrixCell | None:
    score = client.by_api.get(api)
    if score is None or not score.judged:
        return None
    bugs, failing = client.list_bugs_of(api), client.count_failing(api)
    return MatrixCell(len(bugs), grade_bugs(bugs), f"{failing:,} of {score.judged:,}", f"#{api}")


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
            (client, _count_api(client, api), [client.score_column(name, api) for name in columns])
            for client in sorted(clients, key=_rank_client)
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
    shown = {bug.finding for bug in client.bugs}
    others = [slug for slug, names in matrix.affected.items() if client.name in names and slug not in shown]
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
            bugs=[(bug, _describe_bug(matrix, client, bug)) for bug in client.bugs],
            others=[matrix.findings[slug] for slug in sorted(others) if slug in matrix.findings],
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
    finding = matrix.findings[slug]
    clients = [(name, matrix.find_client(name)) for name in matrix.affected.get(slug, ())]
    return renderer.render(
        "finding.html",
        f"findings/{slug}.html",
        matrix=matrix,
        finding=finding,
        sender=SENDERS[finding.sender],
        libraries=[
            (library, _date_finding(slug, library), _describe_status(finding, library))
            for library in finding.libraries
        ],
        threads=_sort_threads(finding),
        harm=matrix.harms.get(slug),
        reproductions=reproductions,
        affected=clients,
        section="findings",
    )


def _date_finding(slug: str, library: Library) -> str:
    """Return which releases of a library have a finding; empty if none but its own was tested."""
    history = find_history(slug, library)
    return describe_history(*history) if history else ""


def _describe_status(finding: Finding, library: Library) -> Markup:
    """Return what the maintainers know and say, with a link to their answer."""
    words = escape(STATUSES[find_status(finding, library)])
    return Markup('<a href="{}">{}</a>').format(library.reply, words) if library.reply else words


def _sort_threads(finding: Finding) -> tuple[list[str], list[str]]:
    """Return the threads in the libraries' own repositories, and those of others who met the bug."""
    own = {thread for library in finding.libraries for thread in list_own_threads(finding, library)}
    return (
        [thread for thread in finding.threads if thread in own],
        [thread for thread in finding.threads if thread not in own],
    )


def _describe_bug(matrix: Matrix, client: Client, bug: ClientBug) -> list[str]:
    """Return whose bug it is, if not the client's, which releases have it, and where it shows."""
    parts = []
    finding = matrix.findings.get(bug.finding or "")
    if finding is not None:
        versions = list_packages(client.peer)
        owner = finding.find_owner(client.peer, versions)
        is_own = finding.find_package(client.peer, versions) == client.peer.distribution
        parts += [] if is_own else [f"a bug of {owner.name}"]
        parts += [text for text in (_date_finding(finding.slug, owner),) if text]
        parts += [
            STATUSES[status] for status in (find_status(finding, owner),) if status not in ("open", "fixed")
        ]
    apis = [
        f"{len(cases)} of {format_count(score.judged, 'case')} of {api}"
        for api, score in client.by_api.items()
        if (cases := bug.list_cases(api))
    ]
    return [*parts, *apis]


def _summarize(client: Client) -> dict[str, Any]:
    """Return the entry of a client in `clients.json`."""
    return {
        "peer": client.name,
        "library": client.peer.distribution,
        "version": client.scores.implementation.version,
        "language": client.peer.language,
        "date": client.scores.date,
        "summary": client.summarize(),
        "grade": client.grade,
        "bugs": [
            {
                "finding": bug.finding,
                "title": bug.title,
                "harms": bug.harms,
                "unseen": bug.unseen,
                "cases": {api: len(cases) for api in client.by_api if (cases := bug.list_cases(api))},
            }
            for bug in client.bugs
        ],
        "apis": {
            api: {
                "bugs": len(client.list_bugs_of(api)),
                "failing": client.count_failing(api),
                "judged": score.judged,
                "skipped": score.skipped,
            }
            for api, score in client.by_api.items()
        },
        "page": f"matrix/clients/{client.name}.html",
        "scores": f"matrix/clients/{client.name}.json",
        "badge": f"badges/{client.name}.svg",
    }


def _rank(matrix: Matrix, slug: str) -> tuple[int, str]:
    """Return the order of a finding: by harm, the worst first, then by title."""
    return (rank_harm(matrix.harms.get(slug)), matrix.findings[slug].title)


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
