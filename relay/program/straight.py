"""Recognizes straight-line programs: tensors of known sizes, without control flow.

Such a program runs in a planned arena. It may call functions that can be inlined; branches, data,
references, recursion and dynamic dimensions make it a whole program.
"""

from __future__ import annotations

from relay import tree
from relay.analysis.call_graph import CallGraph
from relay.ir import expr
from relay.ir.expr import Let
from relay.ir.module import IRModule
from relay.ir.types import FuncType, TensorType, TupleType, Type
from relay.ir.variables import free_vars
from relay.op.dyn.form import STATIC_FORM
from relay.op.opdef import OpDef
from relay.op.tensor.require import REQUIRE

_BRANCHES = (expr.If, expr.Match, expr.RefCreate, expr.RefRead, expr.RefWrite, expr.Constructor)


def is_straight_line(module: IRModule) -> bool:
    """Whether `main` of a typed module, with the functions it reaches, is straight-line code."""
    main = module["main"]
    if not all(is_tensors(param.checked_type) for param in main.params):
        return False
    if not is_tensors(main.body.checked_type):
        return False
    calls = CallGraph(module)
    for function in calls.reachable(["main"]):
        if calls.is_recursive(function):
            return False
        for node in tree.postorder(module[function]):
            if isinstance(node, _BRANCHES) or _is_dynamic(node) or _is_recursive(node):
                return False
            if node is REQUIRE or looks_at_values(node):  # a run may end there
                return False
    return True


def looks_at_values(node: object) -> bool:
    """Whether it is an operator that checks the values of its arguments at run time."""
    return isinstance(node, OpDef) and node.has_attr(STATIC_FORM)


def is_tensors(ty: Type) -> bool:
    """Whether a type is a tensor of known sizes, or a tuple of them."""
    for part in tree.postorder(ty):
        if isinstance(part, TupleType):
            continue
        if not isinstance(part, TensorType) or any(type(n) is not int for n in part.shape):
            return False
    return True


def _is_dynamic(node: object) -> bool:
    """Whether a value with dynamic dimensions is computed."""
    if not isinstance(node, expr.Call | expr.TupleGetItem | expr.Tuple):
        return False
    ty = node.checked_type
    return not isinstance(ty, FuncType) and not is_tensors(ty)


def _is_recursive(node: object) -> bool:
    if not isinstance(node, Let) or not isinstance(node.value, expr.Function):
        return False
    return node.var in free_vars(node.value)
