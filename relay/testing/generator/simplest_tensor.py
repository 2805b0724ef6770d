"""The simplest tensor of a given type: a constant, or for dynamic dimensions a sum of vectors.

A constant cannot have a dynamic dimension, so a vector of that extent is taken from a tensor in
scope and broadcast; for an extent such as `2 * n + 1` several vectors are concatenated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from relay.ir import dims
from relay.ir.dims import Dim
from relay.ir.expr import Expr, Tuple, const
from relay.ir.types import TensorType
from relay.testing.generator.choices import Choices
from relay.testing.generator.features import BOUND, SMOOTH
from relay.testing.generator.tensors import Built, call, clipped, is_unsigned
from relay.testing.generator.values import random_array


class Witness(Protocol):
    """Finds a vector whose extent is a symbol, and its element type."""

    def __call__(self, symbol: dims.Symbol) -> tuple[Expr, str]: ...


def simplest(choices: Choices, goal: TensorType, witness: Witness) -> Built:
    """A constant, or a sum with vectors that have the dynamic dimensions."""
    if all(isinstance(d, int) for d in goal.shape):
        array = random_array(choices, goal.shape, goal.dtype)  # type: ignore[arg-type]
        return Built(const(array, goal.dtype), BOUND)
    numeric = "int32" if goal.dtype == "bool" else goal.dtype
    fixed = tuple(d if isinstance(d, int) else 1 for d in goal.shape)
    total: Expr = const(random_array(choices, fixed, numeric), numeric)
    bound = BOUND
    for axis, dim in enumerate(goal.shape):
        if not isinstance(dim, int):
            vector = _vector(dim, numeric, witness)
            new = len(goal.shape) - 1 - axis
            if new:
                vector = call("expand_dims", vector, axis=1, num_newaxis=new)
            total = call("add", total, vector)
            bound += BOUND
    if goal.dtype == "bool":
        return Built(call("less", total, const(0, numeric)), 1)
    return clipped(Built(total, bound), goal, BOUND)


def _vector(dim: Dim, dtype: str, witness: Witness) -> Expr:
    """A vector of extent `dim`: the concatenation of vectors for the terms of the polynomial."""
    pieces: list[Expr] = []
    for factors, coefficient in _terms(dim):
        if not factors:
            pieces.append(const([1] * coefficient, dtype))
            continue
        for _ in range(coefficient):
            piece, *others = (converted(*witness(symbol), dtype) for symbol in factors)
            for other in others:
                table = call("minimum", call("expand_dims", piece, axis=1), other)
                piece = call("reshape", table, newshape=(-1,))
            pieces.append(piece)
    return pieces[0] if len(pieces) == 1 else call("concatenate", Tuple(tuple(pieces)), axis=0)


def _terms(dim: Dim) -> Iterator[tuple[list[dims.Symbol], int]]:
    """(factors, coefficient) of the terms of a polynomial"""
    if not isinstance(dim, dims.DimExpr):
        assert isinstance(dim, dims.Symbol)
        yield [dim], 1
        return
    for monomial, coefficient in dim.terms.items():
        assert coefficient > 0, "dimensions of the generator only grow"
        ordered = sorted(monomial, key=lambda factor: str(factor[0]))
        yield [symbol for symbol, power in ordered for _ in range(power)], coefficient


def converted(expr: Expr, found: str, dtype: str) -> Expr:
    """A tensor within `BOUND`, cast to another element type."""
    if found == dtype:
        return expr
    if found == SMOOTH:
        expr = call("zeros_like", expr)  # its elements need not be integers
    elif is_unsigned(dtype) and not is_unsigned(found) and found != "bool":
        expr = call("nn.relu", expr)
    return call("cast", expr, dtype=dtype)
