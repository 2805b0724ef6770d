"""Conversion and checking of attribute values by their declared types.

    axis: tuple[int, ...] | None      1 -> (1,)      [0, 1] -> (0, 1)      None -> None
    keepdims: bool                    1 -> True
    dtype: DType | None               np.int8 -> "int8"      "" -> None
    mode: Literal["clip", "wrap"]     "clip" -> "clip"       "slip" -> an error naming both

A single value for a tuple becomes a tuple of one, a constant expression becomes its value, and
everything else that does not fit is refused, before a relation or a pass sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, wraps
from types import NoneType, UnionType
from typing import Any, Final, Literal, NewType, Union, get_args, get_origin, get_type_hints

from relay import dtypes
from relay.errors import RelayError, did_you_mean
from relay.ir.attrs import Attrs, DictAttrs, freeze
from relay.ir.expr import Constant

DType = NewType("DType", str)  # the name of an element type

MISMATCH: Final = object()


def make(owner: str, cls: Any, given: Mapping[str, Any]) -> Attrs:
    """The attributes `given` to operator `owner`, checked and in canonical form."""
    fitters, required = _plan(cls)
    checked = {}
    for name, value in given.items():
        if (fitter := fitters.get(name)) is None:
            hint = did_you_mean(name, fitters) or f"it has {', '.join(fitters)}"
            raise RelayError(f"`{owner}` has no attribute `{name}`; {hint}")
        checked[name] = fitted = fitter(_plain(value))
        if fitted is MISMATCH:
            expected = describe(declared(cls)[name])
            raise RelayError(f"attribute `{name}` of `{owner}` must be {expected}, found {value!r}")
    for name in required:
        if name not in checked:
            raise RelayError(f"`{owner}` needs the attribute `{name}`")
    made: Attrs = cls(**checked)
    return made


def with_attrs(cls: type[Attrs], function: Callable[..., Any]) -> Callable[..., Any]:
    """`function(*args, known=cls(…))` called with attributes by name, as functions of records are;
    `out` is passed on."""

    @wraps(function)
    def call(*args: Any, **given: Any) -> Any:
        rest = {"out": given.pop("out")} if "out" in given else {}
        return function(*args, **rest, known=cls(**given))

    return call


@cache
def declared(cls: Any) -> dict[str, Any]:
    """The declared type of each attribute, in order."""
    names = cls.keys()
    try:
        hints = get_type_hints(cls)
    except NameError:  # a class made inside a function may use local types
        hints = {}
    return {name: hints.get(name, Any) for name in names}


@cache
def _plan(cls: Any) -> tuple[dict[str, Fitter], list[str]]:
    """The fitter of each attribute, and the required attributes."""
    hints, defaults = declared(cls), cls.defaults()
    return {name: _fitter(hints[name]) for name in hints}, [n for n in hints if n not in defaults]


def fit(value: Any, hint: Any) -> Any:
    """`value` converted to type `hint`, or MISMATCH."""
    return _fitter(hint)(_plain(value))


def _plain(value: Any) -> Any:
    """Plain Python data for a constant expression, a NumPy value, a list of such."""
    if isinstance(value, Constant):
        value = value.data.array
    elif isinstance(value, list | tuple):
        return tuple(map(_plain, value))
    return value if isinstance(value, type) else freeze(value)  # np.float32 is a value of DType


# Converts plain data to the declared type, or to MISMATCH.
Fitter = Callable[[Any], Any]


@cache
def _fitter(hint: Any) -> Fitter:
    options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    fitters = [_single(option) for option in options if option is not NoneType]
    nothing = None if NoneType in options or Any in options else MISMATCH
    empty_is_nothing = DType in options

    def fitter(value: Any) -> Any:
        if value is None or (empty_is_nothing and value == ""):
            return nothing
        for option in fitters:
            if (fitted := option(value)) is not MISMATCH:
                return fitted
        return MISMATCH

    return fitter


def _single(hint: Any) -> Fitter:
    """The fitter for a type that is not a union."""
    if get_origin(hint) is Literal:
        allowed = get_args(hint)
        return lambda value: value if value in allowed else MISMATCH
    if get_origin(hint) is tuple:
        return _sequence(get_args(hint))
    if hint in _SCALARS:
        return _SCALARS[hint]
    # a foreign type, which can only be compared
    return lambda value: (
        MISMATCH if isinstance(hint, type) and not isinstance(value, hint) else value
    )


def _dtype(value: Any) -> Any:
    try:
        return dtypes.canonical(value)
    except RelayError:
        return MISMATCH


_SCALARS: dict[Any, Fitter] = {
    bool: lambda value: bool(value) if value in (0, 1) else MISMATCH,
    int: lambda value: value if type(value) is int else MISMATCH,
    float: lambda value: float(value) if type(value) in (int, float) else MISMATCH,
    str: lambda value: value if isinstance(value, str) else MISMATCH,
    DType: _dtype,
    Any: lambda value: value,
}


def _sequence(parts: tuple[Any, ...]) -> Fitter:
    """The fitter for a tuple: of any length (`tuple[int, ...]`), or of one type per element."""
    if many := len(parts) == 2 and parts[1] is Ellipsis:
        parts = parts[:1]
    fitters = [_fitter(part) for part in parts]

    def fitter(value: Any) -> Any:
        if not isinstance(value, tuple):
            if not many:
                return MISMATCH
            value = (value,)
        each = fitters * len(value) if many else fitters
        if len(value) != len(each):
            return MISMATCH
        fitted = tuple(f(v) for f, v in zip(each, value, strict=True))
        return MISMATCH if MISMATCH in fitted else fitted

    return fitter


_NAMES = {
    int: "an integer",
    float: "a number",
    bool: "a bool",
    str: "a string",
    DType: "an element type",
    NoneType: "None",
    Callable: "a function",
    DictAttrs: "a mapping",
    Any: "anything",
}


def describe(hint: Any) -> str:
    """The description of a declared type, for errors and documentation."""
    if get_origin(hint) in (Union, UnionType):
        options = [describe(option) for option in get_args(hint)]
        return " or ".join(dict.fromkeys(options))
    if get_origin(hint) is Literal:
        return " or ".join(f'"{value}"' for value in get_args(hint))
    if get_origin(hint) is tuple:
        parts = get_args(hint)
        if parts[-1] is Ellipsis:
            return f"a tuple of {_plural(parts[0])}"
        return f"({', '.join(describe(part) for part in parts)})"
    return _NAMES.get(hint, str(hint))


def _plural(hint: Any) -> str:
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(map(_plural, get_args(hint)))
    words = describe(hint)
    article, _, noun = words.partition(" ")
    if article in ("a", "an"):
        return f"{noun}s"
    return words if hint is NoneType else f"{words} each"


@cache
def meanings(cls: Any) -> dict[str, str]:
    """The meaning of each attribute, from the `name: meaning` lines of the docstrings of its
    class."""
    names = declared(cls)
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        name = ""
        for line in (base.__doc__ or "").splitlines():
            head, colon, rest = line.strip().partition(": ")
            if colon and head in names:
                name, found[head] = head, rest
            elif name and line.strip():
                found[name] += " " + line.strip()
            else:
                name = ""
    return found
