"""Small programs around an expression: the expression over inputs instead of what it is made of.

region_of(softmax(relu(dense(x, w))), depth=2)   ->   fn (%p0) { softmax(relu(%p0)) }
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from relay import tree
from relay.check.infer import infer_module
from relay.immutable import frozen
from relay.ir import expr as ir
from relay.ir.function_attrs import PRIMITIVE
from relay.ir.module import IRModule
from relay.ir.types import TensorType, TupleType

DEPTHS = (1, 2, 3, 5, 8)
_OPAQUE = (ir.Var, ir.If, ir.Match, ir.Let)


@frozen
class Region:
    """A module whose `main` is a part of a program, and the expressions its parameters stand
    for."""

    module: IRModule
    inputs: tuple[ir.Expr, ...]
    root: ir.Expr


def regions(
    module: IRModule, nodes: list[ir.Expr], interesting: Callable[[ir.Expr], bool]
) -> Iterator[Region]:
    """Regions around the interesting ones of visible nodes: all of the smallest depth first."""
    roots = [node for node in nodes if interesting(node)]
    for depth in DEPTHS:
        for root in roots:
            yield region_of(module, root, depth)


def is_call(node: ir.Expr) -> bool:
    """Whether it calls an operator."""
    return isinstance(node, ir.Call) and isinstance(node.op, ir.Op)


def is_kernel_call(node: ir.Expr) -> bool:
    """Whether it calls a primitive function."""
    return (
        isinstance(node, ir.Call)
        and isinstance(node.op, ir.Function)
        and bool(node.op.attrs.get(PRIMITIVE))
    )


def region_of(module: IRModule, root: ir.Expr, depth: int) -> Region:
    """`root` with what it is computed from up to `depth` calls; the rest are parameters."""
    level = {root: depth}
    inputs: dict[ir.Expr, ir.Var] = {}
    pending = [root]
    while pending:
        node = pending.pop()
        left = level[node]
        if (left <= 0 and _is_data(node)) or isinstance(node, _OPAQUE):
            inputs.setdefault(node, ir.Var(f"p{len(inputs)}", node.checked_type))
            continue
        for child in _operands(node):
            remaining = left - isinstance(node, ir.Call)
            if level.get(child, -1) < remaining:
                level[child] = remaining
                pending.append(child)
    inputs = {
        node: var for node, var in inputs.items() if level[node] <= 0 or isinstance(node, _OPAQUE)
    }
    body = tree.transform(root, lambda before, after: inputs.get(before, after), memo=inputs)
    made = module.copy()
    made["main"] = ir.Function(tuple(inputs.values()), body)
    used = {p.name_hint for p in tree.postorder(body) if isinstance(p, ir.GlobalVar)}
    if not used:
        made = IRModule({"main": made["main"]})
    return Region(infer_module(made), tuple(inputs), root)


def _operands(node: ir.Expr) -> list[ir.Expr]:
    if isinstance(node, ir.Function):
        return []
    return [child for child in tree.children(node) if isinstance(child, ir.Expr)]


def _is_data(node: ir.Expr) -> bool:
    """Whether its value may be an input: constants stay, since passes look at them."""
    if isinstance(node, ir.Constant | ir.Op | ir.Function | ir.GlobalVar | ir.Constructor):
        return False
    return isinstance(node.ty, TensorType | TupleType)
