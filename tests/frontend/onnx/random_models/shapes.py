"""Shapes: values put otherwise, cut, joined, picked from; shapes that a graph computes."""

from __future__ import annotations

from math import prod

import numpy as np
from onnx import numpy_helper

from tests.frontend.onnx.random_models.making import Maker, Nothing, Rules, Tensor

rule = Rules()


def shape_of(make: Maker, data: Tensor) -> str:
    return make.node("Shape", data.name)[0]


def extent(make: Maker, shape: str, axis: int, as_list: bool = True) -> str:
    """An extent out of a shape, as a list of one."""
    index = make.constant([axis] if as_list else axis)
    return make.node("Gather", shape, index, axis=0)[0]


@rule(3)
def reshape(make: Maker) -> None:
    """Two axes as one, by numbers or by what the graph finds out about the shape."""
    data = make.some(lambda one: one.rank >= 2)
    axis = make.choices.number(0, data.rank - 2)
    new = [*data.shape[:axis], data.shape[axis] * data.shape[axis + 1], *data.shape[axis + 2 :]]
    how = make.choices.number(0, 3)
    if how == 0:
        wanted = make.numbers(new)
    elif how == 1:
        wanted = make.numbers([*[0] * axis, -1, *new[axis + 1 :]])
    else:
        shape = shape_of(make, data)
        parts = [extent(make, shape, one) for one in range(axis)]
        pair = [extent(make, shape, axis), extent(make, shape, axis + 1)]
        joined = make.node("Mul", *pair)[0] if how == 2 else make.constant([-1])
        parts += [joined, *(extent(make, shape, one) for one in range(axis + 2, data.rank))]
        wanted = make.node("Concat", *parts, axis=0)[0]
    make.add("Reshape", [data, wanted], data.dtype, new, data.exact, data.large)


@rule()
def flatten(make: Maker) -> None:
    data = make.some(lambda one: one.rank > 0)
    axis = make.choices.number(0, data.rank)
    shape = [prod(data.shape[:axis]), prod(data.shape[axis:])]
    make.add("Flatten", [data], data.dtype, shape, data.exact, data.large, axis=axis)


@rule(2)
def another_axis(make: Maker) -> None:
    data = make.some(lambda one: one.rank < 4)
    axis = make.choices.number(0, data.rank)
    shape = [*data.shape[:axis], 1, *data.shape[axis:]]
    found = make.with_axes("Unsqueeze", data, [axis], 13)
    make.keep(Tensor(found, data.dtype, tuple(shape), data.exact, data.large))


@rule()
def axis_less(make: Maker) -> None:
    data = make.some(lambda one: 1 in one.shape)
    axis = data.shape.index(1)
    shape = [*data.shape[:axis], *data.shape[axis + 1 :]]
    found = make.with_axes("Squeeze", data, [make.signed(axis, data.rank)], 13)
    make.keep(Tensor(found, data.dtype, tuple(shape), data.exact, data.large))


@rule(2)
def transpose(make: Maker) -> None:
    data = make.some(lambda one: one.rank >= 2)
    order = list(range(data.rank))
    for place in range(data.rank - 1):
        other = make.choices.number(place, data.rank - 1)
        order[place], order[other] = order[other], order[place]
    shape = [data.shape[axis] for axis in order]
    make.add("Transpose", [data], data.dtype, shape, data.exact, data.large, perm=order)


@rule()
def expand(make: Maker) -> None:
    data = make.some(lambda one: one.rank > 0)
    other = make.some(lambda one: one.rank > 0)
    try:
        shape = np.broadcast_shapes(data.shape, other.shape)
    except ValueError:
        raise Nothing from None
    wanted = shape_of(make, other) if make.yes() else make.numbers(other.shape)
    make.add("Expand", [data, wanted], data.dtype, shape, data.exact, data.large)


