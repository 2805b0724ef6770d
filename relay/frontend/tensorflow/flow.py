"""Branches and loops on values of graphs: tensors, lists of tensors, variables that are written.

    branch      if (p) { (a, state) } else { (b, state') }
    loop        let %loop = fn (%x, %state) { if (cond) { %loop(…) } else { (%x, %state) } }

Variables that a branch or an iteration changes are parameters and results; others are not touched.
Extents that differ between branches, or change between iterations, become unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from relay import op
from relay.frontend.common.builder import int64
from relay.frontend.common.joining import common_types
from relay.frontend.common.loops import Step, recursive
from relay.frontend.common.scope import ImportScope
from relay.frontend.tensorflow.node import Node
from relay.frontend.tensorflow.tensor_lists import like
from relay.frontend.tensorflow.values import (
    KINDS,
    TensorList,
    Value,
    Variable,
    parts_of,
    with_parts,
)
from relay.ir.expr import Expr, If, Tuple, TupleGetItem, Var
from relay.ir.types import TensorType, TupleType

Side = Callable[[ImportScope], Sequence[Value]]
Turn = Callable[[ImportScope, Sequence[Value]], Sequence[Value]]


def truth(node: Node, value: Expr) -> Expr:
    """A condition as a boolean scalar: a number other than 0, or a tensor with elements."""
    if node.rank(value):
        count = node.let(op.ndarray_size(value, "int64"))
        return node.let(count > int64(0))
    return value if node.dtype(value) == "bool" else node.let(op.cast(value, "bool"))


def branch(node: Node, predicate: Expr, yes: Side, no: Side) -> list[Value]:
    """An `if` on values of the graph: the values of the branch that is taken."""
    condition = truth(node, predicate)
    known = node.constant(condition)
    if known is not None:
        return list((yes if known.item() else no)(node.scope))
    states = node.importer.states
    before = dict(states.values)
    sides: list[tuple[Node, list[Value], dict[str, Expr]]] = []
    for side in (yes, no):
        states.values = dict(before)
        there = replace(node, scope=node.scope.inner())
        sides.append((there, list(side(there.scope)), states.values))
    (first, left, left_states), (second, right, right_states) = sides
    names = _changed(before, left_states, right_states)
    if len(left) != len(right):
        text = "the branches give different numbers of values"
        raise node.refused(text, str(len(left)), str(len(right)))
    for place, (one, other) in enumerate(zip(left, right, strict=True)):
        left[place], right[place] = alike(first, one, second, other)
    left += [left_states.get(name, states.parameter(name)) for name in names]
    right += [right_states.get(name, states.parameter(name)) for name in names]
    tensors = [[part for value in side for part in parts_of(value)] for side in (left, right)]
    types = common_types(
        node,
        [node.tensor_type(one) for one in tensors[0]],
        [node.tensor_type(one) for one in tensors[1]],
        "the branches",
    )
    if not types:
        states.values = before
        return left
    closed = [
        there.scope.closed(
            Tuple(tuple(typed(there, *pair) for pair in zip(values, types, strict=True)))
        )
        for (there, _, _), values in zip(sides, tensors, strict=True)
    ]
    chosen = If(condition, closed[0], closed[1])
    whole = node.let(chosen, declared=TupleType(tuple(types)))
    fields = [node.let(TupleGetItem(whole, place)) for place in range(len(types))]
    found = rebuilt(left, fields)
    count = len(found) - len(names)
    states.values = {**before, **dict(zip(names, map(_tensor, found[count:]), strict=True))}
    return found[:count]


def loop(node: Node, begin: Sequence[Value], condition: Turn, body: Turn) -> list[Value]:
    """The values of the variables of a loop behind it.

    Values that every iteration passes on unchanged stay outside of the loop.
    """
    states, before = node.importer.states, dict(node.importer.states.values)
    values, names = list(begin), list[str]()
    fixed: set[int] = set()
    types: list[TensorType] | None = None

    def all_values(changing: Sequence[Value]) -> list[Value]:
        rest = iter(changing)
        return [one if place in fixed else next(rest) for place, one in enumerate(values)]

    while True:
        own = [one for place, one in enumerate(values) if place not in fixed]
        whole = [*own, *(before.get(name, states.parameter(name)) for name in names)]
        tensors = [part for value in whole for part in parts_of(value)]
        if types is None or len(types) != len(tensors):
            types = [node.tensor_type(one) for one in tensors]
        variables = [Var(f"state_{place}", ty) for place, ty in enumerate(types)]
        state = rebuilt(whole, variables)
        given = all_values(state)
        head, there = (replace(node, scope=node.scope.inner()) for _ in range(2))
        current = dict(zip(names, map(_tensor, state[len(own) :]), strict=True))
        states.values = {**before, **current}
        tests = condition(head.scope, given)
        if len(tests) != 1 or not isinstance(tests[0], Expr):
            raise node.refused("the condition is one value", "1", str(len(tests)))
        states.values = {**before, **current}
        following = list(body(there.scope, given))
        if len(following) != len(values):
            text = "an iteration of the loop gives another number of values"
            raise node.refused(text, str(len(values)), str(len(following)))
        more = _changed({**before, **current}, states.values)
        if more := [one for one in more if one not in names]:
            names, types = names + more, None
            continue
        both = enumerate(zip(given, following, strict=True))
        same = {place for place, pair in both if _is(*pair)}
        if same - fixed:
            fixed, types = fixed | same, None
            continue
        known = [
            alike(node, one, there, other) for one, other in zip(values, following, strict=True)
        ]
        if any(old is not one for old, (one, _) in zip(values, known, strict=True)):
            values, types = [one for one, _ in known], None
            continue
        after_all = [pair[1] for place, pair in enumerate(known) if place not in fixed]
        after_all += [states.values[name] for name in names]
        after = [part for value in after_all for part in parts_of(value)]
        found = [node.tensor_type(one) for one in after]
        joined = common_types(node, types, found, "iterations of the loop")
        if joined == types:
            break
        types = joined
    step = Step(
        variables,
        head.scope,
        truth(head, tests[0]),
        there.scope,
        [typed(there, *pair) for pair in zip(after, types, strict=True)],
        int64(0),
    )
    first = [typed(node, *pair) for pair in zip(tensors, types, strict=True)]
    last, _ = recursive(node, step, first, ())
    results = rebuilt(whole, last)
    written = dict(zip(names, map(_tensor, results[len(own) :]), strict=True))
    states.values = {**before, **written}
    return all_values(results)


def _is(one: Value, other: Value) -> bool:
    """Whether two values are the same."""
    if isinstance(one, Variable):
        return one == other
    parts = parts_of(one)
    if type(one) is not type(other) or len(parts) != len(parts_of(other)):
        return False
    return all(a is b for a, b in zip(parts, parts_of(other), strict=True))


def alike(first: Node, one: Value, second: Node, other: Value) -> tuple[Value, Value]:
    """Values of two paths, converted to one kind."""
    if isinstance(one, Expr) and isinstance(other, Expr):
        return one, other
    if isinstance(one, TensorList) and isinstance(other, TensorList):
        if one.rows is None and other.rows is not None:
            return like(first, one, second.tensor_type(other.rows)), other
        if other.rows is None and one.rows is not None:
            return one, like(second, other, first.tensor_type(one.rows))
        return one, other
    if type(one) is not type(other) or (isinstance(one, Variable) and one != other):
        kinds = [KINDS.get(type(value), "a tensor") for value in (one, other)]
        raise first.refused("paths give values of different kinds", *kinds)
    return one, other


def rebuilt(values: Sequence[Value], parts: Sequence[Expr]) -> list[Value]:
    """Values of the same kinds with other tensors, one after the other."""
    found, place = [], 0
    for value in values:
        count = len(parts_of(value))
        found.append(with_parts(value, parts[place : place + count]))
        place += count
    return found


def typed(node: Node, value: Expr, ty: TensorType) -> Expr:
    """A tensor with a more general type, of fewer known extents."""
    return value if node.type_of(value) == ty else node.let(value, declared=ty)


def _changed(before: Mapping[str, Expr], *after: Mapping[str, Expr]) -> list[str]:
    """The variables that have another value than before."""
    names = {name: None for one in after for name in one}
    return [name for name in names if any(one.get(name) is not before.get(name) for one in after)]


def _tensor(value: Value) -> Expr:
    assert isinstance(value, Expr)  # the value of a variable
    return value
