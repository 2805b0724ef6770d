"""Convolutions, pools and normalization."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.frontend.tensorflow.cases.arrays import numbers, reals, whole
from tests.frontend.tensorflow.models import Case, case, held, opened

STRIDES = ((1, 1), (2, 2), (2, 1))


def convolutions() -> Iterator[Case]:
    data = reals(2, 8, 9, 3)
    for padding in ("SAME", "VALID"):
        for strides in STRIDES:
            for rates in ((1, 1), (2, 2)):
                if strides != (1, 1) and rates != (1, 1):
                    continue
                more = {
                    "strides": [1, *strides, 1],
                    "dilations": [1, *rates, 1],
                    "padding": padding,
                }
                given = {"input": data, "filter": held(reals(3, 2, 3, 5))}
                yield case("Conv2D", given, **more)
                if strides[0] == strides[1]:
                    given = {"input": data, "filter": held(reals(3, 3, 3, 2))}
                    yield case("DepthwiseConv2dNative", given, **more)
        for axes in ((0,), (0, 1, 2)):
            more = {"strides": [1, 2, 2, 1], "padding": padding}
            given = {"input": opened(data, *axes), "filter": held(reals(3, 3, 3, 4))}
            yield case("Conv2D", given, **more)
            given = {"input": opened(data, *axes), "filter": held(reals(3, 3, 3, 1))}
            yield case("DepthwiseConv2dNative", given, **more)
        for strides in ((1, 1, 1), (2, 1, 2)):
            given = {"input": reals(2, 4, 5, 6, 3), "filter": held(reals(2, 3, 2, 3, 4))}
            yield case("Conv3D", given, strides=[1, *strides, 1], padding=padding)
        for rates in ((1, 1), (2, 1)):
            given = {"input": data, "filter": held(reals(3, 2, 3))}
            more = {"strides": [1, 2, 1, 1], "rates": [1, *rates, 1], "padding": padding}
            yield case("Dilation2D", given, **more)
    explicit = {"explicit_paddings": [0, 0, 1, 2, 0, 3, 0, 0], "padding": "EXPLICIT"}
    given = {"input": data, "filter": held(reals(3, 2, 3, 5))}
    yield case("Conv2D", given, strides=[1, 2, 1, 1], **explicit)
    yield case(
        "DepthwiseConv2dNative",
        {"input": data, "filter": held(reals(3, 3, 3, 2))},
        strides=[1, 1, 1, 1],
        **explicit,
    )
    given = {"input": reals(1, 6, 6, 6), "filter": held(reals(3, 3, 2, 6))}
    yield case("Conv2D", given, strides=[1, 1, 1, 1], padding="SAME")
    given = {
        "input": reals(1, 5, 5, 2, dtype="float64"),
        "filter": reals(3, 3, 2, 3, dtype="float64"),
    }
    yield case("Conv2D", given, strides=[1, 1, 1, 1], padding="VALID")


def transposed() -> Iterator[Case]:
    for padding in ("SAME", "VALID"):
        for strides in ((1, 1), (2, 2), (3, 2)):
            ends = [
                size * stride if padding == "SAME" else (size - 1) * stride + kernel
                for size, stride, kernel in zip((4, 5), strides, (3, 2), strict=True)
            ]
            given = {
                "input_sizes": numbers(2, *ends, 6),
                "filter": held(reals(3, 2, 6, 3)),
                "out_backprop": reals(2, 4, 5, 3),
            }
            more = {"strides": [1, *strides, 1], "padding": padding}
            yield case("Conv2DBackpropInput", given, **more)
        more = {"strides": [1, 2, 2, 1], "padding": padding}
        ends = (7, 9) if padding == "SAME" else (10, 12)
        given = {
            "input_sizes": numbers(2, *ends, 2),
            "filter": held(reals(3, 3, 2, 3)),
            "out_backprop": reals(2, 4, 5, 3),
        }
        yield case("Conv2DBackpropInput", given, **more)
        for strides in ((1, 1, 1), (2, 1, 2)):
            ends = [
                size * stride if padding == "SAME" else (size - 1) * stride + kernel
                for size, stride, kernel in zip((2, 3, 4), strides, (2, 3, 2), strict=True)
            ]
            given = {
                "input_sizes": numbers(1, *ends, 4),
                "filter": held(reals(2, 3, 2, 4, 3)),
                "out_backprop": reals(1, 2, 3, 4, 3),
            }
            yield case("Conv3DBackpropInputV2", given, strides=[1, *strides, 1], padding=padding)


def pools() -> Iterator[Case]:
    data = reals(2, 7, 8, 3)
    for name in ("MaxPool", "AvgPool"):
        key = "input" if name == "MaxPool" else "value"
        for padding in ("SAME", "VALID"):
            for size, stride in (((2, 2), (2, 2)), ((3, 2), (1, 2)), ((3, 3), (2, 1))):
                more = {"ksize": [1, *size, 1], "strides": [1, *stride, 1], "padding": padding}
                yield case(name, {key: data}, **more)
                yield case(name, {key: opened(data, 0, 1, 2)}, **more)
            more = {"ksize": [1, 2, 3, 2, 1], "strides": [1, 1, 2, 2, 1], "padding": padding}
            yield case(f"{name}3D", {"input": reals(1, 4, 5, 6, 2)}, **more)
    for padding in ("SAME", "VALID"):
        for batch in (False, True):
            more = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": padding}
            yield case(
                "MaxPoolWithArgmax",
                {"input": reals(2, 6, 6, 3)},
                **more,
                include_batch_in_index=batch,
            )
        given = {"input": data, "ksize": numbers(1, 2, 2, 1), "strides": numbers(1, 2, 1, 1)}
        yield case("MaxPoolV2", given, padding=padding)


def normalization() -> Iterator[Case]:
    for training in (False, True):
        for version in ("", "V2", "V3"):
            given = {
                "x": reals(2, 4, 5, 3),
                "scale": held(reals(3, low=0.5)),
                "offset": held(reals(3)),
                "mean": held(reals(3)) if not training else held(np.zeros(0, "float32")),
                "variance": held(reals(3, low=0.5))
                if not training
                else held(np.zeros(0, "float32")),
            }
            more = {"epsilon": 0.01, "is_training": training}
            if not training:
                yield case(f"FusedBatchNorm{version}", given, rtol=1e-4, **more)
    for radius, bias, alpha, beta in ((1, 1.0, 0.5, 0.75), (2, 2.0, 0.1, 0.5)):
        more = {"depth_radius": radius, "bias": bias, "alpha": alpha, "beta": beta}
        yield case("LRN", {"input": reals(1, 2, 3, 8)}, **more)
    yield case("BiasAdd", {"value": reals(2, 3, 4), "bias": held(reals(4))})
    yield case("BiasAdd", {"value": reals(2, 4, 3, 3), "bias": held(reals(4))}, data_format="NCHW")
    yield case("BiasAddV1", {"value": reals(2, 4), "bias": held(reals(4))})
    given = {"features": reals(3, 5), "labels": reals(3, 5, low=0, high=1)}
    yield case("SoftmaxCrossEntropyWithLogits", given)
    given = {"features": reals(3, 5), "labels": whole(3, low=0, high=5)}
    yield case("SparseSoftmaxCrossEntropyWithLogits", given)
    yield case("L2Loss", {"t": reals(3, 4)})
