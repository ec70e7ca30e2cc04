"""Exchanges are written in another process, so that neither a stream nor Ctrl-C waits for it."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import replace

import pytest

from streamconform.errors import WorkerError
from streamconform_capture.record.exchange import Origin
from streamconform_capture.record.listened import KeptExchange, ListenSettings
from streamconform_capture.record.writing_process import WritingProcess

from .test_listen_bounds import BODY, make_exchange


@contextmanager
def writing(folder):
    settings = ListenSettings(
        specs=folder / "specs", folder=folder / "cassettes", name="a", topic="b", origin=Origin()
    )
    process = WritingProcess(settings)
    try:
        yield process
    finally:
        process.kill()


def test_exchanges_are_written_and_numbered_in_order(tmp_path):
    with writing(tmp_path) as process:
        results = [process.keep(make_exchange(number)) for number in (1, 2)]
    assert all(isinstance(result, KeptExchange) for result in results)
    files = [tmp_path / f"cassettes/anthropic-messages/a-{number}.sse" for number in (1, 2)]
    assert [file.read_bytes() for file in files] == [BODY, BODY]


def test_an_exception_is_raised_here_with_the_lines_where_it_happened(tmp_path):
    (tmp_path / "cassettes").write_text("a file, not a folder")
    with writing(tmp_path) as process:
        with pytest.raises(OSError, match="cassettes") as raised:
            process.keep(make_exchange())
        assert "in keep_exchange" in raised.value.__notes__[0]
        (tmp_path / "cassettes").unlink()
        assert isinstance(process.keep(make_exchange()), KeptExchange)


def test_a_process_that_is_killed_while_it_writes_ends_at_once(tmp_path):
    raised = []

    def keep(process):
        with pytest.raises(WorkerError) as error:
            process.keep(replace(make_exchange(), body=bytearray(BODY * 10_000)))
        raised.append(error)

    with writing(tmp_path) as process:
        thread = threading.Thread(target=keep, args=(process,))
        thread.start()
    thread.join(10)
    assert len(raised) == 1
