"""The form of results: values of the interpreter, or Python data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from relay.executors.arrays import plain
from relay.interpreter.values import TupleValue
from relay.nd import NDArray
from relay.tree import Steps, run

Number = bool | int | float


class Scalars(NamedTuple):
    """Conversion of scalars."""

    one: Callable[[Number, np.dtype], Any]
    many: Callable[[np.ndarray], list[Any]]  # those of a list, in memory of the program


class Style(NamedTuple):
    """Conversion of values."""

    tensor: Callable[[np.ndarray], Any]
    scalars: Scalars
    collect: Callable[[Sequence[Any]], Any]  # tuples
    classes: Mapping[str, type] | None = None  # of constructors; None for values of the interpreter


def as_tensors(tensor: Callable[[np.ndarray], Any]) -> Scalars:
    """Scalars as tensors of rank 0; in lists, NumPy scalars instead of NumPy arrays."""

    def one(number: Number, dtype: np.dtype) -> Any:
        return tensor(np.array(number, dtype))

    def many(numbers: np.ndarray) -> list[Any]:
        return [tensor(np.array(number)) for number in numbers]

    return Scalars(one, _scalars if tensor is plain else many)


def _scalars(numbers: np.ndarray) -> list[Any]:
    return list(numbers.flat)  # twice as fast as iterating over the array


def _number(number: Number, dtype: np.dtype) -> Number:
    return number


NUMBERS: Final = Scalars(_number, np.ndarray.tolist)  # Python numbers
VALUES: Final = Style(NDArray, as_tensors(NDArray), TupleValue)


def python_style(
    classes: Mapping[str, type] | None = None,
    tensor: Callable[[np.ndarray], Any] = plain,
    scalars: Scalars = NUMBERS,
) -> Style:
    """Python data; `classes` are those of constructors, by name."""
    return Style(tensor, scalars, tuple, classes or {})


def collect(nested: Any, style: Style) -> Any:
    """Nested Python tuples as tuples of the style."""
    if not isinstance(nested, tuple) or style.collect is tuple:
        return nested

    def build(part: Any) -> Steps[Any]:
        if not isinstance(part, tuple):
            return part
        fields = []
        for each in part:
            fields.append((yield build(each)))
        return style.collect(fields)

    return run(build(nested))
