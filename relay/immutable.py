"""Frozen dataclasses that are cheap to import.

A dataclass generates and compiles its `__init__` when the class is defined, which takes most of a
millisecond. The compiler has hundreds of such classes, and a process instantiates few. So here the
`__init__` of a class is generated on first use; it is the same as that of `dataclass(frozen=True)`.
Comparison, hash and repr are left to the class (`immutable`) or go over its fields (`frozen`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")

# Metadata of a keyword-only field that may also be given as the last positional argument.
LAST = "relay: by keyword, or as the last"


def immutable(cls: type[T], *, kw_only: bool = False, weakref_slot: bool = False) -> type[T]:
    """`cls` as a frozen dataclass with slots; comparison, hash and repr are left as they are."""
    made: Any = dataclass(
        init=False, repr=False, eq=False, slots=True, kw_only=kw_only, weakref_slot=weakref_slot
    )(cls)
    if "__init__" not in vars(cls):
        made.__init__ = _WrittenOnUse(made)
    made.__setattr__, made.__delattr__ = _guards(made, made.__slots__)
    return made  # type: ignore[no-any-return]


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """`cls` as a `dataclass(frozen=True)`; the two may derive from each other."""
    derived = any(_is_frozen(base) for base in cls.__mro__[1:])
    made: Any = dataclass(init=False, repr=False, eq=False, frozen=derived)(cls)
    equal, hashed = _comparison([known.name for known in fields(made) if known.compare])
    methods = {"__init__": _WrittenOnUse(made), "__eq__": equal, "__repr__": _shown}
    if "__eq__" not in vars(cls):
        methods["__hash__"] = hashed
    for name in methods.keys() - vars(cls).keys():
        setattr(made, name, methods[name])
    if not derived:
        made.__setattr__, made.__delattr__ = _guards(made, [known.name for known in fields(made)])
        made.__dataclass_params__.frozen = True
    return made  # type: ignore[no-any-return]


def _is_frozen(cls: type) -> Any:
    params = getattr(cls, "__dataclass_params__", None)
    return params is not None and params.frozen


class _WrittenOnUse:
    """A descriptor that generates the `__init__` of `made` on first use, and is replaced by it."""

    def __init__(self, made: Any) -> None:
        self.made = made

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        self.made.__init__ = _constructor(self.made)
        return self.made.__init__.__get__(instance, owner)


def _constructor(made: Any) -> Any:
    """The `__init__` that `dataclass(frozen=True)` would have written for `made`."""
    scope: dict[str, Any] = {"_set": object.__setattr__, "_open": MISSING}
    places, ends, names, body = ["self"], list[str](), list[str](), list[str]()
    for known in fields(made):
        name, default = known.name, f"_default_{known.name}"
        parameter, content = name, name
        if known.default_factory is not MISSING:
            scope[default] = known.default_factory
            parameter = f"{name}=_open"
            content = (
                f"{default}() if {name} is _open else {name}" if known.init else f"{default}()"
            )
        elif known.default is not MISSING:
            scope[default] = known.default
            parameter = f"{name}={default}"
            content = name if known.init else default
        elif not known.init:
            continue
        if known.init:
            last = known.metadata.get(LAST)
            (names if known.kw_only and not last else ends if last else places).append(parameter)
        body.append(f"_set(self, {name!r}, {content})")
    if hasattr(made, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join([*places, *ends, *(["*", *names] if names else [])])
    lines = "".join(f"\n {line}" for line in body or ["pass"])
    exec(f"def __init__({parameters}):{lines}", scope)
    written = scope["__init__"]
    written.__qualname__ = f"{made.__qualname__}.__init__"
    written.__annotations__ = {known.name: known.type for known in fields(made) if known.init}
    return written


def _guards(made: Any, names: Iterable[str]) -> tuple[Any, Any]:
    """`__setattr__` and `__delattr__` that refuse; subclasses of `made` may have more
    attributes."""
    fixed = frozenset(names)

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is made or name in fixed:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(made, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is made or name in fixed:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(made, self).__delattr__(name)

    return __setattr__, __delattr__


def _comparison(names: list[str]) -> tuple[Any, Any]:
    """`__eq__` and `__hash__` over these fields."""
    get: Any = attrgetter(*names) if names else None
    content = get if len(names) > 1 else lambda one: (get(one),) if get else ()

    def __eq__(self: Any, other: object) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return content(self) == content(other)

    def __hash__(self: Any) -> int:
        return hash(content(self))

    return __eq__, __hash__


@recursive_repr()
def _shown(self: Any) -> str:
    inside = (f"{known.name}={getattr(self, known.name)!r}" for known in fields(self) if known.repr)
    return f"{self.__class__.__qualname__}({', '.join(inside)})"
