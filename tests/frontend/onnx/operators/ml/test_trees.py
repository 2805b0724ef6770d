"""Ensembles of trees against ONNX Runtime, and against its reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import agree, main_type, model

DOMAIN = "ai.onnx.ml"
RANDOM = np.random.default_rng(6)
MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]
X = RANDOM.integers(-2, 3, (40, 3)).astype("float32")


def forest(says: str, targets: int, modes: list[str], low: float = -1.0) -> dict[str, Any]:
    """Three trees of depth 3; every leaf says something about every target."""
    lists: dict[str, list[Any]] = {}

    def add(prefix: str, **fields: Any) -> None:
        for name, value in fields.items():
            lists.setdefault(f"{prefix}_{name}", []).append(value)

    for tree in range(3):
        for number in range(15):
            is_leaf = number >= 7
            add(
                "nodes",
                treeids=tree,
                nodeids=number,
                featureids=0 if is_leaf else int(RANDOM.integers(3)),
                values=0.0 if is_leaf else float(RANDOM.integers(-1, 2)),
                modes="LEAF" if is_leaf else str(RANDOM.choice(modes)),
                truenodeids=0 if is_leaf else 2 * number + 1,
                falsenodeids=0 if is_leaf else 2 * number + 2,
            )
            for target in range(targets if is_leaf else 0):
                weight = float(np.float32(RANDOM.uniform(low, 1)))
                add(says, treeids=tree, nodeids=number, ids=target, weights=weight)
    return lists


def regressor(data: np.ndarray, **attributes: Any) -> onnx.ModelProto:
    every: dict[str, Any] = {"n_targets": 1} | attributes
    return model("TreeEnsembleRegressor", data, opset=17, domain=DOMAIN, version=3, **every)


def classifier(data: np.ndarray, **attributes: Any) -> onnx.ModelProto:
    every: dict[str, Any] = {"domain": DOMAIN, "version": 3, "outputs": 2} | attributes
    return model("TreeEnsembleClassifier", data, opset=17, **every)


def test_every_mode() -> None:
    for mode in MODES:
        agree(regressor(X, **forest("target", 1, [mode])), X)


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_what_trees_say_together(aggregate: str) -> None:
    attributes = forest("target", 2, MODES) | {"n_targets": 2, "aggregate_function": aggregate}
    given = regressor(X, **attributes)
    agree(given, X)


def test_what_is_missing_goes_where_a_node_says() -> None:
    data = X.copy()
    data[::3, 1] = np.nan
    attributes = forest("target", 1, MODES[:4])
    attributes["nodes_missing_value_tracks_true"] = RANDOM.integers(0, 2, 45).tolist()
    agree(regressor(data, **attributes), data)


@pytest.mark.parametrize("dtype", ["float64"])
def test_features_of_other_types(dtype: str) -> None:
    data = X.astype(dtype)
    attributes = forest("target", 1, MODES) | {"base_values": [0.5]}
    agree(regressor(data, **attributes), data)


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"])
def test_several_classes(transform: str) -> None:
    attributes = forest("class", 3, MODES) | {
        "classlabels_int64s": [7, 3, 5],
        "post_transform": transform,
        "base_values": [0.1, 0.2, 0.3],
    }
    given = classifier(X, **attributes)
    agree(given, X)


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC"])
@pytest.mark.parametrize("low", [-1.0, 0.0])
@pytest.mark.parametrize("labels", [[7, 3], [1]])
def test_one_score_for_two_classes(transform: str, low: float, labels: list[int]) -> None:
    attributes = forest("class", 1, MODES, low) | {
        "classlabels_int64s": labels,
        "post_transform": transform,
        "base_values": [-0.25],
    }
    given = classifier(X, **attributes)
    agree(given, X)


def test_scores_of_probit() -> None:
    attributes = forest("target", 2, MODES, 0.0) | {"n_targets": 2, "post_transform": "PROBIT"}
    attributes |= {"aggregate_function": "AVERAGE"}
    given = regressor(X, **attributes)
    # ONNX Runtime computes 1 - (2p - 1)^2 in float32, whose root near p = 0.5 is off by sqrt(eps).
    agree(given, X, rtol=1e-4, atol=2e-3)


def linked(dtype: str, **more: Any) -> dict[str, Any]:
    """Two trees: one asks whether a feature is one of some values, then whether it is small."""
    attributes: dict[str, Any] = {
        "n_targets": 2,
        "tree_roots": [0, 2],
        "nodes_featureids": [0, 1, 2],
        "nodes_splits": np.array([0, 0.5, -1], dtype),
        "nodes_modes": np.array([6, 0, 3], "uint8"),
        "nodes_truenodeids": [1, 0, 2],
        "nodes_falsenodeids": [1, 2, 3],
        "nodes_trueleafs": [0, 1, 1],
        "nodes_falseleafs": [1, 1, 1],
        "membership_values": np.array([1, -2, 2, np.nan], dtype),
        "leaf_targetids": [0, 1, 0, 1],
        "leaf_weights": np.array([1, 2, -3, 4], dtype),
    }
    return attributes | more


def tensors(attributes: dict[str, Any]) -> dict[str, Any]:
    return {
        name: numpy_helper.from_array(value) if isinstance(value, np.ndarray) else value
        for name, value in attributes.items()
    }


@pytest.mark.parametrize("aggregate", [0, 1, 2, 3])
def test_trees_as_lists_of_places(aggregate: int) -> None:
    attributes = tensors(linked("float32", aggregate_function=aggregate))
    given = model("TreeEnsemble", X, opset=21, domain=DOMAIN, version=5, **attributes)
    sums = _walked(X, aggregate)
    agree(given, X, wanted=[sums])


def _walked(data: np.ndarray, aggregate: int) -> np.ndarray:
    found = np.zeros((len(data), 2), "float32")
    for i, (a, b, c) in enumerate(data):
        said: dict[int, list[float]] = {0: [], 1: []}
        if a in (1, -2, 2):
            target, weight = (0, 1) if b <= 0.5 else (0, -3)
        else:
            target, weight = 1, 2
        said[target].append(weight)
        target, weight = (0, -3) if c > -1 else (1, 4)
        said[target].append(weight)
        for target, values in said.items():
            if values:
                combine = (lambda v: sum(v) / 2, sum, min, max)[aggregate]
                found[i, target] = combine(values)
    return found


def test_a_tree_may_be_a_leaf() -> None:
    names = {"nodes_treeids": [0], "nodes_nodeids": [0], "nodes_modes": ["LEAF"]}
    rest = {f"nodes_{one}": [0] for one in ("featureids", "truenodeids", "falsenodeids")}
    says = {"target_treeids": [0], "target_nodeids": [0], "target_ids": [0]}
    weights = {"nodes_values": [0.0], "target_weights": [2.5]}
    agree(regressor(X, **names, **rest, **says, **weights), X)


def test_the_number_of_rows_may_be_open() -> None:
    given = model(
        "TreeEnsembleRegressor",
        X,
        opset=17,
        domain=DOMAIN,
        version=3,
        shapes={0: ("n", None)},
        n_targets=1,
        **forest("target", 1, MODES),
    )
    assert main_type(from_onnx(given)[0]) == "Tensor[(n, 1), float32]"
    agree(given, X)


def test_what_does_not_fit_is_refused() -> None:
    def refused(match: str, **changed: Any) -> None:
        attributes = forest("target", 1, MODES) | changed
        with pytest.raises(FrontendError, match=match):
            from_onnx(regressor(X, **attributes))

    ids = forest("target", 1, MODES)["nodes_truenodeids"]
    refused("leads back to its own nodes", nodes_truenodeids=[0, *ids[1:]])
    refused("leads to one that is not there", nodes_truenodeids=[99, *ids[1:]])
    refused("a feature that is not there", nodes_featureids=[3] * 45)
    refused("different lengths", nodes_values=[0.0])
    refused("a weight is for what is not there", target_ids=[1] * 24)
    refused("there is no such aggregate", aggregate_function="MOST")
    refused("too many targets", n_targets=1 << 50)
    with pytest.raises(FrontendError, match="strings cannot be computed with"):
        attributes = forest("class", 2, MODES) | {"classlabels_strings": ["a", "b"]}
        given = classifier(X, **attributes)
        from_onnx(given)
