"""Derivatives of what a graph has computed, from the end to the beginning.

    let %y = multiply(%a, %b);   the derivative of z by y is %g
      ->   that by a is multiply(%g, %b), that by b is multiply(%g, %a)

The rules are the gradients of operators (`OpDef.gradient`). The derivative by an argument that was
broadcast is summed over the axes it was broadcast along.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relay import op, tree
from relay.errors import GradientError
from relay.frontend.onnx.node import Node
from relay.ir.expr import Expr, Syntax, Var
from relay.ir.types import Type
from relay.transform.gradients.accumulate import Accumulation, may_carry


def _type(value: Expr) -> Type:
    known = value.type_annotation if isinstance(value, Var) else None
    return value.checked_type if known is None else known


def derivatives(node: Node, target: Expr, by: Sequence[Expr]) -> list[Expr]:
    """The derivatives of the sum of a tensor of the graph by other tensors of it."""
    made_of = _made_of(node, by)
    gradients = Accumulation(_type, lambda e: e in made_of and may_carry(_type(e)))
    gradients.add(target, node.let(op.ones_like(target)))
    for variable, value in reversed(list(node.scope.bindings)):
        if variable in by or (gradient := gradients.take(variable)) is None:
            continue
        gradients.add(value, gradient)
        for part in reversed([*tree.postorder(value)]):
            if isinstance(part, Var) or not isinstance(part, Expr):
                continue
            # a part that other tensors share is looked at again with them
            if (gradient := gradients.take(part)) is not None:
                try:
                    gradients.through(part, gradient, part)
                except GradientError as error:
                    raise _refused(node, error) from error
    found = ((one, gradients.take(one)) for one in by)
    return [
        node.let(gradient if isinstance(gradient, Expr) else op.zeros_like(one))
        for one, gradient in found
    ]


def _refused(node: Node, error: GradientError) -> Exception:
    """The error at the node that asks for the derivative."""
    (what,) = error.diagnostics
    return node.refused(what.message, what.expected, what.found)


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
