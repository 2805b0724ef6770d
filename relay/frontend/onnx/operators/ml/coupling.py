"""Probabilities of classes from those of pairs of them (`ai.onnx.ml`).

The second method of Wu, Lin and Weng, "Probability estimates for multi-class classification by
pairwise coupling" (2004), with the limits that LIBSVM has: probabilities are improved in turns, one
class after the other, until those of a row hardly change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from relay import op
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.operators.control import Turn, loop
from relay.frontend.onnx.scope import Scope
from relay.ir.expr import Expr, const

LOWEST = 1e-7  # a probability of a pair
TURNS = 100
MOST = 256  # classes: each is a step of a turn
PRECISION = 0.005  # divided by the number of classes


def coupled(node: Node, first: Expr, classes: int) -> Expr:
    """The probabilities of classes, (n, classes), from those of the first of each pair."""
    if classes > MOST:
        raise node.refused("probabilities of too many classes", f"{MOST}", f"{classes}")
    form = node.let(_form(node, first, classes))
    limit = node.number(PRECISION / classes, form)
    start = op.full_like(op.sum(form, axis=2), node.number(1 / classes, form))

    def body(scope: Scope, number: Expr, going: Expr, state: Sequence[Expr]) -> Turn:
        there = replace(node, scope=scope)
        (shares,) = state
        slopes = there.let(op.sum(op.multiply(form, op.expand_dims(shares, 1)), axis=2))
        value = there.let(op.sum(op.multiply(shares, slopes), axis=1, keepdims=True))
        error = op.max(op.abs(op.subtract(slopes, value)), axis=1, keepdims=True)
        changes = there.let(op.greater_equal(error, limit))
        better = _improved(there, form, shares, slopes, value, classes)
        following = there.let(op.where(changes, better, shares))
        return Turn(scope, there.let(op.any(changes)), [following], [])

    turns = const(max(TURNS, classes), "int64")
    last, _ = loop(node, body, turns, const(True), [node.let(start)])
    return last[0]


def _form(node: Node, first: Expr, classes: int) -> Expr:
    """The quadratic form that probabilities make least, (n, classes, classes)."""
    one = node.number(1, first)
    mine = node.let(op.clip(first, LOWEST, 1 - LOWEST))
    pairs = list(combinations(range(classes), 2))
    # which of [first, second, 0] stands where
    places = np.full((classes, classes), 2 * len(pairs), "int64")
    for number, (i, j) in enumerate(pairs):
        places[i, j], places[j, i] = number, number + len(pairs)
    none = op.multiply(op.strided_slice(mine, [0], [1], axes=(1,)), node.number(0, first))
    every = node.let(op.concatenate([mine, op.subtract(one, mine), none], axis=1))
    chosen = [node.importer.constant(grid) for grid in (places, np.ascontiguousarray(places.T))]
    before, after = (node.let(op.take(every, grid, axis=1)) for grid in chosen)
    squares = op.sum(op.multiply(before, before), axis=1, keepdims=True)
    unit = node.importer.constant(np.eye(classes, dtype="float32"))
    return op.subtract(op.multiply(squares, unit), op.multiply(before, after))


def _improved(
    node: Node, form: Expr, shares: Expr, slopes: Expr, value: Expr, classes: int
) -> Expr:
    """One class after the other takes what makes the form least, and all add up to 1 again."""
    one, two = node.number(1, form), node.number(2, form)
    for place in range(classes):
        row = node.let(op.take(form, const(place, "int64"), axis=1))
        own = node.let(op.strided_slice(row, [place], [place + 1], axes=(1,)))
        slope = node.let(op.strided_slice(slopes, [place], [place + 1], axes=(1,)))
        step = node.let(op.divide(op.subtract(value, slope), own))
        whole = node.let(op.add(one, step))
        unit = node.importer.constant(np.eye(classes, dtype="float32")[place])
        shares = node.let(op.divide(op.add(shares, op.multiply(step, unit)), whole))
        gain = op.multiply(step, op.add(op.multiply(step, own), op.multiply(two, slope)))
        value = node.let(op.divide(op.add(value, gain), op.multiply(whole, whole)))
        slopes = node.let(op.divide(op.add(slopes, op.multiply(step, row)), whole))
    return shares
