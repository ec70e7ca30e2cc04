"""Generate the output blocks of docs/importing.md and docs/comparing.md.

The commands of a page are run one after another in one folder, like a reader would.
"""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path
from typing import Final

import httpx
import vcr

from ..cli.project import Project
from ..importers.provider import REQUEST, provider
from .blocks import ROOT, fill, strip_lines

PAGES: Final = tuple(ROOT / "docs" / name for name in ("importing.md", "comparing.md"))
BODY: Final = ROOT / "cassettes" / "anthropic-messages" / "interleaved-fragments.sse"
HEAD: Final = (
    b"HTTP/2 200 \r\ncontent-type: text/event-stream\r\nrequest-id: req_011CzT2DkAmC21q58LV6CMnd\r\n\r\n"
)


def generate() -> dict[Path, bytes]:
    """Return the pages."""
    return {page: fill_page(page).encode() for page in PAGES}


def fill_page(page: Path) -> str:
    """Return a page with the outputs of its commands."""
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        project = Project(Path(folder))

        def run(command: str) -> str:
            ran = project.run(*shlex.split(command)[1:])
            return strip_lines(ran.out + ran.err)

        return fill(page.read_text("utf-8"), run)


def prepare(folder: Path) -> None:
    """Put the files that the pages mention into `folder`: a capture, a vcrpy cassette, recordings."""
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
