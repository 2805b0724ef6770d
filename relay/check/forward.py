"""Incremental inference: types of rewritten expressions, from the leaves up, without the solver.

Most passes replace operators by operators over typed arguments. Then the type of a call follows
from one evaluation of its relation, and the rest of the function need not be inferred again. Where
a new function, branch or untyped variable occurs, or an unknown dimension, about which inference
may make assumptions that are checked at run time, the whole function is inferred.
"""

from __future__ import annotations

import operator

from relay import tree
from relay.check.infer import with_known_types
from relay.errors import RelayError
from relay.ir import expr as ir
from relay.ir.types import FuncType, IncompleteType, Occurs, TupleType, Type
from relay.op.opdef import OpDef
from relay.op.site import Site


def typed_forward(after: ir.Function, before: ir.Function) -> ir.Function:
    """`after`, a rewritten form of the typed function `before`, typed if no solving is needed."""
    found: dict[int, Type] = {}

    def known(e: ir.Expr) -> Type | None:
        return e.ty if e.ty is not None else found.get(id(e))

    def type_of(e: ir.Expr) -> Type | None:
        match e:
            case ir.Var(type_annotation=given):
                return given
            case ir.Constant():
                return e.tensor_type
            case ir.Call(op=OpDef() as op, args=args):
                types = [known(arg) for arg in args]
                return _result(e, op, [ty for ty in types if ty is not None])
            case ir.Tuple(fields=fields):
                parts = [ty for ty in map(known, fields) if ty is not None]
                return TupleType(tuple(parts)) if len(parts) == len(fields) else None
            case ir.TupleGetItem(tuple_value=value, index=index):
                whole = known(value)
                if isinstance(whole, TupleType) and 0 <= index < len(whole.fields):
                    return whole.fields[index]
            case ir.Let(variable=variable, value=value, body=body):
                return known(body) if known(value) == variable.type_annotation else None
            case ir.Function(params=params, ret_type=declared) if e is after:
                inputs = [p.type_annotation for p in params if p.type_annotation is not None]
                if declared is None or declared != known(after.body) or len(inputs) < len(params):
                    return None
                return FuncType(tuple(inputs), declared, after.type_params)
        return None

    for e in tree.postorder(after):
        if not isinstance(e, ir.Expr) or e.ty is not None:
            continue
        if isinstance(e, ir.Op | ir.GlobalVar | ir.Constructor):
            continue
        ty = type_of(e)
        if ty is None or ty.occurs & (Occurs.HOLE | Occurs.ANY):
            return after
        found[id(e)] = ty
    return with_known_types(after, before, lambda e: found.get(id(e)))


def _result(call: ir.Call, op: OpDef, types: list[Type]) -> Type | None:
    """The result type of a call according to the operator's type relation."""
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
        operator.eq,
    )
    try:
        result = op.relation(site)
    except RelayError:
        return None  # inference reports the error
    return None if learned else result
