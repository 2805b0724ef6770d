"""What an expression over constants is, computed while a model is translated.

The size of every step is known before the step is taken: a model of a few bytes can ask for a
tensor beyond any memory, and what is large is left to a run, where it is computed fast, or fails.
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

# Bytes that a folded value may have, however little it is made of; and times what it is made of.
FOLDED = 1 << 16
GROWTH = 4
# The same for what is on the way.
STEP = 1 << 24
# What is drawn anew in every run; and integers that stand for numbers, which passes rather have.
LEFT = ("random.", "qnn.")


def folded(value: Expr) -> NDArray | None:
    """The tensor that an expression is, unless it is large, or not known before a run."""
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
        return None  # a run will say what is wrong
    if not isinstance(result, NDArray) or result.array.nbytes > max(FOLDED, GROWTH * made_of):
        return None
    return result


def _evaluated(root: Expr, room: int) -> Value | None:
    """The value of an expression; None if a step of it takes more room."""
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
    """How many bytes a call gives; what takes no more than its arguments counts for nothing."""
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
