"""The interface for a harness in the same process: one exchange in, its events and outcome out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, cast

from .apis import DECODERS
from .decoder import Decoder
from .outcome import Json

VERSION: Final = "0.1.0"

CAPABILITIES: Final = (
    "tool_calls",
    "parallel_tool_calls",
    "thinking",
    "signatures",
    "usage",
    "cache_usage",
    "cost",
    "events",
    "errors",
    "refusals",
    "provider_tools",
)


class Run(Protocol):
    """One exchange: what was asked, and the response as it came. Header names are in lower case."""

    @property
    def api(self) -> str:
        """The wire format."""

    @property
    def status(self) -> int:
        """The HTTP status."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The response's headers."""

    @property
    def pricing(self) -> Mapping[str, Any] | None:
        """Prices of the model as decimal strings; None leaves the cost out."""

    @property
    def chunks(self) -> Iterable[bytes]:
        """The body, as the network reads delivered it."""


class Adapter(Protocol):
    """A callable that a harness can judge, and what it says of itself."""

    info: Mapping[str, str]
    apis: Sequence[str]
    inputs: Sequence[str]
    capabilities: Sequence[str]

    def __call__(self, run: Run) -> Iterator[Json]:
        """Yield the events of the run as they happen, and last `{"outcome": ...}`."""


def adapter_for(decoders: Mapping[str, type[Decoder]], *, name: str = "streamconform-reference") -> Adapter:
    """Return an adapter that decodes with these classes; it raises KeyError for any other api."""

    def adapter(run: Run) -> Iterator[Json]:
        decoder = open_decoder(run, decoders)
        for chunk in run.chunks:
            for event in decoder.receive_data(chunk):
                yield event.to_json()
        for event in decoder.receive_eof():
            yield event.to_json()
        yield {"outcome": decoder.outcome.to_json()}

    return describe(adapter, name=name, apis=decoders)


def describe(function: Callable[[Run], Iterator[Json]], *, name: str, apis: Iterable[str]) -> Adapter:
    """Return the function with the attributes that make it an adapter."""
    vars(function).update(
        info={"name": name, "version": VERSION, "language": "python"},
        apis=list(apis),
        inputs=["bytes"],
        capabilities=list(CAPABILITIES),
    )
    return cast("Adapter", function)


adapter: Final = adapter_for(DECODERS)


def snapshots(run: Run, at: Iterable[int]) -> Iterator[Json]:
    """Yield the outcome after each frame number in `at`, which ascends from 0.

    The end of the body is not taken, so an answer that breaks off stays as its last frame left it.
    A number behind the last frame gives the outcome after the last frame.
    """
    decoder = open_decoder(run, DECODERS)
    states = _after_each_frame(decoder, run)
    seen = -1
    for number in at:
        while seen < number:
            seen = next(states, number)
        yield decoder.snapshot().to_json()


def open_decoder(run: Run, decoders: Mapping[str, type[Decoder]]) -> Decoder:
    """Return a decoder for the response of this run."""
    return decoders[run.api](status=run.status, headers=run.headers, pricing=run.pricing)


def _after_each_frame(decoder: Decoder, run: Run) -> Iterator[int]:
    if decoder.failed:
        return
    number = -1
    for chunk in run.chunks:
        for frame in decoder.framing.receive(chunk):
            decoder.receive_frame(frame)
            number += 1
            yield number
    for frame in decoder.framing.end():
        decoder.receive_frame(frame)
        number += 1
        yield number
