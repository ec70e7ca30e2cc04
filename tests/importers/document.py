"""Fill the output blocks of docs/importing.md and docs/comparing.md: `python -m tests.importers.document`.

The commands of a page run one after the other in one folder, as a reader would run them.
"""

from __future__ import annotations

import re
import shlex
import tempfile
import textwrap
from pathlib import Path

import httpx
import vcr

from ..cli.project import ROOT, Project
from ..docs_outputs import TIME
from .provider import REQUEST, provider

DOCUMENTS = tuple(ROOT / "docs" / name for name in ("importing.md", "comparing.md"))
BLOCK = re.compile(
    r"(?P<head>(?P<indent> *)<!-- output: (?P<command>.+?) -->\n *```\n)(?P<text>.*?)(?P<tail> *```\n)",
    re.DOTALL,
)
BODY = ROOT / "cassettes" / "anthropic-messages" / "interleaved-fragments.sse"
HEAD = b"HTTP/2 200 \r\ncontent-type: text/event-stream\r\nrequest-id: req_011CzT2DkAmC21q58LV6CMnd\r\n\r\n"


def prepare(folder: Path) -> None:
    """Put into `folder` what the documents mention: a capture, a cassette of vcrpy, recordings."""
    (folder / "incident.sse").write_bytes(HEAD + BODY.read_bytes())
    recordings = folder / "recordings" / "anthropic-messages"
    recordings.mkdir(parents=True)
    for path in BODY.parent.glob("parallel-*.sse"):
        (recordings / path.name).write_bytes(path.read_bytes())
    (recordings / "incident.sse").write_bytes(BODY.read_bytes())
    with provider() as url, vcr.VCR().use_cassette(str(folder / "test_agent.yaml")):
        httpx.post(f"{url}/v1/messages", json=REQUEST, headers={"x-coding": "gzip"})
        httpx.get(f"{url}/v1/models")
        httpx.post(f"{url}/v1/messages", json=REQUEST | {"model": "none"})


def filled(document: Path) -> str:
    """Return `document` with every block as its command prints it."""
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        return BLOCK.sub(lambda match: _block(match, Project(Path(folder))), document.read_text("utf-8"))


def without_times(text: str) -> str:
    """Return `text` without what differs from run to run."""
    return TIME.sub("in # s", text)


def _block(match: re.Match[str], project: Project) -> str:
    ran = project.run(*shlex.split(match["command"])[1:])
    printed = "\n".join(line.rstrip() for line in (ran.out + ran.err).rstrip().splitlines()) + "\n"
    return match["head"] + textwrap.indent(printed, match["indent"]) + match["tail"]


if __name__ == "__main__":
    for page in DOCUMENTS:
        page.write_text(filled(page), "utf-8")
