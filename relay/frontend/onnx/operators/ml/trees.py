"""Ensembles of decision trees (`ai.onnx.ml`).

The inner nodes of all trees are one table (`relay.op.nn.trees`), and so are the leaves: a row of
weights each, one per target or class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from relay import op
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.operators.ml.features import as_float
from relay.frontend.onnx.operators.ml.scores import (
    labels_of,
    named,
    side_by_side,
    transform_of,
    transformed,
)
from relay.immutable import frozen
from relay.ir.expr import Expr, const
from relay.op.nn.trees import EQUAL, GREATER, LESS, NONE

table = Converters("ai.onnx.ml")

# The outcomes of a comparison for which the true branch is taken, in the order of mode numbers.
MODES: Mapping[str, int] = {
    "BRANCH_LEQ": LESS | EQUAL,
    "BRANCH_LT": LESS,
    "BRANCH_GTE": GREATER | EQUAL,
    "BRANCH_GT": GREATER,
    "BRANCH_EQ": EQUAL,
    "BRANCH_NEQ": LESS | GREATER | NONE,
}
MEMBER = len(MODES)  # the mode of set membership
MOST = 1 << 26  # leaf weights
AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")


@frozen
class Forest:
    """Trees as tables: inner nodes, roots, and the weights of leaves."""

    features: np.ndarray
    splits: np.ndarray
    outcomes: np.ndarray
    yes: np.ndarray  # a node, or -1 - leaf
    no: np.ndarray
    roots: np.ndarray
    weights: np.ndarray  # (leaves, targets)
    has_weight: np.ndarray  # (leaves, targets): whether a leaf has a weight for a target

    def leaves(self, node: Node, data: Expr) -> Expr:
        """The leaf of each row in each tree, (n, trees)."""
        constant = node.importer.constant
        splits = op.cast(constant(self.splits), node.dtype(data))
        outcomes = constant(self.outcomes.astype("uint8"))
        features, *rest = (
            constant(one.astype("int32")) for one in (self.features, self.yes, self.no, self.roots)
        )
        return node.let(op.tree_leaves(data, features, splits, outcomes, *rest))

    def summed(self, node: Node, data: Expr) -> Expr:
        """The sum of the leaf weights of each target, (n, targets)."""
        return self._reduced(node, self.leaves(node, data), self.weights, op.sum)

    def aggregated(self, node: Node, data: Expr, aggregate: str) -> Expr:
        """The aggregate over all trees for each target, (n, targets)."""
        if aggregate in ("SUM", "AVERAGE"):
            total = self.summed(node, data)
            count = const(len(self.roots), str(self.weights.dtype))
            return total if aggregate == "SUM" else total / count
        beyond = np.inf if aggregate == "MIN" else -np.inf
        weights = np.where(self.has_weight, self.weights, beyond).astype(self.weights.dtype)
        chosen = op.min if aggregate == "MIN" else op.max
        found = node.let(self._reduced(node, self.leaves(node, data), weights, chosen))
        # 0 where no leaf has a weight
        return op.where(op.isfinite(found), found, op.zeros_like(found))

    def _reduced(self, node: Node, leaves: Expr, weights: np.ndarray, combine: Any) -> Expr:
        if weights.shape[1] == 1:
            column = node.importer.constant(np.ascontiguousarray(weights[:, 0]))
            return node.let(combine(op.take(column, leaves, axis=0), axis=1, keepdims=True))
        return node.let(combine(op.take(node.importer.constant(weights), leaves, axis=0), axis=1))


# --- operators ---------------------------------------------------------------------------------


@table("TreeEnsembleRegressor")
def tree_ensemble_regressor(node: Node, data: Expr) -> Expr:
    aggregate = str(node.attribute("aggregate_function", "SUM"))
    if aggregate not in AGGREGATES:
        raise node.refused("there is no such aggregate", ", ".join(AGGREGATES), aggregate)
    forest = _listed(node, data, "target", int(node.attribute("n_targets", 1)))
    found = forest.aggregated(node, as_float(node, data), aggregate)
    return op.cast(_finished(node, node.let(found), _base(node)), "float32")


@table("TreeEnsemble", since=5)
def tree_ensemble(node: Node, data: Expr) -> Expr:
    number = int(node.attribute("aggregate_function", 1))
    if not 0 <= number < len(AGGREGATES):
        raise node.refused("there is no such aggregate", f"0 to {len(AGGREGATES) - 1}", str(number))
    found = _linked(node, data).aggregated(node, data, AGGREGATES[number])
    return op.cast(_finished(node, node.let(found), None), node.dtype(data))


@table("TreeEnsembleClassifier")
def tree_ensemble_classifier(node: Node, data: Expr) -> Sequence[Expr]:
    """The label of each row, and the scores of all classes.

    Where leaves have weights for the first of two classes only, their sum scores the second, which
    is chosen above 0.5 if no weight is negative, otherwise above 0.
    """
    labels = labels_of(node, 0)
    forest = _listed(node, data, "class", len(labels))
    scores = node.let(forest.summed(node, as_float(node, data)))
    base, transform = _base(node), transform_of(node)
    spoken_of = {int(one) for one in node.attribute("class_ids") or ()}
    is_positive = bool((forest.weights >= 0).all())
    if len(labels) == 1 or (len(labels) == 2 and spoken_of == {0}):
        first = scores if len(labels) == 1 else op.strided_slice(scores, [0], [1], axes=(1,))
        if base is not None:
            first = first + node.importer.constant(base[:1].astype(node.dtype(scores)))
        return _of_one_score(node, labels, node.let(first), is_positive, transform)
    if base is not None:
        scores = node.let(scores + _for_each(node, base, len(labels), scores))
    found = op.cast(transformed(node, scores, transform), "float32")
    return [named(node, labels, scores), found]


def _of_one_score(
    node: Node, labels: np.ndarray, score: Expr, is_positive: bool, transform: str
) -> Sequence[Expr]:
    """The label and the scores where there is one score per row."""
    alone = len(labels) == 1
    limit = node.number(0.5 if is_positive and not alone else 0, score)
    choice = node.importer.constant(np.array([0, 1], "int64") if alone else labels)
    place = op.cast(op.squeeze(score > limit, (1,)), "int32")
    if alone:
        scores = transformed(node, score, transform) if transform == "PROBIT" else score
    else:
        scores = side_by_side(node, score, is_positive, transform)
    return [op.take(choice, place, axis=0), op.cast(scores, "float32")]


def _finished(node: Node, found: Expr, base: np.ndarray | None) -> Expr:
    targets = node.shape(found)[1]
    if base is not None:
        assert isinstance(targets, int)
        found = node.let(found + _for_each(node, base, targets, found))
    transform = transform_of(node)
    # a single score is no distribution
    return transformed(node, found, transform) if targets != 1 or transform == "PROBIT" else found


def _for_each(node: Node, base: np.ndarray, count: int, like: Expr) -> Expr:
    if len(base) not in (1, count):
        raise node.refused("the number of `base_values` is wrong", f"{count}", f"{len(base)}")
    return node.importer.constant(base.astype(node.dtype(like)))


# --- before version 5 --------------------------------------------------------------------------


def _listed(node: Node, data: Expr, says: str, targets: int) -> Forest:
    """The trees before version 5: lists of nodes, leaves among them, by tree and node number, and
    of leaf weights."""
    trees, numbers = node.required("nodes_treeids"), node.required("nodes_nodeids")
    modes = node.required("nodes_modes")
    names = list(zip(trees, numbers, strict=False))
    lists = [node.required(f"nodes_{one}") for one in ("featureids", "truenodeids", "falsenodeids")]
    splits = _numbers(node, "nodes_values")
    if not all(len(one) == len(names) for one in (trees, numbers, modes, splits, *lists)):
        raise node.refused("the lists of nodes have different lengths")
    index = {name: place for place, name in enumerate(names)}
    if len(index) < len(names):
        raise node.refused("a node of a tree is there twice")
    inner = [place for place, mode in enumerate(modes) if mode != "LEAF"]
    outer = [place for place, mode in enumerate(modes) if mode == "LEAF"]
    # the index of each node among the inner nodes, or among the leaves
    renamed = np.zeros(len(names), "int64")
    renamed[inner] = np.arange(len(inner))
    renamed[outer] = -1 - np.arange(len(outer))

    def children(given: Sequence[int]) -> np.ndarray:
        found = [index.get((trees[place], given[place]), -1) for place in inner]
        if -1 in found:
            raise node.refused("a node leads to one that is not there")
        return renamed[found]

    unknown = sorted({str(modes[place]) for place in inner} - MODES.keys())
    if unknown:
        raise node.refused("there is no such mode", ", ".join(MODES), ", ".join(unknown))
    outcomes = np.array([MODES[modes[place]] for place in inner], "int64")
    missing = node.attribute("nodes_missing_value_tracks_true")
    if missing:
        if len(missing) != len(names):
            raise node.refused("the lists of nodes have different lengths")
        outcomes |= np.where(np.array(missing, "int64")[inner] != 0, NONE, 0)
    roots = [place for place, tree in enumerate(trees) if place == 0 or trees[place - 1] != tree]
    weights, has_weight = _weights(node, says, targets, index, renamed, len(outer))
    features, yes, no = lists
    tables = (np.array(features, "int64")[inner], splits[inner], outcomes)
    forest = Forest(*tables, children(yes), children(no), renamed[roots], weights, has_weight)
    return _checked(node, data, forest)


def _weights(
    node: Node,
    says: str,
    targets: int,
    index: Mapping[tuple[int, int], int],
    renamed: np.ndarray,
    leaves: int,
) -> tuple[np.ndarray, np.ndarray]:
    """The weight of each leaf for each target, and whether it has one."""
    given = _numbers(node, f"{says}_weights")
    lists = [node.required(f"{says}_{one}") for one in ("treeids", "nodeids", "ids")]
    if not all(len(one) == len(given) for one in lists):
        raise node.refused("the lists of weights have different lengths")
    weights = _table(node, leaves, targets, given.dtype)
    has_weight = np.zeros(weights.shape, bool)
    for tree, number, target, weight in zip(*lists, given, strict=True):
        place = index.get((tree, number))
        if place is None or not 0 <= target < targets:
            expected = f"a leaf, and a target below {targets}"
            found = f"node {number} of tree {tree}, target {target}"
            raise node.refused("a weight is for what is not there", expected, found)
        if renamed[place] < 0:
            weights[-1 - renamed[place], target] += weight
            has_weight[-1 - renamed[place], target] = True
    return weights, has_weight


def _table(node: Node, leaves: int, targets: int, dtype: Any) -> np.ndarray:
    """Zeros for the weights of leaves, whose number is limited."""
    if not (targets >= 1 and leaves * targets <= MOST):
        expected, found = (
            f"from 1 to {MOST} weights of leaves",
            f"{leaves} leaves, {targets} targets",
        )
        raise node.refused("there are too many targets, or none", expected, found)
    return np.zeros((max(leaves, 1), targets), dtype)


def _numbers(node: Node, name: str) -> np.ndarray:
    """A list of floats, or a tensor."""
    tensor = node.attribute(f"{name}_as_tensor")
    if tensor is not None:
        found: np.ndarray = np.asarray(tensor).reshape(-1)
        return found
    return np.array(node.required(name), "float32")


def _base(node: Node) -> np.ndarray | None:
    if "base_values" in node.attributes or "base_values_as_tensor" in node.attributes:
        found = _numbers(node, "base_values")
        return found if len(found) else None
    return None


# --- version 5 ---------------------------------------------------------------------------------


def _linked(node: Node, data: Expr) -> Forest:
    """The trees of version 5: inner nodes refer to indices of nodes or leaves."""
    dtype = node.dtype(data)
    splits, modes = (
        np.asarray(node.required(f"nodes_{one}")).reshape(-1) for one in ("splits", "modes")
    )
    lists = [
        np.array(node.required(f"nodes_{one}"), "int64")
        for one in ("featureids", "truenodeids", "falsenodeids", "trueleafs", "falseleafs")
    ]
    features, yes, no, yes_is_leaf, no_is_leaf = lists
    targets = np.array(node.required("leaf_targetids"), "int64")
    given = np.asarray(node.required("leaf_weights")).reshape(-1)
    if not all(len(one) == len(splits) for one in (modes, *lists)) or len(given) != len(targets):
        raise node.refused("the lists of nodes, or of leaves, have different lengths")
    count = int(node.attribute("n_targets", 1))
    for found, limit in (
        (yes, np.where(yes_is_leaf, len(given), len(splits))),
        (no, np.where(no_is_leaf, len(given), len(splits))),
        (targets, count),
    ):
        if ((found < 0) | (found >= limit)).any():
            raise node.refused("a node or a leaf leads to what is not there")
    if (modes > MEMBER).any():
        raise node.refused("there is no such mode", f"0 to {MEMBER}", str(int(modes.max())))
    weights = _table(node, len(given), count, "float64" if dtype == "float64" else "float32")
    has_weight = np.zeros(weights.shape, bool)
    weights[np.arange(len(given)), targets] = given.astype(weights.dtype)
    has_weight[np.arange(len(given)), targets] = True
    bits = np.array([*MODES.values(), EQUAL], "int64")
    missing = np.array(node.attribute("nodes_missing_value_tracks_true") or [0] * len(splits))
    if len(missing) != len(splits):
        raise node.refused("the lists of nodes have different lengths")
    outcomes = bits[modes.astype("int64")] | np.where(missing != 0, NONE, 0)
    yes, no = np.where(yes_is_leaf, -1 - yes, yes), np.where(no_is_leaf, -1 - no, no)
    roots = np.array(node.required("tree_roots"), "int64")
    forest = Forest(features, splits, outcomes, yes, no, roots, weights, has_weight)
    return _checked(node, data, _with_members(node, forest, modes == MEMBER))


def _with_members(node: Node, forest: Forest, asks: np.ndarray) -> Forest:
    """Every set membership node as a chain of equality nodes."""
    if not asks.any():
        return forest
    listed = np.asarray(node.required("membership_values")).reshape(-1)
    ends = np.flatnonzero(np.isnan(listed))
    sets = [one[~np.isnan(one)] for one in np.split(listed, ends)]
    asking = np.flatnonzero(asks)
    if len(sets) < len(asking) or any(not len(one) for one in sets[: len(asking)]):
        message = "there is not a set of `membership_values` for each node"
        raise node.refused(message, str(len(asking)))
    splits, no = forest.splits.copy(), forest.no.copy()
    more: list[tuple[Any, ...]] = []
    for place, values in zip(asking, sets, strict=False):
        splits[place] = values[0]
        start, end = len(splits) + len(more), len(splits) + len(more) + len(values) - 1
        for new, value in enumerate(values[1:], start):
            following = new + 1 if new + 1 < end else forest.no[place]
            more.append((forest.features[place], value, EQUAL, forest.yes[place], following))
        if start < end:
            no[place] = start
    added = list(zip(*more, strict=True)) or [()] * 5

    def extended(old: np.ndarray, new: Sequence[Any]) -> np.ndarray:
        return np.concatenate([old, np.array(new, old.dtype)])

    tables = (forest.features, splits, forest.outcomes, forest.yes, no)
    features, splits, outcomes, yes, no = map(extended, tables, added)
    return replace(forest, features=features, splits=splits, outcomes=outcomes, yes=yes, no=no)


def _checked(node: Node, data: Expr, forest: Forest) -> Forest:
    """Refuse trees with missing features or roots, and with cycles."""
    node.must_have_axes(data, 2, "features")
    width = node.shape(data)[1]
    if len(forest.features) and (
        forest.features.min() < 0 or (isinstance(width, int) and forest.features.max() >= width)
    ):
        message, found = "a node asks for a feature that is not there", int(forest.features.max())
        raise node.refused(message, f"features below {width}", str(found))
    count = len(forest.features)
    if ((forest.roots >= count) | (forest.roots < -len(forest.weights))).any():
        raise node.refused("a tree has no root")
    if _has_cycle(forest):
        raise node.refused("a tree leads back to its own nodes")
    return forest


def _has_cycle(forest: Forest) -> bool:
    """Whether the nodes cannot be sorted topologically (Kahn's algorithm)."""
    above: dict[int, list[int]] = {}
    behind = np.zeros(len(forest.features), "int64")
    for side in (forest.yes, forest.no):
        for place in np.flatnonzero(side >= 0).tolist():
            above.setdefault(int(side[place]), []).append(place)
            behind[place] += 1
    ready = np.flatnonzero(behind == 0).tolist()
    gone = 0
    while ready:
        gone += 1
        for place in above.get(ready.pop(), ()):
            behind[place] -= 1
            if behind[place] == 0:
                ready.append(place)
    return gone < len(behind)
