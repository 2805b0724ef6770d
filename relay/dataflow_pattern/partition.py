"""Partitioning: move every match of a pattern into a function.

    nn.relu(nn.conv2d(%x, %w))
    ->
    fn (%a, %b, PartitionedFromPattern="nn.conv2d_nn.relu_") { nn.relu(nn.conv2d(%a, %b)) }(%x, %w)

The parameters are what the leaves of the pattern are bound to, in the order of the pattern, also
where the program has the operands of a commutative operator in the other order. A constant matched
by `is_constant` or `is_expr` stays inside; one matched by a wildcard is a parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relay import tree
from relay.dataflow_pattern import patterns as p
from relay.dataflow_pattern.graph import PARTITIONED, NumberedGraph
from relay.dataflow_pattern.matcher import Matcher
from relay.dataflow_pattern.patterns import DFPattern
from relay.dataflow_pattern.prepare import Prepared, prepare
from relay.dataflow_pattern.regions import Claims, Region, find_regions
from relay.ir import expr as ir
from relay.ir.scopes import Scopes
from relay.ir.variables import binders

# Not computed, so never inputs.
NAMED = (ir.Op, ir.GlobalVar, ir.Constructor, ir.Function)
# A constant matched by one of these stays inside.
CONSTANT = (p.ConstantPattern, p.ExprPattern)


def partition(
    pattern: DFPattern,
    expr: ir.Expr,
    attrs: Mapping[str, Any] | None = None,
    check: Callable[[ir.Expr], bool] = lambda _: True,
) -> ir.Expr:
    """`expr` with every match of `pattern` that `check` accepts replaced by a call of a function.

    The functions carry `attrs`, and `PartitionedFromPattern` with the operators inside. Functions
    made by an earlier partitioning are not entered. A function alone is not a computation, so a
    pattern for a function partitions nothing.
    """
    expr = ir.as_expr(expr)
    graph = NumberedGraph(expr)
    claims = Claims(graph)
    scopes: Scopes | None = None
    prepared = prepare(pattern)
    # the inputs of each extracted region, by its root
    cuts: dict[int, list[ir.Expr]] = {}
    for region in find_regions(graph, Matcher(prepared, expr, graph=graph), claims):
        root = graph.nodes[region.root]
        # a match of a leaf alone contains nothing, and a function alone computes nothing
        described = any(found is root for found in region.covered)
        if not described or isinstance(root, ir.Function) or not check(root):  # type: ignore[arg-type]
            continue
        inputs = _inputs(graph, prepared, region)
        if any(isinstance(graph.nodes[i], ir.If | ir.Let | ir.Match) for i in region.inside):
            scopes = scopes or Scopes(expr)
            if not _are_outside(inputs, root, scopes):
                continue
        if claims.claim(region):
            cuts[region.root] = inputs
    return _cut(graph, cuts, dict(attrs or {})) if cuts else expr


def _inputs(graph: NumberedGraph, prepared: Prepared, region: Region) -> list[Any]:
    """The inputs of a region, each once, in the order of the pattern.

    Inputs that no part of the pattern is bound to, because a wildcard matches a part of the region,
    come last.
    """
    covered: set[int] = set()
    for expr in region.covered:
        covered.add(id(expr))
        covered.update(id(variable) for variable in binders(expr))
    opened: dict[DFPattern, list[ir.Expr]] = {}
    for step, expr in region.bindings:
        if isinstance(expr, ir.Constant) and isinstance(step.pattern, CONSTANT):
            covered.add(id(expr))
        # leaves inside a function pattern are no inputs
        if step.pattern is not None and step.pattern not in prepared.enclosed:
            opened.setdefault(step.pattern, []).extend(_given(step.pattern, expr))
    named = [expr for pattern in prepared.order for expr in opened.get(pattern, ())]
    beside = [graph.nodes[c] for i in sorted(region.inside) for c in graph.children[i]]
    found: dict[int, Any] = {}
    for each in (*named, *beside):
        if id(each) not in covered and not isinstance(each, NAMED):
            found.setdefault(id(each), each)
    return list(found.values())


def _given(pattern: DFPattern, expr: Any) -> Sequence[ir.Expr]:
    """The inputs that a pattern contributes when it matches `expr`."""
    match pattern:
        case p.WildcardPattern() | p.VarPattern() | p.ExprPattern():
            return (expr,)
        case p.CallPattern(args=None):
            return expr.args  # type: ignore[no-any-return]
        case p.TuplePattern(fields=None):
            return expr.fields  # type: ignore[no-any-return]
    return ()


def _are_outside(inputs: list[Any], root: ir.Syntax, scopes: Scopes) -> bool:
    """Whether no input is computed in an inner scope of the region: in a branch, or under a let."""
    around = scopes.home(root)
    return all(
        ir.is_atom(found)
        or (isinstance(found, ir.Expr) and around.common(scopes.home(found)) is scopes.home(found))
        for found in inputs
    )


def _cut(graph: NumberedGraph, cuts: dict[int, list[ir.Expr]], attrs: dict[str, Any]) -> ir.Expr:
    """The program with every region whose root is a key of `cuts` moved into a function."""
    new: dict[int, ir.Syntax] = {}
    numbers = {root: n for n, root in enumerate(sorted(cuts))}
    for i, children in enumerate(graph.children):
        node = graph.nodes[i]
        if i in cuts:
            function = _function_of(node, cuts[i], numbers[i], attrs)
            args = [new.get(graph.number_of(e), e) for e in cuts[i]]
            new[i] = ir.Call(function, tuple(args), span=node.span)  # type: ignore[arg-type]
        elif any(child in new for child in children):
            new[i] = tree.rebuild(node, [new.get(c, graph.nodes[c]) for c in children])
    result = new.get(len(graph.nodes) - 1, graph.root)
    assert isinstance(result, ir.Expr)
    return result


def _function_of(
    root: Any, inputs: list[ir.Expr], number: int, attrs: dict[str, Any]
) -> ir.Function:
    params = {e: ir.Var(f"FunctionVar_{number}_{n}") for n, e in enumerate(inputs)}
    name: list[str] = []

    def visit(before: ir.Syntax, after: ir.Syntax) -> ir.Syntax:
        name.append(_name(before))
        return after

    body = tree.transform(root, visit, dict(params))
    return ir.Function(tuple(params.values()), body, attrs={PARTITIONED: "".join(name), **attrs})  # type: ignore[arg-type]


def _name(e: ir.Syntax) -> str:
    """What a node contributes to the name of the function it is in."""
    match e:
        case ir.Call(op=ir.Op(name=name)):
            return f"{name}_"
        case ir.TupleGetItem():
            return f"TupleGetItem{e.index}_"
        case ir.Function():
            return "Function"
        case ir.Call() | ir.Tuple() | ir.If() | ir.Let() | ir.Match():
            return f"{type(e).__name__}_"
    return ""
