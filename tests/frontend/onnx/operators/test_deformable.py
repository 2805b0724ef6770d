"""Bent windows: images against ONNX Runtime, other numbers of axes against the definition, which
`by_definition` writes out in loops and ONNX Runtime confirms on images."""

from __future__ import annotations

from itertools import product
from math import floor, prod
from typing import Any

import numpy as np
import pytest

from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import Fixed, agree, main_type, model, runtime, same

CHANCE = np.random.default_rng(19)


def drawn(*shape: int, low: float = -1.0, high: float = 1.0, dtype: str = "float32") -> np.ndarray:
    return CHANCE.uniform(low, high, shape).astype(dtype)


# --- the definition


def between(image: np.ndarray, place: np.ndarray) -> float:
    """What an image has at a place between its elements; outside there are zeros."""
    total = 0.0
    for corner in product((0, 1), repeat=image.ndim):
        at = tuple(floor(one) + side for one, side in zip(place, corner, strict=True))
        if all(0 <= one < extent for one, extent in zip(at, image.shape, strict=True)):
            total += image[at] * float(np.prod(1 - np.abs(place - np.array(at))))
    return total


def by_definition(
    data: np.ndarray,
    weight: np.ndarray,
    offset: np.ndarray,
    bias: np.ndarray | None = None,
    mask: np.ndarray | None = None,
    *,
    strides: Any = None,
    pads: Any = None,
    dilations: Any = None,
    group: int = 1,
    offset_group: int = 1,
    kernel_shape: Any = None,
) -> np.ndarray:
    outputs, each, *sizes = weight.shape
    axes, counts = len(sizes), offset.shape[2:]
    steps, gaps = np.array(strides or [1] * axes), np.array(dilations or [1] * axes)
    before = np.array((pads or [0] * 2 * axes)[:axes])
    moves = offset.astype("float64").reshape(len(data), offset_group, *sizes, axes, *counts)
    shares = None if mask is None else mask.reshape(len(data), offset_group, *sizes, *counts)
    result = np.zeros((len(data), outputs, *counts))
    for n, o, i, at, tap in product(
        range(len(data)), range(outputs), range(each), np.ndindex(*counts), np.ndindex(*sizes)
    ):
        channel = o // (outputs // group) * each + i
        part = channel // (data.shape[1] // offset_group)
        moved = moves[(n, part, *tap, slice(None), *at)]
        place = np.array(at) * steps - before + np.array(tap) * gaps + moved
        share = 1.0 if shares is None else float(shares[(n, part, *tap, *at)])
        read = between(data[n, channel].astype("float64"), place)
        result[(n, o, *at)] += float(weight[(o, i, *tap)]) * share * read
    if bias is not None:
        result += bias.reshape(-1, *[1] * axes)
    return result.astype(data.dtype)


def case(
    extents: tuple[int, ...],
    sizes: tuple[int, ...],
    *,
    channels: int = 2,
    each: int = 2,
    outputs: int = 3,
    batch: int = 1,
    dtype: str = "float32",
    far: float = 1.5,
    **attributes: Any,
) -> list[np.ndarray]:
    """Data, weights, offsets, biases and masks that fit together."""
    axes = len(sizes)
    pads = attributes.get("pads") or [0] * 2 * axes
    counts = [
        (extent + pads[a] + pads[a + axes] - (size - 1) * gap - 1) // step + 1
        for a, (extent, size, gap, step) in enumerate(
            zip(
                extents,
                sizes,
                attributes.get("dilations") or [1] * axes,
                attributes.get("strides") or [1] * axes,
                strict=True,
            )
        )
    ]
    numbers = attributes.get("offset_group", 1) * prod(sizes)
    return [
        drawn(batch, channels, *extents, dtype=dtype),
        drawn(outputs, each, *sizes, dtype=dtype),
        drawn(batch, numbers * axes, *counts, low=-far, high=far, dtype=dtype),
        drawn(outputs, dtype=dtype),
        drawn(batch, numbers, *counts, low=0, dtype=dtype),
    ]


# --- images


def test_windows_are_bent() -> None:
    groups: dict[str, Any] = {"group": 2, "offset_group": 2}
    inputs = case((7, 6), (3, 3), channels=4, outputs=6, **groups)
    agree(model("DeformConv", *inputs, opset=19, **groups), *inputs, atol=1e-5)
    agree(model("DeformConv", *inputs[:3], opset=22, **groups), *inputs[:3], atol=1e-5)


STEPS: dict[str, Any] = {"strides": [2, 1], "pads": [1, 0, 1, 2], "dilations": [2, 1]}


def test_windows_with_steps_and_paddings() -> None:
    data, weight, offset, _, share = case((7, 6), (2, 3), batch=2, **STEPS)
    more: dict[str, Any] = {**STEPS, "kernel_shape": [2, 3]}
    given = model("DeformConv", data, Fixed(weight), offset, None, share, opset=19, **more)
    agree(given, data, offset, share, atol=1e-5)


@pytest.mark.parametrize("attributes", [{}, STEPS, {"group": 2, "offset_group": 2}])
def test_the_definition_is_that_of_onnx_runtime(attributes: dict[str, Any]) -> None:
    each = 2 // attributes.get("group", 1)
    inputs = case((5, 6), (2, 3), each=each, outputs=4, batch=2, far=3.0, **attributes)
    for given in (inputs[:3], inputs):
        found = runtime(model("DeformConv", *given, opset=19, **attributes), *given)
        same(found, [by_definition(*given, **attributes)], 1e-5, 1e-5)


# --- any number of axes


