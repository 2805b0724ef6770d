"""Number the expressions of a function in their spans:

fn (%x: float32) { exp(negative(%x)) }
->  %x at index:0:5   negative at index:3:4   exp at index:4:5   the function at index:5:5

The first number is the position in post-order, operators included. The second is that of the
dominator: the first expression on all paths from this one to the result.
"""

from __future__ import annotations

from relay import tree
from relay.analysis.forest import Forest
from relay.check.infer import with_known_types
from relay.errors import SourceName, Span
from relay.immutable import frozen
from relay.ir.expr import Constructor, Expr, Function, Op, Syntax
from relay.ir.types import Type
from relay.transform.base import FunctionPass


@frozen
class CapturePostDfsIndexInSpans(FunctionPass):
    """Replaces all spans by `index:<number>:<number of the dominator>`."""

    def rewrite(self, function: Function) -> Function:
        nodes: list[Syntax] = list(tree.postorder(function))
        expressions = (node for node in nodes if isinstance(node, Expr))
        numbers = {id(node): number for number, node in enumerate(expressions)}
        dominators = _dominators(nodes)
        types: dict[Expr, Type | None] = {}  # of the copies

        def visit(before: Syntax, after: Syntax) -> Syntax:
            # operators and constructors are shared between programs
            if not isinstance(before, Expr) or isinstance(before, Op | Constructor):
                return after
            mine, above = numbers[id(before)], numbers[id(dominators[id(before)])]
            span = Span(SourceName(f"index:{mine}:{above}"))
            made = after if before.span == span else tree.replace(after, span=span)
            assert isinstance(made, Expr)
            types[made] = before.ty
            return made

        result = tree.transform(function, visit)
        return result if result is function else with_known_types(result, function, types.get)


def _dominators(nodes: list[Syntax]) -> dict[int, Syntax]:
    """The immediate post-dominator of each node of a graph, given in post-order."""
    order = nodes[::-1]  # users before what they use
    forest = Forest()
    place: dict[int, int] = {}
    met: dict[int, int | None] = {}
    found: dict[int, Syntax] = {}
    for node in order:
        parent = met.get(id(node))
        place[id(node)] = forest.add(parent)
        above = parent
        while above is not None and not isinstance(order[above], Expr):
            above = forest.parent[above]
        found[id(node)] = node if above is None else order[above]
        for child in tree.children(node):
            here = place[id(node)]
            known = met.get(id(child), here)
            met[id(child)] = forest.meet(known, here)
    return found
