"""Tensors of unknown rank, as elements of a sequence: the elements, not copied, and the shape.

Tensor[(2, 3), float32]      (Tensor[(?), float32], Tensor[(?), int64])
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relay.frontend.common.scope import type_of
from relay.frontend.onnx.scope import GraphScope
from relay.ir.dims import Any as AnyDim
from relay.ir.expr import Expr, Tuple, TupleGetItem
from relay.ir.types import GlobalTypeVar, TensorType, TupleType, Type, TypeCall
from relay.op import dyn, reshape, shape_of

LIST, OPTION = GlobalTypeVar("List"), GlobalTypeVar("Option")


def boxed(dtype: str) -> TupleType:
    """The type of tensors of an element type and of unknown rank."""
    return TupleType((TensorType((AnyDim(),), dtype), TensorType((AnyDim(),), "int64")))


def is_boxed(ty: Type) -> bool:
    """Whether a type is `boxed`: sequences hold no other tuples."""
    return isinstance(ty, TupleType)


def dtype_of(ty: Type) -> str | None:
    """The element type of a tensor, boxed or not."""
    inside = ty.fields[0] if isinstance(ty, TupleType) else ty
    return inside.dtype if isinstance(inside, TensorType) else None


def box(scope: GraphScope, value: Expr) -> Expr:
    """A tensor as a boxed tensor."""
    ty = type_of(value)
    assert isinstance(ty, TensorType)
    flat = scope.bind(reshape(value, (-1,)), "elements")
    shape = scope.bind(shape_of(value, "int64"), "shape")
    return scope.bind(Tuple((flat, shape)), "boxed", declared=boxed(ty.dtype))


def unbox(scope: GraphScope, value: Expr, ty: TensorType) -> Expr:
    """The tensor of a type in a box; another type ends the run."""
    axes = TensorType((len(ty.shape),), "int64")
    shape = scope.bind(TupleGetItem(value, 1), "shape", declared=axes)
    whole = dyn.reshape(scope.bind(TupleGetItem(value, 0), "elements"), shape)
    return scope.bind(whole, "tensor", declared=ty)


def packed(value: Any, ty: Type) -> Any:
    """An array, a list of them or None, as an input of that type."""
    if is_boxed(ty):
        array = np.asarray(value)
        return array.reshape(-1), np.array(array.shape, np.int64)
    if isinstance(ty, TypeCall) and value is not None:
        inside = ty.args[0]
        return [packed(one, inside) for one in value] if ty.func == LIST else packed(value, inside)
    return value


def unpacked(value: Any, ty: Type) -> Any:
    """A result of that type, with boxed tensors as arrays."""
    if is_boxed(ty):
        flat, shape = value
        return np.asarray(flat).reshape(tuple(np.asarray(shape)))
    if isinstance(ty, TypeCall) and value is not None:
        inside = ty.args[0]
        is_list = ty.func == LIST
        return [unpacked(one, inside) for one in value] if is_list else unpacked(value, inside)
    return value
