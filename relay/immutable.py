"""Frozen dataclasses that are cheap to import.

A dataclass writes and compiles its `__init__` when the class is defined, which takes most of a
millisecond. The compiler has hundreds of such classes, nodes and attributes of operators, and a
process makes objects of few. So here the `__init__` of a class is written when the first object is
made; from then on it is exactly the one `dataclass(frozen=True)` writes.
"""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, field, fields, make_dataclass
from typing import Any, TypeVar

T = TypeVar("T")


def immutable(cls: type[T], *, kw_only: bool = False, weakref_slot: bool = False) -> type[T]:
    """`cls` as a frozen dataclass with slots; comparing, hashing and repr are left as they are."""
    made: Any = dataclass(
        init=False,
        repr=False,
        eq=False,
        slots=True,
        kw_only=kw_only,
        weakref_slot=weakref_slot,
    )(cls)
    if "__init__" not in vars(cls):
        made.__init__ = _written_on_use(made)
    made.__setattr__, made.__delattr__ = _guards(made)
    return made  # type: ignore[no-any-return]


def _written_on_use(made: Any) -> Any:
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        made.__init__ = _constructor(made)
        made.__init__(self, *args, **kwargs)

    return __init__


def _constructor(made: Any) -> Any:
    """What `dataclass(frozen=True)` would give `made` as its `__init__`."""
    arguments = []
    for known in fields(made):
        same: Any = field(
            default=known.default,
            default_factory=known.default_factory,
            init=known.init,
            kw_only=known.kw_only,
        )
        arguments.append((known.name, known.type, same))
    after = {"__post_init__": True} if hasattr(made, "__post_init__") else {}
    written: Any = make_dataclass(
        made.__name__,
        arguments,
        namespace=after,
        frozen=True,
        repr=False,
        eq=False,
        slots=True,
        match_args=False,
    )
    return written.__init__


def _guards(made: Any) -> tuple[Any, Any]:
    """`__setattr__` and `__delattr__` that refuse; a class derived from `made` may have more."""

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is made or name in made.__slots__:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(made, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is made or name in made.__slots__:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(made, self).__delattr__(name)

    return __setattr__, __delattr__
