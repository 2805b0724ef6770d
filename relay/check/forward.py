"""Types of what a pass has changed, from the leaves up, where nothing has to be solved.

Most passes replace operators by operators, and what is below them is typed already. Then the type
of a call follows from the types of its arguments: its relation is asked once, and nobody has to
look at the rest of the function. Where something new is a function, a branch or a name without a
type, or where sizes are open, so that inference may assume what a run has to check, the function is
inferred as a whole.
"""

from __future__ import annotations

from relay import tree
from relay.check.infer import with_known_types
from relay.errors import RelayError
from relay.ir.dims import Dim
from relay.ir.expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    Let,
    Op,
    Tuple,
    TupleGetItem,
    Var,
)
from relay.ir.types import FuncType, IncompleteType, Occurs, TensorType, TupleType, Type
from relay.op.opdef import OpDef
from relay.op.site import Site


def typed_forward(after: Function, before: Function) -> Function:
    """`after`, which was made of the typed function `before`: typed too, where that is easy."""
    found: dict[int, Type] = {}

    def known(e: Expr) -> Type | None:
        return e.ty if e.ty is not None else found.get(id(e))

    def type_of(e: Expr) -> Type | None:
        match e:
            case Var(type_annotation=given):
                return given
            case Constant(data=data):
                return TensorType(data.shape, data.dtype)
            case Call(op=OpDef() as op, args=args):
                types = [known(arg) for arg in args]
                return _result(e, op, [ty for ty in types if ty is not None])
            case Tuple(fields=fields):
                parts = [ty for ty in map(known, fields) if ty is not None]
                return TupleType(tuple(parts)) if len(parts) == len(fields) else None
            case TupleGetItem(tuple_value=value, index=index):
                whole = known(value)
                if isinstance(whole, TupleType) and 0 <= index < len(whole.fields):
                    return whole.fields[index]
            case Let(variable=variable, value=value, body=body):
                return known(body) if known(value) == variable.type_annotation else None
            case Function(params=params, ret_type=declared) if e is after:
                inputs = [p.type_annotation for p in params if p.type_annotation is not None]
                if declared is None or declared != known(after.body) or len(inputs) < len(params):
                    return None
                return FuncType(tuple(inputs), declared, after.type_params)
        return None

    for e in tree.postorder(after):
        if (
            not isinstance(e, Expr)
            or e.ty is not None
            or isinstance(e, Op | GlobalVar | Constructor)
        ):
            continue
        ty = type_of(e)
        if ty is None or ty.occurs & (Occurs.HOLE | Occurs.ANY):
            return after
        found[id(e)] = ty
    return with_known_types(after, before, lambda e: found.get(id(e)))


def _result(call: Call, op: OpDef, types: list[Type]) -> Type | None:
    """What the relation of an operator says of its result."""
    if len(types) < len(call.args) or (not op.variadic and len(types) != len(op.arguments)):
        return None
    if op.relation is None or any(ty.occurs & (Occurs.HOLE | Occurs.ANY) for ty in types):
        return None
    if call.attrs is None and op.attrs is not None:
        return None
    names = [name for name, _ in op.arguments]
    learned: list[int] = []
    site = Site(
        op.name,
        names,
        tuple(types),
        IncompleteType(),
        call.attrs,
        call.span,
        lambda index, ty: learned.append(index),
        _equal,
    )
    try:
        result = op.relation(site)
    except RelayError:
        return None  # inference says what is wrong
    return None if learned else result


def _equal(one: Dim, other: Dim) -> bool:
    return one == other