@rule()
def tile(make: Maker) -> None:
    data = make.some(lambda one: one.rank > 0 and one.dtype in ("float32", "int64", "bool"))
    times = [make.choices.number(1, 2) for _ in data.shape]
    shape = [one * extent_ for one, extent_ in zip(times, data.shape, strict=True)]
    make.add("Tile", [data, make.numbers(times)], data.dtype, shape, data.exact, data.large)


@rule(3)
def slice_(make: Maker) -> None:
    data = make.some(lambda one: one.rank > 0)
    axis = make.axis(data)
    size = data.shape[axis]
    start, end = make.choices.number(-size - 1, size), make.choices.number(-size - 1, size + 2)
    step = make.choices.choice([1, 1, 2, -1])
    kept = len(range(size)[slice(start, end, step)])
    # bounds before the beginning are clamped by ONNX as by Python
    if kept == 0:
        raise Nothing
    where = make.constant([make.signed(axis, data.rank)])
    lists = [make.numbers([start]), make.numbers([end]), where, make.numbers([step])]
    shape = [kept if at == axis else e for at, e in enumerate(data.shape)]
    make.add("Slice", [data, *lists], data.dtype, shape, data.exact, data.large)


@rule(2)
def concat(make: Maker) -> None:
    first = make.some(lambda one: one.rank > 0)
    axis = make.axis(first)

    def beside(one: Tensor) -> bool:
        rest = [e for at, e in enumerate(one.shape) if at != axis]
        mine = [e for at, e in enumerate(first.shape) if at != axis]
        return one.dtype == first.dtype and one.rank == first.rank and rest == mine

    others = [make.some(beside) for _ in range(make.choices.number(1, 2))]
    parts = [first, *others]
    shape = list(first.shape)
    shape[axis] = sum(one.shape[axis] for one in parts)
    exact = all(one.exact for one in parts)
    large = max(one.large for one in parts)
    place = make.signed(axis, first.rank)
    make.add("Concat", parts, first.dtype, shape, exact, large, axis=place)


@rule()
def split(make: Maker) -> None:
    data = make.some(lambda one: any(e >= 2 for e in one.shape))
    axis = make.axis(data, 2)
    first = make.choices.number(1, data.shape[axis] - 1)
    sizes = [first, data.shape[axis] - first]
    if make.opset < 13:
        names = make.node("Split", data.name, outputs=2, axis=axis, split=sizes)
    else:
        names = make.node("Split", data.name, make.numbers(sizes), outputs=2, axis=axis)
    for name, size in zip(names, sizes, strict=True):
        shape = tuple(size if at == axis else e for at, e in enumerate(data.shape))
        make.keep(Tensor(name, data.dtype, shape, data.exact, data.large))


@rule()
def pad(make: Maker) -> None:
    data = make.some(lambda one: one.rank > 0 and one.dtype in ("float32", "float64", "int64"))
    mode = make.choices.choice(["constant", "edge", "reflect"])
    widths = []
    for size in (*data.shape, *data.shape):
        most = min(2, size - 1) if mode == "reflect" else 2
        widths.append(make.choices.number(0, most))
    ends = zip(data.shape, widths[: data.rank], widths[data.rank :], strict=True)
    shape = [sum(one) for one in ends]
    more = [make.constant(1, data.dtype)] if mode == "constant" and make.yes() else []
    inputs = [data, make.numbers(widths), *more]
    make.add("Pad", inputs, data.dtype, shape, data.exact, data.large, mode=mode)


@rule(2)
def gather(make: Maker) -> None:
    data = make.some(lambda one: one.rank > 0)
    axis = make.axis(data)
    size = data.shape[axis]
    count = make.choices.choice([(), (1,), (2,), (2, 2)])
    places = [make.choices.number(-size, size - 1) for _ in range(prod(count))]
    indices = make.numbers(np.array(places).reshape(count))
    shape = [*data.shape[:axis], *count, *data.shape[axis + 1 :]]
    make.add("Gather", [data, indices], data.dtype, shape, data.exact, data.large, axis=axis)


