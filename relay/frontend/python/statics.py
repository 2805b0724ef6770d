"""Python values known at translation time: names, attributes, items, arithmetic on numbers.

Names are looked up as the function would: in its closure, its module, the builtins. Only operations
of built-in types are evaluated; user code never runs.
"""

from __future__ import annotations

import builtins
import inspect
import math
from collections.abc import Callable, Mapping
from types import BuiltinFunctionType, FrameType, FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from relay import nd
from relay.errors import RelayError


class _Missing:
    """The class of MISSING, for a name that is not defined."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()

PLAIN = (bool, int, float, str, type(None), tuple, list, dict, range, slice)


class Names:
    """The names a function sees from outside; they are looked up at translation time."""

    def __init__(self, function: FunctionType, around: Mapping[str, Any]) -> None:
        self._globals = function.__globals__
        self._around = around
        self._cells = dict(
            zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        )
        self._type_parameters = {p.__name__: p for p in getattr(function, "__type_params__", ())}

    def find(self, name: str) -> Any:
        """The value of `name`, or MISSING."""
        if name in self._cells:
            try:
                return self._cells[name].cell_contents
            except ValueError:  # assigned later, or never
                return MISSING
        for names in (self._type_parameters, self._around, self._globals, vars(builtins)):
            if name in names:
                return names[name]
        return MISSING

    def known(self) -> list[str]:
        """All names, to suggest one."""
        found = (self._cells, self._type_parameters, self._around, self._globals, vars(builtins))
        return [name for names in found for name in names]


def variables_around(defined: FunctionType | type, frame: FrameType | None) -> dict[str, Any]:
    """The local variables of the function that defines `defined`, for unevaluated annotations that
    name them; `frame` is that of the decorator."""
    scope, inside, _ = defined.__qualname__.rpartition(".<locals>.")
    caller = frame.f_back if frame is not None else None
    if not inside or caller is None or caller.f_code.co_qualname != scope:
        return {}
    return dict(caller.f_locals)


def attribute(value: Any, name: str) -> Any:
    """`value.name` without running user code; MISSING when there is none."""
    if isinstance(value, ModuleType):
        try:
            return getattr(value, name)
        except AttributeError:
            return MISSING
    try:
        found = inspect.getattr_static(value, name)
    except AttributeError:
        return MISSING
    if inspect.ismemberdescriptor(found):  # a slot
        return getattr(value, name, MISSING)
    if isinstance(found, property | classmethod | Callable) and not isinstance(value, type):
        return MISSING if isinstance(found, property | classmethod) else found
    return found.__func__ if isinstance(found, staticmethod) else found


def is_number(value: Any) -> bool:
    """Whether it is a Python number, which has no element type."""
    return type(value) in (bool, int, float)


def is_array(value: Any) -> bool:
    """Whether it is an array, which can be a constant of a program."""
    if isinstance(value, np.ndarray | np.generic | nd.NDArray):
        return True
    return not isinstance(value, type) and hasattr(type(value), "__dlpack__")


def is_static(value: Any) -> bool:
    """Whether it is a built-in Python value, including all its elements."""
    if type(value) in (tuple, list):
        return all(map(is_static, value))
    return type(value) in PLAIN


def same(a: Any, b: Any) -> bool:
    """Whether two values are the same in a program."""
    if a is b:
        return True
    return type(a) is type(b) and type(a) in (bool, int, float, str) and a == b


# --- Python functions evaluated at translation time ----------------------------------------------

PURE: Mapping[Any, str] = {
    f: f"math.{name}" for name, f in vars(math).items() if isinstance(f, BuiltinFunctionType)
} | {f: f.__name__ for f in (abs, bool, float, int, len, list, max, min, round, sum, tuple)}


def compute(function: Callable[..., Any], args: list[Any], keywords: dict[str, Any]) -> Any:
    """Call a function of `PURE`, or an operator, on Python values."""
    try:
        return function(*args, **keywords)
    except (ArithmeticError, TypeError, ValueError, LookupError) as error:
        raise RelayError(str(error)) from None
