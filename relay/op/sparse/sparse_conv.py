"""Convolution with a sparse weight."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from relay import te
from relay.ir import dims
from relay.ir.attrs import attrs
from relay.ir.expr import Expr
from relay.ir.types import TensorType, Type
from relay.op.building import elements, scalars
from relay.op.building.layouts import blocked_shape, require_layout, unblocked_shape
from relay.op.building.numerics import rounded_once
from relay.op.building.separable_rules import fixed
from relay.op.building.window import WindowAttrs, require_sizes
from relay.op.conv.conv import Conv2DAttrs, convolve
from relay.op.gradient_rules import Backward, Composed, build
from relay.op.loop_nest import nest, spread
from relay.op.opdef import FusionKind, define, sample
from relay.op.site import Site
from relay.op.sparse.sparse_matrix import (
    PARTS,
    block_shape,
    dense_matrix,
    require_columns,
    stored_at,
    stored_in_row,
    stored_rows,
    to_dense,
)


@attrs
class SparseConv2DAttrs(WindowAttrs, axes=2):
    """layout: the order of the axes of data, and of the result
    kernel_size: the extents of the window, odd numbers
    """

    layout: str = "NHWC"
    kernel_size: tuple[int, ...] = (1, 1)


def _sparse_conv2d_type(site: Site) -> Type | None:
    """(n, c, h, w) * sparse (o, c * window) -> (n, o, h, w)"""
    known = site.attrs
    layout = require_layout(site, "layout", known.layout, "NCHW")
    require_sizes(site, "kernel_size", 1)
    site.require(
        all(size % 2 for size in known.kernel_size),
        "windows have no middle",
        "odd extents",
        f"kernel_size = {known.kernel_size}",
    )
    site.require(
        len(layout.axes) == 4,
        "channels lie in blocks",
        "a layout of whole axes",
        f'layout = "{known.layout}"',
    )
    shape, outputs = unblocked_shape(site, 0, layout, "NCHW"), stored_rows(site, 1, (1, 2, 3))
    dense, data = site.tensor(0), site.tensor(1)
    if shape is None or outputs is None or dense is None or data is None:
        return None
    site.require_same_dtype(dense, data)
    batch, inputs, *extents = shape
    site.require(0 not in extents, "images are empty", "extents of 1 or more", str(dense))
    require_columns(site, 1, dims.multiply(inputs, prod(known.kernel_size)))
    result = blocked_shape(site, (batch, outputs, *extents), "NCHW", layout)
    return TensorType(result, dense.dtype)


def _sparse_conv2d(
    dense: np.ndarray,
    data: np.ndarray,
    indices: np.ndarray,
    indptr: np.ndarray,
    layout: str,
    kernel_size: Sequence[int],
) -> Any:
    """The convolution with the dense weight and 'same' padding."""
    extents = dict(zip("CHW", (dense.shape[layout.index("C")], *kernel_size), strict=True))
    order = [letter for letter in layout if letter != "N"]
    weight = to_dense(data, indices, indptr, prod(extents.values()))
    known = Conv2DAttrs(
        strides=(1, 1),
        padding=tuple(size // 2 for size in kernel_size),
        dilation=(1, 1),
        data_layout=layout,
        kernel_layout="O" + "".join(order).replace("C", "I"),
    )
    return convolve(dense, weight.reshape(-1, *(extents[letter] for letter in order)), known)


def _sparse_conv2d_loops(
    dense: te.Tensor,
    data: te.Tensor,
    indices: te.Tensor,
    indptr: te.Tensor,
    layout: str,
    kernel_size: Sequence[int],
    out: te.Spec,
) -> te.Tensor:
    """Accumulate the image, shifted by the window position of each stored element."""
    extents = dict(zip(layout, dense.shape, strict=True))
    window = dict(zip("CHW", (extents["C"], *map(te.index, kernel_size)), strict=True))
    order = [letter for letter in layout if letter != "N"]
    block, width = block_shape(data)
    columns = elements.size(list(window.values()))
    wide = scalars.wide(out.dtype)

    def at(n: te.Expr, c: te.Expr, y: te.Expr, x: te.Expr) -> elements.Indices:
        place = {"N": n, "C": c, "H": y, "W": x}
        return tuple(place[letter] for letter in layout)

    def write(b: te.Builder, result: te.Buffer) -> None:
        image = (extents["H"], extents["W"])
        with (
            b.if_((image[0] > 0) & (image[1] > 0)),  # there may be 2^31 images without elements
            spread(b, (extents["N"], indptr.shape[0] - 1, block)) as (n, row, part),
        ):
            sums = b.local(wide, image, "sums")
            with nest(b, image) as (y, x):
                b.store(sums, (y, x), 0)
            with (
                stored_in_row(b, indices, indptr, row, columns // width) as (number, column),
                b.loop(width) as i,
            ):
                weight = b.let(scalars.widened(stored_at(data, number, part, i)))
                names = elements.place(column * width + i, [window[name] for name in order])
                place = dict(zip(order, map(b.let, names), strict=True))
                moves = [
                    b.let(place[name] - size // 2)
                    for name, size in zip("HW", kernel_size, strict=True)
                ]
                # the part of the image that stays inside when shifted
                first = [b.let(te.maximum(-move, 0)) for move in moves]
                common = [
                    te.maximum(extent - te.absolute(move), 0)
                    for extent, move in zip(image, moves, strict=True)
                ]
                with nest(b, common) as (y, x):
                    y, x = b.let(first[0] + y), b.let(first[1] + x)
                    source = dense[at(n, place["C"], y + moves[0], x + moves[1])]
                    product = scalars.widened(source) * weight
                    b.store(sums, (y, x), sums[y, x] + product)
            with nest(b, image) as (y, x):
                target = at(n, row * block + part, y, x)
                b.store(result, target, te.cast(sums[y, x], out.dtype))

    inputs = [dense, data, indices, indptr]
    return te.procedure(inputs, [(out.shape, out.dtype)], write, "sparse_conv2d")[0]


def _dense_conv2d(site: Backward) -> Expr:
    """The convolution with the dense weight."""
    known: SparseConv2DAttrs = site.attrs
    shape = site.tensor_type(site.args[0]).shape
    (channels,) = fixed(site, shape[known.layout.index("C") : known.layout.index("C") + 1])
    extents = dict(zip("CHW", (channels, *known.kernel_size), strict=True))
    order = [letter for letter in known.layout if letter != "N"]
    weight = dense_matrix(site, 1, prod(extents.values()))
    return build(
        "nn.conv2d",
        site.args[0],
        build("reshape", weight, newshape=(-1, *(extents[letter] for letter in order))),
        padding=tuple(size // 2 for size in known.kernel_size),
        data_layout=known.layout,
        kernel_layout="O" + "".join(order).replace("C", "I"),
    )


sparse_conv2d = define(
    "nn.sparse_conv2d",
    doc="`nn.conv2d` with a sparse weight and 'same' padding. Its matrix has a row per output "
    "channel; the columns run through the window and the channels in the order of the layout. "
    "Blocks of one column may be stored as (stored, rows).",
    arguments=[("dense_data", "images"), *PARTS],
    attrs=SparseConv2DAttrs,
    relation=_sparse_conv2d_type,
    reference=rounded_once(_sparse_conv2d),
    compute=_sparse_conv2d_loops,
    fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
    samples=[
        sample((1, 3, 2, 4), (3, 2, 2), np.array([1, 0, 1]), np.array([0, 1, 3])),
        sample(
            (1, 2, 3, 4),
            (3, 2, 3),
            np.array([5, 0, 3], "int32"),
            np.array([0, 1, 3], "int32"),
            layout="NCHW",
            kernel_size=3,
        ),
        sample(
            (1, 3, 3, 2),
            (4,),
            np.array([17, 0, 3, 9], "int32"),
            np.array([0, 1, 1, 4], "int32"),
            kernel_size=3,
            dtype="int32",
        ),
        sample((2, 2, 2, 3), (2, 2), np.array([1, 2]), np.array([0, 2]), dtype="float16"),
    ],
    gradient=Composed(_dense_conv2d),
)
