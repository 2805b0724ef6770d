"""Graphs inside graphs: `If` is an `if`, `Loop` and `Scan` are recursive functions.

    Loop(limit, go_on, state, body)
      ->   let %loop = fn (%i, %go, %state, %rows) {
             if (%go and %i < limit) { …; %loop(%i + 1, %go', %state', %rows and %row) }
             else { (%state, %rows) }
           };
           %loop(0, go_on, state, nothing)

What a body takes from around it, it simply sees. Sizes that change from turn to turn become `?`.
Where the first turns make something else of the state (its number of axes changes, or a sequence
begins as an empty tensor of no meaning), they are written out before the loop:

    Loop(limit, go_on, state, body)
      ->   if (go_on and 0 < limit) { body(0, state); Loop of the other turns } else { state }

How rows are collected is in `computations/stacking.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from relay.errors import FrontendError
from relay.frontend.onnx.branches import (
    TRUTH,
    Fork,
    closed,
    dead_end,
    either,
    filled,
    types_of_both,
    with_type,
)
from relay.frontend.onnx.computations.stacking import Rows, with_rows
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.graph import Subgraph
from relay.frontend.onnx.joining import is_open, joined
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.scope import Scope
from relay.immutable import frozen
from relay.ir import dims
from relay.ir.dims import Any, Dim
from relay.ir.expr import Call, Expr, Function, If, Let, Tuple, TupleGetItem, Var, const
from relay.ir.types import TensorType, TupleType, Type
from relay.op import (
    add,
    less,
    logical_and,
    reshape,
    reverse,
    subtract,
    take,
    transpose,
)

table = Converters()

COUNT = TensorType((), "int64")

WRITTEN_OUT = 2  # turns of a loop, before it
FEW_AROUND = 3  # graphs around a loop of which turns are written out


def scalar(node: Node, value: Expr) -> Expr:
    """A tensor with one element as a scalar."""
    return value if node.rank(value) == 0 else node.let(reshape(value, ()))


# --- If ------------------------------------------------------------------------------------------


@table("If")
def if_(node: Node, condition: Expr) -> Sequence[Expr] | Fork:
    known = node.constant(condition)
    if known is not None:
        graph = node.subgraph("then_branch" if known.item() else "else_branch")
        inner, results = graph.translate(node.scope, [])
        node.scope.bindings += inner.bindings
        return results
    one, other = (
        node.subgraph(name).translate(node.scope, []) for name in ("then_branch", "else_branch")
    )
    if len(one[1]) != len(other[1]):
        raise node.refused(
            "the branches do not give the same number of values",
            found=f"{len(one[1])} and {len(other[1])}",
        )
    _even_out(node, (one, other))
    chosen = scalar(node, condition)
    types = types_of_both(one, other)
    if isinstance(types, tuple):
        reason = _different(node, *types, "the branches")
        return Fork(chosen, (one, other), reason)
    branches = [closed(inner, results, types) for inner, results in (one, other)]
    return either(node.scope, chosen, branches, types, node.span)


def _even_out(node: Node, ways: Sequence[tuple[Scope, list[Expr]]]) -> None:
    """A single element gets the axes that it has on the other way, where it has more of them: how
    many there are cannot be left to a run."""
    for place in range(len(ways[0][1])):
        types = [node.type_of(results[place]) for _, results in ways]
        shapes = [ty.shape for ty in types if isinstance(ty, TensorType)]
        if len(shapes) < 2 or any(one != 1 for shape in shapes for one in shape):
            continue
        whole = max(shapes, key=len)
        for inner, results in ways:
            results[place] = _with_axes(node, inner, results[place], len(whole))


def _with_axes(node: Node, scope: Scope, value: Expr, count: int) -> Expr:
    if node.rank(value) == count:
        return value
    return scope.bind(reshape(value, (1,) * count), "whole", node.span)


def _joined(node: Node, one: Type, other: Type, who: str) -> Type:
    found = joined(one, other)
    if found is None:
        raise _different(node, one, other, who)
    return found


def _different(node: Node, one: Type, other: Type, who: str) -> FrontendError:
    return node.refused(
        f"{who} give values of different types", expected=str(one), found=str(other)
    )


# --- loops ---------------------------------------------------------------------------------------


@frozen
class Turn:
    """What a turn of a loop gives: whether to go on, its next state, and its rows."""

    scope: Scope
    go_on: Expr
    state: list[Expr]
    rows: list[Expr]


@frozen
class Collected:
    """Rows that the turns of a loop gave, and what is known of the type of a row."""

    rows: Expr
    chunks: Expr
    kind: Rows
    row: TensorType


# (scope, the number of the turn, whether to go on, state) -> a turn
Body = Callable[[Scope, Expr, Expr, Sequence[Expr]], Turn]


def loop(
    node: Node,
    body: Body,
    limit: Expr | None,
    go_on: Expr,
    state: Sequence[Expr],
    made: Sequence[Turn] = (),
) -> tuple[list[Expr], list[Collected]]:
    """The last state, and for every row that a turn gives all of them, with those of the turns that
    were `made` before."""
    types = [node.type_of(value) for value in state]
    while True:
        turn, variables = _turn(node, body, types, state)
        found = [
            _joined(node, ty, node.type_of(value), "turns of the loop")
            for ty, value in zip(types, turn.state, strict=True)
        ]
        if found == types and not any(map(is_open, types)):
            break
        types = [*map(filled, types)] if found == types else found
    return _written(node, turn, variables, types, limit, go_on, state, made)


def _turn(
    node: Node, body: Body, types: Sequence[Type], state: Sequence[Expr]
) -> tuple[Turn, list[Var]]:
    number, going = Var("turn", COUNT), Var("going", TRUTH)
    variables = [Var(f"state_{place}", ty) for place, ty in enumerate(types)]
    inner = Scope(node.scope.module, node.scope, elements=node.scope.elements)
    # what is of no type yet is tried as it is, to see what becomes of it
    given = [
        value if is_open(ty) else variable
        for value, ty, variable in zip(state, types, variables, strict=True)
    ]
    return body(inner, number, going, given), [number, going, *variables]


def _written(
    node: Node,
    turn: Turn,
    variables: Sequence[Var],
    types: Sequence[Type],
    limit: Expr | None,
    go_on: Expr,
    state: Sequence[Expr],
    made: Sequence[Turn],
) -> tuple[list[Expr], list[Collected]]:
    module = node.scope.module
    rows = _row_types(node, [*made, turn])
    kinds = [*map(Rows.of, rows)]
    list_types = [ty for kind in kinds for ty in kind.types]
    lists = [Var(f"rows_{place}", ty) for place, ty in enumerate(list_types)]
    all_types = (*types, *list_types)
    result = TupleType(all_types)
    again = Var("loop")
    number, going = variables[:2]
    scope = turn.scope
    following = [with_type(scope, v, ty) for v, ty in zip(turn.state, types, strict=True)]
    longer: list[Expr] = []
    if rows:
        newest = [with_type(scope, v, kind.row) for v, kind in zip(turn.rows, kinds, strict=True)]
        before = [*zip(lists[::2], lists[1::2], strict=True)]
        collected = Var("collected", TupleType(tuple(list_types)))
        scope.bindings.append((collected, with_rows(module, number, newest, before, kinds)))
        longer = [TupleGetItem(collected, place) for place in range(len(lists))]
    step = Call(again, (add(number, const(1, "int64")), turn.go_on, *following, *longer))
    condition = going if limit is None else logical_and(going, less(number, limit))
    ended = Tuple((*variables[2:], *lists))
    function = Function((*variables, *lists), If(condition, scope.closed(step), ended), result)
    begin = [with_type(node.scope, v, ty) for v, ty in zip(state, types, strict=True)]
    collected_before = _collected(node, made, kinds)
    call = Call(again, (const(len(made), "int64"), go_on, *begin, *collected_before))
    whole = node.let(Let(again, function, call), declared=result)
    fields: list[Expr] = [node.let(TupleGetItem(whole, place)) for place in range(len(all_types))]
    last, parts = fields[: len(types)], fields[len(types) :]
    return last, [*map(Collected, parts[::2], parts[1::2], kinds, rows)]


def _row_types(node: Node, turns: Sequence[Turn]) -> list[TensorType]:
    """The types of rows that all turns give."""
    found: list[Type] = [node.tensor_type(row) for row in turns[-1].rows]
    for turn in turns[:-1]:
        types = [node.tensor_type(row) for row in turn.rows]
        found = [
            _joined(node, a, b, "turns of the loop") for a, b in zip(found, types, strict=True)
        ]
    return [ty for ty in found if isinstance(ty, TensorType)]


def _collected(node: Node, turns: Sequence[Turn], kinds: Sequence[Rows]) -> list[Expr]:
    """Lists of rows and chunks, alternately, with what a few turns gave."""
    cons, nil = (node.scope.module.get_constructor(name) for name in ("Cons", "Nil"))
    found: list[Expr] = []
    for place, kind in enumerate(kinds):
        rows: Expr = Call(nil, ())
        for turn in turns:
            rows = Call(cons, (with_type(node.scope, turn.rows[place], kind.row), rows))
        found += [rows, Call(nil, ())]
    return found


def stacked(node: Node, given: Collected, count: Dim) -> Expr:
    """Rows as one tensor; `count` is how many there are."""
    row = given.row
    empty = node.zeros((0, *row.shape), row.dtype)
    nothing = with_type(node.scope, empty, given.kind.chunk)
    whole = given.kind.all(node.scope.module, given.rows, given.chunks, nothing)
    return node.let(whole, declared=TensorType((count, *row.shape), row.dtype))


@table("Loop")
def loop_(node: Node, limit: Expr | None, go_on: Expr | None, *state: Expr) -> Sequence[Expr]:
    graph = node.subgraph("body")
    carried = len(state)
    if len(graph.inputs) != 2 + carried or len(graph.outputs) < 1 + carried:
        raise node.refused(
            "the body does not fit",
            expected=f"{2 + carried} inputs and {1 + carried} outputs or more",
            found=f"{len(graph.inputs)} and {len(graph.outputs)}",
        )

    def body(scope: Scope, number: Expr, going: Expr, values: Sequence[Expr]) -> Turn:
        given = _as_declared(scope, graph, [number, going], values)
        inner, results = graph.translate(scope, given)
        scope.bindings += inner.bindings
        next_one = scalar(replace(node, scope=scope), results[0])
        return Turn(scope, next_one, results[1 : 1 + carried], results[1 + carried :])

    trips = None if limit is None else scalar(node, limit)
    always_true = node.importer.constant(np.array(True))
    start: Expr = always_true if go_on is None else scalar(node, go_on)
    known = node.elements(trips) if trips is not None else None
    always = known is not None and _goes_on(graph, start, node)
    found = known[0] if known is not None and always else None
    count = Any() if found is None else dims.maximum(found, 0)
    return _turns(node, body, trips, start, state, count, [])


def _turns(
    node: Node,
    body: Body,
    limit: Expr | None,
    go_on: Expr,
    state: Sequence[Expr],
    count: Dim,
    made: Sequence[Turn],
) -> list[Expr]:
    """The last state and the rows of a loop, of which some turns were `made` before."""
    try:
        last, rows = loop(node, body, limit, go_on, state, made)
        return [*last, *(stacked(node, one, count) for one in rows)]
    except FrontendError as reason:
        # every loop around this one may try as often
        if len(made) == WRITTEN_OUT or node.importer.depth > FEW_AROUND:
            raise
        try:
            return _after_a_turn(node, body, limit, go_on, state, count, made)
        except FrontendError:
            raise reason from None


def _after_a_turn(
    node: Node,
    body: Body,
    limit: Expr | None,
    go_on: Expr,
    state: Sequence[Expr],
    count: Dim,
    made: Sequence[Turn],
) -> list[Expr]:
    """The same, with a turn before the loop: its number and its state are what they are."""
    number = node.importer.constant(np.array(len(made), "int64"))
    condition = go_on if limit is None else node.let(logical_and(go_on, less(number, limit)))
    inner = Scope(node.scope.module, node.scope, elements=node.scope.elements)
    there = replace(node, scope=inner)
    turn = body(inner, number, node.importer.constant(np.array(True)), state)
    results = _turns(there, body, limit, turn.go_on, turn.state, count, [*made, turn])
    known = node.constant(condition)
    if known is not None and known.item():
        node.scope.bindings += inner.bindings
        return results
    other = Scope(node.scope.module, node.scope, elements=node.scope.elements)
    rest = _without_a_turn(replace(node, scope=other), state, results, made)
    types = types_of_both((inner, results), (other, rest))
    if not isinstance(types, tuple):
        branches = [closed(inner, results, types), closed(other, rest, types)]
        return either(node.scope, condition, branches, types, node.span)
    after, before = types
    reason = node.refused(
        f"the loop makes no more than {len(made)} turns, and its results have other axes then",
        expected=str(after),
        found=str(before),
    )
    types = [node.type_of(one) for one in results]
    branches = [closed(inner, results, types), dead_end(node.scope, types, reason, node.span)]
    return either(node.scope, condition, branches, types, node.span)


def _without_a_turn(
    node: Node, state: Sequence[Expr], results: Sequence[Expr], made: Sequence[Turn]
) -> list[Expr]:
    """What a loop gives that ends at once; a single element has the axes it would get."""
    found = []
    for value, wanted in zip(state, results, strict=False):
        types = [node.type_of(value), node.type_of(wanted)]
        shapes = [ty.shape for ty in types if isinstance(ty, TensorType)]
        if len(shapes) == 2 and all(one == 1 for shape in shapes for one in shape):
            value = _with_axes(node, node.scope, value, len(shapes[1]))
        found.append(value)
    whole = [node.tensor_type(one) for one in results[len(state) :]]
    rows = [TensorType(ty.shape[1:], ty.dtype) for ty in whole]
    kinds = [*map(Rows.of, rows)]
    lists = _collected(node, made, kinds)
    given = map(Collected, lists[::2], lists[1::2], kinds, rows)
    return [*found, *(stacked(node, one, len(made)) for one in given)]


def _goes_on(graph: Subgraph, start: Expr, node: Node) -> bool:
    """Whether a loop never ends before its limit."""
    first = node.constant(start)
    if first is None or not first.item():
        return False
    wanted = graph.outputs[0]
    if wanted == graph.inputs[1]:
        return True
    makers = [one for one in graph.graph.node if wanted in one.output]
    return any(one.op_type == "Identity" and one.input[0] == graph.inputs[1] for one in makers)


def _as_declared(
    scope: Scope, graph: Subgraph, control: Sequence[Expr], values: Sequence[Expr]
) -> list[Expr]:
    """The inputs of a body; some say that the first two are tensors of one element."""
    found: list[Expr] = []
    types = graph.types()
    for place, value in enumerate([*control, *values]):
        ty = types[place] if place < len(types) else None
        if place < 2 and isinstance(ty, TensorType) and len(ty.shape) == 1:
            found.append(scope.bind(reshape(value, (1,)), "control"))
        else:
            found.append(value)
    return found


# --- Scan ----------------------------------------------------------------------------------------


@table("Scan", since=8)
def scan_in_batches(node: Node, lengths: Expr | None, *inputs: Expr) -> Sequence[Expr]:
    """Every state and every sequence has an axis of batches in front."""
    if lengths is not None:
        raise node.refused(
            "lengths of sequences are not taken into account",
            hint="convert the model to version 9 of the operators, or later",
        )
    graph = node.subgraph("body")
    scanned = _scan_inputs(node, len(inputs), graph)
    carried = len(inputs) - scanned
    backwards = node.numbers("directions", scanned)
    size, batches = _length(node, inputs[0], 0)

    def of_batch(scope: Scope, number: Expr, going: Expr, values: Sequence[Expr]) -> Turn:
        there = replace(node, scope=scope)
        own = [there.let(take(value, number, axis=0, mode="clip")) for value in inputs]
        first = [0] * scanned
        state, rows = _scanned(there, graph, own[:carried], own[carried:], first, backwards)
        made = [stacked(there, one, count) for one, count in rows]
        return Turn(scope, going, [], [*state, *made])

    _, results = loop(node, of_batch, batches, const(True), [])
    return [stacked(node, one, size) for one in results]


@table("Scan", since=9)
def scan(node: Node, *inputs: Expr) -> Sequence[Expr]:
    graph = node.subgraph("body")
    scanned = _scan_inputs(node, len(inputs), graph)
    state, sequences = inputs[: len(inputs) - scanned], inputs[len(inputs) - scanned :]
    in_axes = _axes(node, "scan_input_axes", sequences)
    backwards = node.numbers("scan_input_directions", scanned)
    last, rows = _scanned(node, graph, state, sequences, in_axes, backwards)
    turned = node.numbers("scan_output_directions", len(rows))
    out_axes = node.numbers("scan_output_axes", len(rows))
    outputs = []
    for (one, count), is_back, axis in zip(rows, turned, out_axes, strict=True):
        made = stacked(node, one, count)
        outputs.append(_moved(node, node.let(reverse(made, 0)) if is_back else made, axis))
    return [*last, *outputs]


def _scan_inputs(node: Node, given: int, graph: Subgraph) -> int:
    """How many inputs are sequences; the others are states."""
    scanned = int(node.required("num_scan_inputs"))
    if not 1 <= scanned <= given or len(graph.inputs) != given:
        raise node.refused(
            "the numbers of inputs do not fit",
            expected=f"{len(graph.inputs)} inputs, as the body has",
            found=f"{given}, of them {scanned} sequences",
        )
    if len(graph.outputs) < given - scanned:
        raise node.refused("the body does not give every state", found=f"{len(graph.outputs)}")
    return scanned


def _scanned(
    node: Node,
    graph: Subgraph,
    state: Sequence[Expr],
    sequences: Sequence[Expr],
    in_axes: Sequence[int],
    backwards: Sequence[int],
) -> tuple[list[Expr], list[tuple[Collected, Dim]]]:
    """The last state, and the rows with how many there are."""
    count, length = _length(node, sequences[0], in_axes[0])

    def body(scope: Scope, number: Expr, going: Expr, values: Sequence[Expr]) -> Turn:
        slices = []
        for value, axis, is_back in zip(sequences, in_axes, backwards, strict=True):
            last = subtract(length, const(1, "int64"))
            place = subtract(last, number) if is_back else number
            slices.append(scope.bind(take(value, place, axis=axis, mode="clip"), "slice"))
        inner, results = graph.translate(scope, [*values, *slices])
        scope.bindings += inner.bindings
        return Turn(scope, going, results[: len(state)], results[len(state) :])

    last, rows = loop(node, body, length, const(True), state)
    return last, [(row, count) for row in rows]


def _axes(node: Node, name: str, values: Sequence[Expr]) -> list[int]:
    given = node.numbers(name, len(values))
    return [_axis(node, axis, node.rank(v)) for axis, v in zip(given, values, strict=True)]


def _axis(node: Node, axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise node.refused("there is no such axis", expected=f"one of {rank}", found=f"{axis}")
    return axis % rank


def _length(node: Node, value: Expr, axis: int) -> tuple[Dim, Expr]:
    return node.shape(value)[axis], node.size(value, axis)


def _moved(node: Node, value: Expr, axis: int) -> Expr:
    """The first axis at another place."""
    rank = node.rank(value)
    place = _axis(node, axis, rank)
    if place == 0:
        return value
    order = [*range(1, place + 1), 0, *range(place + 1, rank)]
    return transpose(value, order)
