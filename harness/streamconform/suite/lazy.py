"""Cases and cassettes that are made when they are needed: selecting reads few of their fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from streamconform.model.case import CallCase, Case
from streamconform.model.cassette import Cassette


class _Lazy:
    """A dataclass whose missing fields are made together when one of them is first read."""

    __slots__ = ()
    __dataclass_fields__: dict[str, Any]
    _make: Callable[[], Any]

    def __getattr__(self, name: str) -> Any:
        if name not in self.__dataclass_fields__:
            raise AttributeError(name)
        made = self._make()
        for field in self.__dataclass_fields__:
            object.__setattr__(self, field, getattr(made, field))
        return object.__getattribute__(self, name)


class LazyCase(_Lazy, Case):
    """A case that is made when it is needed."""

    __slots__ = ("_make",)


class LazyCallCase(_Lazy, CallCase):
    """A case without bytes that is made when it is needed."""

    __slots__ = ("_make",)


class LazyCassette(_Lazy, Cassette):
    """A cassette that is made when it is needed."""


_T = TypeVar("_T", LazyCase, LazyCallCase, LazyCassette)


def make_later(type_: type[_T], make: Callable[[], Any], **fields: Any) -> _T:
    """Return a value with these `fields`, whose others are those of the value that `make` returns."""
    value = object.__new__(type_)
    set_field = object.__setattr__  # the types are frozen
    set_field(value, "_make", make)
    for name, member in fields.items():
        set_field(value, name, member)
    return value
