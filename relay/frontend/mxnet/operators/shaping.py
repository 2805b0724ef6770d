"""Reshapes, slices, indexing, reductions, products, sorting."""

from __future__ import annotations

from typing import Any

import numpy as np

from relay import op
from relay.frontend.common.broadcast import joinable
from relay.frontend.common.builder import int64, static
from relay.frontend.common.indices import from_front
from relay.frontend.mxnet.converters import Table
from relay.frontend.mxnet.node import Node
from relay.ir.expr import Expr, const

table = Table()
END = 2**31 - 1


@table("Reshape", "reshape")
def reshape(node: Node, data: Expr) -> Expr:
    """Reshape; MXNet's special codes are those of `relay.reshape`."""
    codes = node.wholes("shape")
    if node.truth("reverse"):
        return op.reverse_reshape(data, codes)
    return op.reshape(data, codes)


@table("Flatten", "flatten")
def flatten(node: Node, data: Expr) -> Expr:
    return op.nn.batch_flatten(data)


@table("reshape_like")
def reshape_like(node: Node, data: Expr, like: Expr) -> Expr:
    return op.reshape_like(data, like)


@table("transpose")
def transpose(node: Node, data: Expr) -> Expr:
    axes = node.wholes("axes") or tuple(range(node.rank(data)))[::-1]
    return op.transpose(data, axes)


@table("SwapAxis", "swapaxes")
def swapaxes(node: Node, data: Expr) -> Expr:
    order = [*range(node.rank(data))]
    one, other = (node.axis_of(node.whole(name, 0), len(order)) for name in ("dim1", "dim2"))
    order[one], order[other] = other, one
    return op.transpose(data, tuple(order))


@table("expand_dims")
def expand_dims(node: Node, data: Expr) -> Expr:
    return op.expand_dims(data, node.axis_of(node.whole("axis"), node.rank(data) + 1))


@table("squeeze")
def squeeze(node: Node, data: Expr) -> Expr:
    axes = node.wholes("axis") or tuple(
        axis for axis, extent in enumerate(node.shape(data)) if extent == 1
    )
    return op.squeeze(data, tuple(node.axes_of(axes, node.rank(data))))


@table("Concat", "concat")
def concat(node: Node, *data: Expr) -> Expr:
    axis = node.axis_of(node.whole("dim", 1), node.rank(data[0]))
    return op.concatenate(joinable(node, axis, *data), axis=axis)


@table("stack")
def stack(node: Node, *data: Expr) -> Expr:
    return op.stack([*data], axis=node.axis_of(node.whole("axis", 0), node.rank(data[0]) + 1))


@table("SliceChannel", "split")
def split(node: Node, data: Expr) -> list[Expr]:
    axis = node.axis_of(node.whole("axis", 1), node.rank(data))
    count = node.whole("num_outputs")
    if count < 1:
        raise node.refused("there are no parts", "1 or more", str(count))
    found = node.fields(op.split(data, count, axis=axis).astuple(), count)
    return [op.squeeze(one, (axis,)) for one in found] if node.truth("squeeze_axis") else found


