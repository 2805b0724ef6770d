"""Control flow of exported programs: `cond` is an `if`, loops are recursive functions.

    while_loop(c, f, (x,), (y,))
      ->   let %loop = fn (%x) { if (c(%x, y)) { %loop(f(%x, y)) } else { (%x,) } };
           %loop(x)

Graphs inside a graph get everything they use as inputs. Their numbers are scalars, since a run
finds them. Extents that change between iterations become unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relay import op
from relay.frontend.common.builder import int64
from relay.frontend.common.joining import common_types
from relay.frontend.common.loops import Step, recursive
from relay.frontend.common.stacking import Rows
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.exported import Subgraph
from relay.frontend.pytorch.node import Node, Size
from relay.frontend.pytorch.scope import Complex
from relay.ir import dims
from relay.ir.dims import Dim
from relay.ir.expr import Call, Expr, If, Tuple, TupleGetItem, Var
from relay.ir.types import TensorType, TupleType

table = Converters("higher_order")

COUNT = TensorType((), "int64")
_DTYPES: Mapping[type, str] = {bool: "bool", float: "float64"}  # of numbers; others are sizes


# --- values of graphs inside a graph


def encoded(node: Node, value: Any) -> Expr:
    """A value as a tensor: complex numbers as pairs, Python's numbers as scalars."""
    if isinstance(value, Complex):
        return node.let(value.pairs)
    if isinstance(value, Expr):
        return node.let(value)
    dtype = (
        "bool" if isinstance(value, bool) else "float64" if isinstance(value, float) else "int64"
    )
    return node.scalar(value, dtype)


def decoded(like: Any, value: Expr) -> Any:
    """A tensor as a value of the kind that another one is."""
    return Complex(value) if isinstance(like, Complex) else value


def with_type(node: Node, value: Expr, ty: TensorType) -> Expr:
    """A tensor with a more general type, of fewer known extents."""
    return value if node.type_of(value) == ty else node.let(value, declared=ty)


# --- branches


@table("cond")
def cond(
    node: Node, pred: Any, true_fn: Subgraph, false_fn: Subgraph, operands: Sequence[Any] = ()
) -> list[Any]:
    if isinstance(pred, Expr) and (known := node.constant(pred)) is not None:
        pred = bool(known.item())
    if not isinstance(pred, Expr):
        return (true_fn if pred else false_fn).inline(node.scope, operands)
    sides = [node.inside(), node.inside()]
    values = [
        graph.inline(there.scope, operands)
        for there, graph in zip(sides, (true_fn, false_fn), strict=True)
    ]
    tensors = [
        [encoded(there, one) for one in found if one is not None]
        for there, found in zip(sides, values, strict=True)
    ]
    left, right = ([*map(node.tensor_type, found)] for found in tensors)
    types = common_types(node, left, right, "the branches")
    bodies = []
    for there, found in zip(sides, tensors, strict=True):
        fields = [with_type(there, one, ty) for one, ty in zip(found, types, strict=True)]
        bodies.append(there.scope.closed(Tuple(tuple(fields))))
    scalar = node.let(op.reshape(pred, ())) if node.rank(pred) else pred
    whole = node.let(If(scalar, *bodies), declared=TupleType(tuple(types)))
    parts = iter(node.let(TupleGetItem(whole, place)) for place in range(len(types)))
    return [None if one is None else decoded(one, next(parts)) for one in values[0]]


# --- loops

Turn = Callable[[Node, Expr, list[Any]], tuple[list[Any], list[Any]]]


def loop(
    node: Node, state: Sequence[Any], going: Callable[[Node, Expr, list[Any]], Expr], turn: Turn
) -> tuple[list[Any], list[Expr]]:
    """The last state of a loop and its stacked rows.

    `going` gives the condition of an iteration from its number and the state, `turn` the next state
    and the rows.
    """
    begin = [encoded(node, one) for one in state]
    types = [node.tensor_type(one) for one in begin]
    number = Var("turn", COUNT)
    while True:
        variables = [Var(f"state_{place}", ty) for place, ty in enumerate(types)]
        given = [*map(decoded, state, variables)]
        head = node.inside()
        condition = going(head, number, given)
        there = head.inside()
        values, rows = turn(there, number, given)
        following = [encoded(there, one) for one in values]
        found = [*map(there.tensor_type, following)]
        joined = common_types(node, types, found, "iterations of the loop")
        if joined == types:
            break
        types = joined
    following = [with_type(there, one, ty) for one, ty in zip(following, types, strict=True)]
    newest = [encoded(there, one) for one in rows]
    kinds = [Rows.of(there.tensor_type(one)) for one in newest]
    shapes = [there.shape(one) for one in newest]
    newest = [with_type(there, one, kind.row) for one, kind in zip(newest, kinds, strict=True)]
    after = (number + int64(1), *following)
    variables = [number, *variables]
    step = Step(variables, head.scope, condition, there.scope, after, number, newest, kinds)
    first = [with_type(node, one, ty) for one, ty in zip(begin, types, strict=True)]
    nil = node.scope.module.get_constructor("Nil")
    nothing = [Call(nil, ()) for _ in range(2 * len(kinds))]
    last, lists = recursive(node, step, (int64(0), *first), nothing, hidden=1)
    stacked = [
        _stacked(node, kind, shape, pair)
        for kind, shape, pair in zip(kinds, shapes, lists, strict=True)
    ]
    return [*map(decoded, state, last)], [*map(decoded, rows, stacked)]


