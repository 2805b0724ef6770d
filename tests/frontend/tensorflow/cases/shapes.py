"""Shapes, slices, concatenation and reductions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.frontend.tensorflow.cases.arrays import numbers, reals, scalar, truth, whole
from tests.frontend.tensorflow.models import Case, case, held, opened


def shapes() -> Iterator[Case]:
    for dtype in ("int32", "int64"):
        yield case("Shape", {"input": opened(reals(2, 3, 4), 0)}, out_type=dtype)
        yield case("Shape", {"input": reals(2, 3)}, out_type=dtype)
        yield case("Size", {"input": opened(reals(2, 3, 4), 0)}, out_type=dtype)
        yield case("ShapeN", {"input": [reals(2, 3), opened(reals(4, 5), 1)]}, out_type=dtype)
    yield case("Rank", {"input": reals(2, 3)})
    for data, wanted in (((2, 3, 4), (6, 4)), ((2, 3, 4), (-1, 2)), ((2, 3, 4), (24,)), ((1,), ())):
        yield case("Reshape", {"tensor": reals(*data), "shape": numbers(*wanted)})
    yield case("Reshape", {"tensor": opened(reals(2, 3, 4), 0), "shape": numbers(-1, 12)})
    computed = {"tensor": reals(2, 6), "shape": np.array([3, 4], "int32")}
    yield case("Reshape", computed)
    for axes in ([], [0], [2], [0, 2], [-1]):
        yield case("Squeeze", {"input": reals(1, 3, 1)}, axis=axes)
    for axis in (0, 1, -1):
        yield case("ExpandDims", {"input": reals(2, 3), "axis": scalar(axis)})
    for order in ((1, 0, 2), (2, 1, 0), (0, 2, 1)):
        yield case("Transpose", {"x": reals(2, 3, 4), "perm": numbers(*order)})
        yield case("Transpose", {"x": opened(reals(2, 3, 4), 1), "perm": numbers(*order)})
    yield case("ConjugateTranspose", {"x": reals(2, 3), "perm": numbers(1, 0)})
    yield case("BroadcastTo", {"input": reals(3, 1), "shape": numbers(2, 3, 4)})
    yield case("BroadcastTo", {"input": reals(3, 1), "shape": np.array([2, 3, 4], "int32")})
    yield case("BroadcastArgs", {"s0": whole(3, low=1, high=2), "s1": numbers(4, 1)})
    for times in ((2, 1), (1, 3), (2, 2)):
        yield case("Tile", {"input": reals(2, 3), "multiples": numbers(*times)})
    yield case("Tile", {"input": reals(2, 3), "multiples": np.array([2, 3], "int32")})
    yield case("Fill", {"dims": numbers(2, 3), "value": scalar(1.5, "float32")})
    yield case("Fill", {"dims": np.array([2, 3], "int32"), "value": np.array(4, "int64")})
    for start, stop, by in ((0, 5, 1), (2, 11, 3), (5, -1, -2)):
        yield case("Range", {"start": scalar(start), "limit": scalar(stop), "delta": scalar(by)})
        given = {"start": np.array(start, "int32"), "limit": np.array(stop, "int32")}
        yield case("Range", {**given, "delta": scalar(by)})
    for count in (1, 2, 5):
        ends = {"start": np.array(0.5, "float32"), "stop": np.array(3.0, "float32")}
        yield case("LinSpace", {**ends, "num": scalar(count)})
    yield case("InvertPermutation", {"x": np.array([2, 0, 1], "int32")})
    yield case("DepthToSpace", {"input": reals(1, 2, 3, 8)}, block_size=2)
    yield case("SpaceToDepth", {"input": reals(1, 4, 6, 2)}, block_size=2)
    for pads in (((0, 0), (0, 0)), ((1, 1), (0, 2))):
        given = {"block_shape": numbers(2, 2), "paddings": held(np.array(pads, "int32"))}
        yield case("SpaceToBatchND", {"input": reals(1, 4, 6, 2), **given})
        crops = {"block_shape": numbers(2, 2), "crops": held(np.array(pads, "int32"))}
        yield case("BatchToSpaceND", {"input": reals(4, 3, 4, 2), **crops})
    given = {"block_shape": numbers(2, 2), "paddings": np.array([[1, 1], [0, 2]], "int32")}
    yield case("SpaceToBatchND", {"input": reals(1, 4, 6, 2), **given})
    crops = {"block_shape": numbers(2, 2), "crops": np.array([[1, 1], [0, 2]], "int32")}
    yield case("BatchToSpaceND", {"input": reals(4, 3, 4, 2), **crops})
    widths = np.array([[1, 2], [0, 3]], "int32")
    yield case("Pad", {"input": reals(2, 3), "paddings": held(widths)})
    yield case("Pad", {"input": reals(2, 3), "paddings": widths})
    value = scalar(2.5, "float32")
    yield case("PadV2", {"input": reals(2, 3), "paddings": held(widths), "constant_values": value})
    for mode in ("REFLECT", "SYMMETRIC"):
        given = {"input": reals(3, 4), "paddings": held(np.array([[1, 2], [0, 3]], "int32"))}
        yield case("MirrorPad", given, mode=mode)
    for shift, axes in (((2,), (0,)), ((-1, 3), (1, 0)), ((1,), (-1,))):
        given = {"input": reals(3, 4), "shift": numbers(*shift), "axis": numbers(*axes)}
        yield case("Roll", given)


def parts() -> Iterator[Case]:
    for axis in (0, 1, -1):
        given = [reals(2, 3), reals(2, 3), reals(2, 3)]
        yield case("ConcatV2", {"values": given, "axis": scalar(axis)})
        yield case("Concat", {"concat_dim": scalar(axis % 2), "values": given[:2]})
        yield case("Pack", {"values": given}, axis=axis)
        yield case("Unpack", {"value": reals(3, 3)}, num=3, axis=axis)
        yield case("Split", {"axis": scalar(axis), "value": reals(4, 4)}, num_split=2)
    wide = [opened(reals(2, 3), 0), opened(reals(2, 4), 0)]
    yield case("ConcatV2", {"values": wide, "axis": scalar(1)})
    given = {"concat_dim": scalar(1), "shape": [numbers(2, 3), numbers(2, 4), numbers(2, 1)]}
    yield case("ConcatOffset", given)
    for sizes in ((1, 3), (2, -1), (0, 4)):
        given = {"value": reals(2, 4), "size_splits": numbers(*sizes), "axis": scalar(1)}
        yield case("SplitV", given, num_split=2)
    for begin, size in (((0, 1), (2, 2)), ((1, 0), (-1, -1)), ((0, 3), (1, 0))):
        yield case(
            "Slice", {"input": reals(2, 4), "begin": numbers(*begin), "size": numbers(*size)}
        )
        computed = {"begin": np.array(begin, "int32"), "size": numbers(*size)}
        yield case("Slice", {"input": reals(2, 4), **computed})
    yield from slices()
    at = whole(2, 3, low=0, high=4)
    for axis in (0, 1, -1):
        yield case("GatherV2", {"params": reals(4, 4), "indices": at, "axis": scalar(axis)})
    yield case("Gather", {"params": reals(4, 3), "indices": at})
    batched = {"params": reals(2, 4, 3), "indices": at, "axis": scalar(1)}
    yield case("GatherV2", batched, batch_dims=1)
    for depth in (1, 2, 3):
        columns = [whole(5, low=0, high=high) for high in (2, 3, 4)[:depth]]
        yield case("GatherNd", {"params": reals(2, 3, 4), "indices": np.stack(columns, -1)})
    for axes in ((1,), (0,), (0, 2), ()):
        yield case("ReverseV2", {"tensor": reals(2, 3, 4), "axis": numbers(*axes)})
    yield case("Reverse", {"tensor": reals(2, 3), "dims": held(np.array([True, False]))})
    for seq, batch in ((1, 0), (0, 1)):
        given = {"input": reals(4, 4, 2), "seq_lengths": whole(4, low=0, high=5)}
        yield case("ReverseSequence", given, seq_dim=seq, batch_dim=batch)


def slices() -> Iterator[Case]:
    for begin, end, by, masks in (
        ((0, 1), (2, 3), (1, 1), {}),
        ((0, 0), (0, 0), (1, 1), {"begin_mask": 3, "end_mask": 3}),
        ((-1, 3), (0, 0), (-1, -1), {"end_mask": 3}),
        ((1, 0), (0, 2), (1, 1), {"shrink_axis_mask": 1}),
        ((0, -1), (0, 0), (1, 1), {"shrink_axis_mask": 2, "begin_mask": 1, "end_mask": 1}),
        ((0, 0), (0, 2), (1, 1), {"ellipsis_mask": 1}),
        ((0, 1), (0, 2), (1, 1), {"new_axis_mask": 1}),
        ((-100, 0), (100, 4), (1, 2), {}),
    ):
        bounds = {"begin": numbers(*begin), "end": numbers(*end), "strides": numbers(*by)}
        yield case("StridedSlice", {"input": reals(3, 4, 2), **bounds}, **masks)
        yield case("StridedSlice", {"input": opened(reals(3, 4, 2), 0), **bounds}, **masks)
        if "new_axis_mask" not in masks:
            computed = {**bounds, "begin": np.array(begin, "int32")}
            yield case("StridedSlice", {"input": reals(3, 4, 2), **computed}, **masks)


def reductions() -> Iterator[Case]:
    for name in ("Sum", "Mean", "Prod", "Max", "Min", "EuclideanNorm"):
        for axes in ((0,), (1, 2), (-1,), (0, 1, 2), ()):
            for keeps in (False, True):
                given = {"input": reals(2, 3, 4), "axis": numbers(*axes)}
                yield case(name, given, keep_dims=keeps)
        given = {"input": opened(reals(2, 3, 4), 0, 1), "axis": numbers(1)}
        yield case(name, given)
        if name not in ("Mean", "EuclideanNorm"):
            given = {"input": whole(2, 3, low=1, high=5), "axis": scalar(1)}
            yield case(name, given)
    for name in ("All", "Any"):
        for axes in ((0,), (0, 1)):
            yield case(name, {"input": truth(3, 4), "axis": numbers(*axes)}, keep_dims=True)
    ties = np.array([[1, 3, 3], [2, 2, 0]], "float32")
    for name in ("ArgMax", "ArgMin"):
        for axis in (0, 1, -1):
            for dtype in ("int32", "int64"):
                given = {"input": reals(2, 3, 4), "dimension": scalar(axis)}
                yield case(name, given, output_type=dtype)
        yield case(name, {"input": ties, "dimension": scalar(1)})
    for name in ("Cumsum", "Cumprod", "CumulativeLogsumexp"):
        for exclusive in (False, True):
            for backwards in (False, True):
                given = {"x": reals(2, 5), "axis": scalar(1)}
                yield case(name, given, exclusive=exclusive, reverse=backwards)
    given = {"arr": whole(9, low=0, high=6), "size": scalar(5)}
    yield case("Bincount", {**given, "weights": held(np.zeros(0, "float32"))})
    yield case("Bincount", {**given, "weights": reals(9)})
    for binary_output in (False, True):
        given = {"input": whole(2, 6, low=0, high=5), "size": scalar(5)}
        empty = held(np.zeros(0, "float32"))
        yield case("DenseBincount", {**given, "weights": empty}, binary_output=binary_output)
    given = {"input": whole(2, 6, low=0, high=5), "size": scalar(5)}
    yield case("DenseBincount", {**given, "weights": reals(2, 6)})
