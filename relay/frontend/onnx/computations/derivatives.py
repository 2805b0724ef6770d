"""Derivatives of what a graph has computed, from the end to the beginning.

    let %y = multiply(%a, %b);   the derivative of z by y is %g
      ->   that by a is multiply(%g, %b), that by b is multiply(%g, %a)

The rules are the gradients of operators (`OpDef.gradient`). The derivative by an argument that was
broadcast is summed over the axes it was broadcast along.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relay import dtypes, op, tree
from relay.frontend.onnx.node import Node
from relay.ir.expr import Call, Expr, Op, Syntax, Var
from relay.ir.types import TensorType
from relay.op.gradient_rules import Backward
from relay.op.opdef import OpDef, records


def _type(value: Expr) -> TensorType:
    found = value.type_annotation if isinstance(value, Var) else value.checked_type
    assert isinstance(found, TensorType)
    return found


def derivatives(node: Node, target: Expr, by: Sequence[Expr]) -> list[Expr]:
    """The derivatives of the sum of a tensor of the graph by other tensors of it."""
    found: dict[Expr, Expr] = {target: node.let(op.ones_like(target))}
    made_of = _made_of(node, by)
    for variable, value in reversed(list(node.scope.bindings)):
        if variable not in found or variable in by:
            continue
        found[value] = found[variable]
        for part in reversed([*tree.postorder(value)]):
            if not isinstance(part, Call) or part not in found or part not in made_of:
                continue
            # a part that other tensors share is looked at again with them
            gradients = _apply(node, part, found.pop(part))
            for argument, gradient in zip(part.args, gradients, strict=True):
                if gradient is not None and argument in made_of:
                    _add_to(node, found, argument, gradient)
    return [found[one] if one in found else node.let(op.zeros_like(one)) for one in by]


def _add_to(node: Node, found: dict[Expr, Expr], argument: Expr, gradient: Expr) -> None:
    if _type(argument).shape != node.shape(gradient):
        gradient = node.let(op.collapse_sum_like(gradient, argument))
    before = found.get(argument)
    found[argument] = gradient if before is None else node.let(op.add(before, gradient))


def _made_of(node: Node, some: Sequence[Expr]) -> set[Syntax]:
    """Everything in the graph that is made of some of its tensors."""
    found: set[Syntax] = set(some)
    for variable, value in node.scope.bindings:
        for part in tree.postorder(value):
            if any(child in found for child in tree.children(part)):
                found.add(part)
        if value in found:
            found.add(variable)
    return found


def _apply(node: Node, call: Call, gradient: Expr) -> Sequence[Expr | None]:
    operator = call.op
    if not dtypes.is_float(_type(call).dtype):
        return [None] * len(call.args)
    if not isinstance(operator, OpDef) or operator.gradient is None:
        name = operator.name if isinstance(operator, Op) else "a function"
        known = [record.name for record in records() if record.gradient is not None]
        raise node.refused(
            f"there is no derivative of `{name}` yet", expected=", ".join(known), found=name
        )
    made = operator.gradient(Backward(call, call, (gradient,), _type))
    return [None if one is None else node.let(one) for one in made]


# --- other arguments ---------------------------------------------------------------------------


def substituted(node: Node, target: Expr, changes: Mapping[Expr, Expr]) -> Expr:
    """A tensor of the graph as it would be, were some that it is made of others."""
    made: dict[Syntax, Syntax] = dict(changes.items())

    def change(before: Syntax, after: Syntax) -> Syntax:
        return made.get(before, after)

    for variable, value in list(node.scope.bindings):
        if variable in changes or not any(part in made for part in tree.postorder(value)):
            continue
        root: Syntax = value
        changed = tree.transform(root, change)
        assert isinstance(changed, Expr)
        made[variable] = node.let(changed)
    found = made.get(target, target)
    assert isinstance(found, Expr)
    return found
