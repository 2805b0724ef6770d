"""Decision trees: the leaf that each row of data reaches.

Trees are tables with an entry for each inner node. A walk starts at a root and compares one feature
of the row with a split; the outcome selects one of two nodes. Leaves are negative: -1 is leaf 0, -2
is leaf 1, and so on.

    outcome of the comparison     less   equal   greater   none (NaN)
    bit of `outcomes`                1       2         4            8
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relay import te
from relay.ir.types import TensorType, Type
from relay.op.building.scalars import widened
from relay.op.gradient_rules import DISCRETE
from relay.op.loop_nest import spread
from relay.op.opdef import Tensor, define, sample
from relay.op.site import FLOATING, Site

LESS, EQUAL, GREATER, NONE = 1, 2, 4, 8
ROWS = 64  # rows that walk through one tree before the next


def _tree_leaves_type(site: Site) -> Type | None:
    """((n, f), five tables of (nodes,), (trees,)) -> (n, trees)"""
    site.require_elements(0, FLOATING)
    data, features, roots = site.tensor(0, rank=2), site.tensor(1, rank=1), site.tensor(6, rank=1)
    if data is None or features is None or roots is None:
        return None
    nodes = features.shape
    for index, dtype in ((1, "int32"), (2, data.dtype), (3, "uint8"), (4, "int32"), (5, "int32")):
        site.expect(index, nodes, dtype)
    site.expect(6, roots.shape, "int32")
    return TensorType((data.shape[0], roots.shape[0]), "int32")


def _tree_leaves(
    data: np.ndarray,
    features: np.ndarray,
    splits: np.ndarray,
    outcomes: np.ndarray,
    yes: np.ndarray,
    no: np.ndarray,
    roots: np.ndarray,
) -> Any:
    place = np.broadcast_to(roots, (len(data), len(roots)))
    rows = np.arange(len(data))[:, None]
    for _ in features if data.shape[1] else ():
        node = np.clip(place, 0, len(features) - 1)
        value = data[rows, np.clip(features[node], 0, data.shape[1] - 1)]
        split = splits[node]
        tests = [value < split, value == split, value > split]
        outcome = np.select(tests, [LESS, EQUAL, GREATER], NONE)
        following = np.where(outcomes[node] & outcome, yes[node], no[node])
        place = np.where(place < 0, place, following)
    return np.where(place < 0, -1 - place, 0).astype(np.int32)


def _tree_leaves_loops(
    data: te.Tensor,
    features: te.Tensor,
    splits: te.Tensor,
    outcomes: te.Tensor,
    yes: te.Tensor,
    no: te.Tensor,
    roots: te.Tensor,
    out: te.Spec,
) -> te.Tensor:
    """Several rows walk through a tree together, one step at a time, for locality and
    instruction-level parallelism. Indices out of range are clamped."""
    nodes, (rows, width) = features.shape[0], data.shape

    def write(b: te.Builder, leaves: te.Buffer) -> None:
        with spread(b, ((rows + (ROWS - 1)) // ROWS, out.shape[1])) as (block, tree):
            first = b.let(block * ROWS)
            count = b.let(te.minimum(rows - first, ROWS))
            places = b.local("int32", (ROWS,), "places")
            with b.loop(count) as number:
                b.store(places, number, roots[tree])
            walking = b.variable("bool", te.not_equal(width, 0), "walking")
            # a walk longer than the number of nodes is a cycle
            left = b.variable("int64", nodes, "left")
            with b.while_(te.every(walking[()], left[()] > 0)):
                b.store(walking, (), te.const(False, "bool"))
                b.store(left, (), left[()] - 1)
                with b.loop(count) as number:
                    place = b.let(places[number])
                    with b.if_(place >= 0):
                        following = b.let(step(b, first + number, place))
                        b.store(places, number, following)
                        b.store(walking, (), walking[()] | (following >= 0))
            with b.loop(count) as number:
                end = b.let(places[number])
                b.store(leaves, (first + number, tree), te.select(end < 0, -1 - end, 0))

    def step(b: te.Builder, row: te.Expr, place: te.Expr) -> te.Expr:
        node = b.let(te.minimum(te.index(place), nodes - 1))
        feature = te.maximum(te.minimum(te.index(features[node]), width - 1), 0)
        value = b.let(widened(data[row, b.let(feature)]))
        split = b.let(widened(splits[node]))
        outcome = te.select(value > split, te.const(GREATER, "uint8"), NONE)
        outcome = te.select(te.equal(value, split), EQUAL, outcome)
        outcome = te.select(value < split, LESS, outcome)
        return te.select(te.not_equal(outcomes[node] & outcome, 0), yes[node], no[node])

    tables = [data, features, splits, outcomes, yes, no, roots]
    return te.procedure(tables, [(out.shape, out.dtype)], write, "leaves")[0]


def _forest(dtype: str) -> list[Any]:
    """Two trees over three features: one of two nodes, and one that is a leaf."""
    return [
        np.array([0, 2], "int32"),
        Tensor((2,), dtype, -1, 1),
        np.array([LESS | EQUAL, GREATER | NONE], "uint8"),
        np.array([1, -2], "int32"),
        np.array([-1, -3], "int32"),
        np.array([0, -4], "int32"),
    ]


tree_leaves = define(
    "tree_leaves",
    doc="The index of the leaf of each tree that each row of data reaches. At a node, the bits of "
    "`outcomes` are the outcomes of the comparison of a feature with a split for which `yes` is "
    "next: 1 less, 2 equal, 4 greater, 8 none of them (NaN). Leaf i is written -1 - i. A walk that "
    "does not end reaches leaf 0.",
    arguments=[
        ("data", "rows of features"),
        ("features", "the feature that each node compares"),
        ("splits", "the value it is compared with"),
        ("outcomes", "the outcomes for which `yes` is next"),
        ("yes", "a node, or a leaf"),
        ("no", "a node, or a leaf"),
        ("roots", "the first node of each tree, or its only leaf"),
    ],
    relation=_tree_leaves_type,
    reference=_tree_leaves,
    compute=_tree_leaves_loops,
    samples=[
        sample((4, 3), *_forest("float32")),
        sample((3, 3), *_forest("float64"), dtype="float64"),
        sample((0, 3), *_forest("float32")),
    ],
    gradient=DISCRETE,
)