@table("_split_v2")
def split_v2(node: Node, data: Expr) -> list[Expr]:
    axis = node.axis_of(node.whole("axis", 1), node.rank(data))
    sections = node.whole("sections", 0)
    extent = node.static_extent(data, axis, "the extent of the axis")
    if sections:
        cuts = [extent // sections * place for place in range(sections)]
    else:
        cuts = [*node.wholes("indices")]
    ends = [*cuts[1:], extent]
    parts: list[Expr] = [
        op.strided_slice(data, [begin], [end], axes=(axis,))
        for begin, end in zip(cuts, ends, strict=True)
    ]
    if node.truth("squeeze_axis"):
        return [op.squeeze(node.let(one), (axis,)) for one in parts]
    return parts


@table("slice")
def slice_(node: Node, data: Expr) -> Expr:
    begins, ends = node.optional_wholes("begin"), node.optional_wholes("end")
    steps = [1 if one is None else one for one in node.optional_wholes("step")] or [1] * len(begins)
    if len(begins) != len(ends) or len(steps) != len(begins) or 0 in steps:
        raise node.refused("its bounds do not fit each other", found=f"{begins}, {ends}, {steps}")
    first = [
        (0 if step > 0 else END) if begin is None else begin
        for begin, step in zip(begins, steps, strict=True)
    ]
    last = [
        (END if step > 0 else -END) if end is None else end
        for end, step in zip(ends, steps, strict=True)
    ]
    return op.strided_slice(data, first, last, steps, axes=tuple(range(len(first))))


@table("slice_axis")
def slice_axis(node: Node, data: Expr) -> Expr:
    axis = node.axis_of(node.whole("axis"), node.rank(data))
    end = node.whole("end", END)
    return op.strided_slice(data, [node.whole("begin", 0)], [end], axes=(axis,))


@table("slice_like")
def slice_like(node: Node, data: Expr, like: Expr) -> Expr:
    axes = node.wholes("axes")
    return op.slice_like(data, like, axes or None)


@table("Crop")
def crop(node: Node, data: Expr, like: Expr | None = None) -> Expr:
    """Images cut to the size of others, or to a size."""
    source = like if like is not None else None
    sizes = node.wholes("h_w") if source is None else node.static_shape(source, "images")[2:]
    extents = node.static_shape(data, "images")[2:]
    begins = node.wholes("offset", 2, 0)
    if node.truth("center_crop"):
        begins = tuple((n - size) // 2 for n, size in zip(extents, sizes, strict=True))
    ends = [begin + size for begin, size in zip(begins, sizes, strict=True)]
    return op.strided_slice(data, [*begins], ends, axes=(2, 3))


@table("tile")
def tile(node: Node, data: Expr) -> Expr:
    return op.tile(data, node.wholes("reps"))


@table("repeat")
def repeat(node: Node, data: Expr) -> Expr:
    count = node.whole("repeats")
    if not node.has("axis"):
        return op.repeat(node.let(op.reshape(data, (-1,))), count, axis=0)
    return op.repeat(data, count, axis=node.axis_of(node.whole("axis"), node.rank(data)))


@table("reverse", "flip")
def reverse(node: Node, data: Expr) -> Expr:
    for axis in node.axes_of(node.wholes("axis"), node.rank(data)):
        data = node.let(op.reverse(data, axis=axis))
    return data


@table("broadcast_to")
def broadcast_to(node: Node, data: Expr) -> Expr:
    shape = node.static_shape(data, "data")
    wanted = node.wholes("shape")
    if len(wanted) != len(shape):
        raise node.refused("the shape has other axes", str(len(shape)), str(wanted))
    return op.broadcast_to(data, tuple(w or s for w, s in zip(wanted, shape, strict=True)))


@table("broadcast_axis", "broadcast_axes")
def broadcast_axis(node: Node, data: Expr) -> Expr:
    axes = node.axes_of(node.wholes("axis"), node.rank(data))
    for axis, size in zip(axes, node.wholes("size"), strict=True):
        data = node.let(op.repeat(data, size, axis=axis))
    return data


@table("broadcast_like")
def broadcast_like(node: Node, data: Expr, like: Expr) -> Expr:
    if node.has("lhs_axes") or node.has("rhs_axes"):
        raise node.refused("it names axes", "no lhs_axes")
    return op.broadcast_to_like(data, like)


@table("depth_to_space", "space_to_depth")
def depth_space(node: Node, data: Expr) -> Expr:
    size = node.whole("block_size")
    if node.operator == "depth_to_space":
        return op.nn.depth_to_space(data, size, layout="NCHW", mode="DCR")
    return op.nn.space_to_depth(data, size, layout="NCHW")


# --- new tensors ---------------------------------------------------------------------------------


@table("_zeros", "_ones", "_full")
def filled(node: Node) -> Expr:
    value = {"_zeros": 0.0, "_ones": 1.0}.get(node.operator)
    value = node.real("value") if value is None else value
    dtype, shape = node.element_type(), node.wholes("shape")
    if 0 in shape:
        raise node.refused("an extent is open", found=str(shape), hint="give the state as an input")
    return op.full(const(value, dtype), shape, dtype)


@table("_arange")
def arange(node: Node) -> Expr:
    start, step = node.real("start", 0.0), node.real("step", 1.0)
    if not node.has("stop"):
        start, stop = 0.0, start
    else:
        stop = node.real("stop")
    numbers = np.arange(start, stop, step).repeat(node.whole("repeat", 1))
    return const(numbers.astype(node.element_type()))


@table("_contrib_arange_like")
def arange_like(node: Node, data: Expr) -> Expr:
    start, step = node.real("start", 0.0), node.real("step", 1.0)
    if not node.has("axis"):
        shape = node.static_shape(data, "data")
        numbers = start + step * np.arange(int(np.prod(shape))).reshape(shape)
        return const(numbers.astype(node.dtype(data)))
    axis = node.axis_of(node.whole("axis"), node.rank(data))
    places = op.cast(node.positions(data, axis), node.dtype(data))
    return places * node.number(step, data) + node.number(start, data)


@table("one_hot")
def one_hot(node: Node, indices: Expr) -> Expr:
    dtype = node.element_type()
    on, off = const(node.real("on_value", 1.0), dtype), const(node.real("off_value", 0.0), dtype)
    whole = node.as_dtype(indices, "int32")
    return op.one_hot(whole, on, off, node.whole("depth"), -1, dtype)


@table("shape_array")
def shape_array(node: Node, data: Expr) -> Expr:
    return op.shape_of(data, "int64")


# --- gathers -------------------------------------------------------------------------------------


@table("take")
def take(node: Node, data: Expr, indices: Expr) -> Expr:
    axis = node.axis_of(node.whole("axis", 0), node.rank(data))
    mode = node.text("mode", "clip")
    if mode not in ("clip", "wrap", "raise"):
        raise node.refused("there is no such mode", "clip, wrap or raise", mode)
    places = node.as_dtype(indices, "int32")
    if mode == "raise":
        return op.take(data, from_front(node, places, data, axis), axis=axis)
    return op.take(data, places, axis=axis, mode=mode)


@table("pick")
def pick(node: Node, data: Expr, index: Expr) -> Expr:
    axis = node.axis_of(node.whole("axis", -1), node.rank(data))
    places = node.as_dtype(index, "int32")
    if node.rank(places) < node.rank(data):
        places = node.let(op.expand_dims(places, axis))
    extent = node.static_extent(data, axis, "the extent of the axis")
    if node.text("mode", "clip") == "wrap":
        places = node.let(op.floor_mod(places, const(extent, "int32")))
    else:
        places = node.let(op.clip(places, 0, extent - 1))
    found = op.gather(data, axis, places)
    return found if node.truth("keepdims") else op.squeeze(node.let(found), (axis,))


@table("gather_nd")
def gather_nd(node: Node, data: Expr, indices: Expr) -> Expr:
    return op.gather_nd(data, node.as_dtype(indices, "int32"))


# --- reductions ----------------------------------------------------------------------------------

_REDUCTIONS: dict[str, Any] = {
    "sum": op.sum, "sum_axis": op.sum, "mean": op.mean, "max": op.max, "max_axis": op.max,
    "min": op.min, "min_axis": op.min, "prod": op.prod,
}  # fmt: skip


def _axes(node: Node, data: Expr) -> tuple[int, ...]:
    rank = node.rank(data)
    named = node.axes_of(node.wholes("axis"), rank)
    if node.truth("exclude"):
        return tuple(axis for axis in range(rank) if axis not in named)
    return tuple(named or range(rank))


@table(*_REDUCTIONS)
def reduction(node: Node, data: Expr) -> Expr:
    """A reduction; over all axes the result has shape (1,)."""
    axes, keeps = _axes(node, data), node.truth("keepdims")
    found = node.let(_REDUCTIONS[node.operator](data, axis=axes, keepdims=keeps))
    return op.reshape(found, (1,)) if node.rank(found) == 0 else found


@table("norm")
def norm(node: Node, data: Expr) -> Expr:
    axes, keeps = _axes(node, data), node.truth("keepdims")
    order = node.whole("ord", 2)
    if order not in (1, 2):
        raise node.refused("there is no such norm", "1 or 2", str(order))
    if order == 1:
        found = node.let(op.sum(op.abs(data), axis=axes, keepdims=keeps))
    else:
        found = node.let(op.sqrt(op.sum(data * data, axis=axes, keepdims=keeps)))
    return op.reshape(found, (1,)) if node.rank(found) == 0 else found


@table("argmax", "argmin", "argmax_channel")
def place(node: Node, data: Expr) -> Expr:
    """argmax, argmin: the index as a float, in the element type of data."""
    operator = op.argmin if node.operator == "argmin" else op.argmax
    if node.operator == "argmax_channel":
        axis = node.rank(data) - 1
    elif not node.has("axis"):
        flat = node.let(op.reshape(data, (-1,)))
        found = op.cast(operator(flat, axis=(0,)), "float32")
        return op.reshape(found, (1,))
    else:
        axis = node.axis_of(node.whole("axis"), node.rank(data))
    return op.cast(operator(data, axis=(axis,), keepdims=node.truth("keepdims")), "float32")


# --- products and order --------------------------------------------------------------------------


@table("dot")
def dot(node: Node, lhs: Expr, rhs: Expr) -> Expr:
    """dot: contracts the last axis of `lhs` with the first axis of `rhs`."""
    turned = node.truth("transpose_a"), node.truth("transpose_b")
    ranks = node.rank(lhs), node.rank(rhs)
    if ranks == (1, 1):
        return op.reshape(op.sum(lhs * rhs), (1,))
    if max(ranks) > 2:
        if any(turned) or ranks[1] != 2:
            raise node.refused("it turns tensors of more than two axes", "matrices")
        flat = lhs
        for _ in range(ranks[0] - 2):
            flat = node.let(op.reshape(flat, (-3, *[0] * (node.rank(flat) - 2))))
        shape = static(node.shape(lhs)[:-1])
        if shape is None:
            raise node.refused("the sizes of its first axes must be known", hint=node.give_sizes)
        return op.reshape(node.let(op.nn.matmul(flat, rhs)), (*shape, -1))
    if ranks[0] == 1:
        found = node.let(op.nn.matmul(node.let(op.expand_dims(lhs, 0)), rhs, transpose_b=turned[1]))
        return op.squeeze(found, (0,))
    if ranks[1] == 1:
        found = node.let(op.nn.matmul(lhs, node.let(op.expand_dims(rhs, 1)), transpose_a=turned[0]))
        return op.squeeze(found, (1,))
    return op.nn.matmul(lhs, rhs, transpose_a=turned[0], transpose_b=turned[1])


@table("batch_dot")
def batch_dot(node: Node, lhs: Expr, rhs: Expr) -> Expr:
    turned = {f"transpose_{one}": node.truth(f"transpose_{one}") for one in "ab"}
    return op.nn.batch_matmul(lhs, rhs, **turned)


@table("_linalg_gemm2")
def gemm2(node: Node, lhs: Expr, rhs: Expr) -> Expr:
    turned: dict[str, Any] = {f"transpose_{one}": node.truth(f"transpose_{one}") for one in "ab"}
    scale = node.real("alpha", 1.0)
    if node.rank(lhs) == 2:
        found: Expr = op.nn.matmul(lhs, rhs, **turned)
    else:
        found = op.nn.batch_matmul(lhs, rhs, **turned)
    return found if scale == 1 else found * node.number(scale, lhs)


@table("sort", "argsort")
def sort(node: Node, data: Expr) -> Expr:
    axis = node.axis_of(node.whole("axis", -1), node.rank(data))
    ascending = node.truth("is_ascend", True)
    if node.operator == "sort":
        return op.sort(data, axis=axis, is_ascend=ascending)
    found = op.argsort(data, axis=axis, is_ascend=ascending, dtype="int32")
    return op.cast(found, node.element_type())


@table("topk")
def topk(node: Node, data: Expr) -> Any:
    axis = node.axis_of(node.whole("axis", -1), node.rank(data))
    kind = node.text("ret_typ", "indices")
    kinds = {"indices": "indices", "value": "values", "both": "both"}
    if kind not in kinds:
        raise node.refused("there is no such result", ", ".join(kinds), kind)
    found: Any = op.topk(
        data, node.whole("k", 1), axis=axis, ret_type=kinds[kind],
        is_ascend=node.truth("is_ascend"), dtype="int32",
    )  # fmt: skip
    dtype = node.element_type()
    if kind == "both":
        values, places = node.fields(found.astuple(), 2)
        return [values, op.cast(places, dtype)]
    return found if kind == "value" else op.cast(found, dtype)


@table("_unravel_index")
def unravel(node: Node, data: Expr) -> Expr:
    whole = node.as_dtype(data, "int64")
    return op.cast(op.unravel_index(whole, int64([*node.wholes("shape")])), node.dtype(data))
