"""Loops and branches: graphs inside of nodes become functions and branches of Relay."""

from __future__ import annotations

from collections.abc import Sequence

from relay import op
from relay.frontend.common.builder import Builder, int64
from relay.frontend.common.loops import Step, counted, recursive
from relay.frontend.common.stacking import Rows
from relay.frontend.mxnet.converters import Table
from relay.frontend.mxnet.node import Node
from relay.frontend.mxnet.symbol import GraphInfo
from relay.ir.expr import Call, Expr, If, Tuple, TupleGetItem, Var
from relay.ir.types import TensorType, TupleType

table = Table()


def _inside(node: Node, there: Builder, graph: GraphInfo, given: Sequence[Expr]) -> list[Expr]:
    """The outputs of a graph for values of its arguments, in a scope."""
    if len(given) != len(graph.arguments):
        raise node.refused(
            "a graph in it takes other inputs", f"{len(graph.arguments)}", f"{len(given)}"
        )
    values = dict(zip(graph.arguments, given, strict=True))
    return node.importer.graph(graph, there.scope, values)


def _graphs(node: Node, count: int) -> Sequence[GraphInfo]:
    if len(node.info.subgraphs) != count:
        raise node.refused("it has other graphs inside", str(count), f"{len(node.info.subgraphs)}")
    return node.info.subgraphs


def _chosen(node: Node, inputs: Sequence[Expr], name: str) -> list[Expr]:
    """The inputs whose numbers an attribute lists."""
    numbers = node.wholes(name)
    if any(not 0 <= one < len(inputs) for one in numbers):
        raise node.refused(f"`{name}` names no inputs", f"less than {len(inputs)}", str(numbers))
    return [inputs[one] for one in numbers]


@table("_foreach")
def foreach(node: Node, *inputs: Expr) -> list[Expr]:
    """foreach: runs a graph on each row of data, with a carried state."""
    (graph,) = _graphs(node, 1)
    data, state, rest = (
        node.wholes("in_data_locs"),
        node.wholes("in_state_locs"),
        node.wholes("remain_locs"),
    )
    places = (*data, *state, *rest)
    if sorted(places) != [*range(len(graph.arguments))] or len(inputs) != len(places) or not data:
        raise node.refused("its inputs do not fit its graph", found=f"{places}")
    given = [*inputs]
    rows, begin, others = (
        given[: len(data)],
        given[len(data) : len(data) + len(state)],
        given[len(data) + len(state) :],
    )
    outputs = node.whole("num_out_data")

    def body(there: Builder, number: Expr, values: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
        own = [there.let(op.take(one, number, axis=0, mode="clip")) for one in rows]
        arguments: list[Expr] = [number] * len(places)
        for place, value in zip(places, (*own, *values, *others), strict=True):
            arguments[place] = value
        found = _inside(node, there, graph, arguments)
        if len(found) != outputs + len(begin):
            raise node.refused(
                "its graph gives other results", str(outputs + len(begin)), str(len(found))
            )
        return found[outputs:], found[:outputs]

    length = node.size(rows[0], 0)
    last, collected = counted(node, body, length, node.shape(rows[0])[0], begin)
    return [*collected, *last]


@table("_while_loop")
def while_loop(node: Node, *inputs: Expr) -> list[Expr]:
    """while_loop: at most `max_iterations` iterations; the stacked rows are zero-padded to that
    number."""
    test, graph = _graphs(node, 2)
    outputs, most = node.whole("num_out_data"), node.whole("max_iterations")
    given = [*inputs]
    state_places = node.wholes("func_var_locs")
    state = _chosen(node, given, "func_input_locs")
    begin = [state[place] for place in state_places]
    there = node.inside()
    number = Var("turn", TensorType((), "int64"))
    variables = [Var(f"state_{place}", node.tensor_type(one)) for place, one in enumerate(begin)]
    by_input: dict[int, Expr] = {}
    numbers = node.wholes("func_input_locs")
    for place, variable in zip(state_places, variables, strict=True):
        by_input[numbers[place]] = variable
    now = [by_input.get(place, one) for place, one in enumerate(given)]
    head = node.inside()
    condition = _inside(node, head, test, _chosen(node, now, "cond_input_locs"))[0]
    again = head.let(op.logical_and(_scalar(head, condition), op.less(number, int64(most))))
    found = _inside(node, there, graph, _chosen(node, now, "func_input_locs"))
    rows, following = found[:outputs], found[outputs:]
    kinds = [Rows.of(there.tensor_type(one)) for one in rows]
    rows = [_as(there, one, kind.row) for one, kind in zip(rows, kinds, strict=True)]
    following = [
        _as(there, one, node.tensor_type(old)) for one, old in zip(following, begin, strict=True)
    ]
    next_one = (op.add(number, int64(1)), *following)
    step = Step((number, *variables), head.scope, again, there.scope, next_one, number, rows, kinds)
    nil = node.scope.module.get_constructor("Nil")
    before: list[Expr] = [Call(nil, ()) for _ in range(2 * len(kinds))]
    last, pairs = recursive(node, step, (int64(0), *begin), before)
    turns, *ends = last
    collected = []
    for pair, kind, row in zip(pairs, kinds, rows, strict=True):
        ty = there.tensor_type(row)
        shape = [one if isinstance(one, int) else 0 for one in ty.shape]
        nothing = _as(node, node.zeros((0, *shape), ty.dtype), kind.chunk)
        whole = node.let(kind.all(node.scope.module, *pair, nothing))
        missing = node.let(op.reshape(op.stack([int64(0), int64(most) - turns], axis=0), (1, 2)))
        rest = int64([[0, 0]] * len(shape))
        widths = node.let(op.concatenate([missing, rest], axis=0)) if shape else missing
        padded = op.nn.pad(whole, widths, node.number(0, whole))
        collected.append(node.declare(padded, (most, *ty.shape), ty.dtype))
    return [*collected, *ends]


@table("_cond")
def cond(node: Node, *inputs: Expr) -> Expr:
    test, first, second = _graphs(node, 3)
    given = [*inputs]
    truth = _inside(node, node, test, _chosen(node, given, "cond_input_locs"))[0]
    branches = []
    types: list[TensorType] = []
    for graph, name in ((first, "then_input_locs"), (second, "else_input_locs")):
        there = node.inside()
        found = _inside(node, there, graph, _chosen(node, given, name))
        if len(found) != node.whole("num_outputs"):
            raise node.refused("its branches give other results", found=str(len(found)))
        types = [there.tensor_type(one) for one in found]
        branches.append(there.scope.closed(Tuple(tuple(found))))
    whole = node.let(
        If(node.let(_scalar(node, truth)), branches[0], branches[1]),
        declared=TupleType(tuple(types)),
    )
    fields = [node.let(TupleGetItem(whole, place)) for place in range(len(types))]
    return fields[0] if len(fields) == 1 else Tuple(tuple(fields))


def _scalar(node: Builder, value: Expr) -> Expr:
    """A number as a truth value."""
    value = node.let(value)
    if node.rank(value):
        value = node.let(op.reshape(value, ()))
    return node.as_dtype(value, "bool")


def _as(node: Builder, value: Expr, ty: TensorType) -> Expr:
    """A value with a more general type, or with one that is checked at run time."""
    return value if node.type_of(value) == ty else node.let(value, declared=ty)
