"""Duplicate conversions to a wider type, so that each element-wise consumer has its own:

%0 = cast(%x, dtype="int32"); (add(%0, 1), multiply(%0, 2))
->
(add(cast(%x, dtype="int32"), 1), multiply(cast(%x, dtype="int32"), 2))

for %x: Tensor[(4), int8]

A shared conversion would be written to memory in its wide form. With a conversion of its own, every
element-wise consumer reads the narrow elements and converts them for free.

Other consumers keep the shared conversion. One that a function shares with the code around it
stays, or it would be computed in every call. EliminateCommonSubexpr merges equal expressions again,
so this pass comes after it.
"""

from __future__ import annotations

from relay import dtypes, tree
from relay.immutable import frozen
from relay.ir.expr import Call, Expr, Function, Let, Syntax, Var, is_atom
from relay.ir.function_attrs import is_opaque
from relay.ir.scopes import Scope, Scopes
from relay.ir.types import TensorType
from relay.ir.variables import binders
from relay.op.opdef import FusionKind, OpDef
from relay.op.tensor.convert import cast
from relay.transform.base import FunctionPass


@frozen
class CanonicalizeCast(FunctionPass):
    """Gives every element-wise consumer of a widening conversion its own."""

    opt_level = 3
    required = ("InferType",)

    def rewrite(self, function: Function) -> Function:
        if is_opaque(function):
            return function
        shared = _shared_casts(function)
        if not shared:
            return function
        kept: dict[Syntax, Syntax] = {n: n for n in tree.postorder(function) if is_opaque(n)}

        def visit(before: Syntax, after: Syntax) -> Syntax:
            if not isinstance(before, Call) or not _is_elementwise(before):
                return after
            assert isinstance(after, Call)
            copies: dict[Expr, Expr] = {}
            for arg, now in zip(before.args, after.args, strict=True):
                if (call := shared.get(arg)) is not None:
                    copies[now] = tree.replace(now if arg is call else call)
            args = tuple(copies.get(arg, arg) for arg in after.args)
            return tree.replace(after, args=args) if copies else after

        return tree.transform(function, visit, kept)


def _shared_casts(function: Function) -> dict[Expr, Call]:
    """The widening conversions that several expressions of one function read, by themselves and by
    their names."""
    readers: dict[Expr, list[Syntax]] = {}
    named: dict[Expr, Call] = {}
    for node in tree.postorder(function):
        if isinstance(node, Let) and _is_widening(value := node.value) and _is_flat(value):
            assert isinstance(value, Call)
            named[node.variable] = value
        for child in dict.fromkeys(tree.children(node)[len(binders(node)) :]):
            if isinstance(child, Var) or _is_widening(child):
                assert isinstance(child, Expr)
                readers.setdefault(child, []).append(node)
    found: dict[Expr, Call] = {}
    scopes: Scopes | None = None
    for e, several in readers.items():
        call = named.get(e) if isinstance(e, Var) else e
        if call is None or len(several) == 1:
            continue
        scopes = scopes or Scopes(function)
        around = scopes.home(call).function
        if all(_reads_in(reader, scopes) is around for reader in several):
            assert isinstance(call, Call)
            found[e] = call
    return found


def _reads_in(reader: Syntax, scopes: Scopes) -> Scope:
    """The function in which an expression reads its parts."""
    if isinstance(reader, Function):
        return scopes.opened(reader, "body").function
    return scopes.home(reader).function


def _is_flat(e: Expr) -> bool:
    return all(map(is_atom, tree.children(e)))


def _is_widening(e: Syntax) -> bool:
    if not isinstance(e, Call) or e.op is not cast:
        return False
    before, after = e.args[0].ty, e.ty
    assert isinstance(before, TensorType) and isinstance(after, TensorType)
    return dtypes.bits(before.dtype) < dtypes.bits(after.dtype)


def _is_elementwise(call: Call) -> bool:
    return isinstance(call.op, OpDef) and call.op.fusion <= FusionKind.BROADCAST
