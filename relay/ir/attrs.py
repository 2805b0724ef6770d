"""Attributes: the constant data of a call or a function, as named immutable fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from enum import Enum
from typing import Any, TypeVar, dataclass_transform

from relay.immutable import immutable

T = TypeVar("T")


def freeze(value: Any) -> Any:
    """`value` as immutable data: lists become tuples, NumPy scalars and subclasses of int, float
    and str become plain Python values."""
    kind = type(value)
    if kind in (int, float, str, bool, type(None)):
        return value
    if kind in (list, tuple):
        return tuple(freeze(v) for v in value)
    if isinstance(value, Mapping):
        return DictAttrs(value)
    if hasattr(value, "tolist") and hasattr(value, "dtype") and not isinstance(value, type):
        return freeze(value.tolist())
    for plain in (int, float, str):
        if isinstance(value, plain) and not isinstance(value, Enum):
            return plain(value)
    return value


class _TypedAccess:
    """Attributes looked up by name and converted to a type."""

    __slots__ = ()

    def __getitem__(self, name: str) -> Any:
        raise KeyError(name)

    def get_int(self, name: str) -> int:
        return int(self[name])

    def get_str(self, name: str) -> str:
        return str(self[name])

    def get_int_tuple(self, name: str) -> tuple[int, ...]:
        return tuple(map(int, self[name]))


class Attrs(_TypedAccess):
    """The base of every operator's attributes; make one with `@attrs`."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for name in self.keys():
            value = getattr(self, name)
            frozen = freeze(value)
            if frozen is not value:
                object.__setattr__(self, name, frozen)

    @classmethod
    def keys(cls) -> tuple[str, ...]:
        """The names of the attributes, in order."""
        return tuple(f.name for f in fields(cls))  # type: ignore[arg-type]

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """The attributes that have a default, with it."""
        own = fields(cls)  # type: ignore[arg-type]
        return {f.name: f.default for f in own if f.default is not MISSING}

    def items(self) -> Iterator[tuple[str, Any]]:
        return ((name, getattr(self, name)) for name in self.keys())

    def __getitem__(self, name: str) -> Any:
        if name not in self.keys():
            raise KeyError(name)
        return getattr(self, name)

    def __contains__(self, name: object) -> bool:
        return name in self.keys()

    def get(self, name: str, default: Any = None) -> Any:
        return getattr(self, name) if name in self.keys() else default

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and tuple(self.items()) == tuple(other.items())

    def __hash__(self) -> int:
        return hash((type(self), *self.items()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.items())})"


@dataclass_transform(frozen_default=True, kw_only_default=True)
def attrs(cls: type[T]) -> type[T]:
    """Turn a class of annotated fields with defaults into an immutable attribute class."""
    return immutable(cls, kw_only=True)


class DictAttrs(_TypedAccess, Mapping[str, Any]):
    """Attributes with arbitrary names, as functions and modules have them. Immutable, hashable."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Any] | None = None) -> None:
        self._items = {str(key): freeze(value) for key, value in (items or {}).items()}

    def __getitem__(self, name: str) -> Any:
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._items:
            raise AttributeError(f"no attribute `{name}`")
        return self._items[name]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and dict(self) == dict(other)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return f"DictAttrs({self._items!r})"

    def with_item(self, name: str, value: Any) -> DictAttrs:
        return DictAttrs({**self._items, name: value})

    def without(self, name: str) -> DictAttrs:
        return DictAttrs({k: v for k, v in self._items.items() if k != name})
