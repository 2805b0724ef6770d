"""Clipping: limits for gradients, as functions from all gradients to all gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relay.errors import RelayError
from relay.ir.expr import Expr, const
from relay.ir.types import TensorType
from relay.op.gradient_rules import build

Clip = Callable[[Sequence[Expr], Sequence[TensorType]], list[Expr]]


def clip_norm(limit: float) -> Clip:
    """Scale all gradients by one factor so that their global norm is at most `limit`.

    The factor is limit / (norm + 1e-6), as in PyTorch.
    """
    _check(limit)

    def clip(gradients: Sequence[Expr], types: Sequence[TensorType]) -> list[Expr]:
        squares = [build("sum", build("cast", g * g, dtype="float32")) for g in gradients]
        while len(squares) > 1:  # as a balanced tree
            pairs = [squares[n : n + 2] for n in range(0, len(squares), 2)]
            squares = [pair[0] + pair[1] if len(pair) == 2 else pair[0] for pair in pairs]
        norm = build("sqrt", squares[0])
        whole = const(limit, "float32") / (norm + const(1e-6, "float32"))
        factor = build("minimum", whole, const(1.0, "float32"))
        return [
            g * (factor if ty.dtype == "float32" else build("cast", factor, dtype=ty.dtype))
            for g, ty in zip(gradients, types, strict=True)
        ]

    return clip


def clip_value(limit: float) -> Clip:
    """Limit every element of every gradient to -limit … limit."""
    _check(limit)
    return lambda gradients, types: [build("clip", g, a_min=-limit, a_max=limit) for g in gradients]


def _check(limit: float) -> None:
    if not limit > 0:
        raise RelayError(f"gradients are limited to a number above 0, found {limit!r}")
