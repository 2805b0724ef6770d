"""Check the indices of every operator that would clamp or ignore those out of range:

take(%x, %i, axis=0)  ->  take(%x, add(%i, check_indices(%i, %x, reader="take")), axis=0)

for %i: Tensor[(4), int32]. Out-of-range indices are defined (`relay.op.tensor.indexing`), but
usually a mistake: with `relay.compile(…, checked=True)` they end the run. The record of an operator
says which arguments are indices, and of what (`OpDef.selects`); operators that are written as loops
check their own.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay import tree
from relay.immutable import frozen
from relay.ir.expr import Call, Expr, Function, Syntax, Tuple, TupleGetItem, const
from relay.ir.function_attrs import is_opaque
from relay.ir.types import TensorType, TupleType
from relay.op import add, equal, where, zeros_like
from relay.op.opdef import OpDef, Selection
from relay.op.tensor.index_checks import check_indices
from relay.transform.base import FunctionPass


@frozen
class CheckIndices(FunctionPass):
    """Inserts `check_indices` before operators that select by indices."""

    opt_level = 0
    required = ("InferType",)

    def rewrite(self, function: Function) -> Function:
        if is_opaque(function):
            return function
        kept = {n: n for n in tree.postorder(function) if is_opaque(n)}
        return tree.transform(function, _checked, kept)


def _checked(before: Syntax, after: Syntax) -> Syntax:
    if not isinstance(before, Call) or not isinstance(after, Call):
        return after
    op = before.op
    if not isinstance(op, OpDef) or op.selects is None:
        return after
    given = [_parts(arg, whole) for arg, whole in zip(after.args, before.args, strict=True)]
    leaves = [part for parts in given for part in parts]
    attrs = op.make_attrs({}) if before.attrs is None else before.attrs
    changed = dict(enumerate(part for part, _ in leaves))
    for one in op.selects(attrs, [ty for _, ty in leaves]):
        changed[one.indices] = _guarded(one, leaves, after)
    if all(changed[place] is part for place, (part, _) in enumerate(leaves)):
        return after
    rest = iter(changed.values())
    args = [
        Tuple(tuple(next(rest) for _ in parts)) if is_tuple(whole) else next(rest)
        for parts, whole in zip(given, before.args, strict=True)
    ]
    return tree.replace(after, args=tuple(args))


Leaf = tuple[Expr, TensorType]


def is_tuple(e: Expr) -> bool:
    return isinstance(e.checked_type, TupleType)


def _parts(arg: Expr, before: Expr) -> list[Leaf]:
    """An argument, or the fields of a tuple."""
    ty = before.checked_type
    if isinstance(ty, TensorType):
        return [(arg, ty)]
    assert isinstance(ty, TupleType)
    found: list[Leaf] = []
    for place, part in enumerate(ty.fields):
        assert isinstance(part, TensorType)
        own = arg.fields[place] if isinstance(arg, Tuple) else TupleGetItem(arg, place)
        found.append((own, part))
    return found


def _guarded(one: Selection, leaves: Sequence[Leaf], call: Call) -> Expr:
    """The indices with a check."""
    indices, ty = leaves[one.indices]
    if _has_check(indices):
        return indices
    looked_at = indices
    if one.ignored is not None:
        is_none = equal(indices, const(one.ignored, ty.dtype))
        looked_at = where(is_none, zeros_like(indices), indices)
    assert isinstance(call.op, OpDef)
    said = {"axes": one.axes, "negative": one.negative, "reader": call.op.name}
    attrs = check_indices.make_attrs(said)
    fine = Call(check_indices, (looked_at, leaves[one.data][0]), attrs, span=call.span)
    return Call(add, (indices, fine), span=call.span)


def _has_check(indices: Expr) -> bool:
    """Whether the indices are checked already."""
    match indices:
        case Call(op=OpDef() as op, args=(_, Call(op=OpDef() as second))):
            return op is add and second is check_indices
    return False
