"""Places between elements: whole numbers where they are fractions, tensors of taps elsewhere."""

from __future__ import annotations

from collections.abc import Callable

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from relay import te
from relay.op.building import interpolation
from relay.op.building.interpolation_compute import source_places

Stages = Callable[..., list[str]]
MODES = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn")
ROUNDING = ("round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


def test_twice_the_size_reads_each_element_twice(stages: Stages) -> None:
    ways = {"half_pixel": "round", "asymmetric": "", "tf_half_pixel_for_nn": ""}
    for mode, rounding in ways.items():
        (resampled,) = stages(
            "image.resize2d",
            (1, 3, 8, 8),
            size=(16, 24),
            method="nearest_neighbor",
            coordinate_transformation_mode=mode,
            rounding_method=rounding,
        )
        assert resampled == "resampled[i, j, k, l] = x0[i, j, (k // 2), (l // 3)]"


@given(st.integers(1, 40), st.integers(1, 40), st.sampled_from(MODES), st.sampled_from(ROUNDING))
def test_nearest_elements_agree_with_the_reference(
    count: int, extent: int, mode: str, rounding: str
) -> None:
    places = interpolation.source_places(count, extent, mode)
    expected = interpolation.nearest(places, extent, rounding)
    fraction = source_places(te.index(count), te.index(extent), mode)
    found = [int(fraction.nearest(te.index(i), rounding).value) for i in range(count)]
    np.testing.assert_array_equal(np.clip(found, 0, extent - 1), expected)


def test_one_axis_is_read_after_the_other(stages: Stages) -> None:
    names = [stage.split("[")[0] for stage in stages("image.resize2d", (1, 3, 4, 4), size=(7, 9))]
    assert [name for name in names if name != "places"] == ["along_H", "resampled"]
