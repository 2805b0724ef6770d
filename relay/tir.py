"""Dynamic dimensions under the names that older programs use: `relay.tir.Var("n", "int32")`."""

from __future__ import annotations

from relay import dtypes
from relay.errors import RelayError
from relay.ir.dims import Any
from relay.ir.types import ShapeVar, TypeVar

__all__ = ["Any", "IntImm", "Var"]


def Var(name: str, dtype: str = "int32") -> TypeVar:
    """A named dynamic dimension, the same as `relay.ShapeVar(name)`."""
    _require_integer(dtype)
    return ShapeVar(name)


class IntImm(int):
    """An int with an element type."""

    dtype: str

    def __new__(cls, dtype: str, value: int) -> IntImm:
        _require_integer(dtype)
        made = super().__new__(cls, value)
        made.dtype = dtype
        return made

    @property
    def value(self) -> int:
        return int(self)


def _require_integer(dtype: str) -> None:
    if not dtypes.is_integer(dtypes.canonical(dtype)):
        raise RelayError(f"a dimension is an integer, found element type `{dtype}`")
