"""Ask a live server a probe's questions, and return the streams that it answers with."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from streamconform._version import __version__
from streamconform.errors import ImplementationError
from streamconform.model.cassette import Recorded

from streamconform_capture.drift.find import Stream
from streamconform_capture.probe.plan import list_cases
from streamconform_capture.probe.probe import MAX_BYTES
from streamconform_capture.record.errors import CannotConnect, NoResponse, UnsuitableExchange
from streamconform_capture.record.live import record, to_cassette
from streamconform_capture.record.scenario_request import RequestSettings, build_request


def ask(base_url: str, settings: RequestSettings, timeout: float) -> Iterator[Stream | tuple[str, str]]:
    """For each question, yield the stream that answers it, or the question and why there is no stream.

    Raises:
        ImplementationError: the server cannot be reached.
        BadAddress: the address is unusable.
        BadHeader: a header is unusable.

    """
    origin = Recorded(
        server=base_url.partition("://")[2],
        model=settings.model,
        date=dt.datetime.now(dt.UTC).date().isoformat(),
        tool=f"streamconform {__version__}",
    )
    for case in list_cases(settings.api, (), has_key=settings.key is not None):
        if case.kind != "stream" or case.scenario is None:
            continue
        question = case.id.rpartition("/")[2]
        request = build_request(settings, case.scenario, stream=True)
        try:
            recording = record(
                base_url,
                request.path,
                request.headers,
                request.body,
                secret_headers=request.secret,
                timeout=timeout,
                max_bytes=MAX_BYTES,
            )
            if recording.status >= 400:
                yield question, f"status {recording.status}"
                continue
            yield Stream(question, to_cassette(recording, api=settings.api, name=question, provenance=origin))
        except CannotConnect as error:
            raise ImplementationError(str(error)) from error
        except NoResponse as error:
            yield question, f"no HTTP answer: {error.why}"
        except UnsuitableExchange as error:
            yield question, str(error)
