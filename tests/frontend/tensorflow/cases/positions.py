"""Operators that read and write at computed positions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.frontend.tensorflow.cases.arrays import numbers, reals, scalar, truth, whole
from tests.frontend.tensorflow.models import Case, case, held


def selection() -> Iterator[Case]:
    for count in (1, 3, 5):
        yield case("TopKV2", {"input": reals(2, 5), "k": scalar(count)})
    yield case("TopKV2", {"input": reals(2, 5), "k": np.array(2, "int32")})
    yield case("TopKV2", {"input": whole(2, 3, 5), "k": scalar(3)})
    scores = reals(4, 5)
    yield case(
        "InTopKV2", {"predictions": scores, "targets": whole(4, low=0, high=5), "k": scalar(2)}
    )
    for axis in (-1, 0, 1):
        ends = {"on_value": scalar(5.0, "float32"), "off_value": scalar(-1.0, "float32")}
        given = {"indices": whole(2, 3, low=-1, high=5), "depth": scalar(4), **ends}
        yield case("OneHot", given, axis=axis)
    yield case("Where", {"condition": truth(3, 4)})
    repeated = np.array([3, 1, 3, 2, 1, 7], "int32")
    for dtype in ("int32", "int64"):
        yield case("Unique", {"x": repeated}, out_idx=dtype)
        yield case("UniqueWithCounts", {"x": repeated}, out_idx=dtype)
        yield case("UniqueV2", {"x": repeated, "axis": numbers(0)}, out_idx=dtype)
    rows = np.sort(reals(2, 6), axis=1)
    for name in ("LowerBound", "UpperBound"):
        for dtype in ("int32", "int64"):
            given = {"sorted_inputs": rows, "values": reals(2, 4)}
            yield case(name, given, out_type=dtype)
    yield case("Bucketize", {"input": reals(7)}, boundaries=[-1.0, 0.5, 2.0])
    yield case("ListDiff", {"x": repeated, "y": np.array([1, 2], "int32")})


def writing() -> Iterator[Case]:
    at = np.array([[0, 1], [2, 3], [0, 1]], "int32")
    yield case("ScatterNd", {"indices": at, "updates": reals(3), "shape": numbers(3, 4)})
    given = {"indices": at[:, :1], "updates": reals(3, 4), "shape": numbers(3, 4)}
    yield case("ScatterNd", given)
    for name in ("Update", "Add", "Sub", "Max", "Min"):
        given = {"tensor": reals(3, 4), "indices": at[:2], "updates": reals(2)}
        yield case(f"TensorScatter{name}", given)
        given = {"tensor": reals(3, 4), "indices": at[:2, :1], "updates": reals(2, 4)}
        yield case(f"TensorScatter{name}", given)
    for begin, end, by, masks in (
        ((0, 1), (2, 3), (1, 1), {}),
        ((0, 0), (0, 0), (1, 1), {"begin_mask": 2, "end_mask": 2, "shrink_axis_mask": 1}),
        ((0, 0), (3, 4), (2, 3), {}),
    ):
        bounds = {"begin": numbers(*begin), "end": numbers(*end), "strides": numbers(*by)}
        shape = np.zeros((3, 4))[
            0 if masks.get("shrink_axis_mask") else slice(begin[0], end[0], by[0]),
            slice(None) if masks else slice(begin[1], end[1], by[1]),
        ].shape
        given = {"input": reals(3, 4), **bounds, "value": reals(*shape)}
        yield case("TensorStridedSliceUpdate", given, **masks)
    indices = [np.array([0, 3], "int32"), np.array([1, 2, 4], "int32")]
    held_indices = [held(one) for one in indices]
    rows = [reals(2, 3), reals(3, 3)]
    yield case("DynamicStitch", {"indices": held_indices, "data": rows})
    yield case("DynamicStitch", {"indices": indices, "data": rows})


def segments() -> Iterator[Case]:
    numbered = np.array([2, 0, 2, 1, 0], "int32")
    for name in ("Sum", "Prod", "Max", "Min"):
        for data in (reals(5, 3), whole(5, 3)):
            given = {"data": data, "segment_ids": numbered, "num_segments": scalar(4)}
            yield case(f"UnsortedSegment{name}", given)
    for name in ("Sum", "Prod", "Max", "Min", "Mean"):
        for ids in ((0, 0, 1, 2, 2), (0, 0, 2, 2, 3)):
            given = {"data": reals(5, 3), "segment_ids": np.array(ids, "int32")}
            yield case(f"Segment{name}", given)