def agrees(inputs: list[Any], shapes: Any = None, tolerance: float = 1e-5, **more: Any) -> None:
    given = model("DeformConv", *inputs, opset=22, shapes=shapes, **more)
    present = [one for one in inputs if one is not None]
    wanted = by_definition(*inputs, **more)
    agree(given, *present, wanted=[wanted], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("extents", "sizes"), [((9,), (3,)), ((4, 3, 5), (2, 1, 3)), ((3, 2, 3, 2), (2, 1, 2, 2))]
)
def test_signals_volumes_and_more(extents: tuple[int, ...], sizes: tuple[int, ...]) -> None:
    inputs = case(extents, sizes, batch=2)
    agrees(inputs[:3])
    agrees(inputs)


@pytest.mark.parametrize(
    ("extents", "sizes", "steps"),
    [
        ((9,), (3,), {"strides": [2], "pads": [1, 2], "dilations": [2]}),
        (
            (5, 4, 6),
            (2, 2, 2),
            {"strides": [2, 1, 2], "pads": [1, 0, 2, 0, 1, 1], "dilations": [1, 2, 3]},
        ),
    ],
)
def test_steps_and_paddings(
    extents: tuple[int, ...], sizes: tuple[int, ...], steps: dict[str, Any]
) -> None:
    data, weight, offset, _, share = case(extents, sizes, batch=2, **steps)
    agrees([data, weight, offset, None, share], kernel_shape=list(sizes), **steps)


@pytest.mark.parametrize(("groups", "parts"), [(1, 3), (3, 1), (2, 3), (6, 6)])
def test_groups_of_channels_and_of_offsets(groups: int, parts: int) -> None:
    more: dict[str, Any] = {"group": groups, "offset_group": parts}
    for extents, sizes in (((6,), (2,)), ((3, 4, 2), (2, 2, 1))):
        shape: dict[str, Any] = {"channels": 6, "each": 6 // groups, "outputs": 6, "batch": 2}
        agrees(case(extents, sizes, **shape, **more), **more)


def test_places_far_outside_are_zero() -> None:
    inputs = case((4, 3, 4), (2, 2, 2), far=40.0)
    inputs[2][:, :5] = 1e30
    agrees(inputs)
    inputs[2][:] = -1e30
    agrees(inputs)


def test_places_on_elements_and_at_the_edges() -> None:
    inputs = case((5, 3, 4), (2, 1, 2))
    inputs[2] = np.round(inputs[2] * 3)
    agrees(inputs)
    inputs[2] = inputs[2] + np.float32(0.5)
    agrees(inputs)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float16", 2e-3)])
def test_other_elements(dtype: str, tolerance: float) -> None:
    agrees(case((3, 4, 3), (2, 2, 2), dtype=dtype), tolerance=tolerance)


@pytest.mark.parametrize("axes", [1, 3])
def test_dimensions_with_names(axes: int) -> None:
    inputs = case((5, 4, 3)[:axes], (2, 2, 2)[:axes], batch=2)
    names, ends = ("d", "h", "w")[:axes], ("x", "y", "z")[:axes]
    shapes: Any = {0: ("n", 2, *names)}
    shapes |= {place: ("n", inputs[place].shape[1], *ends) for place in (2, 4)}
    agrees(inputs, shapes=shapes)
    given = model("DeformConv", *inputs, opset=22, shapes=shapes)
    wanted = ", ".join(f"{name} - 1" for name in names)
    assert main_type(from_onnx(given)[0]) == f"Tensor[(n, 3, {wanted}), float32]"


def test_some_dimensions_with_names() -> None:
    inputs = case((5, 4, 3), (2, 2, 2), batch=2)
    names = [("n", 2, 5, "h", "w"), None, ("m", 24, 4, 3, "x"), None, ("k", 8, "y", 3, "z")]
    for place in (0, 2, 4):
        agrees(inputs, shapes={place: names[place]})
    agrees(inputs, shapes={place: names[place] for place in (0, 2, 4)})


@pytest.mark.parametrize(
    ("shapes", "attributes", "message"),
    [
        ([(1, 1), (1, 1), (1, 1)], {}, "no spatial axes"),
        ([(1, 1, 3), (1, 1, 1), (1, 2, 3)], {}, "shape of offsets does not fit"),
        ([(1, 1, 3), (1, 1, 2), (1, 2, 3)], {}, "shape of offsets does not fit"),
        (
            [(1, 1, 3), (1, 1, 1), (1, 1, 3, 1)],
            {},
            "masks have the wrong number of axes",
        ),
        ([(1, 1, 3), (1, 1, 1), (1, 1, 3), (1,), (1, 2, 3)], {}, "shape of masks does not fit"),
        ([(1, 1, 3), (1, 1, 4), (1, 4, 0)], {}, "larger than padded data"),
        ([(1, 1, 3), (1, 1, 0), (1, 0, 4)], {}, "windows have no elements"),
        ([(1, 3, 3), (1, 3, 1), (1, 2, 3)], {"offset_group": 2}, "not shared evenly"),
        ([(1, 1, 3), (1, 1, 1), (1, 1, 3)], {"strides": [0]}, "`strides` are not positive"),
        ([(1, 1, 3), (1, 1, 1), (1, 1, 3)], {"pads": [0]}, "`pads` has the wrong length"),
        ([(1, 1, *[1] * 9), (1, 1, *[1] * 9), (1, 9, *[1] * 9)], {}, "too many spatial axes"),
    ],
)
def test_what_makes_no_sense_is_refused(shapes: Any, attributes: Any, message: str) -> None:
    given = model("DeformConv", *(drawn(*shape) for shape in shapes), opset=19, **attributes)
    with pytest.raises(FrontendError, match=message):
        from_onnx(given)
