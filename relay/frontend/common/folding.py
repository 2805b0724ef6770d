"""Constant folding at import.

The size of every step is known before it is computed: a model of a few bytes can ask for a tensor
larger than memory, and large results are left to the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from relay import dtypes, tree
from relay.analysis.purity import Purity
from relay.errors import RelayError
from relay.interpreter.operators import operate
from relay.interpreter.values import TupleValue, Value
from relay.ir.expr import Call, Constant, Expr, Op, Tuple, TupleGetItem
from relay.ir.types import TensorType, TupleType, Type, is_dynamic
from relay.nd import NDArray
from relay.op.opdef import OpDef
from relay.op.shapes import output_type, value_type

# the limit of bytes of a folded value: a constant, or a multiple of its operands
FOLDED = 1 << 16
GROWTH = 4
# the same for intermediate values
STEP = 1 << 24
# not folded: random numbers, and quantized operators, which passes rewrite
LEFT = ("random.", "qnn.")


def folded(value: Expr) -> NDArray | None:
    """The tensor that an expression evaluates to, unless it is large, or not constant."""
    made_of = 0
    for part in tree.postorder(value):
        match part:
            case Constant(data=data):
                made_of += data.array.nbytes
            case Call(op=OpDef(name=name, on_values=False)) if not name.startswith(LEFT):
                pass
            case Op() | Tuple() | TupleGetItem():
                pass
            case Expr():
                return None
    if not Purity(value).is_pure(value):
        return None
    try:
        result = _evaluated(value, max(STEP, GROWTH * made_of))
    except RelayError:
        return None  # reported at run time
    if not isinstance(result, NDArray) or result.array.nbytes > max(FOLDED, GROWTH * made_of):
        return None
    return result


def _evaluated(root: Expr, room: int) -> Value | None:
    """The value of an expression; None if a step takes more than `room` bytes."""
    values: dict[Expr, Value] = {}
    for part in tree.postorder(root):
        match part:
            case Constant(data=data):
                values[part] = data
            case Tuple(fields=fields):
                values[part] = TupleValue([values[field] for field in fields])
            case TupleGetItem(tuple_value=whole, index=index):
                fields_of = values[whole]
                assert isinstance(fields_of, TupleValue)
                values[part] = fields_of[index]
            case Call(op=OpDef() as op, args=args, attrs=attrs):
                given = [values[arg] for arg in args]
                if _size(part, op, given) > room:
                    return None
                values[part] = operate(op, given, attrs, part.span)
    return values[root]


def _size(call: Call, op: OpDef, given: Sequence[Value]) -> int:
    """The bytes of the result of a call; 0 where it is no larger than the arguments."""
    ty = call.checked_type
    if is_dynamic(ty):
        if op.runtime_shape is None:
            return 0
        arrays = [*map(_array, given)]
        ty = output_type(op, [*map(value_type, arrays)], call.attrs, arrays, call.span)
    return _bytes(ty)


def _array(value: Value) -> Any:
    return tuple(map(_array, value.fields)) if isinstance(value, TupleValue) else value.array  # type: ignore[union-attr]


def _bytes(ty: Type) -> int:
    if isinstance(ty, TupleType):
        return sum(map(_bytes, ty.fields))
    assert isinstance(ty, TensorType)
    extents: list[int] = [one for one in ty.shape if isinstance(one, int)]  # all are: it is static
    return prod(extents) * dtypes.to_numpy(ty.dtype).itemsize