def _stacked(node: Node, kind: Rows, shape: Sequence[Dim], lists: tuple[Expr, Expr]) -> Expr:
    """Collected rows as one tensor."""
    # without a row, extents that no input determines are 0
    sizes: list[Size] = [0, *(0 if isinstance(one, dims.Any) else one for one in shape)]
    empty = node.let(op.dyn.zeros(node.sizes(sizes), kind.row.dtype), declared=kind.chunk)
    whole = kind.all(node.scope.module, *lists, empty)
    return node.declare(whole, (None, *shape), kind.row.dtype)


@table("while_loop")
def while_loop(
    node: Node,
    cond_fn: Subgraph,
    body_fn: Subgraph,
    carried_inputs: Sequence[Any],
    additional_inputs: Sequence[Any] = (),
) -> list[Any]:
    def going(there: Node, number: Expr, state: list[Any]) -> Expr:
        (found,) = cond_fn.inline(there.scope, [*state, *additional_inputs])
        chosen = encoded(there, found)
        return there.let(op.reshape(chosen, ())) if there.rank(chosen) else chosen

    def turn(there: Node, number: Expr, state: list[Any]) -> tuple[list[Any], list[Any]]:
        return body_fn.inline(there.scope, [*state, *additional_inputs]), []

    return loop(node, carried_inputs, going, turn)[0]


@table("scan")
def scan(
    node: Node,
    combine_fn: Subgraph,
    init: Sequence[Any],
    xs: Sequence[Any],
    additional_inputs: Sequence[Any] = (),
) -> list[Any]:
    def turn(there: Node, state: list[Any], slices: list[Any]) -> tuple[list[Any], list[Any]]:
        found = combine_fn.inline(there.scope, [*state, *slices, *additional_inputs])
        return found[: len(init)], found[len(init) :]

    last, rows = along(node, init, xs, turn)
    return [*last, *rows]


@table("map_impl")
def map_impl(node: Node, f: Subgraph, xs: Sequence[Any], pos_args: Sequence[Any] = ()) -> list[Any]:
    def turn(there: Node, state: list[Any], slices: list[Any]) -> tuple[list[Any], list[Any]]:
        return [], f.inline(there.scope, [*slices, *pos_args])

    return along(node, [], xs, turn)[1]


@table("associative_scan")
def associative_scan(
    node: Node, combine_fn: Subgraph, xs: Sequence[Any], additional_inputs: Sequence[Any] = ()
) -> list[Any]:
    def turn(there: Node, state: list[Any], slices: list[Any]) -> tuple[list[Any], list[Any]]:
        found = combine_fn.inline(there.scope, [*state, *slices, *additional_inputs])
        return found, found

    firsts = [_sliced(node, one, int64(0)) for one in xs]
    _, rows = along(node, firsts, xs, turn, skipped=1)
    found = []
    for whole, first, rest in zip(xs, firsts, rows, strict=True):
        begin = node.let(op.expand_dims(encoded(node, first), 0))
        joined = op.concatenate(Tuple((begin, encoded(node, rest))), axis=0)
        tensor = encoded(node, whole)
        found.append(decoded(whole, node.declare(joined, node.shape(tensor), node.dtype(tensor))))
    return found


def along(
    node: Node,
    state: Sequence[Any],
    sequences: Sequence[Any],
    turn: Callable[[Node, list[Any], list[Any]], tuple[list[Any], list[Any]]],
    skipped: int = 0,
) -> tuple[list[Any], list[Any]]:
    """The last state and the stacked rows of a loop along the first axis of tensors, of which the
    first slices may be skipped."""
    first = encoded(node, sequences[0])
    count, length = node.shape(first)[0], node.size(first, 0)
    turns = node.let(op.subtract(length, int64(skipped))) if skipped else length

    def going(there: Node, number: Expr, state: list[Any]) -> Expr:
        return there.let(op.less(number, turns))

    def at(there: Node, number: Expr, state: list[Any]) -> tuple[list[Any], list[Any]]:
        place = there.let(op.add(number, int64(skipped))) if skipped else number
        return turn(there, state, [_sliced(there, one, place) for one in sequences])

    last, rows = loop(node, state, going, at)
    found = []
    for row in rows:
        tensor = encoded(node, row)
        extent = None if skipped else count
        shape = (extent, *node.shape(tensor)[1:])
        found.append(decoded(row, node.declare(tensor, shape, node.dtype(tensor))))
    return last, found


def _sliced(node: Node, whole: Any, place: Expr) -> Any:
    """A slice of a tensor along its first axis."""
    return decoded(whole, node.let(op.take(encoded(node, whole), place, axis=0, mode="clip")))


# --- graphs that are called once


@table("invoke_subgraph")
def invoke_subgraph(
    node: Node, subgraph: Subgraph, identifier: str | None, *operands: Any
) -> list[Any]:
    return subgraph.inline(node.scope, operands)


@table("wrap_with_set_grad_enabled")
def wrap_with_set_grad_enabled(
    node: Node, enable_grad: bool, wrapped_func: Subgraph, *args: Any
) -> list[Any]:
    return wrapped_func.inline(node.scope, args)


@table("wrap_with_autocast")
def wrap_with_autocast(
    node: Node,
    device_type: str,
    dtype: str | None,
    enabled: bool,
    cache_enabled: bool | None,
    wrapped_func: Subgraph,
    *args: Any,
) -> list[Any]:
    # the graph has the conversions of element types
    return wrapped_func.inline(node.scope, args)


@table("tag_activation_checkpoint", "wrap")
def called(node: Node, gmod: Subgraph, *args: Any, **_: Any) -> list[Any]:
    return gmod.inline(node.scope, args)
