"""Evaluates operators on known tensors, and on shapes that types determine.

    multiply(2f, 3f)  ->  6f        shape_of(%x)  ->  [2, 3]        for %x: Tensor[(2, 3), float32]

Large results are left to `FoldConstant`, which weighs them against what they are computed from.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay import dtypes
from relay.analysis.precompute import SMALL, size_of
from relay.interpreter.values import TupleValue
from relay.interpreter.values import Value as Known
from relay.ir import expr as ir
from relay.ir.types import TensorType, Type
from relay.nd import NDArray
from relay.op.opdef import OpDef
from relay.transform.partial.static_values import Fields, Value
from relay.transform.simplify.fold_constant import OF_SHAPES, is_foldable, operator_result


def computed(op: OpDef, call: ir.Call, args: Sequence[Value]) -> Known | None:
    """The result of an operator, if it is known."""
    if not is_foldable(op):
        return None
    known = [_known_tensors(value) for value in args]
    if op.name in OF_SHAPES and known == [None]:
        known = [_stand_in(args[0].ty)]
    values = [value for value in known if value is not None]
    return operator_result(op, call, values, _is_small) if len(values) == len(known) else None


def _is_small(ty: Type) -> bool:
    size = size_of(ty)
    return size is not None and size <= SMALL


def _known_tensors(value: Value) -> Known | None:
    """What operators take: a tensor or a tuple of tensors, all of them known."""
    match value.static:
        case NDArray() as tensor:
            return tensor
        case Fields(constructor=None, fields=fields):
            parts = [field.static for field in fields]
            if all(isinstance(part, NDArray) for part in parts):
                return TupleValue(parts)  # type: ignore[arg-type]
    return None


def _stand_in(ty: Type) -> NDArray | None:
    """A tensor of a type whose extents are all known; it takes no memory."""
    if not isinstance(ty, TensorType) or size_of(ty) is None:
        return None
    return NDArray(np.broadcast_to(np.zeros((), dtypes.to_numpy(ty.dtype)), ty.concrete_shape))
