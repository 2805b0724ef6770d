"""Factors of matrices, patches of images and other operators."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.frontend.tensorflow.cases.arrays import numbers, reals, scalar, whole
from tests.frontend.tensorflow.models import Case, case, held


def further() -> Iterator[Case]:
    square = reals(2, 4, 4)
    positive = square @ square.transpose(0, 2, 1) + np.eye(4, dtype="float32")
    yield case("Cholesky", {"input": positive}, rtol=1e-4)
    yield case("Qr", {"input": reals(2, 4, 3)}, rtol=1e-4)
    yield case("Qr", {"input": reals(3, 5)}, rtol=1e-4, full_matrices=True)
    strong = square + 5 * np.eye(4, dtype="float32")
    for lower in (False, True):
        for adjoint in (False, True):
            given = {"matrix": strong, "rhs": reals(2, 4, 3)}
            yield case("MatrixTriangularSolve", given, rtol=1e-4, lower=lower, adjoint=adjoint)
    which = np.array([2, 0, 1, 0, 2], "int32")
    yield case("DynamicPartition", {"data": reals(5, 3), "partitions": which}, num_partitions=3)
    yield case(
        "DynamicPartition",
        {"data": reals(2, 3, 2), "partitions": whole(2, 3, low=0, high=2)},
        num_partitions=2,
    )
    for reverse in (False, True):
        yield case("NthElement", {"input": reals(3, 5), "n": scalar(2)}, reverse=reverse)
    yield case("UnravelIndex", {"indices": whole(4, low=0, high=12), "dims": numbers(3, 4)})
    by = {"AdjustHue": ("delta", 0.3), "AdjustSaturation": ("scale", 0.6)}
    for name, (key, value) in by.items():
        colors = reals(2, 4, 3, low=0, high=1)
        yield case(name, {"images": colors, key: scalar(value, "float32")}, rtol=1e-4)
    numbers_of = held((reals(2, 3) + 1j * reals(2, 3)).astype("complex64"))
    yield case("Angle", {"input": numbers_of})
    for source, target in (("NHWC", "NCHW"), ("NCHW", "NHWC")):
        formats = {"src_format": source, "dst_format": target}
        yield case("DataFormatDimMap", {"x": np.array([0, 3, -1, 2], "int32")}, **formats)
        yield case("DataFormatVecPermute", {"x": whole(4)}, **formats)
        yield case("DataFormatVecPermute", {"x": whole(2)}, **formats)
    for padding in ("SAME", "VALID"):
        for rates in ((1, 1), (2, 1)):
            more = {"strides": [1, 2, 1, 1], "rates": [1, *rates, 1], "padding": padding}
            given = {"images": reals(2, 7, 8, 3)}
            yield case("ExtractImagePatches", given, ksizes=[1, 3, 2, 1], **more)
        more = {"ksizes": [1, 2, 2, 3, 1], "strides": [1, 1, 2, 1, 1], "padding": padding}
        yield case("ExtractVolumePatches", {"input": reals(1, 4, 5, 6, 2)}, **more)
    turned = np.array([[0.9, 0.2, 1.0, -0.1, 1.1, 0.5, 0.001, 0.002]], "float32")
    for method in ("NEAREST", "BILINEAR"):
        for mode in ("CONSTANT", "NEAREST"):
            given = {
                "images": reals(2, 6, 7, 3),
                "transforms": turned,
                "output_shape": numbers(5, 8),
                "fill_value": scalar(0.5, "float32"),
            }
            more = {"interpolation": method, "fill_mode": mode}
            yield case("ImageProjectiveTransformV3", given, rtol=1e-4, **more)
