"""Control flow: `If` is an `if`, `Loop` and `Scan` are recursive functions.

    Loop(limit, go_on, state, body)
      ->   let %loop = fn (%i, %go, %state, %rows) {
             if (%go and %i < limit) { …; %loop(%i + 1, %go', %state', %rows and %row) }
             else { (%state, %rows) }
           };
           %loop(0, go_on, state, nothing)

The body captures values from outside. Extents that change between iterations become `?`. Where the
first iterations change the rank of the state, or a sequence begins as an empty tensor, these are
peeled:

    Loop(limit, go_on, state, body)
      ->   if (go_on and 0 < limit) { body(0, state); Loop of the other iterations } else { state }

How rows are collected is in `common/stacking.py`, how loops are written in `common/loops.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from relay import op
from relay.errors import FrontendError
from relay.frontend.common.builder import int64
from relay.frontend.common.failing import Misfit
from relay.frontend.common.loops import Step, recursive
from relay.frontend.common.stacking import Rows
from relay.frontend.onnx.branches import (
    TRUTH,
    Branch,
    Fork,
    either,
    filled,
    types_of_both,
    with_type,
)
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.graph import Subgraph
from relay.frontend.onnx.joining import has_hole, joined
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.scope import GraphScope
from relay.immutable import frozen
from relay.ir import dims
from relay.ir.dims import Any, Dim
from relay.ir.expr import Call, Expr, Var, const
from relay.ir.types import TensorType, Type

table = Converters()

COUNT = TensorType((), "int64")

MOST_PEELED = 2  # iterations
MOST_ENCLOSING = 3  # graphs around a loop of which iterations are peeled


def scalar(node: Node, value: Expr) -> Expr:
    """A tensor of one element as a scalar."""
    return value if node.rank(value) == 0 else node.let(op.reshape(value, ()))


# --- If ------------------------------------------------------------------------------------------


@table("If")
def if_(node: Node, condition: Expr) -> Sequence[Expr] | Fork:
    known = node.constant(condition)
    if known is not None:
        graph = node.subgraph("then_branch" if known.item() else "else_branch")
        return graph.inline(node.scope, [])
    graphs = [node.subgraph(name) for name in ("then_branch", "else_branch")]
    counts = [len(graph.outputs) for graph in graphs]
    if counts[0] != counts[1]:
        found = f"{counts[0]} and {counts[1]}"
        raise node.refused("the branches do not give the same number of values", found=found)
    yes, no = (_way(node, graph) for graph in graphs)
    possible = [way for way in (yes, no) if isinstance(way, tuple)]
    if not possible:
        assert isinstance(yes, Misfit)
        raise yes
    _match_ranks(node, possible)
    chosen = scalar(node, condition)
    types = types_of_both(possible[0], possible[-1])
    if isinstance(types, tuple):
        return Fork(chosen, (possible[0], possible[-1]), _different(node, *types, "the branches"))
    return either(node.scope, chosen, (yes, no), types, node.span)


def _way(node: Node, graph: Subgraph) -> Branch | Misfit:
    """A branch; the reason, where nothing that the model is given can go that way."""
    try:
        return graph.translate(node.scope, [])
    except Misfit as reason:
        return reason


def _match_ranks(node: Node, branches: Sequence[Branch]) -> None:
    """A tensor of one element gets the rank that it has in the other branch, if that is larger."""
    for place in range(len(branches[0][1])):
        types = [node.type_of(results[place]) for _, results in branches]
        shapes = [ty.shape for ty in types if isinstance(ty, TensorType)]
        if len(shapes) < 2 or any(one != 1 for shape in shapes for one in shape):
            continue
        for inner, results in branches:
            results[place] = _with_rank(node, inner, results[place], max(map(len, shapes)))


def _with_rank(node: Node, scope: GraphScope, value: Expr, count: int) -> Expr:
    if node.rank(value) == count:
        return value
    return scope.bind(op.reshape(value, (1,) * count), "whole", node.span)


def _joined(node: Node, one: Type, other: Type, who: str) -> Type:
    found = joined(one, other)
    if found is None:
        raise _different(node, one, other, who)
    return found


def _different(node: Node, one: Type, other: Type, who: str) -> FrontendError:
    return node.misfit(f"{who} give values of different types", str(one), str(other))


# --- loops ---------------------------------------------------------------------------------------


@frozen
class Turn:
    """What an iteration of a loop gives: whether to continue, the next state, and the rows."""

    scope: GraphScope
    go_on: Expr
    state: list[Expr]
    rows: list[Expr]


@frozen
class Collected:
    """Rows that the iterations of a loop gave, and the type of a row."""

    rows: Expr
    chunks: Expr
    kind: Rows
    row: TensorType


# (node in the scope of an iteration, its number, whether to continue, state) -> the iteration
Body = Callable[[Node, Expr, Expr, Sequence[Expr]], Turn]


@frozen
class Iteration:
    """A loop, of which the iterations `made` are peeled."""

    node: Node
    body: Body
    limit: Expr | None
    go_on: Expr
    state: Sequence[Expr]
    made: Sequence[Turn] = ()

    def run(self) -> tuple[list[Expr], list[Collected]]:
        """The last state and the collected rows, with those of the peeled iterations."""
        node = self.node
        types = [node.type_of(value) for value in self.state]
        while True:
            turn, variables = self._turn(types)
            found = [
                _joined(node, ty, node.type_of(value), "iterations of the loop")
                for ty, value in zip(types, turn.state, strict=True)
            ]
            if found == types and not any(map(has_hole, types)):
                return self._written(turn, variables, types)
            types = [*map(filled, types)] if found == types else found

    def _turn(self, types: Sequence[Type]) -> tuple[Turn, list[Var]]:
        """An iteration with states of these types, and its variables."""
        number, going = Var("turn", COUNT), Var("going", TRUTH)
        variables = [Var(f"state_{place}", ty) for place, ty in enumerate(types)]
        # a value without a type is passed as it is, to find what it is joined with
        given = [
            value if has_hole(ty) else variable
            for value, ty, variable in zip(self.state, types, variables, strict=True)
        ]
        return self.body(self.node.inside(), number, going, given), [number, going, *variables]

    def _written(
        self, turn: Turn, variables: Sequence[Var], types: Sequence[Type]
    ) -> tuple[list[Expr], list[Collected]]:
        """The call of the recursive function."""
        node, scope = self.node, turn.scope
        rows = _row_types(node, [*self.made, turn])
        kinds = [*map(Rows.of, rows)]
        number, going = variables[:2]
        following = [with_type(scope, v, ty) for v, ty in zip(turn.state, types, strict=True)]
        given = zip(turn.rows, kinds, strict=True)
        newest = [with_type(scope, value, kind.row) for value, kind in given]
        condition = going if self.limit is None else op.logical_and(going, number < self.limit)
        next_one = (number + int64(1), turn.go_on, *following)
        step = Step(variables, None, condition, scope, next_one, number, newest, kinds)
        begin = [with_type(node.scope, v, ty) for v, ty in zip(self.state, types, strict=True)]
        first = (int64(len(self.made)), self.go_on, *begin)
        last, pairs = recursive(node, step, first, _collected(node, self.made, kinds), hidden=2)
        found = zip(pairs, kinds, rows, strict=True)
        return last, [Collected(*pair, kind, row) for pair, kind, row in found]

    def outputs(self, count: Dim) -> list[Expr]:
        """The last state and the stacked rows; peels iterations if the state has no common type."""
        try:
            last, rows = self.run()
            return [*last, *(stacked(self.node, one, count) for one in rows)]
        except FrontendError as reason:
            # every enclosing loop may try as often
            if len(self.made) == MOST_PEELED or self.node.importer.depth > MOST_ENCLOSING:
                raise
            try:
                return self._peeled(count)
            except FrontendError:
                raise reason from None

    def _peeled(self, count: Dim) -> list[Expr]:
        """The outputs with one more iteration peeled: its number and state are known."""
        node, made = self.node, self.made
        number = node.importer.constant(np.array(len(made), "int64"))
        condition = self.go_on
        if self.limit is not None:
            condition = node.let(op.logical_and(self.go_on, number < self.limit))
        there = node.inside()
        turn = self.body(there, number, node.importer.constant(np.array(True)), self.state)
        rest = replace(
            self, node=there, go_on=turn.go_on, state=turn.state, made=[*made, turn]
        ).outputs(count)
        known = node.constant(condition)
        if known is not None and known.item():
            node.scope.bindings += there.scope.bindings
            return rest
        other = node.inside()
        ended = self._without_a_turn(other, rest)
        types = types_of_both((there.scope, rest), (other.scope, ended))
        if isinstance(types, tuple):
            text = f"the loop makes no more than {len(made)} iterations"
            text = f"{text}, and its results have other axes"
            reason = node.refused(f"{text} then", str(types[0]), str(types[1]))
            types = [node.type_of(one) for one in rest]
            end: Branch | FrontendError = reason
        else:
            end = (other.scope, ended)
        return either(node.scope, condition, [(there.scope, rest), end], types, node.span)

    def _without_a_turn(self, node: Node, results: Sequence[Expr]) -> list[Expr]:
        """The outputs of a loop that ends at once, with the ranks of `results` where possible."""
        found = []
        for value, wanted in zip(self.state, results, strict=False):
            types = [node.type_of(value), node.type_of(wanted)]
            shapes = [ty.shape for ty in types if isinstance(ty, TensorType)]
            if len(shapes) == 2 and all(one == 1 for shape in shapes for one in shape):
                value = _with_rank(node, node.scope, value, len(shapes[1]))
            found.append(value)
        whole = [node.tensor_type(one) for one in results[len(self.state) :]]
        rows = [TensorType(ty.shape[1:], ty.dtype) for ty in whole]
        kinds = [*map(Rows.of, rows)]
        lists = _collected(node, self.made, kinds)
        given = map(Collected, lists[::2], lists[1::2], kinds, rows)
        return [*found, *(stacked(node, one, len(self.made)) for one in given)]


def loop(
    node: Node, body: Body, limit: Expr | None, go_on: Expr, state: Sequence[Expr]
) -> tuple[list[Expr], list[Collected]]:
    """The last state and the collected rows of a loop."""
    return Iteration(node, body, limit, go_on, state).run()


def _row_types(node: Node, turns: Sequence[Turn]) -> list[TensorType]:
    """The common types of the rows of all iterations."""
    found: list[Type] = [node.tensor_type(row) for row in turns[-1].rows]
    for turn in turns[:-1]:
        types = [node.tensor_type(row) for row in turn.rows]
        found = [
            _joined(node, a, b, "iterations of the loop") for a, b in zip(found, types, strict=True)
        ]
    return [ty for ty in found if isinstance(ty, TensorType)]


def _collected(node: Node, turns: Sequence[Turn], kinds: Sequence[Rows]) -> list[Expr]:
    """Lists of rows and chunks, alternately, with the rows of peeled iterations."""
    cons, nil = (node.scope.module.get_constructor(name) for name in ("Cons", "Nil"))
    found: list[Expr] = []
    for place, kind in enumerate(kinds):
        rows: Expr = Call(nil, ())
        for turn in turns:
            rows = Call(cons, (with_type(node.scope, turn.rows[place], kind.row), rows))
        found += [rows, Call(nil, ())]
    return found


def stacked(node: Node, given: Collected, count: Dim) -> Expr:
    """Collected rows as one tensor; `count` is the number of rows."""
    row = given.row
    empty = node.zeros((0, *row.shape), row.dtype)
    no_rows = with_type(node.scope, empty, given.kind.chunk)
    whole = given.kind.all(node.scope.module, given.rows, given.chunks, no_rows)
    return node.declare(whole, (count, *row.shape), row.dtype)


@table("Loop")
def loop_(node: Node, limit: Expr | None, go_on: Expr | None, *state: Expr) -> Sequence[Expr]:
    graph = node.subgraph("body")
    carried = len(state)
    if len(graph.inputs) != 2 + carried or len(graph.outputs) < 1 + carried:
        expected = f"{2 + carried} inputs and {1 + carried} outputs or more"
        found = f"{len(graph.inputs)} and {len(graph.outputs)}"
        raise node.refused("the body does not fit", expected, found)

    def body(there: Node, number: Expr, going: Expr, values: Sequence[Expr]) -> Turn:
        scope, given = there.scope, [number, going, *values]
        # the first two may be declared as tensors of one element
        for place, ty in enumerate(graph.types()[:2]):
            if isinstance(ty, TensorType) and len(ty.shape) == 1:
                given[place] = scope.bind(op.reshape(given[place], (1,)), "control")
        results = graph.inline(scope, given)
        next_one = scalar(there, results[0])
        return Turn(scope, next_one, results[1 : 1 + carried], results[1 + carried :])

    trips = None if limit is None else scalar(node, limit)
    always_true = node.importer.constant(np.array(True))
    start: Expr = always_true if go_on is None else scalar(node, go_on)
    known = node.elements(trips) if trips is not None else None
    turns = known[0] if known is not None and _runs_to_limit(graph, start, node) else None
    count = Any() if turns is None else dims.maximum(turns, 0)
    return Iteration(node, body, trips, start, state).outputs(count)


def _runs_to_limit(graph: Subgraph, start: Expr, node: Node) -> bool:
    """Whether a loop never ends before its limit."""
    first = node.constant(start)
    if first is None or not first.item():
        return False
    wanted = graph.outputs[0]
    if wanted == graph.inputs[1]:
        return True
    makers = [one for one in graph.graph.node if wanted in one.output]
    return any(one.op_type == "Identity" and one.input[0] == graph.inputs[1] for one in makers)


# --- Scan ----------------------------------------------------------------------------------------


@table("Scan", since=8)
def scan_in_batches(node: Node, lengths: Expr | None, *inputs: Expr) -> Sequence[Expr]:
    """Every state and every sequence has a leading batch axis."""
    if lengths is not None:
        hint = "convert the model to version 9 of the operators, or later"
        raise node.refused("lengths of sequences are not taken into account", hint=hint)
    graph = node.subgraph("body")
    scanned = _scan_inputs(node, len(inputs), graph)
    carried = len(inputs) - scanned
    backwards = node.numbers("directions", scanned)
    size, batches = node.shape(inputs[0])[0], node.size(inputs[0], 0)

    def of_batch(there: Node, number: Expr, going: Expr, values: Sequence[Expr]) -> Turn:
        own = [there.let(op.take(value, number, axis=0, mode="clip")) for value in inputs]
        first = [0] * scanned
        state, rows = _scanned(there, graph, own[:carried], own[carried:], first, backwards)
        made = [stacked(there, one, count) for one, count in rows]
        return Turn(there.scope, going, [], [*state, *made])

    _, results = loop(node, of_batch, batches, const(True), [])
    return [stacked(node, one, size) for one in results]


@table("Scan", since=9)
def scan(node: Node, *inputs: Expr) -> Sequence[Expr]:
    graph = node.subgraph("body")
    scanned = _scan_inputs(node, len(inputs), graph)
    state, sequences = inputs[: len(inputs) - scanned], inputs[len(inputs) - scanned :]
    given = zip(node.numbers("scan_input_axes", scanned), map(node.rank, sequences), strict=True)
    in_axes = [node.axis_of(axis, rank) for axis, rank in given]
    backwards = node.numbers("scan_input_directions", scanned)
    last, rows = _scanned(node, graph, state, sequences, in_axes, backwards)
    turned = node.numbers("scan_output_directions", len(rows))
    out_axes = node.numbers("scan_output_axes", len(rows))
    outputs = []
    for (one, count), is_back, axis in zip(rows, turned, out_axes, strict=True):
        made = stacked(node, one, count)
        outputs.append(_moved(node, node.let(op.reverse(made, 0)) if is_back else made, axis))
    return [*last, *outputs]


def _scan_inputs(node: Node, given: int, graph: Subgraph) -> int:
    """The number of inputs that are sequences; the others are states."""
    scanned = int(node.required("num_scan_inputs"))
    if not 1 <= scanned <= given or len(graph.inputs) != given:
        expected = f"{len(graph.inputs)} inputs, as the body has"
        found = f"{given}, of them {scanned} sequences"
        raise node.refused("the numbers of inputs do not fit", expected, found)
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
    """The last state, and the rows with their number."""
    first, along = sequences[0], in_axes[0]
    count, length = node.shape(first)[along], node.size(first, along)

    def body(there: Node, number: Expr, going: Expr, values: Sequence[Expr]) -> Turn:
        scope, slices = there.scope, []
        for value, axis, is_back in zip(sequences, in_axes, backwards, strict=True):
            last = length - int64(1)
            place = last - number if is_back else number
            slices.append(scope.bind(op.take(value, place, axis=axis, mode="clip"), "slice"))
        results = graph.inline(scope, [*values, *slices])
        return Turn(scope, going, results[: len(state)], results[len(state) :])

    last, rows = loop(node, body, length, const(True), state)
    return last, [(row, count) for row in rows]


def _moved(node: Node, value: Expr, axis: int) -> Expr:
    """A tensor with the first axis moved to another position."""
    rank = node.rank(value)
    place = node.axis_of(axis, rank)
    if place == 0:
        return value
    order = [*range(1, place + 1), 0, *range(place + 1, rank)]
    return op.transpose(value, order)
