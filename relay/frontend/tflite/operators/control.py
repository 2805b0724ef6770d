"""Control flow: IF is an `if`, WHILE a recursive function, variables are state.

    WHILE(cond, body)(x)
      ->   let %loop = fn (%x) { if (cond(%x)) { %loop(body(%x)) } else { (%x,) } }; %loop(x)

Subgraphs get everything they use as inputs, but for variables: where one of them writes some, the
values of all variables go in and come out. Extents that change between iterations become unknown.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay import op
from relay.frontend.common.builder import int64
from relay.frontend.common.joining import common_types
from relay.frontend.common.loops import Step, recursive
from relay.frontend.common.scope import ImportScope
from relay.frontend.tflite.converters import Table
from relay.frontend.tflite.node import Node
from relay.ir.expr import Expr, If, Tuple, TupleGetItem, Var
from relay.ir.types import TensorType, TupleType

table = Table()

Branch = tuple[ImportScope, list[Expr]]  # a scope, and the values it gives


def _typed(node: Node, scope: ImportScope, value: Expr, ty: TensorType) -> Expr:
    """A tensor with a more general type, of fewer known extents."""
    same = node.type_of(value) == ty
    return value if same else scope.bind(value, node.operator, node.span, ty)


def _scalar(node: Node, scope: ImportScope, value: Expr) -> Expr:
    if node.rank(value) == 0:
        return value
    return scope.bind(op.reshape(value, ()), node.operator, node.span)


@table("IF")
def if_(node: Node, condition: Expr, *inputs: Expr) -> Sequence[Expr]:
    graphs = [node.option(f"{name}_subgraph_index", 0) for name in ("then", "else")]
    known = node.constant(condition)
    if known is not None:
        return node.importer.add(graphs[0 if known.item() else 1], node.scope, inputs)
    states = node.importer.states
    names, before = list(states.values), dict(states.values)
    branches: list[Branch] = []
    for graph in graphs:
        states.values = dict(before)
        scope = node.scope.inner()
        results = node.importer.add(graph, scope, inputs)
        branches.append((scope, [*results, *(states.values[name] for name in names)]))
    types = common_types(
        node,
        [node.tensor_type(one) for one in branches[0][1]],
        [node.tensor_type(one) for one in branches[1][1]],
        "the branches",
    )
    closed = [
        scope.closed(
            Tuple(tuple(_typed(node, scope, *pair) for pair in zip(values, types, strict=True)))
        )
        for scope, values in branches
    ]
    chosen = If(_scalar(node, node.scope, condition), closed[0], closed[1])
    whole = node.let(chosen, declared=TupleType(tuple(types)))
    fields = [node.let(TupleGetItem(whole, place)) for place in range(len(types))]
    count = len(fields) - len(names)
    states.values = {**states.values, **dict(zip(names, fields[count:], strict=True))}
    return fields[:count]


@table("WHILE")
def while_(node: Node, *inputs: Expr) -> Sequence[Expr]:
    graphs = [node.option(f"{name}_subgraph_index", 0) for name in ("cond", "body")]
    states = node.importer.states
    names = list(states.values)
    begin = [*inputs, *states.values.values()]
    # handles of variables are the same in every iteration
    handles = {place for place, one in enumerate(inputs) if states.is_handle(one)}
    carried = [one for place, one in enumerate(begin) if place not in handles]
    types = [node.tensor_type(one) for one in carried]

    def whole(values: Sequence[Expr]) -> list[Expr]:
        """The inputs of a graph, with handles among them."""
        rest = iter(values)
        given = [begin[place] if place in handles else next(rest) for place in range(len(begin))]
        states.values = dict(zip(names, given[len(inputs) :], strict=True))
        return given[: len(inputs)]

    while True:
        variables = [Var(f"state_{place}", ty) for place, ty in enumerate(types)]
        head, body = node.scope.inner(), node.scope.inner()
        tests = node.importer.add(graphs[0], head, whole(variables))
        if len(tests) != 1:
            raise node.refused("the condition is one value", "1", str(len(tests)))
        results = node.importer.add(graphs[1], body, whole(variables))
        kept = [one for place, one in enumerate(results) if place not in handles]
        following = [*kept, *states.values.values()]
        found = [node.tensor_type(one) for one in following]
        joined = common_types(node, types, found, "iterations of the loop")
        if joined == types:
            break
        types = joined
    step = Step(
        variables,
        head,
        _scalar(node, head, tests[0]),
        body,
        [_typed(node, body, *pair) for pair in zip(following, types, strict=True)],
        int64(0),
    )
    first = [_typed(node, node.scope, *pair) for pair in zip(carried, types, strict=True)]
    last, _ = recursive(node, step, first, ())
    return whole(last)


# --- variables ---------------------------------------------------------------------------------


@table("CALL_ONCE")
def call_once(node: Node) -> Sequence[Expr]:
    """CALL_ONCE: assigns the initial values of variables."""
    states = node.importer.states
    with states.beginning(node):
        node.importer.add(node.option("init_subgraph_index", 0), node.scope.inner(), ())
    return ()


@table("VAR_HANDLE")
def var_handle(node: Node) -> Expr:
    name = node.option("shared_name", "") or node.option("container", "")
    return node.importer.states.handle(name or node.result().name)


@table("READ_VARIABLE")
def read_variable(node: Node, handle: Expr) -> Expr:
    return node.importer.states.read(node, handle)


@table("ASSIGN_VARIABLE")
def assign_variable(node: Node, handle: Expr, value: Expr) -> Sequence[Expr]:
    node.importer.states.assign(node, handle, value)
    return ()
