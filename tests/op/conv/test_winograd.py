"""Winograd's algorithm: its matrices compute convolutions, and so do the operators together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from relay.errors import EvaluationError
from relay.op.conv.winograd import transforms
from relay.op.opdef import get

GENERATOR = np.random.default_rng(0)
SIZES = [(tile, size) for tile in range(1, 9) for size in range(1, 8) if tile + size <= 13]


def run(name: str, *args: Any, **attrs: Any) -> Any:
    return get(name).reference(*args, **dict(get(name).make_attrs(attrs).items()))


@pytest.mark.parametrize(("tile", "size"), SIZES)
def test_the_matrices_compute_a_convolution(tile: int, size: int) -> None:
    output, data, kernel = transforms(tile, size)
    line = GENERATOR.uniform(-1, 1, tile + size - 1)
    window = GENERATOR.uniform(-1, 1, size)
    found = output @ ((kernel @ window) * (data @ line))
    np.testing.assert_allclose(found, np.correlate(line, window, "valid"), atol=1e-10)


def test_the_smallest_matrices_are_the_known_ones() -> None:
    found = transforms(2, 3)
    np.testing.assert_array_equal(found.output, [[1, 1, 1, 0], [0, 1, -1, 1]])
    np.testing.assert_array_equal(
        found.kernel, [[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]]
    )
    np.testing.assert_array_equal(
        found.input, [[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, -1, 0, 1]]
    )


def test_tiles_without_enough_points_are_refused() -> None:
    with pytest.raises(EvaluationError, match="no points"):
        transforms(11, 3)


@pytest.mark.parametrize("tile", [2, 4, 6])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_transform_and_convolution_together_are_a_convolution(tile: int, dtype: str) -> None:
    data = GENERATOR.uniform(-1, 1, (2, 3, 9, 8)).astype(dtype)
    weight = GENERATOR.uniform(-1, 1, (4, 3, 3, 3)).astype(dtype)
    transformed = run("nn.contrib_conv2d_winograd_weight_transform", weight, tile_size=tile)
    assert transformed.shape == (tile + 2, tile + 2, 4, 3)
    found = run(
        "nn.contrib_conv2d_winograd_without_weight_transform",
        data,
        transformed,
        tile_size=tile,
        kernel_size=3,
        padding=1,
    )
    expected = F.conv2d(torch.from_numpy(data), torch.from_numpy(weight), padding=1).numpy()
    np.testing.assert_allclose(found, expected, atol=1e-4 if dtype == "float32" else 1e-10)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_depth_is_transformed_where_it_pays(depth: int) -> None:
    data = GENERATOR.uniform(-1, 1, (1, 2, 5, 6, 7))
    weight = GENERATOR.uniform(-1, 1, (3, 2, depth, 3, 3))
    transformed = run("nn.contrib_conv3d_winograd_weight_transform", weight, tile_size=2)
    assert transformed.shape == (4 if depth == 3 else depth, 4, 4, 3, 2)
    found = run(
        "nn.contrib_conv3d_winograd_without_weight_transform",
        data,
        transformed,
        tile_size=2,
        kernel_size=(depth, 3, 3),
    )
    expected = F.conv3d(torch.from_numpy(data), torch.from_numpy(weight)).numpy()
    np.testing.assert_allclose(found, expected, atol=1e-10)
