"""Reading between elements: what holds whatever the factors are."""

from __future__ import annotations

import numpy as np
import pytest

from tests.frontend.onnx.oracle import Fixed, model, ours

CHANCE = np.random.default_rng(2)
# factors that no extents have, so that all is computed axis by axis
FACTORS = Fixed(np.array([1.37, 0.61], "float32"))
COORDINATES = ("half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric")


def resized(data: np.ndarray, **how: object) -> np.ndarray:
    given = model("Resize", data, None, FACTORS, opset=19, **how)  # type: ignore[arg-type]
    return np.asarray(ours(given, data)[0])


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("antialias", [0, 1])
def test_what_is_the_same_everywhere_stays_so(mode: str, antialias: int) -> None:
    data = np.full((7, 9), 2.5, "float32")
    for outside in (0, 1):
        found = resized(data, mode=mode, antialias=antialias, exclude_outside=outside)
        np.testing.assert_allclose(found, np.full((9, 5), 2.5), rtol=1e-6)


def test_what_is_mirrored_gives_what_is_mirrored() -> None:
    data = CHANCE.standard_normal((7, 9)).astype("float32")
    how = {"mode": "linear", "coordinate_transformation_mode": "half_pixel_symmetric"}
    turned = resized(np.ascontiguousarray(data[::-1, ::-1]), **how)
    np.testing.assert_allclose(turned, resized(data, **how)[::-1, ::-1], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", COORDINATES)
def test_what_rises_evenly_rises_evenly_inside(name: str) -> None:
    rows, columns = np.meshgrid(np.arange(7.0), np.arange(9.0), indexing="ij")
    data = (3 * rows + columns).astype("float32")
    found = resized(data, mode="linear", coordinate_transformation_mode=name)[1:-2, 1:-1]
    for axis in (0, 1):
        steps = np.diff(found, axis=axis)
        np.testing.assert_allclose(steps, steps.mean(), rtol=1e-4)


def test_places_are_exact_fractions_where_sizes_are_given() -> None:
    # a seventh of the way, in floats, would be a hair before or behind the middle of two elements
    data = np.arange(35, dtype="float32").reshape(5, 7)
    size = Fixed(np.array([5, 14]))
    for rounding, first in (("round_prefer_floor", 0), ("round_prefer_ceil", 1)):
        given = model(
            "Resize", data, None, None, size, opset=19, nearest_mode=rounding,
            coordinate_transformation_mode="asymmetric",
        )  # fmt: skip
        found = np.asarray(ours(given, data)[0])
        np.testing.assert_array_equal(found[0, 1::2], np.minimum(np.arange(7) + first, 6))
