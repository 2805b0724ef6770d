"""Resize and Upsample against ONNX Runtime; against the reference where that disagrees.

ONNX Runtime rounds the extent of a result before it aligns its corners, and cuts off the fractions
of integers; the standard does neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import (
    Fixed,
    agree,
    main_type,
    model,
    of_graph,
    reference,
    value,
)

CHANCE = np.random.default_rng(3)
X = CHANCE.standard_normal((1, 2, 5, 7)).astype("float32")
MODES = ("nearest", "linear", "cubic")
COORDINATES = (
    "half_pixel",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "half_pixel_symmetric",
)
ROUNDINGS = ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
Shape = Sequence[str | int | None]


def ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, "int64")


def floats(*numbers: float) -> np.ndarray:
    return np.array(numbers, "float32")


def several(
    *attributes: dict[str, Any],
    data: np.ndarray = X,
    shape: Shape = X.shape,
    opset: int = 19,
    **inputs: np.ndarray | Fixed,
) -> onnx.ModelProto:
    """A model that resizes data in several ways; inputs are `roi`, `scales` and `sizes`."""
    constants, described = [], [value("x", data.dtype, shape)]
    for name, given in inputs.items():
        if isinstance(given, Fixed):
            constants.append(numpy_helper.from_array(given.array, name))
        else:
            described.append(value(name, given.dtype, given.shape))
    names = ["x", *(name if name in inputs else "" for name in ("roi", "scales", "sizes"))]
    nodes = [
        helper.make_node("Resize", names, [f"y{place}"], **how)
        for place, how in enumerate(attributes)
    ]
    outputs = [onnx.ValueInfoProto(name=f"y{place}") for place in range(len(attributes))]
    return of_graph(nodes, described, outputs, constants, opset)


def every(*modes: str, **more: Any) -> list[dict[str, Any]]:
    """The modes with all transformations of coordinates."""
    return [
        {"mode": mode, "coordinate_transformation_mode": name, **more}
        for mode in modes or MODES
        for name in COORDINATES
    ]


@pytest.mark.parametrize("size", [(1, 2, 8, 4), (1, 2, 1, 1)])
def test_images_get_the_sizes_that_are_asked_for(size: tuple[int, ...]) -> None:
    agree(several(*every(), sizes=Fixed(ints(*size))), X, rtol=1e-4, atol=1e-5)


def test_sizes_that_a_run_finds() -> None:
    size = ints(1, 2, 3, 14)
    agree(several(*every("linear", "nearest")[::3], sizes=size), X, size, rtol=1e-4, atol=1e-5)


def test_factors_that_give_whole_extents() -> None:
    agree(several(*every(), scales=Fixed(floats(1, 1, 2, 3))), X, rtol=1e-4, atol=1e-5)


def test_factors_hold_where_extents_are_rounded() -> None:
    given = several(*every(), scales=Fixed(floats(1, 1, 1.5, 0.6)))
    agree(given, X, oracle=reference, rtol=1e-4, atol=1e-5)
    factors = floats(1, 1, 2.5, 0.7)
    given = several(*every("nearest", "cubic")[::3], scales=factors)
    agree(given, X, factors, oracle=reference, rtol=1e-4, atol=1e-5)


def test_the_nearest_element_is_found_by_rounding() -> None:
    ways = [how for name in ROUNDINGS for how in every("nearest", nearest_mode=name)]
    agree(several(*ways, sizes=Fixed(ints(1, 2, 4, 13))), X)
    agree(several(*ways[::2], sizes=Fixed(ints(1, 2, 4, 13)), shape=("n", 2, "h", "w")), X)


def test_a_region_is_cut_out_and_resized() -> None:
    region, size = floats(0, 0, 0.2, -0.3, 1, 1, 0.8, 1.4), ints(1, 2, 8, 4)
    crop = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 7.5}
    ways = [{"mode": mode, **crop} for mode in MODES]
    agree(several(*ways, roi=Fixed(region), sizes=Fixed(size)), X, rtol=1e-4, atol=1e-5)
    agree(several(*ways, roi=Fixed(region), sizes=Fixed(ints(1, 2, 1, 1))), X, rtol=1e-4)
    agree(several(*ways[:2], roi=region, sizes=size), X, region, size, rtol=1e-4, atol=1e-5)


def test_smaller_results_see_all_of_data() -> None:
    ways = [
        {"mode": mode, "antialias": 1, "exclude_outside": alone}
        for mode in ("linear", "cubic")
        for alone in (0, 1)
    ]
    agree(several(*ways, sizes=Fixed(ints(1, 2, 3, 10))), X, rtol=1e-4, atol=1e-5)
    size = ints(1, 2, 2, 3)
    agree(several(*ways[::3], sizes=size), X, size, rtol=1e-4, atol=1e-5)


def test_cubic_weights_have_a_slope_and_may_leave_out_what_is_outside() -> None:
    ways = [
        {"mode": "cubic", "cubic_coeff_a": slope, "exclude_outside": alone}
        for slope in (-0.5, -0.75)
        for alone in (0, 1)
    ]
    agree(several(*ways, sizes=Fixed(ints(1, 2, 9, 3)), opset=13), X, rtol=1e-4, atol=1e-5)
    given = several(*ways, scales=Fixed(floats(1, 1, 1.7, 0.4)), opset=13)
    agree(given, X, oracle=reference, rtol=1e-4, atol=1e-5)


def test_some_axes_in_any_order() -> None:
    ways = [{"mode": mode, "axes": [3, 2]} for mode in MODES]
    agree(several(*ways, sizes=Fixed(ints(4, 9))), X, rtol=1e-4, atol=1e-5)
    ways = [{"mode": mode, "axes": [-3, -1]} for mode in MODES]
    wanted = [{"mode": mode, "axes": [1, 3]} for mode in MODES]
    theirs = reference(several(*wanted, sizes=Fixed(ints(3, 9))), X)
    agree(several(*ways, sizes=Fixed(ints(3, 9))), X, wanted=theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
def test_all_axes_may_keep_their_proportions(policy: str) -> None:
    ways = [
        {"mode": mode, "axes": [2, 3], "keep_aspect_ratio_policy": policy}
        for mode in ("nearest", "linear")
    ]
    agree(several(*ways, sizes=Fixed(ints(7, 8))), X, rtol=1e-4, atol=1e-5)
    agree(several(*ways, sizes=ints(3, 3)), X, ints(3, 3), oracle=reference, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(5,), (4, 5), (2, 4, 5), (1, 2, 3, 2, 2), (1, 2, 2, 1, 2, 3)])
def test_tensors_of_any_rank(shape: tuple[int, ...]) -> None:
    data = CHANCE.standard_normal(shape).astype("float32")
    size = Fixed(ints(*(extent + 1 for extent in shape)))
    given = several(*({"mode": mode} for mode in MODES), data=data, shape=shape, sizes=size)
    agree(given, data, oracle=reference, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float16", "float64"])
def test_elements_of_any_type(dtype: str) -> None:
    data = (CHANCE.standard_normal((1, 1, 4, 5)) * 50 + 60).clip(0).astype(dtype)
    ways = [{"mode": mode} for mode in MODES]
    given = several(*ways, data=data, shape=data.shape, scales=Fixed(floats(1, 1, 2, 1.6)))
    loose = {"rtol": 2e-3, "atol": 0.1} if dtype == "float16" else {}
    agree(given, data, oracle=reference, **loose)  # type: ignore[arg-type]


def test_truth_values_and_short_floats() -> None:
    flags = np.array([[[[True, False], [False, True]]]])
    given = several({}, data=flags, shape=flags.shape, scales=Fixed(floats(1, 1, 2, 1.5)))
    agree(given, flags, wanted=[flags.repeat(2, 2)[..., [0, 0, 1]]])
    short = np.array([[[[1, 2], [3, 5]]]], ml_dtypes.bfloat16)
    ways = [{"mode": mode} for mode in ("nearest", "linear")]
    given = several(*ways, data=short, shape=short.shape, scales=Fixed(floats(1, 1, 1, 2)))
    rows = [[[[1, 1, 2, 2], [3, 3, 5, 5]]]], [[[[1, 1.25, 1.75, 2], [3, 3.5, 4.5, 5]]]]
    agree(given, short, wanted=[np.array(row, short.dtype) for row in rows])


# --- dimensions with names


def test_names_of_dimensions_are_multiplied() -> None:
    shape = ("n", 2, "h", "w")
    given = several(*every("linear"), scales=Fixed(floats(1, 1, 2, 3)), shape=shape)
    found = main_type(from_onnx(several({}, scales=Fixed(floats(1, 1, 2, 3)), shape=shape))[0])
    assert found == "Tensor[(n, 2, 2 * h, 3 * w), float32]"
    agree(given, X, rtol=1e-4, atol=1e-5)
    half = several({"mode": "linear"}, scales=Fixed(floats(1, 1, 0.5, 1)), shape=shape)
    assert main_type(from_onnx(half)[0]) == "Tensor[(n, 2, h // 2, w), float32]"
    agree(half, X, oracle=reference, rtol=1e-4, atol=1e-5)


def test_dimensions_that_nobody_names() -> None:
    given = several({"mode": "linear"}, sizes=Fixed(ints(1, 2, 3, 4)), shape=(None, 2, None, None))
    agree(given, X, rtol=1e-4, atol=1e-5)


def test_images_of_which_the_graph_computes_the_size() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["all"]),
        helper.make_node("Slice", ["all", "zero", "two"], ["front"]),
        helper.make_node("Concat", ["front", "size"], ["wanted"], axis=0),
        helper.make_node("Resize", ["x", "", "", "wanted"], ["y"], mode="linear"),
    ]
    constants = [
        numpy_helper.from_array(array, name)
        for name, array in (("zero", ints(0)), ("two", ints(2)), ("size", ints(9, 4)))
    ]
    described = [value("x", "float32", ("n", 2, "h", "w"))]
    given = of_graph(nodes, described, [onnx.ValueInfoProto(name="y")], constants, 17)
    assert main_type(from_onnx(given)[0]) == "Tensor[(n, 2, 9, 4), float32]"
    agree(given, X, rtol=1e-4, atol=1e-5)


def test_images_of_which_the_graph_computes_the_factors() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["all"]),
        helper.make_node("Slice", ["all", "two", "four"], ["back"]),
        helper.make_node("Cast", ["back"], ["old"], to=onnx.TensorProto.FLOAT),
        helper.make_node("Div", ["size", "old"], ["factors"]),
        helper.make_node("Concat", ["ones", "factors"], ["scales"], axis=0),
        helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="linear"),
    ]
    constants = [
        numpy_helper.from_array(array, name)
        for name, array in (
            ("two", ints(2)),
            ("four", ints(4)),
            ("size", floats(10, 14)),
            ("ones", floats(1, 1)),
        )
    ]
    described = [value("x", "float32", (None, 2, "h", "w"))]
    given = of_graph(nodes, described, [onnx.ValueInfoProto(name="y")], constants, 17)
    assert main_type(from_onnx(given)[0]) == "Tensor[(?, 2, ?, ?), float32]"
    agree(given, X, rtol=1e-4, atol=1e-5)


# --- other versions


def test_version_11_has_empty_inputs_for_what_is_left_out() -> None:
    none = Fixed(np.zeros(0, "float32"))
    ways = [
        {"mode": "nearest", "coordinate_transformation_mode": name}
        for name in ("tf_half_pixel_for_nn", "half_pixel")
    ]
    given = several(*ways, opset=11, roi=none, scales=none, sizes=Fixed(ints(1, 2, 8, 14)))
    agree(given, X)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("factors", [(1, 1, 2, 2), (1, 1, 0.6, 3)])
def test_version_10_has_only_factors(mode: str, factors: tuple[float, ...]) -> None:
    agree(model("Resize", X, Fixed(floats(*factors)), opset=10, mode=mode), X, rtol=1e-4)
    agree(model("Resize", X, floats(*factors), opset=10, mode=mode), X, floats(*factors))


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_upsample(mode: str) -> None:
    factors = floats(1, 1, 1.5, 3)
    agree(model("Upsample", X, Fixed(factors), opset=9, mode=mode), X, rtol=1e-4)
    given = model("Upsample", X, opset=7, mode=mode, scales=[float(one) for one in factors])
    agree(given, X, rtol=1e-4)


def test_upsample_of_version_1_names_two_factors() -> None:
    given = model("Upsample", X, opset=1, mode="nearest", height_scale=2.0, width_scale=3.0)
    agree(given, X, wanted=[X.repeat(2, 2).repeat(3, 3)])


# --- what makes no sense


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: several({}), "either `scales` or `sizes`"),
        (
            lambda: several({}, scales=Fixed(floats(1, 1)), sizes=Fixed(ints(1, 2))),
            "either `scales` or `sizes`",
        ),
        (lambda: several({}, sizes=Fixed(ints(1, 2))), "the sizes have the wrong length"),
        (lambda: several({}, sizes=Fixed(ints(1, 2, 3, -4))), "negative"),
        (lambda: several({}, scales=Fixed(floats(1, 1, 0, 2))), "not positive"),
        (lambda: several({"axes": [7]}, sizes=Fixed(ints(1))), "out of range"),
        (lambda: several({"mode": "odd"}, sizes=Fixed(ints(1, 2, 3, 4))), "no such `mode`"),
        (
            lambda: several({"antialias": 1}, sizes=Fixed(ints(1, 2, 3, 4))),
            "`antialias` is for modes linear and cubic",
        ),
        (
            lambda: several(
                {"coordinate_transformation_mode": "tf_crop_and_resize"},
                sizes=Fixed(ints(1, 2, 3, 4)),
            ),
            "`roi` is missing",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(given: Any, message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        from_onnx(given())
