"""Streams, answers and specs that contain markup and scripts."""

from __future__ import annotations

import json

import pytest

from streamconform.model.cassette import Authored, Cassette, Request
from streamconform.suite import cassettes

from ..cli.project import Project

pytestmark = [pytest.mark.browser, pytest.mark.slow]

MARKUP = "</script><script>window.pwned=1</script><img src=x onerror='window.pwned=1'><!--"
UNSEEN = "a\u202eb\u2066c\u2028d\x00e\x1b[31mf\x7fg\ufeffh\u200b"
LONG = "long line " * 110_000

ADAPTER = f"""
TEXT = {json.dumps(MARKUP + UNSEEN)} + "\\ud800"


def adapter(run):
    return {{
        "status": "complete",
        "content": [{{"type": "text", "text": TEXT}}],
        "stop": {{"reason": "stop"}},
        "error": {{"type": TEXT, "message": TEXT}},
    }}


adapter.capabilities = ["errors"]
"""

SPEC = f"""spec: 1
api: openai-chat
topic: hostile
cases:
  - id: markup
    title: {json.dumps(MARKUP)}
    why: {json.dumps(MARKUP)}
    cassette: markup
    expect:
      status: complete
      stop: stop
      content:
        - text: {json.dumps("right " + MARKUP)}
  - id: long
    title: A line of a megabyte
    cassette: long
    expect:
      status: complete
      stop: stop
      content:
        - text: {json.dumps(LONG)}
"""


def body(text):
    deltas = [{"content": text}, {}]
    chunks = [
        {
            "id": text[:40],
            "choices": [{"index": 0, "delta": delta, "finish_reason": "stop" if not delta else None}],
        }
        for delta in deltas
    ]
    frames = [f"data: {json.dumps(each, ensure_ascii=False)}\n\n".encode() for each in chunks]
    return b": \xff\xfe " + MARKUP.encode() + b"\n\n" + b"".join(frames) + b"data: [DONE]\n\n"


@pytest.fixture(scope="module")
def page_path(tmp_path_factory):
    project = Project(
        tmp_path_factory.mktemp("hostile"), {"bad.py": ADAPTER, "specs/openai-chat/hostile.yaml": SPEC}
    )
    for name, text in (("markup", MARKUP + UNSEEN), ("long", LONG)):
        request_body = {"model": MARKUP, "stream": True, "messages": [{"role": "user", "content": UNSEEN}]}
        request = Request(method="POST", path="/v1/chat/completions", headers={}, body=request_body)
        cassette = Cassette(
            api="openai-chat",
            name=name,
            request=request,
            status=200,
            headers={"content-type": "text/event-stream"},
            body=body(text),
            suffix="sse",
            marks=(),
            provenance=Authored("https://example.org/"),
        )
        cassettes.save(project.folder / "cassettes", cassette)
    ran = project.run("run", "-i", "python:bad:adapter", "--specs", "specs", "--report", "html=r.html")
    assert ran.code == 1, ran.err
    return project.folder / "r.html"


CASE = "#case/openai-chat/hostile/markup@as-is"


def test_the_file_is_printable_text(page_path):
    data = page_path.read_bytes()
    assert b"window.pwned=1<" not in data
    text = data.decode()
    assert {c for c in text if not c.isprintable()} <= {"\n"}
    assert len(data) < 2_000_000


@pytest.mark.parametrize(
    "address", ["", CASE, "#case/openai-chat/hostile/long@as-is", f"#q={MARKUP}", f"#case/{MARKUP}"]
)
def test_nothing_runs_and_nothing_turns_the_text_around(opened, page_path, address):
    page = opened(page_path, address)
    for name in ("Raw bytes", "Hex", "Payloads"):
        for button in page.get_by_role("button", name=name).all():
            button.click()
            for more in page.locator(".more:visible").all()[:3]:
                more.click()
    assert page.evaluate("window.pwned") is None
    assert page.evaluate("document.scripts.length") == 2
    assert page.evaluate("document.images.length") == 0
    shown = page.evaluate("document.body.innerText") + page.title()
    assert [c for c in shown if not c.isprintable() and c not in "\n\t"] == []


def test_hostile_text_is_shown_as_text(opened, page_path):
    page = opened(page_path, CASE)
    text = page.locator("main").inner_text()
    assert page.locator("h1:visible").inner_text() == MARKUP
    got = page.locator(".check", has_text="content.0.text").locator("tbody td:last-child").inner_text()
    assert got.startswith(MARKUP)
    for escape in (r"\u202e", r"\u2066", r"\u2028", r"\x00", r"\x1b", r"\ufeff", r"\u200b", r"\ud800"):
        assert escape in got, escape
    page.get_by_role("button", name="Raw bytes").click()
    raw = page.locator("table.wire").inner_text()
    assert r"\u202e" in raw
    assert r"\n" in raw
    assert MARKUP[:20] in raw + text


def test_a_line_of_a_megabyte_is_shown_in_part_and_says_so(opened, page_path):
    page = opened(page_path, "#case/openai-chat/hostile/long@as-is")
    text = page.locator("main").inner_text()
    assert "Only the first 196,608 bytes are on this page." in text
    assert "Shown from character" in text
    page.get_by_role("button", name="show all").first.click()
    assert len(page.locator("main").inner_text()) > 100_000
