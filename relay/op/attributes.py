"""Attribute values against their declared types: what a person gives becomes what a record holds.

    axis: tuple[int, ...] | None      1 -> (1,)      [0, 1] -> (0, 1)      None -> None
    keepdims: bool                    1 -> True
    dtype: DType | None               np.int8 -> "int8"      "" -> None
    mode: Literal["clip", "wrap"]     "clip" -> "clip"       "slip" -> an error naming both

One value where several are declared is a tuple of one, a constant expression is the value inside,
and everything else that does not fit is refused here, before a relation or a pass sees it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, Literal, NewType, Union, get_args, get_origin, get_type_hints

from relay import dtypes
from relay.errors import RelayError, did_you_mean
from relay.ir.attrs import Attrs, freeze
from relay.ir.expr import Constant

DType = NewType("DType", str)  # the name of an element type

MISMATCH: Final = object()


def make(owner: str, cls: Any, given: Mapping[str, Any]) -> Attrs:
    """The attributes `given` to operator `owner`, checked and in canonical form."""
    hints = _hints(cls)
    checked = {}
    for name, value in given.items():
        if name not in hints:
            hint = did_you_mean(name, hints) or f"it has {', '.join(hints)}"
            raise RelayError(f"`{owner}` has no attribute `{name}`; {hint}")
        fitted = fit(value, hints[name])
        if fitted is MISMATCH:
            raise RelayError(
                f"attribute `{name}` of `{owner}` must be {describe(hints[name])}, found {value!r}"
            )
        checked[name] = fitted
    required = [n for n in hints if n not in checked and n not in cls.defaults()]
    if required:
        raise RelayError(f"`{owner}` needs the attribute `{required[0]}`")
    made: Attrs = cls(**checked)
    return made


@cache
def _hints(cls: Any) -> dict[str, Any]:
    """The declared type of each attribute, in order."""
    return get_type_hints(cls)


def fit(value: Any, hint: Any) -> Any:
    """`value` as something of type `hint`, or MISMATCH."""
    if isinstance(value, Constant):
        value = value.data.array
    if not isinstance(value, type):  # np.float32 is a value of DType
        value = freeze(value)
    options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    if value is None or (value == "" and DType in options):
        return None if NoneType in options else MISMATCH
    for option in options:
        if (fitted := _fit_one(value, option)) is not MISMATCH:
            return fitted
    return MISMATCH


def _fit_one(value: Any, hint: Any) -> Any:
    if hint is Any:
        return value
    if hint is bool:
        return bool(value) if value in (0, 1) else MISMATCH
    if hint is int:
        return value if type(value) is int else MISMATCH
    if hint is float:
        return float(value) if type(value) in (int, float) else MISMATCH
    if hint is str:
        return value if isinstance(value, str) else MISMATCH
    if hint is DType:
        return _dtype(value)
    if get_origin(hint) is Literal:
        return value if value in get_args(hint) else MISMATCH
    if get_origin(hint) is tuple:
        return _fit_tuple(value, get_args(hint))
    # a type of somebody else's attributes, which we can only compare with
    return MISMATCH if isinstance(hint, type) and not isinstance(value, hint) else value


def _dtype(value: Any) -> Any:
    if isinstance(value, tuple) or (isinstance(value, str) and not dtypes.is_dtype(value)):
        return MISMATCH
    return dtypes.canonical(value)


def _fit_tuple(value: Any, parts: tuple[Any, ...]) -> Any:
    many = len(parts) == 2 and parts[1] is Ellipsis
    if not isinstance(value, tuple):
        if not many:
            return MISMATCH
        value = (value,)
    if many:
        parts = (parts[0],) * len(value)
    if len(value) != len(parts):
        return MISMATCH
    fitted = tuple(fit(v, part) for v, part in zip(value, parts, strict=True))
    return MISMATCH if any(f is MISMATCH for f in fitted) else fitted


_NAMES = {
    int: "an integer",
    float: "a number",
    bool: "a bool",
    str: "a string",
    DType: "an element type",
    NoneType: "None",
    Any: "anything",
}


def describe(hint: Any) -> str:
    """A declared type in words, for errors and for the documentation."""
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
    words = describe(hint)
    article, _, noun = words.partition(" ")
    return f"{noun}s" if article in ("a", "an") else f"{words} each"


@cache
def meanings(cls: Any) -> dict[str, str]:
    """What each attribute means, from the `name: meaning` lines of the docstrings of its class."""
    names = _hints(cls)
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
