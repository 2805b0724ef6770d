"""Resizing and grids: against PyTorch, what integers do, exact places, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import relay
from relay.check.infer import infer_expr
from relay.errors import EvaluationError, TypeCheckError
from relay.ir.types import ShapeVar, TensorType
from relay.op.building.interpolation import as_dtype, source_places
from relay.op.opdef import get

RANDOM = np.random.default_rng(3)


def run(name: str, *args: Any, **attrs: Any) -> Any:
    op = get(name)
    return op.reference(*args, **dict(op.make_attrs(attrs).items()))


def type_of(expr: Any) -> TensorType:
    found = infer_expr(expr).checked_type
    assert isinstance(found, TensorType)
    return found


def tensor(*shape: Any, dtype: str = "float32") -> relay.Var:
    return relay.var("x", TensorType(shape, dtype))


# --- resizing ----------------------------------------------------------------------------------

SIZES = [(3, 4), (5, 9), (10, 8), (13, 1), (1, 17), (7, 11)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("attrs", "options"),
    [
        (
            {"method": "linear", "coordinate_transformation_mode": "half_pixel"},
            {"mode": "bilinear", "align_corners": False},
        ),
        (
            {"method": "linear", "coordinate_transformation_mode": "align_corners"},
            {"mode": "bilinear", "align_corners": True},
        ),
        (
            {
                "method": "cubic",
                "coordinate_transformation_mode": "half_pixel",
                "cubic_alpha": -0.75,
            },
            {"mode": "bicubic", "align_corners": False},
        ),
        (
            {
                "method": "cubic",
                "coordinate_transformation_mode": "align_corners",
                "cubic_alpha": -0.75,
            },
            {"mode": "bicubic", "align_corners": True},
        ),
        (
            {
                "method": "nearest_neighbor",
                "coordinate_transformation_mode": "asymmetric",
                "rounding_method": "floor",
            },
            {"mode": "nearest"},
        ),
        (
            {
                "method": "nearest_neighbor",
                "coordinate_transformation_mode": "half_pixel",
                "rounding_method": "round",
            },
            {"mode": "nearest-exact"},
        ),
    ],
)
def test_resizing_agrees_with_torch(
    size: tuple[int, int], attrs: dict[str, Any], options: dict[str, Any]
) -> None:
    images = RANDOM.normal(size=(2, 3, 5, 7))
    expected = F.interpolate(torch.from_numpy(images), size, **options).numpy()
    np.testing.assert_allclose(
        run("image.resize2d", images, size=size, **attrs), expected, rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("kind", ["debug", "graph", "vm"])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_without_a_rounding_method_places_are_cut_off_except_with_aligned_corners(
    kind: str, rank: int
) -> None:
    resize = {1: relay.image.resize1d, 2: relay.image.resize2d, 3: relay.image.resize3d}[rank]
    ones = (1,) * (rank - 1)
    data = np.arange(4, dtype="float32").reshape(1, 1, *ones, 4)
    for mode, expected in {
        "half_pixel": [0, 0, 0, 1, 1, 2, 2, 3],
        "asymmetric": [0, 0, 1, 1, 2, 2, 3, 3],
        "align_corners": [0, 0, 1, 1, 2, 2, 3, 3],
    }.items():
        x = relay.var("x", shape=data.shape)
        y = resize(
            x, (*ones, 8), None, ("NCW", "NCHW", "NCDHW")[rank - 1], "nearest_neighbor", mode
        )
        found = relay.create_executor(kind, relay.IRModule.from_expr(relay.Function([x], y)))
        assert found.evaluate()(data).numpy().ravel().tolist() == expected


@pytest.mark.parametrize("method", ["nearest_neighbor", "linear", "cubic"])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int64"])
def test_an_even_image_of_integers_stays_even(method: str, dtype: str) -> None:
    image = np.full((1, 1, 3, 4), 77, dtype)
    large = run("image.resize2d", image, size=(7, 13), method=method)
    np.testing.assert_array_equal(large, np.full((1, 1, 7, 13), 77, dtype))


def test_integers_saturate_where_a_cubic_curve_leaves_their_range() -> None:
    signal = np.array([0, 0, 255, 255], "uint8").reshape(1, 1, 4)
    found = run("image.resize1d", signal, size=8, method="cubic")
    curve = run("image.resize1d", signal.astype("float64"), size=8, method="cubic")
    assert curve.min() < 0 and curve.max() > 255
    np.testing.assert_array_equal(found, np.clip(np.rint(curve), 0, 255).astype("uint8"))


@pytest.mark.parametrize(
    ("mode", "rounding"),
    [
        ("half_pixel", "round"),
        ("asymmetric", ""),
        ("tf_half_pixel_for_nn", ""),
        ("pytorch_half_pixel", "round"),
    ],
)
@pytest.mark.parametrize("factor", [1, 2, 3, 7])
def test_a_whole_factor_repeats_each_element(mode: str, rounding: str, factor: int) -> None:
    signal = np.arange(5.0).reshape(1, 1, 5)
    x = relay.const(signal, "float64")
    call = relay.image.resize1d(
        x,
        5 * factor,
        method="nearest_neighbor",
        coordinate_transformation_mode=mode,
        rounding_method=rounding,
    )
    found = relay.create_executor("debug").evaluate(call).numpy()
    np.testing.assert_array_equal(found, signal.repeat(factor, -1))


def test_places_that_are_elements_are_exact() -> None:
    for extent in range(1, 60):
        for factor in range(1, 60):
            places = source_places(extent * factor, extent, "asymmetric")
            np.testing.assert_array_equal(places[::factor], np.arange(extent))
            assert (np.floor(places) == np.arange(extent * factor) // factor).all()


def test_resizing_an_empty_axis_is_refused_in_types_and_in_runs() -> None:
    with pytest.raises(TypeCheckError, match="axis H, which has no elements"):
        type_of(relay.image.resize2d(tensor(1, 1, 0, 4), (2, 2)))
    with pytest.raises(EvaluationError, match="axis without elements"):
        run("image.resize2d", np.zeros((1, 1, 0, 4), "float32"), size=(2, 2))


@pytest.mark.parametrize(
    ("attrs", "message"),
    [
        ({"size": (2,)}, "`size` does not fit"),
        ({"size": (2, 0)}, "`size` does not fit"),
        ({"layout": "NCW"}, "`layout` is no layout"),
        ({"coordinate_transformation_mode": "tf_crop_and_resize"}, "`roi` does not fit"),
        ({"roi": (0.0, 1.0)}, "`roi` does not fit"),
    ],
)
def test_attributes_of_resize_that_do_not_fit(attrs: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeCheckError, match=message):
        call = get("image.resize2d")(tensor(1, 1, 4, 4), **({"size": (2, 2)} | attrs))
        type_of(call)


# --- upsampling --------------------------------------------------------------------------------


def test_factors_are_the_decimal_fractions_they_are_written_as() -> None:
    n = ShapeVar("n")
    x = tensor(1, 1, n, 15)
    assert type_of(relay.nn.upsampling(x, 2, 0.1)).shape == (1, 1, 2 * n, 2)
    assert type_of(relay.nn.upsampling(x, 1.5, 1)).shape == (1, 1, (3 * n + 1) // 2, 15)
    with pytest.raises(TypeCheckError, match="`scale_h` is no factor"):
        type_of(relay.nn.upsampling(x, -2, 1))


# --- grids -------------------------------------------------------------------------------------


def test_the_identity_grid_reads_the_image_itself() -> None:
    images = RANDOM.normal(size=(2, 3, 4, 5))
    identity = np.tile(np.eye(2, 3), (2, 1, 1))
    grid = run("image.affine_grid", identity, target_shape=(4, 5))
    for method in ("nearest", "bilinear", "bicubic"):
        found = run("image.grid_sample", images, grid, method=method)
        np.testing.assert_allclose(found, images, atol=1e-12)


def test_places_that_are_no_numbers_do_no_harm() -> None:
    images = np.ones((1, 1, 3, 3), "float32")
    grid = np.array([np.nan, np.inf, -np.inf, 1e30], "float32")
    grid = np.stack((grid, grid)).reshape(1, 2, 2, 2)
    for padding_mode in ("zeros", "border", "reflection"):
        for method in ("nearest", "bilinear", "bicubic"):
            found = run("image.grid_sample", images, grid, method=method, padding_mode=padding_mode)
            assert found.shape == (1, 1, 2, 2)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda x: relay.image.grid_sample(x, tensor(1, 3, 2, 2)), "argument `grid`"),
        (lambda x: relay.image.grid_sample(x, tensor(2, 2, 2, 2)), "argument `grid`"),
        (lambda x: relay.image.grid_sample(x, tensor(1, 2, 2)), "wrong rank"),
        (lambda x: relay.image.affine_grid(tensor(1, 3, 3), (2, 2)), "argument `data`"),
        (lambda x: relay.image.affine_grid(tensor(1, 2, 3), (2,)), "`target_shape`"),
        (
            lambda x: relay.image.crop_and_resize(
                x, tensor(3, 5), tensor(3, dtype="int32"), (2, 2), "NCHW"
            ),
            "argument `boxes`",
        ),
        (lambda x: relay.image.dilation2d(x, tensor(2, 3, 3)), "argument `weight`"),
        (lambda x: relay.image.dilation2d(x, tensor(1, 7, 3)), "the window is larger"),
    ],
)
def test_arguments_that_do_not_fit(build: Any, message: str) -> None:
    with pytest.raises(TypeCheckError, match=message):
        type_of(build(tensor(1, 1, 4, 4)))


def test_halfway_between_integers_is_not_decided_by_the_last_place_of_a_float() -> None:
    near = np.array([18.5, 19.5, -0.5, 2.5])
    for nudged in (near, near + 1e-9, near - 1e-9):
        np.testing.assert_array_equal(as_dtype(nudged, "int8"), [18, 20, 0, 2])
    np.testing.assert_array_equal(as_dtype(near + 1e-3, "int8"), [19, 20, 0, 3])
    huge = np.array([3e38, -np.inf], "float32")
    np.testing.assert_array_equal(as_dtype(huge, "int8"), [127, -128])
