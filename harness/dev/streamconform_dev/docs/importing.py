"""Generate the output blocks of docs/importing.md and docs/comparing.md.

The commands of a page are run one after another in one folder, like a reader would.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

import httpx
import vcr

from streamconform_dev.checkout import ROOT
from streamconform_dev.docs.blocks import fill, strip_lines
from streamconform_dev.docs.command import Run, run_conform
from streamconform_dev.docs.provider import REQUEST, provider

PAGES: Final = tuple(ROOT / "docs" / name for name in ("importing.md", "comparing.md"))
BODY: Final = ROOT / "cassettes" / "anthropic-messages" / "interleaved-fragments.sse"
HEAD: Final = (
    b"HTTP/2 200 \r\ncontent-type: text/event-stream\r\nrequest-id: req_011CzT2DkAmC21q58LV6CMnd\r\n\r\n"
)


def generate() -> dict[Path, bytes]:
    """Return the pages."""
    return {page: fill_page(page).encode() for page in PAGES}


def fill_page(page: Path, run: Run = run_conform) -> str:
    """Return a page with the outputs of its commands."""
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))

        def print_both(command: str) -> str:
            ran = run(command, Path(folder))
            return strip_lines(ran.out + ran.err)

        return fill(page.read_text("utf-8"), print_both)


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
