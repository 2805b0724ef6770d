"""Structural equality of expressions that share most of their parts.

The walk ends wherever both sides are the same object. So comparing with a small expression takes
time in its size, and comparing a rewritten expression time in the size of its new parts.
"""

from __future__ import annotations

from collections.abc import Callable

from relay import tree
from relay.ir import expr as ir
from relay.ir.attrs import Attrs
from relay.ir.compare import data_key
from relay.ir.variables import binders


def same_expression(
    a: ir.Syntax, b: ir.Syntax, is_new: Callable[[ir.Syntax], bool] = lambda _: True
) -> bool:
    """Whether `a` and `b` are the same program up to the names of bound variables.

    Types that inference may fill in are compared only where both sides have them. Nodes of `a` that
    are not new are compared by identity.
    """
    if a is b:
        return True
    if type(a) is not type(b) or not _same_data(a, b):
        return False
    partner: dict[int, ir.Syntax] = {}
    taken: dict[int, ir.Syntax] = {}
    pending: list[tuple[ir.Syntax, ir.Syntax]] = [(a, b)]
    while pending:
        left, right = pending.pop()
        if isinstance(left, ir.Var) and id(left) in partner:
            if partner[id(left)] is not right:
                return False
            continue
        if ir.is_atom(left):
            if not _same_atom(left, right):
                return False
            continue
        known = partner.get(id(left))
        if known is not None or id(right) in taken:
            # sharing must be the same on both sides
            if known is not right or taken.get(id(right)) is not left:
                return False
            continue
        partner[id(left)] = right
        taken[id(right)] = left
        if left is right:
            continue
        if not is_new(left):
            return False
        if type(left) is not type(right) or not _same_data(left, right):
            return False
        bound, beside = binders(left), binders(right)
        if len(bound) != len(beside):
            return False
        for x, y in zip(bound, beside, strict=True):
            partner[id(x)] = y
        below, other = tree.children(left), tree.children(right)
        if len(below) != len(other):
            return False
        pending.extend(zip(reversed(below), reversed(other), strict=True))
    return True


def _same_atom(left: ir.Syntax, right: ir.Syntax) -> bool:
    match left, right:
        case ir.Constant(), ir.Constant():
            return left is right or _same_constant(left, right)
        case ir.Op(), ir.Op():
            return left.name == right.name
        case ir.GlobalVar(), ir.GlobalVar():
            return left == right
        case ir.Constructor(), ir.Constructor():
            return left.name_hint == right.name_hint and left.belong_to == right.belong_to
    return left is right


def _same_constant(left: ir.Constant, right: ir.Constant) -> bool:
    a, b = left.data, right.data
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return a.array is b.array or a.array.tobytes() == b.array.tobytes()


def _same_data(left: ir.Syntax, right: ir.Syntax) -> bool:
    """Whether the nodes agree in what they hold besides their children."""
    match left, right:
        case ir.Call(), ir.Call():
            if ir.is_atom(left.op) and not _same_atom(left.op, right.op):
                return False
            if left.attrs is not right.attrs and not _same_attrs(left.attrs, right.attrs):
                return False
            return _compatible(left.type_args or None, right.type_args or None)
        case ir.Function(), ir.Function():
            if len(left.params) != len(right.params) or left.type_params != right.type_params:
                return False
            if left.attrs != right.attrs or not _compatible(left.ret_type, right.ret_type):
                return False
            pairs = zip(left.params, right.params, strict=True)
            return all(_compatible(x.type_annotation, y.type_annotation) for x, y in pairs)
        case ir.TupleGetItem(), ir.TupleGetItem():
            return left.index == right.index
        case ir.Match(), ir.Match():
            return left.complete == right.complete
    return True


def _same_attrs(left: object, right: object) -> bool:
    if isinstance(left, Attrs) and isinstance(right, Attrs):
        return bool(data_key(left) == data_key(right))
    return left == right


def _compatible(left: object, right: object) -> bool:
    return left is None or right is None or left == right
