"""Class probabilities from pairwise ones (`ai.onnx.ml`).

The second method of Wu, Lin and Weng, "Probability estimates for multi-class classification by
pairwise coupling" (2004), with the limits of LIBSVM: an iteration over the classes until the
probabilities of a row converge.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from relay import op
from relay.frontend.common.builder import int64
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.operators.control import Turn, loop
from relay.ir.expr import Expr, const

LOWEST = 1e-7  # pairwise probability
TURNS = 100
MOST = 256  # classes: each is a step of an iteration
PRECISION = 0.005  # divided by the number of classes


def coupled(node: Node, first: Expr, classes: int) -> Expr:
    """Class probabilities (n, classes), from those of the first class of each pair."""
    if classes > MOST:
        raise node.refused("probabilities of too many classes", f"{MOST}", f"{classes}")
    form = node.let(_form(node, first, classes))
    limit = node.number(PRECISION / classes, form)
    start = op.full_like(op.sum(form, axis=2), node.number(1 / classes, form))

    def body(there: Node, number: Expr, going: Expr, state: Sequence[Expr]) -> Turn:
        (probabilities,) = state
        slopes = there.let(op.sum(form * op.expand_dims(probabilities, 1), axis=2))
        value = there.let(op.sum(probabilities * slopes, axis=1, keepdims=True))
        error = op.max(op.abs(slopes - value), axis=1, keepdims=True)
        changes = there.let(error >= limit)
        better = _improved(there, form, probabilities, slopes, value, classes)
        following = there.let(op.where(changes, better, probabilities))
        return Turn(there.scope, there.let(op.any(changes)), [following], [])

    turns = int64(max(TURNS, classes))
    last, _ = loop(node, body, turns, const(True), [node.let(start)])
    return last[0]


def _form(node: Node, first: Expr, classes: int) -> Expr:
    """The quadratic form that the probabilities minimize, (n, classes, classes)."""
    one = node.number(1, first)
    clipped = node.let(op.clip(first, LOWEST, 1 - LOWEST))
    pairs = list(combinations(range(classes), 2))
    # indices into [first, second, 0]
    positions = np.full((classes, classes), 2 * len(pairs), "int64")
    for number, (i, j) in enumerate(pairs):
        positions[i, j], positions[j, i] = number, number + len(pairs)
    zeros = op.strided_slice(clipped, [0], [1], axes=(1,)) * node.number(0, first)
    probabilities = node.let(op.concatenate([clipped, one - clipped, zeros], axis=1))
    chosen = [
        node.importer.constant(grid) for grid in (positions, np.ascontiguousarray(positions.T))
    ]
    before, after = (node.let(op.take(probabilities, grid, axis=1)) for grid in chosen)
    squares = op.sum(before * before, axis=1, keepdims=True)
    unit = node.importer.constant(np.eye(classes, dtype="float32"))
    return squares * unit - before * after


def _improved(
    node: Node, form: Expr, probabilities: Expr, slopes: Expr, value: Expr, classes: int
) -> Expr:
    """One coordinate-descent step for each class; probabilities are normalized after each."""
    one, two = node.number(1, form), node.number(2, form)
    for place in range(classes):
        row = node.let(op.take(form, int64(place), axis=1))
        own = node.let(op.strided_slice(row, [place], [place + 1], axes=(1,)))
        slope = node.let(op.strided_slice(slopes, [place], [place + 1], axes=(1,)))
        step = node.let((value - slope) / own)
        whole = node.let(one + step)
        unit = node.importer.constant(np.eye(classes, dtype="float32")[place])
        probabilities = node.let((probabilities + step * unit) / whole)
        gain = step * (step * own + two * slope)
        value = node.let((value + gain) / (whole * whole))
        slopes = node.let((slopes + step * row) / whole)
    return probabilities
