"""The decorators that register mutants, one class per kind of mutant.

Each mutant module creates one registry, `mutants`. The name that a user types after `mutant:` is that of the
decorated function or class: `call-lost` for `call_lost` or `CallLost`. Its docstring describes the bug.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any, Required, TypedDict, TypeVar, Unpack, cast

from streamconform_reference.adapter import (
    WEBSOCKET,
    Adapter,
    Function,
    Run,
    adapter,
    adapter_for,
    build_request,
    describe_adapter,
)
from streamconform_reference.apis import DECODERS, DOCUMENT_READERS
from streamconform_reference.decoding.decoder import BrokenPayloadError, Decoder, Payload
from streamconform_reference.document import DocumentReader
from streamconform_reference.outcome import Json

from .model import Mutant, MutantTrials, Path

Named = TypeVar("Named", bound=Callable[..., Any])
Conversation = Mapping[str, Any]
"""The input of `build_request`."""
Body = dict[str, Any]
"""The body of a request."""


class Bug(TypedDict, total=False):
    """What a decorator says of a mutant; see the members of `Mutant`."""

    kind: Required[str]
    paths: tuple[Path, ...]
    fails: Required[tuple[str, ...]]
    trials: MutantTrials


class Registry:
    """The mutants of one module, by name, in source order."""

    paths: tuple[Path, ...] = ("stream",)
    """The paths of mutants that do not name theirs."""

    def __init__(self) -> None:
        self.table: dict[str, Mutant] = {}

    def register(self, bug: Bug, make: Callable[[str, Any], Adapter]) -> Callable[[Named], Named]:
        """Return a decorator that registers what `make` builds from a name and the decorated object."""

        def decorate(broken: Named) -> Named:
            name = re.sub(r"(?<!^)(?=[A-Z])", "-", broken.__name__).lower().replace("_", "-")
            assert name not in self.table, f"two mutants are named {name}"
            adapter = make(name, broken)
            members: Bug = {"paths": self.paths, **bug}
            self.table[name] = Mutant(name, broken.__doc__ or "", adapter, **members)
            return broken

        return decorate


class StreamMutants(Registry):
    """Mutants that decode one API's streams, and claim `claimed` besides what every decoder does."""

    def __init__(self, api: str, decoder: type[Decoder], claimed: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.api = api
        self.base = decoder
        self.claimed = claimed

    def decoder(self, **bug: Unpack[Bug]) -> Callable[[Named], Named]:
        """Decode with the decorated class."""
        return self.register(bug, lambda name, broken: self._decode_with(name, broken, bug))

    def replace(self, attribute: str, *keys: str, **bug: Unpack[Bug]) -> Callable[[Named], Named]:
        """Replace a class attribute of the decoder with the decorated function or class.

        If the attribute is a table, replace only the entries under `keys`.
        """

        def make(name: str, broken: Any) -> Adapter:
            # Without `staticmethod`, a function would become a method.
            value = (
                {**getattr(self.base, attribute), **dict.fromkeys(keys, broken)}
                if keys
                else staticmethod(broken)
            )
            decoder = type(f"Broken{self.base.__name__}", (self.base,), {attribute: value})
            return self._decode_with(name, cast("type[Decoder]", decoder), bug)

        return self.register(bug, make)

    def output(self, **bug: Unpack[Bug]) -> Callable[[Named], Named]:
        """Let the decorated function change each event and outcome of the reference adapter in place."""

        def make(name: str, change: Callable[[Json], None]) -> Adapter:
            def broken(run: Run) -> Iterator[Json]:
                for message in adapter(run):
                    change(message)
                    yield message

            return describe_adapter(broken, name=f"mutant:{name}", apis=[self.api])

        return self.register(bug, make)

    def stream(self, **bug: Unpack[Bug]) -> Callable[[Named], Named]:
        """Answer with what the decorated function yields for the messages of the reference adapter."""

        def make(name: str, change: Callable[[list[Json]], Iterator[Json]]) -> Adapter:
            def broken(run: Run) -> Iterator[Json]:
                yield from change([*adapter(run)])

            return describe_adapter(broken, name=f"mutant:{name}", apis=[self.api])

        return self.register(bug, make)

    def document(self, **bug: Unpack[Bug]) -> Callable[[Named], Named]:
        """Read non-streaming answers with the decorated function, and streams correctly.

        The function takes the document, and returns the payloads of a stream.
        """

        def make(name: str, broken: DocumentReader) -> Adapter:
            return adapter_for({self.api: self.base}, documents={self.api: broken}, name=f"mutant:{name}")

        return self.register({"paths": ("document",), **bug}, make)

    def refuse(self, **bug: Unpack[Bug]) -> Callable[[Named], Named]:
        """Fail on each payload of a stream or document for which the decorated function returns true."""

        def make(name: str, is_refused: Callable[[Payload], bool]) -> Adapter:
            def check(payload: Payload) -> Payload:
                if is_refused(payload):
                    raise BrokenPayloadError(f"refused by {name}")
                return payload

            def read(decoder: Decoder, payload: Payload) -> None:
                self.base.read(decoder, check(payload))

            def read_document(document: Payload) -> Iterator[Payload]:
                return map(check, DOCUMENT_READERS[self.api](document))

            paths = bug.get("paths", self.paths)
            members = {"read": read} if "stream" in paths else {}
            decoder = cast("type[Decoder]", type(f"Broken{self.base.__name__}", (self.base,), members))
            documents = {self.api: read_document} if "document" in paths else None
            return self._describe(name, decoder, documents)

        return self.register(bug, make)

    def _decode_with(self, name: str, decoder: type[Decoder], bug: Bug) -> Adapter:
        documents = DOCUMENT_READERS if "document" in bug.get("paths", self.paths) else None
        return self._describe(name, decoder, documents)

    def _describe(
        self, name: str, decoder: type[Decoder], documents: Mapping[str, DocumentReader] | None
    ) -> Adapter:
        return adapter_for(
            {self.api: decoder}, documents=documents, name=f"mutant:{name}", claimed=self.claimed
        )


class SharedMutants(Registry):
    """Mutants with one bug in all APIs that can have it, in streams and in non-streaming answers."""

    paths: tuple[Path, ...] = ("stream",)

    def payloads(self, *apis: str, **bug: Unpack[Bug]) -> Callable[[Named], Named]:
        """Read what the decorated function returns for each payload of these APIs."""

        def make(name: str, change: Callable[[Payload], Payload]) -> Adapter:
            class Changed:
                def read(self, payload: Payload) -> None:
                    super().read(change(payload))  # type: ignore[misc]

            return self._decode_with(name, apis, Changed, bug)

        return self.register(bug, make)

    def decoder(self, *apis: str, **bug: Unpack[Bug]) -> Callable[[Named], Named]:
        """Let the members of the decorated class come before those of these APIs' decoders."""
        return self.register(bug, lambda name, broken: self._decode_with(name, apis, broken, bug))

    def _decode_with(self, name: str, apis: tuple[str, ...], broken: type, bug: Bug) -> Adapter:
        decoders = {
            api: cast("type[Decoder]", type(f"Broken{DECODERS[api].__name__}", (broken, DECODERS[api]), {}))
            for api in apis
        }
        documents = DOCUMENT_READERS if "document" in bug.get("paths", self.paths) else None
        return adapter_for(decoders, documents=documents, name=f"mutant:{name}")


class RequestMutants(Registry):
    """Mutants that build requests for some APIs, and decode those APIs' streams correctly."""

    paths: tuple[Path, ...] = ("request",)

    def body(self, *apis: str, **bug: Unpack[Bug]) -> Callable[[Named], Named]:
        """Let the decorated function change a conversation's finished request body in place."""

        def make(name: str, change: Callable[[Conversation, Body], None]) -> Adapter:
            return _changer(name, apis, lambda given, request: change(given, request["body"]))

        return self.register(bug, make)

    def request(self, *apis: str, **bug: Unpack[Bug]) -> Callable[[Named], Named]:
        """Let the decorated function change a conversation's finished request in place."""
        return self.register(bug, lambda name, change: _changer(name, apis, change))

    def conversation(self, *apis: str, **bug: Unpack[Bug]) -> Callable[[Named], Named]:
        """Build the request from the conversation that the decorated function returns."""

        def make(name: str, change: Callable[[Conversation], Conversation]) -> Adapter:
            return _builder(name, apis, lambda api, conversation: build_request(api, change(conversation)))

        return self.register(bug, make)


class FunctionMutants(Registry):
    """Mutants of the functions that belong to no API; they decode no stream."""

    paths = ()

    def function(self, function: str, **bug: Unpack[Bug]) -> Callable[[Named], Named]:
        """Answer calls to `function` with the decorated function, which takes only the input."""

        def make(name: str, broken: Callable[[Any], Any]) -> Adapter:
            def decode_nothing(run: Run) -> Iterator[Json]:
                raise KeyError(run.api)

            calls: dict[str, Function] = {function: lambda _, value: broken(value)}
            return describe_adapter(decode_nothing, calls, name=f"mutant:{name}", apis=())

        return self.register(bug, make)


def _builder(name: str, apis: tuple[str, ...], build: Function) -> Adapter:
    decoders = {api: DECODERS[api] for api in apis}
    return adapter_for(decoders, {"build_request": build}, name=f"mutant:{name}", claimed=(WEBSOCKET,))


def _changer(name: str, apis: tuple[str, ...], change: Callable[[Conversation, Json], None]) -> Adapter:
    def build(api: str | None, conversation: Conversation) -> Json:
        # A copy, because a builder may put parts of the conversation into the body as they are.
        request = deepcopy(build_request(api, conversation))
        change(conversation, request)
        return request

    return _builder(name, apis, build)
