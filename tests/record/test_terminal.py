"""A server cannot move the cursor or change the text direction on a user's terminal."""

from __future__ import annotations

import json
import unicodedata

import pytest
import yaml

from ..cli.project import Project
from .anthropic import answer, frame
from .server import chunk, document, replying, stream

EVIL = "a\x1b[2J\x1b]0;title\x07\x9b31m\u202eevil\u2066\u200f\x08\rb\u2028c"
"""It clears the screen, sets the title and a color, reverses the text direction, moves back, and ends lines.
"""
API = ("--api", "anthropic-messages")
ERROR = {"type": "error", "error": {"type": f"no {EVIL}", "message": f"bad {EVIL}"}}


def list_unsafe(*texts):
    """Return the control characters in a text, except for line ends and tabs."""
    return [
        character
        for text in texts
        for character in text
        if character not in "\n\t" and unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp", "Cs")
    ]


def evil_body():
    """Return a stream with the text in every place that a client or report may show."""
    body = answer(EVIL, model=EVIL).replace(b'"end_turn"', json.dumps(EVIL).encode())
    tool = {"type": "tool_use", "id": EVIL, "name": EVIL, "input": {}}
    block = [
        {"type": "content_block_start", "index": 1, "content_block": tool},
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": EVIL},
        },
        {"type": "content_block_stop", "index": 1},
        {"type": EVIL, EVIL: EVIL},
    ]
    head, mark, tail = body.partition(b"event: message_delta")
    return head + b"".join(map(frame, block)) + mark + tail + frame(ERROR)


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path)
    (tmp_path / "evil.sse").write_bytes(evil_body())
    (tmp_path / "error.txt").write_text(f"HTTP/1.1 401 {EVIL[:2]}\n\n{json.dumps(ERROR)}", "utf-8")
    request = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    (tmp_path / "request.json").write_text(json.dumps(request), "utf-8")
    return made


def record(project, reply, *words, replies=1):
    with replying(*[lambda _: reply] * replies) as server:
        url = ("--base-url", server.base_url)
        return project.run("record", *API, *url, "--request", "request.json", "--name", "evil", *words)


def head(kind):
    return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: 5\r\n\r\nHello".encode("latin-1")


REPLIES = {
    "a stream": stream(evil_body()),
    "a stream in small chunks": stream(evil_body(), size=3),
    "an error": document(b"500 Error", json.dumps(ERROR, ensure_ascii=False).encode()),
    "an error page": document(b"500 Error", EVIL.encode()),
    "a document": document(b"200 OK", json.dumps(ERROR, ensure_ascii=False).encode()),
    "a content type": (head("text/\x9b31m\x85html"),),
    "a reason": ("HTTP/1.1 500 \x9b31m\x85 no\r\nContent-Length: 2\r\n\r\nno".encode("latin-1"),),
    "no HTTP": (EVIL.encode(),),
    "a broken header": (f"HTTP/1.1 200 OK\r\n{EVIL}: x\r\n\r\n".encode(),),
    "a broken chunk": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", EVIL.encode()),
    "a cut": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", chunk(evil_body()[:400])),
}


@pytest.mark.parametrize("words", [(), ("--allow-error", "--twin")], ids=["", "kept"])
@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_record_prints_nothing_that_a_terminal_obeys(project, reply, words):
    ran = record(project, reply, *words, replies=2)
    assert ran.code in (0, 2), ran.err
    assert list_unsafe(ran.out, ran.err) == []


def test_import_explain_lint_run_and_minimise_print_nothing_that_a_terminal_obeys(project):
    vcr = {
        "version": 1,
        "interactions": [
            {
                "request": {"method": "POST", "uri": f"https://x/{path}", "headers": {}, "body": "{}"},
                "response": {
                    "status": {"code": code, "message": EVIL},
                    "headers": {"content-type": [EVIL]},
                    "body": {"string": evil_body()},
                },
            }
            for path, code in (("v1/messages", 200), (f"v1/messages?{EVIL}", 500), (f"other/{EVIL}", 200))
        ],
    }
    (project.folder / "vcr.yaml").write_text(yaml.dump(vcr), "utf-8")
    (project.folder / "recordings" / "anthropic-messages").mkdir(parents=True)
    (project.folder / "recordings" / "anthropic-messages" / "evil.sse").write_bytes(evil_body())
    (project.folder / "broken.yaml").write_text(f'"interactions": "{EVIL}', "utf-8")
    ran = [
        project.run("import", "evil.sse", *API),
        project.run("import", "error.txt", *API),
        project.run("import", "vcr.yaml"),
        project.run("import", "broken.yaml"),
        project.run("lint", "--specs", "specs", "--strict"),
        project.run("explain", "imported/evil", "--specs", "specs"),
        project.run("explain", "imported/evil@bytewise", "--specs", "specs", "-i", "mutant:usage-summed"),
        project.run("run", "--specs", "specs", "-i", "mutant:usage-summed"),
        project.run("minimise", "imported/evil", "--specs", "specs", "-i", "mutant:usage-summed"),
        project.run("lint", "--shapes", "recordings"),
        project.run("lint", "--shapes", "cassettes"),
        project.run("compare", "reference", "mutant:usage-summed", "--corpus", "recordings"),
    ]
    assert {each.code for each in ran} <= {0, 1, 2}
    assert [each.code for each in (ran[0], ran[1], ran[2])] == [0, 0, 0]
    assert all("evil" in each.out for each in ran[5:9])
    for number, each in enumerate(ran):
        assert "Traceback" not in each.err, (number, each.err)
        assert list_unsafe(each.out, each.err) == [], (number, each.out, each.err)


def test_probe_prints_nothing_that_a_terminal_obeys(project):
    for reply in (REPLIES["a stream"], REPLIES["an error"], REPLIES["a content type"]):
        with replying(*[lambda _, reply=reply: reply] * 60) as server:
            ran = project.run("probe", server.base_url, *API, "--model", "m", "--timeout", "2")
        assert list_unsafe(ran.out, ran.err) == []