@rule()
def of_a_shape(make: Maker) -> None:
    """A new tensor, as large as one that is there, or as long."""
    data = make.some(lambda one: one.rank > 0)
    shape = shape_of(make, data)
    if make.yes():
        filled = numpy_helper.from_array(np.array([1.5], "float32"))
        make.add("ConstantOfShape", [shape], "float32", data.shape, True, 2, value=filled)
        return
    axis = make.axis(data)
    length = extent(make, shape, axis, as_list=False)
    start, step = make.numbers(0), make.numbers(1)
    make.add("Range", [start, length, step], "int64", [data.shape[axis]], True, 5)


@rule()
def best(make: Maker) -> None:
    data = make.some(lambda one: one.rank > 0 and one.exact and one.dtype in ("float32", "int64"))
    axis = make.axis(data)
    count = make.choices.number(1, data.shape[axis])
    wanted = make.numbers([count])
    names = make.node("TopK", data.name, wanted, outputs=2, axis=axis, largest=int(make.yes()))
    shape = tuple(count if at == axis else e for at, e in enumerate(data.shape))
    make.keep(Tensor(names[0], data.dtype, shape, data.exact, data.large))


@rule()
def of_each_place(make: Maker) -> None:
    """Elements that indices name at each place, or that are written there."""
    data = make.some(lambda one: one.rank > 0 and one.dtype in ("float32", "int64"))
    axis = make.axis(data)
    size = data.shape[axis]
    places = (np.arange(data.size) * 5 + make.choices.number(0, 4)).reshape(data.shape) % size
    if make.yes():
        indices = make.constant(places - size * (places % 2))
        make.add(
            "GatherElements", [data, indices], data.dtype, data.shape, data.exact, data.large,
            axis=make.signed(axis, data.rank),
        )  # fmt: skip
        return
    # every place once: which of several comes last is left open
    backwards = np.arange(size)[::-1].reshape([-1 if at == axis else 1 for at in range(data.rank)])
    order = np.broadcast_to(backwards, data.shape)
    inputs = [data, make.constant(order), make.constant(places, data.dtype)]
    make.add("ScatterElements", inputs, data.dtype, data.shape, data.exact, 5, axis=axis)


@rule()
def one_hot(make: Maker) -> None:
    data = make.some(lambda one: one.dtype == "int64" and one.exact and one.rank in (1, 2))
    depth = make.choices.number(1, 4)
    axis = make.choices.number(0, data.rank)
    shape = [*data.shape[:axis], depth, *data.shape[axis:]]
    # indices beyond either end name nothing
    inputs = [data, make.numbers(depth), make.constant([-1, 2], "float32")]
    make.add("OneHot", inputs, "float32", shape, True, 2, axis=axis)


@rule()
def triangle(make: Maker) -> None:
    data = make.some(lambda one: one.rank >= 2 and one.dtype in ("float32", "int64"))
    if make.opset < 14:
        raise Nothing
    k = make.numbers(make.choices.number(-2, 2))
    upper = int(make.yes())
    make.add("Trilu", [data, k], data.dtype, data.shape, data.exact, data.large, upper=upper)


@rule()
def resized(make: Maker) -> None:
    data = make.some(lambda one: one.rank == 4 and one.dtype == "float32")
    shape = [*data.shape[:2], *(make.choices.number(1, 6) for _ in range(2))]
    mode = make.choices.choice(["nearest", "linear"])
    places = make.choices.choice(["asymmetric", "align_corners", "half_pixel"])
    attributes = {"mode": mode, "coordinate_transformation_mode": places}
    if mode == "nearest":
        attributes |= {"nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"}
    empty = "" if make.opset >= 13 else make.constant([], "float32")
    inputs = [data, empty, empty, make.numbers(shape)]
    exact = data.exact and mode == "nearest"
    make.add("Resize", inputs, "float32", shape, exact, data.large, **attributes)
