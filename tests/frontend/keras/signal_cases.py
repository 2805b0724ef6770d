"""Operations of `keras.ops` on signals, images and missing numbers, and those that make tensors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tests.frontend.keras.matrix_cases import made, of
from tests.frontend.keras.models import Case, keras, reals, whole

ops = keras.ops
TORCH = "torch"  # for cases that the backend of TensorFlow computes in its own way
X, Y = reals(2, 3, 8), reals(2, 3, 8, seed=6)
IMAGES = reals(2, 7, 9, 3, low=0, high=1)


def with_nan() -> np.ndarray:
    x = reals(3, 4, 5)
    x[0, 1, 2] = x[1] = x[2, 3, 0] = np.nan
    return x


def spectra() -> Iterator[Case]:
    for name in ("fft", "fft2", "ifft2"):
        yield made(name, lambda a, b, name=name: getattr(ops, name)((a, b)), X, Y)
    for length in (None, 5, 12):
        yield of("rfft", X, fft_length=length)
        yield made("irfft", lambda a, b, n=length: ops.irfft((a, b), fft_length=n), X, Y)
    for length, stride in ((3, 1), (4, 2)):
        yield of("extract_sequences", X, sequence_length=length, sequence_stride=stride)
    signal = reals(2, 64)
    for length, stride, size, window, center in (
        (16, 4, 16, "hann", True),
        (12, 4, 16, "hamming", True),
        (16, 8, 16, None, False),
        (10, 5, 16, "hann", False),
    ):
        sizes = {"sequence_length": length, "sequence_stride": stride, "fft_length": size}
        options = {**sizes, "window": window, "center": center}
        yield of("stft", signal, **options)
        back = made(
            "istft", lambda x, given=options: ops.istft(ops.stft(x, **given), **given), signal
        )
        yield replace(back, backend=TORCH)
    cut = made("istft", lambda x: ops.istft(ops.stft(x, 16, 4, 16), 16, 4, 16, length=50), signal)
    yield replace(cut, backend=TORCH)


def numbers() -> Iterator[Case]:
    yield of("erfinv", reals(2, 3, low=-0.99, high=0.99))
    yield of("i0", X)
    yield of("nextafter", X, Y)
    yield of("view", X, dtype="int32")
    yield of("view", whole(3, 4), dtype="float32")
    for name in ("gcd", "lcm"):
        yield of(name, whole(3, 4, low=0, high=50), whole(4, low=1, high=50))
        yield of(name, whole(3, 4, low=-50, high=50, dtype="int64"), whole(3, 1, low=0, high=5))
    for other in (X, X + 1e-6, Y):
        yield of("allclose", X, other)
    yield of("allclose", with_nan(), with_nan(), equal_nan=True)
    missing = with_nan()
    for axis in (None, 1, -1):
        for name in ("nancumsum", "nancumprod"):
            yield of(name, missing, axis=axis)
        for name in ("nanargmax", "nanargmin"):
            yield of(name, missing[[0, 2]], axis=axis)
        yield of("nanmedian", missing, axis=axis)
        for method in ("linear", "lower", "higher", "nearest", "midpoint"):
            for name, share in (("nanquantile", 0.3), ("nanpercentile", 70.0)):
                yield made(
                    f"{name} {method} {axis}",
                    lambda x, name=name, share=share, axis=axis, method=method: getattr(ops, name)(
                        x, share, axis=axis, method=method, keepdims=True
                    ),
                    missing,
                )
    yield made(
        "argpartition",
        lambda x: ops.take_along_axis(x, ops.argpartition(x, 2, axis=1)[:, 2:3], axis=1),
        whole(3, 6, high=99),
    )


def creation() -> Iterator[Case]:
    one, other = reals(3, low=1, high=2), reals(3, low=3, high=5, seed=6)
    for name in ("linspace", "logspace", "geomspace"):
        for count, ends in ((5, True), (4, False)):
            found = made(
                f"{name} {count}",
                lambda a, b, name=name, n=count, ends=ends: getattr(ops, name)(
                    a, b, num=n, endpoint=ends
                ),
                one,
                other,
            )
            yield replace(found, backend="" if ends else "tensorflow")
    yield made("full", lambda x: ops.full((2, 3), x), np.array(1.5, "float32"))
    for k in (0, 1, -2):
        yield of("diagflat", reals(2, 3), k=k)
    yield replace(of("unravel_index", whole(2, 3, high=24), shape=(2, 3, 4)), backend=TORCH)
    yield of("bincount", whole(12, high=6))
    yield of("bincount", whole(12, high=6), minlength=9)
    places = made("nonzero", lambda x: ops.nonzero(x), whole(3, 4, high=2))
    yield replace(places, backend="tensorflow")
    for axis in (-1, 1):
        yield of("trapezoid", X, axis=axis, dx=0.5)
    yield of("corrcoef", reals(4, 9))
    for mode in ("valid", "same", "full"):
        for size in (3, 4):
            yield of("correlate", reals(9), reals(size), mode=mode)
    ids = np.array([0, 2, 1, 0, 4], "int32")
    for name in ("segment_min", "segment_prod"):
        if hasattr(ops, name):
            yield replace(of(name, reals(5, 3), ids, num_segments=5), backend=TORCH)
    places = np.array([[0, 1], [2, 0], [0, 1]], "int32")
    yield made("scatter", lambda i, v: ops.scatter(i, v, (3, 2, 4)), places, reals(3, 4))
    for how in (None, "add", "max", "min", "mul"):
        at = places[:2] if how is None else places
        yield made(
            f"scatter_update {how}",
            lambda x, i, v, how=how: ops.scatter_update(x, i, v, reduction=how),
            reals(3, 2, 4),
            at,
            reals(len(at), 4, seed=3),
        )


def losses() -> Iterator[Case]:
    shares = ops.convert_to_numpy(ops.softmax(reals(4, 5)))
    wanted = np.eye(5, dtype="float32")[[0, 3, 1, 4]]
    for logits in (False, True):
        given = reals(4, 5) if logits else shares
        yield of("binary_crossentropy", wanted, given, from_logits=logits)
        yield of("categorical_crossentropy", wanted, given, from_logits=logits)
        places = np.array([0, 3, 1, 4], "int32")
        yield of("sparse_categorical_crossentropy", places, given, from_logits=logits)
    yield of("psnr", X, Y, max_val=2.0)
    many = reals(2, 12, 13, 3, low=0, high=1)
    yield of("image.ssim", many, many * 0.9 + 0.02, max_val=1.0)
    yield of("image.ssim", many, many * 0.7, filter_size=5, filter_sigma=1.0)
    for merged in (True, False):
        yield made(
            f"ctc_decode {merged}",
            lambda x, n, merged=merged: ops.ctc_decode(
                x, n, strategy="greedy", merge_repeated=merged, mask_index=0
            ),
            reals(3, 9, 4),
            np.array([9, 5, 7], "int32"),
        )


def pictures() -> Iterator[Case]:
    for order, last in (
        (IMAGES, "channels_last"),
        (np.ascontiguousarray(IMAGES.transpose(0, 3, 1, 2)), "channels_first"),
    ):
        yield of("image.rgb_to_hsv", order, data_format=last)
        yield of("image.hsv_to_rgb", order, data_format=last)
        yield replace(of("image.sobel_edges", order, data_format=last), backend=TORCH)
        yield of(
            "image.gaussian_blur", order, kernel_size=(3, 3), sigma=(0.8, 1.2), data_format=last
        )
    for options in (
        {"size": 3},
        {"size": (2, 3), "strides": 1},
        {"size": 3, "strides": 2, "padding": "same"},
        {"size": 2, "strides": 1, "dilation_rate": 2},
    ):
        yield of("image.extract_patches", IMAGES, **options)
    yield of("image.extract_patches", reals(1, 4, 5, 6, 2), size=(2, 2, 3))
    factors = np.array(
        [[0.9, 0.1, 0.53, -0.2, 1.1, 1.07, 0, 0], [1, 0, 1.6, 0, 1, -1, 0, 0]], "float32"
    )
    for fill in ("constant", "nearest", "wrap", "mirror", "reflect"):
        for kind in ("nearest", "bilinear"):
            options = {"interpolation": kind, "fill_mode": fill, "fill_value": 0.25}
            moved = made(
                f"affine {options}",
                lambda x, t, given=options: ops.image.affine_transform(x, t + 0.0, **given),
                IMAGES,
                factors,
            )
            yield replace(moved, backend=TORCH)
        read = of(
            "image.map_coordinates",
            reals(6, 5),
            reals(2, 4, 3, low=-3, high=8),
            order=1,
            fill_mode=fill,
            fill_value=0.5,
        )
        yield replace(read, backend=TORCH if fill in ("mirror", "reflect") else "")
    yield of("image.map_coordinates", whole(6, 5), reals(2, 4, 3, low=0, high=4), order=1)
    yield of("image.map_coordinates", whole(6, 5), reals(2, 4, 3, low=0, high=4), order=0)
    begin = np.array([[[0, 0], [8, 0], [0, 6], [8, 6]]], "float32")
    end = np.array([[[1, 0], [7, 1], [0, 5], [8, 6]]], "float32")
    for kind in ("nearest", "bilinear"):
        yield of("image.perspective_transform", IMAGES[:1], begin, end, interpolation=kind)
    scale, move = np.array([1.5, 0.6], "float32"), np.array([0.5, -1.0], "float32")
    for method in ("linear", "cubic", "lanczos3", "lanczos5"):
        for smooth in (True, False):
            yield made(
                f"scale_and_translate {method} {smooth}",
                lambda x, s, t, method=method, smooth=smooth: ops.image.scale_and_translate(
                    x, (2, 9, 6, 3), s, t, (1, 2), method, antialias=smooth
                ),
                IMAGES,
                scale,
                move,
            )
    planes = reals(2, 3, 7, 8)
    for options in (
        {"kernel_size": 3},
        {"kernel_size": (2, 3), "stride": 2, "padding": 1},
        {"kernel_size": 2, "dilation": 2},
    ):
        yield of("unfold", planes, **options)
        yield made(
            f"fold {options}",
            lambda x, given=options: ops.fold(ops.unfold(x, **given), (7, 8), **given),
            planes,
        )
    for name in ("adaptive_average_pool", "adaptive_max_pool"):
        for x, size in ((reals(2, 9, 3), (4,)), (reals(2, 7, 9, 3), (3, 4))):
            yield of(name, x, output_size=size, data_format="channels_last")
            first = np.ascontiguousarray(np.moveaxis(x, -1, 1))
            yield of(name, first, output_size=size, data_format="channels_first")
