"""Grids, and what is read at their places, against ONNX Runtime."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import Fixed, agree, main_type, model, of_graph, reference, value

CHANCE = np.random.default_rng(5)
PADDINGS = ("zeros", "border", "reflection")


def drawn(*shape: int, far: float = 1.0) -> np.ndarray:
    return CHANCE.uniform(-far, far, shape).astype("float32")


def several(
    data: np.ndarray, grid: np.ndarray, modes: tuple[str, ...], opset: int
) -> onnx.ModelProto:
    """A model that reads data in every mode, with every padding and alignment."""
    nodes = [
        helper.make_node(
            "GridSample",
            ["x", "g"],
            [f"y{place}"],
            mode=mode,
            padding_mode=padding,
            align_corners=aligned,
        )
        for place, (mode, padding, aligned) in enumerate(product(modes, PADDINGS, (0, 1)))
    ]
    described = [value("x", data.dtype, data.shape), value("g", grid.dtype, grid.shape)]
    outputs = [onnx.ValueInfoProto(name=node.output[0]) for node in nodes]
    return of_graph(nodes, described, outputs, opset=opset)


def test_images_in_the_words_of_version_16() -> None:
    data, grid = drawn(2, 3, 5, 7), drawn(2, 3, 4, 2, far=2.5)
    agree(several(data, grid, ("nearest", "bilinear", "bicubic"), 16), data, grid, atol=1e-5)


def test_images_of_any_size() -> None:
    data, grid = drawn(1, 2, 5, 4), drawn(1, 3, 4, 2, far=2.5)
    shapes: Any = {0: ("n", 2, "h", "w"), 1: ("n", "a", "b", 2)}
    for padding in PADDINGS:
        given = model("GridSample", data, grid, opset=20, shapes=shapes, padding_mode=padding)
        agree(given, data, grid, atol=1e-5)
    assert main_type(from_onnx(given)[0]) == "Tensor[(n, 2, a, b), float32]"


def test_volumes() -> None:
    data, grid = drawn(2, 2, 3, 4, 2), drawn(2, 2, 1, 3, 3, far=1.8)
    agree(several(data, grid, ("nearest", "linear"), 20), data, grid, atol=1e-5)
    inside = drawn(2, 2, 1, 3, 3, far=0.9)
    given = model("GridSample", data, inside, opset=20, mode="cubic")
    agree(given, data, inside, oracle=reference, atol=1e-5)


def test_signals() -> None:
    data, grid = drawn(2, 3, 5), drawn(2, 4, 1, far=1.8)
    agree(several(data, grid, ("nearest", "linear"), 20), data, grid, oracle=reference, atol=1e-5)


def test_integers_are_read_too() -> None:
    data, grid = np.arange(20, dtype="int64").reshape(1, 1, 4, 5), drawn(1, 2, 2, 2)
    agree(model("GridSample", data, grid, opset=20, mode="nearest"), data, grid, oracle=reference)


# --- grids


@pytest.mark.parametrize("aligned", [0, 1])
@pytest.mark.parametrize("extents", [(5, 6), (4, 5, 6)])
def test_grids_of_matrices(extents: tuple[int, ...], aligned: int) -> None:
    axes = len(extents)
    matrices, size = drawn(2, axes, axes + 1), np.array([2, 3, *extents])
    given = model("AffineGrid", matrices, size, opset=20, align_corners=aligned)
    agree(given, matrices, size, atol=1e-5)


def test_a_grid_for_any_number_of_images() -> None:
    matrices, size = drawn(2, 2, 3), np.array([2, 3, 5, 6])
    given = model("AffineGrid", matrices, Fixed(size), opset=20, shapes={0: ("n", 2, 3)})
    assert main_type(from_onnx(given)[0]) == "Tensor[(n, 5, 6, 2), float32]"
    agree(given, matrices, oracle=reference, atol=1e-5)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            lambda: model("GridSample", drawn(1, 1, 2, 2), drawn(1, 2, 2, 2), opset=20, mode="odd"),
            "no such mode",
        ),
        (
            lambda: model(
                "GridSample", drawn(1, 1, 2, 2), drawn(1, 2, 2, 2), opset=20, padding_mode="odd"
            ),
            "no such padding",
        ),
        (lambda: model("GridSample", drawn(1, 2), drawn(1, 2), opset=20), "other axes"),
        (
            lambda: model("GridSample", drawn(1, 1, 2, 2), drawn(1, 2, 2), opset=20),
            "the wrong number of axes",
        ),
        (
            lambda: model("AffineGrid", drawn(1, 2, 3), Fixed(np.array([1, 2, 3])), opset=20),
            "images or volumes",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(given: Any, message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        from_onnx(given())
