"""Element types, and copies."""

from __future__ import annotations

from typing import Any

import torch

from relay import dtypes, op
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node, Number
from relay.frontend.pytorch.promotion import cast
from relay.frontend.pytorch.scope import Complex
from relay.frontend.pytorch.types import COMPLEX
from relay.ir.expr import Expr, Tuple

table = Converters()


def converted(node: Node, data: Expr, dtype: Any) -> Expr | Complex:
    """A tensor of another element type, which may be that of complex numbers."""
    if isinstance(dtype, torch.dtype):
        real = cast(node, data, COMPLEX[dtype])
        return Complex(node.let(op.stack(Tuple((real, node.let(op.zeros_like(real)))), -1)))
    return data if dtype is None else cast(node, data, dtype)


@table("_to_copy", "to.dtype", "to.dtype_layout")
def to_copy(node: Node, self: Expr, dtype: Any = None, *_: Any, **__: Any) -> Expr | Complex:
    return converted(node, self, dtype)


@table("to.device")
def to_device(node: Node, self: Expr, device: Any, dtype: Any, *_: Any, **__: Any) -> Any:
    return converted(node, self, dtype)


@table("to.other", "type_as")
def to_other(node: Node, self: Expr, other: Expr, *_: Any, **__: Any) -> Expr:
    return cast(node, self, node.dtype(other))


@table("to.prim_Device")
def to_prim_device(node: Node, self: Expr, device: Any, dtype: Any = None, *_: Any) -> Any:
    return converted(node, self, dtype)


@table("to.prim_dtype")
def to_prim_dtype(node: Node, self: Expr, dtype: Any = None, *_: Any) -> Any:
    return converted(node, self, dtype)


@table("to.prim_other", "_autocast_to_full_precision", "_autocast_to_reduced_precision")
def unchanged(node: Node, self: Expr, *_: Any, **__: Any) -> Expr:
    return self


_CASTS = {
    "_cast_Byte": "uint8",
    "_cast_Char": "int8",
    "_cast_Double": "float64",
    "_cast_Float": "float32",
    "_cast_Half": "float16",
    "_cast_Int": "int32",
    "_cast_Long": "int64",
    "_cast_Short": "int16",
    "Bool": "bool",
    "Float": "float64",
    "Int": "int64",
}


@table(*(name for name in _CASTS if name.startswith("_")))
def cast_to(node: Node, self: Expr, *_: Any, **__: Any) -> Expr:
    return cast(node, self, _CASTS[node.operator.removeprefix("aten.")])


@table(
    "alias",
    "alias_copy",
    "clone",
    "conj",
    "_conj",
    "conj_physical",
    "contiguous",
    "detach",
    "detach_copy",
    "lift",
    "lift_fresh",
    "lift_fresh_copy",
    "real",
    "resolve_conj",
    "resolve_neg",
    "view_as_real_copy",
    "cpu",
    "pin_memory",
    "_lazy_clone",
)
def same(node: Node, self: Expr, *_: Any, **__: Any) -> Expr:
    return self


@table("copy")
def copy(node: Node, self: Expr, src: Expr, *_: Any, **__: Any) -> Expr:
    """The elements of another tensor, broadcast and converted to the type of the first."""
    from relay.frontend.pytorch.operators.shaping import expanded

    return expanded(node, cast(node, src, node.dtype(self)), node.extents_of(self))


@table("view.dtype", "view_copy.dtype")
def reinterpreted(node: Node, self: Expr, dtype: Any) -> Expr:
    """view.dtype: the same bits as elements of another type."""
    old, new = dtypes.bits(node.dtype(self)), dtypes.bits(dtype)
    old, new = max(old, 8), max(new, 8)
    if old == new:
        return _bits(node, self, dtype)
    words = node.let(_bits(node, self, f"uint{old}"))
    return _halved(node, words, dtype, old, new) if new < old else _merged(node, words, dtype, old)


def _bits(node: Node, data: Expr, dtype: str) -> Expr:
    if "bool" in (dtype, node.dtype(data)):
        return cast(node, data, dtype)
    return data if node.dtype(data) == dtype else op.reinterpret(data, dtype=dtype)


def _halved(node: Node, words: Expr, dtype: str, old: int, new: int) -> Expr:
    """Words in parts, the lowest first, along the last axis."""
    parts = [
        node.let(op.cast(op.right_shift(words, node.number(shift, words)), f"uint{new}"))
        for shift in range(0, old, new)
    ]
    pairs = op.stack(Tuple(tuple(parts)), -1)
    merged = op.reshape(pairs, (*[0] * (node.rank(words) - 1), -3))
    return _bits(node, node.let(merged), dtype)


def _merged(node: Node, words: Expr, dtype: str, old: int) -> Expr:
    """Neighbors along the last axis as one word."""
    new = dtypes.bits(dtype)
    count = new // old
    codes = (*[0] * (node.rank(words) - 1), -4, -1, count)
    groups = node.let(op.cast(op.reshape(words, codes), f"uint{new}"))
    shifts = op.arange(node.scalar(new, f"uint{new}"), dtype=f"uint{new}")
    places = node.let(op.strided_slice(shifts, [0], [new], [old]))
    whole = node.let(op.sum(op.left_shift(groups, places), axis=-1))
    return _bits(node, whole, dtype)


@table("scalar_tensor", "tensor", "as_tensor")
def scalar_tensor(node: Node, s: Number, dtype: Any = None, **_: Any) -> Any:
    return converted(node, node.tensor(s), dtype)
