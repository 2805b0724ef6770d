"""Layout transforms."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from relay import te
from relay.errors import EvaluationError
from relay.ir.attrs import Attrs, attrs
from relay.ir.types import TensorType, Type
from relay.op.building import layout_rules
from relay.op.building.elements import place, position
from relay.op.building.index_map import parse_index_map
from relay.op.building.layouts import (
    blocked,
    blocked_shape,
    read_layout,
    require_layout,
    unblocked,
    unblocked_shape,
)
from relay.op.building.views import fill, view
from relay.op.facts import Trait
from relay.op.gradient_rules import LOWERED, ArgumentGradient, Backward
from relay.op.loop_nest import nest, spread
from relay.op.opdef import FusionKind, define, sample
from relay.op.site import Site


@attrs
class LayoutTransformAttrs(Attrs):
    """src_layout: the layout of data, such as NCHW
    dst_layout: the layout of the result, such as NCHW8c
    """

    src_layout: str
    dst_layout: str


# --- layouts -----------------------------------------------------------------------------------


def _layout_transform_type(site: Site) -> Type | None:
    """The extents in the order and the blocks of the other layout."""
    known: LayoutTransformAttrs = site.attrs
    letters = "".join(letter for letter in known.src_layout if letter.isupper())
    source = require_layout(site, "src_layout", known.src_layout, letters)
    target = require_layout(site, "dst_layout", known.dst_layout, letters)
    data = site.tensor(0)
    extents = unblocked_shape(site, 0, source, letters)
    if data is None or extents is None:
        return None
    return TensorType(blocked_shape(site, extents, letters, target), data.dtype)


def _layout_transform(data: np.ndarray, src_layout: str, dst_layout: str) -> np.ndarray:
    letters = read_layout(src_layout).letters
    return blocked(unblocked(data, src_layout, letters), letters, dst_layout)


def _layout_transform_compute(
    data: te.Tensor, out: te.Spec, src_layout: str, dst_layout: str
) -> te.Tensor:
    source = view(data, src_layout)
    return fill(out.shape, read_layout(dst_layout), lambda at: source.at(**at), "layout_transform")


def _inverse_layout(site: Backward) -> Sequence[ArgumentGradient]:
    """The gradient in the layout of data."""
    known = site.attrs
    record: Any = site.call.op
    back = record(site.gradient, src_layout=known.dst_layout, dst_layout=known.src_layout)
    return [back]


layout_transform = define(
    "layout_transform",
    doc="data in another layout: axes permuted, some of them blocked.",
    arguments=[("data", "the input")],
    attrs=LayoutTransformAttrs,
    relation=_layout_transform_type,
    reference=_layout_transform,
    compute=_layout_transform_compute,
    fusion=FusionKind.INJECTIVE,
    layout=layout_rules.layout_transform,
    traits=Trait.MOVES,
    samples=[
        sample((2, 3, 4, 5), src_layout="NCHW", dst_layout="NHWC"),
        sample((1, 8, 2, 3), src_layout="NCHW", dst_layout="NCHW4c", dtype="int8"),
        sample((1, 2, 3, 2, 4), src_layout="NCHW4c", dst_layout="NHWC"),
        sample((1, 2, 3, 2, 4), src_layout="NCHW4c", dst_layout="NCHW2c", dtype="float16"),
        sample((4, 6), src_layout="OI", dst_layout="OI3i2o", dtype="bool"),
        sample((0, 4), src_layout="NC", dst_layout="NC2c"),
    ],
    gradient=_inverse_layout,
)

# --- tiles of static extents -------------------------------------------------------------------

_TILE = re.compile(r"([1-9][0-9]*)([A-Za-z])")

Tiles = list[tuple[str, int]]


def _tiles(text: str) -> Tiles | None:
    """Parse `4n16c`: letters with extents; a repeated letter is a split axis."""
    found = [(part[2], int(part[1])) for part in _TILE.finditer(text)]
    spelled = "".join(f"{extent}{letter}" for letter, extent in found)
    return found if spelled == text else None


def _sizes(tiles: Tiles) -> dict[str, int]:
    """The total extent of each axis."""
    return {letter: prod(d for name, d in tiles if name == letter) for letter, _ in sorted(tiles)}


def _retiled_shape(site: Site) -> tuple[Tiles, Tiles]:
    known: LayoutTransformAttrs = site.attrs
    layouts = []
    for name, text in (("src_layout", known.src_layout), ("dst_layout", known.dst_layout)):
        if (tiles := _tiles(text)) is None:
            site.fail(
                f"`{name}` is no layout of tiles",
                "an extent and a letter for each axis, as in 4n16c",
                f'{name} = "{text}"',
            )
        layouts.append(tiles)
    source, target = layouts
    site.require(
        _sizes(source) == _sizes(target),
        "the layouts speak of different axes",
        f"the letters and sizes of {known.src_layout}",
        known.dst_layout,
    )
    return source, target


def _retile_type(site: Site) -> Type | None:
    """The extents of dst_layout; data has those of src_layout."""
    source, target = _retiled_shape(site)
    data = site.tensor(0, rank=len(source))
    if data is None:
        return None
    site.expect(0, [extent for _, extent in source], data.dtype)
    return TensorType(tuple(extent for _, extent in target), data.dtype)


def _retile(data: np.ndarray, src_layout: str, dst_layout: str) -> np.ndarray:
    source, target = _tiles(src_layout), _tiles(dst_layout)
    if source is None or target is None:
        raise EvaluationError.of("this is no layout of tiles", found=src_layout)
    letters = sorted(dict(source))
    before = [i for letter in letters for i, (name, _) in enumerate(source) if name == letter]
    after = [i for letter in letters for i, (name, _) in enumerate(target) if name == letter]
    cut = data.transpose(before).reshape([target[i][1] for i in after])
    return cut.transpose(np.argsort(after))


def _retile_compute(data: te.Tensor, out: te.Spec, src_layout: str, dst_layout: str) -> te.Tensor:
    source, target = _tiles(src_layout) or [], _tiles(dst_layout) or []

    def parts(tiles: Tiles, letter: str) -> tuple[list[int], list[te.Expr]]:
        """The positions and extents of the parts of an axis."""
        axes = [axis for axis, (name, _) in enumerate(tiles) if name == letter]
        return axes, [te.index(tiles[axis][1]) for axis in axes]

    def element(*i: te.Expr) -> te.Expr:
        found: list[te.Expr] = [te.index(0)] * len(source)
        for letter in dict(source):
            axes, extents = parts(target, letter)
            whole = position([i[axis] for axis in axes], extents)
            axes, extents = parts(source, letter)
            for axis, index in zip(axes, place(whole, extents), strict=True):
                found[axis] = index
        return data[tuple(found)]

    return te.compute(out.shape, element)


auto_scheduler_layout_transform = define(
    "auto_scheduler_layout_transform",
    doc="data with its axes retiled. A layout has a letter after the extent of each axis; a "
    "repeated letter is an axis split into those parts, outer ones first.",
    arguments=[("data", "the input")],
    attrs=LayoutTransformAttrs,
    relation=_retile_type,
    reference=_retile,
    compute=_retile_compute,
    fusion=FusionKind.INJECTIVE,
    samples=[
        sample((2, 8, 3), src_layout="2n8c3h", dst_layout="2n2c3h4c"),
        sample((2, 3, 2, 4), src_layout="2c3h2n4c", dst_layout="2n4c3h2c", dtype="int8"),
        sample((6,), src_layout="6x", dst_layout="6x", dtype="float16"),
    ],
    gradient=_inverse_layout,
)

# --- index maps --------------------------------------------------------------------------------


@attrs
class MetaScheduleLayoutTransformAttrs(Attrs):
    """index_map: new positions, as in "i, j -> i // 4, j, i % 4" for blocks of rows"""

    index_map: str


def _index_map_type(site: Site) -> Type | None:
    """The extents that the largest positions require."""
    text = site.attrs.index_map
    if (known := parse_index_map(text)) is None:
        site.fail("`index_map` is no index map", '"i, j -> i // 4, j, i % 4"', f'"{text}"')
    if (data := site.tensor(0, rank=len(known.inputs))) is None:
        return None
    if (shape := known.shape(data.shape)) is None:
        site.fail(
            "`index_map` leaves the tensor",
            "positions of 0 or more, divided by positive numbers",
            f'"{text}", for {data}',
        )
    return TensorType(tuple(shape), data.dtype)


def _mapped(data: np.ndarray, index_map: str) -> np.ndarray:
    known = parse_index_map(index_map)
    shape: Any = None if known is None else known.shape(data.shape)
    if known is None or shape is None:
        raise EvaluationError.of("this is no index map", found=index_map)
    result = np.zeros(shape).astype(data.dtype)
    result[_broadcast(known.positions(data.shape), data.shape)] = data
    return result


def _broadcast(positions: Sequence[np.ndarray], shape: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    return tuple(np.broadcast_to(places, shape) for places in positions)


def _mapped_loops(data: te.Tensor, out: te.Spec, index_map: str) -> te.Tensor:
    known = parse_index_map(index_map)
    assert known is not None, "the relation has read it"

    def write(b: te.Builder, result: te.Buffer) -> None:
        with spread(b, result.shape) as i:
            b.store(result, i, te.const(0, out.dtype))
        # sequential: the last of several elements for a position wins
        with nest(b, data.shape) as i:
            b.store(result, known.place(i), data[i])

    return te.procedure([data], [(out.shape, out.dtype)], write, "index_map")[0]


meta_schedule_layout_transform = define(
    "meta_schedule_layout_transform",
    doc="data with each element moved by an index map; zeros elsewhere.",
    arguments=[("data", "the input")],
    attrs=MetaScheduleLayoutTransformAttrs,
    relation=_index_map_type,
    reference=_mapped,
    compute=_mapped_loops,
    samples=[
        sample((8, 3), index_map="i, j -> i // 4, j, i % 4"),
        sample((2, 3, 4), index_map="(n, h, w) -> (n * 3 + h, w)", dtype="int8"),
        sample((5,), index_map="i -> i // 2, i % 2", dtype="float16"),
        sample((3, 0), index_map="a, b -> b, a", dtype="bool"),
    ],
    gradient=LOWERED,
)
