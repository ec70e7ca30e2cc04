"""The root page of `conform serve`: every case that is served, with its base URL. Pure."""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from streamconform.plural import format_count
from streamconform.replay.reply import Reply

HEADERS: Final = {
    "content-type": "text/html; charset=utf-8",
    # Titles come from specs, which may be untrusted. They must not be able to run or load anything.
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
}
OPEN_UP_TO: Final = 40
"""If there are more cases than this, the topics are collapsed."""
_HEAD: Final = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>streamconform: served streams</title>
<style>
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
summary { font-weight: 600; cursor: pointer; }
td, th { text-align: left; vertical-align: top; padding: .2rem 1rem .2rem 0; }
code { overflow-wrap: anywhere; }
</style>
"""


@dataclass(frozen=True, slots=True)
class ServedCase:
    """A case on the page."""

    id: str
    title: str
    base_url: str
    request: str
    """The method, and the path below the base URL."""


def make_index_reply(cases: Iterable[ServedCase]) -> Reply:
    """Return a reply containing the page that lists `cases` by topic."""
    return Reply(status=200, headers=HEADERS, chunks=(_render([*cases]).encode(),))


def _render(cases: list[ServedCase]) -> str:
    folded = "" if len(cases) <= OPEN_UP_TO else " (folded by topic)"
    topics = groupby(cases, key=lambda case: case.id.rpartition("/")[0])
    sections = "".join(_render_topic(topic, [*members], len(cases)) for topic, members in topics)
    count = format_count(len(cases), "case")
    return (
        f"{_HEAD}<h1>Served streams</h1><p>{count}{folded}. Use a base URL below as the base URL"
        " of your client, with any key, and send a streaming request: the answer is the recorded stream,"
        " whatever the request says. For another delivery or a fault, add its name to the base URL:"
        " <code>@bytewise</code>, <code>@gzip</code>, <code>@reset.5</code>. <code>conform explain"
        f" ID --outcome OUTCOME.json</code> judges the outcome of your client.</p>{sections}\n</html>\n"
    )


def _render_topic(topic: str, cases: list[ServedCase], total: int) -> str:
    is_open = " open" if total <= OPEN_UP_TO else ""
    rows = "".join(
        f"<tr><td>{html.escape(case.title)}<br><code>{html.escape(case.id)}</code></td>"
        f"<td><code>{html.escape(case.base_url)}</code></td>"
        f"<td><code>{html.escape(case.request)}</code></td></tr>"
        for case in cases
    )
    head = "<tr><th scope=col>case</th><th scope=col>base URL</th><th scope=col>request</th></tr>"
    name = f"{html.escape(topic)} ({len(cases)})"
    return f"\n<details{is_open}><summary>{name}</summary><table>{head}{rows}</table></details>"
