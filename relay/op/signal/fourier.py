"""Fourier transforms. Complex numbers are two tensors, or a last axis of two."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from relay import te
from relay.errors import EvaluationError
from relay.ir import dims
from relay.ir.attrs import Attrs, attrs
from relay.ir.dims import Dim
from relay.ir.expr import Call, Expr, TupleWrapper, const
from relay.ir.types import TensorType, TupleType, Type
from relay.op.attributes import with_attrs
from relay.op.building.numerics import sliding_windows
from relay.op.gradient_rules import ArgumentGradient, Backward, Composed, build
from relay.op.loop_nest import lines, spread
from relay.op.opdef import define, sample
from relay.op.signal.fourier_loops import Complex, prepare, prepare_real
from relay.op.site import FLOATING, Site
from relay.op.tensor.convert import cast_like
from relay.op.tensor.creation import ones

# --- the transform -----------------------------------------------------------------------------


@attrs
class DftAttrs(Attrs):
    """inverse: the inverse transform, divided by the length"""

    inverse: bool = False


def _dft_type(site: Site) -> Type | None:
    """Real and imaginary parts, each of the shape of the inputs."""
    site.require_elements(0, FLOATING)
    site.require_rank(0, at_least=1)
    re, im = site.tensor(0), site.tensor(1)
    known = re or im
    if known is None:
        return None
    other = 0 if re is None else 1
    found = site.expect(other, known.shape, known.dtype)
    return TupleType((found, found))


def _dft(re_data: np.ndarray, im_data: np.ndarray, inverse: bool) -> tuple[np.ndarray, ...]:
    numbers = re_data.astype(np.complex128) + 1j * im_data.astype(np.complex128)
    if numbers.size:
        numbers = np.fft.ifft(numbers) if inverse else np.fft.fft(numbers)
    return numbers.real.astype(re_data.dtype), numbers.imag.astype(re_data.dtype)


def _wide(dtype: str, length: te.Expr) -> str:
    """The type of the computation. The algorithm for dynamic lengths has larger errors, so it uses
    more bits."""
    return "float32" if dtype != "float64" and isinstance(length, te.Const) else "float64"


def _dft_loops(
    re_data: te.Tensor, im_data: te.Tensor, inverse: bool, out: tuple[te.Spec, te.Spec]
) -> tuple[te.Tensor, ...]:
    length = re_data.shape[-1]

    def write(b: te.Builder, *results: te.Buffer) -> None:
        wide = _wide(re_data.dtype, length)
        transform = prepare(b, length, wide, inverse)
        scale = b.let(te.const(1.0, wide) / te.cast(length, wide))
        with lines(b, re_data.shape, -1) as at:

            def load(n: te.Expr) -> Complex:
                return te.cast(re_data[at(n)], wide), te.cast(im_data[at(n)], wide)

            def keep(k: te.Expr, number: Complex) -> None:
                for result, part in zip(results, number, strict=True):
                    value = part * scale if inverse else part
                    b.store(result, at(k), te.cast(value, result.dtype))

            transform(load, keep, length)

    inputs = [re_data, im_data]
    return te.procedure(inputs, [(spec.shape, spec.dtype) for spec in out], write, "dft")


def dft(re_data: Expr, im_data: Expr, inverse: bool = False) -> TupleWrapper:
    """The discrete Fourier transform along the last axis, as real and imaginary parts."""
    return TupleWrapper(DFT(re_data, im_data, inverse=inverse), 2)


def _dft_gradient(site: Backward) -> Sequence[ArgumentGradient]:
    """The transform of the gradient in the other direction, without its division."""
    dtype = site.tensor_type(site.args[0]).dtype
    count = build("shape_of", site.args[0], dtype="int64")
    length = build("take", count, const(-1), axis=0, mode="wrap").astype(dtype)
    inverse = site.attrs.inverse
    turned = build("dft", *site.all_gradients(), inverse=not inverse)
    parts = [turned[0], turned[1]]
    return [part / length if inverse else part * length for part in parts]


def _rfft_gradient(site: Backward) -> Sequence[ArgumentGradient]:
    """The real part of that of `dft`, with zeros for the frequencies that are left out."""
    (data,) = site.args
    dtype = site.tensor_type(data).dtype
    zeros = build("zeros_like", data)
    wide = []
    for gradient in site.all_gradients():
        rank = len(site.tensor_type(data).shape)
        nowhere = const(np.zeros(rank), "int64")
        end = build("shape_of", gradient, dtype="int64")
        ones = build("ones_like", nowhere)
        wide.append(build("strided_set", zeros, gradient, nowhere, end, ones))
    turned = build("dft", *wide, inverse=True)
    length = build("shape_of", data, dtype="int64")
    length = build("take", length, const(-1), axis=0, mode="wrap").astype(dtype)
    return [turned[0] * length]


DFT = define(
    "dft",
    doc="The discrete Fourier transform along the last axis: real and imaginary parts of the sums "
    "of data[n] * exp(-2 pi i n k / N).",
    arguments=[("re_data", "real parts"), ("im_data", "imaginary parts")],
    attrs=DftAttrs,
    relation=_dft_type,
    reference=_dft,
    compute=_dft_loops,
    helper=dft,
    samples=[
        sample((2, 5), (2, 5)),
        sample((3, 4), (3, 4), inverse=True, dtype="float64"),
        sample((6,), (6,), inverse=True, dtype="float16"),
        sample((2, 0), (2, 0)),
    ],
    gradient=_dft_gradient,
)

# --- real transforms ---------------------------------------------------------------------------


def _rfft_type(site: Site) -> Type | None:
    """(…, N) -> real and imaginary parts (…, N / 2 + 1)"""
    site.require_elements(0, FLOATING)
    site.require_rank(0, at_least=1)
    if (data := site.tensor(0)) is None:
        return None
    *rest, length = data.shape
    site.require_natural(dims.subtract(length, 1), "there is no signal", "1 or more", str(data))
    found = TensorType((*rest, dims.add(dims.floor_divide(length, 2), 1)), data.dtype)
    return TupleType((found, found))


def _rfft(data: np.ndarray) -> tuple[np.ndarray, ...]:
    if not data.shape[-1]:
        raise EvaluationError.of("there is no signal", expected="1 or more", found="0")
    numbers = np.fft.rfft(data.astype(np.float64))
    return numbers.real.astype(data.dtype), numbers.imag.astype(data.dtype)


def _rfft_loops(data: te.Tensor, out: tuple[te.Spec, te.Spec]) -> tuple[te.Tensor, ...]:
    length = data.shape[-1]

    def write(b: te.Builder, *results: te.Buffer) -> None:
        wide = _wide(data.dtype, length)
        transform = prepare_real(b, length, wide)
        with lines(b, data.shape, -1) as at:

            def keep(k: te.Expr, number: Complex) -> None:
                for result, part in zip(results, number, strict=True):
                    b.store(result, at(k), te.cast(part, result.dtype))

            transform(lambda n: te.cast(data[at(n)], wide), keep)

    return te.procedure([data], [(spec.shape, spec.dtype) for spec in out], write, "rfft")


def rfft(data: Expr) -> TupleWrapper:
    """The Fourier transform of real data along the last axis: real and imaginary parts of the
    frequencies up to half the length; the others are their conjugates."""
    return TupleWrapper(RFFT(data), 2)


RFFT = define(
    "rfft",
    doc="The discrete Fourier transform of real data along the last axis: real and imaginary parts "
    "of the sums of data[n] * exp(-2 pi i n k / N) for k from 0 to N / 2. The sums for N - k are "
    "their conjugates.",
    arguments=[("data", "real numbers")],
    relation=_rfft_type,
    reference=_rfft,
    compute=_rfft_loops,
    helper=rfft,
    samples=[
        sample((2, 10)),
        sample((3, 7), dtype="float64"),
        sample((2, 2, 6), dtype="float16"),
        sample((1,)),
    ],
    gradient=_rfft_gradient,
)

# --- short-time ----------------------------------------------------------------------------------


@attrs
class StftAttrs(Attrs):
    """n_fft: the number of samples of a transform
    hop_length: the distance between transforms; -1 is a quarter of n_fft
    win_length: the length of the window, which is centered; -1 is n_fft
    normalized: divide by the square root of n_fft
    onesided: leave out the frequencies that are conjugates of others, for real signals
    """

    n_fft: int = -1
    hop_length: int = -1
    win_length: int = -1
    normalized: bool = False
    onesided: bool = True


def _lengths(n_fft: int, hop_length: int, win_length: int) -> tuple[int, int]:
    return (
        n_fft // 4 if hop_length == -1 else hop_length,
        n_fft if win_length == -1 else win_length,
    )


def _stft_type(site: Site) -> Type | None:
    """(batch, time) -> (batch, frequencies, transforms, 2); the batch is optional."""
    known: StftAttrs = site.attrs
    site.require_elements(0, FLOATING)
    n_fft = known.n_fft
    hop, window = _lengths(n_fft, known.hop_length, known.win_length)
    site.require(n_fft > 0, "`n_fft` is not positive", "1 or more", f"n_fft = {n_fft}")
    site.require(hop > 0, "`hop_length` is not positive", "1 or more", f"hop_length = {hop}")
    site.require(
        0 < window <= n_fft, "`win_length` does not fit", f"1 to {n_fft}", f"win_length = {window}"
    )
    if (data := site.tensor(0)) is None:
        return None
    site.require(
        len(data.shape) in (1, 2),
        "argument `data` has the wrong rank",
        "(time,) or (batch, time)",
        str(data),
    )
    site.expect(1, (window,), data.dtype)
    *batch, time = data.shape
    room = dims.subtract(time, n_fft)
    site.require_natural(
        room, "the signal is shorter than a transform", f"{n_fft} samples or more", str(data)
    )
    count = dims.add(dims.floor_divide(room, hop), 1)
    frequencies: Dim = n_fft // 2 + 1 if known.onesided else n_fft
    return TensorType((*batch, frequencies, count, 2), data.dtype)


def _stft(data: np.ndarray, window: np.ndarray, known: StftAttrs) -> Any:
    hop, length = _lengths(known.n_fft, known.hop_length, known.win_length)
    if data.shape[-1] < known.n_fft:
        raise EvaluationError.of(
            "the signal is shorter than a transform",
            expected=f"{known.n_fft} samples or more",
            found=str(data.shape[-1]),
        )
    weights = np.zeros(known.n_fft)
    start = (known.n_fft - length) // 2
    weights[start : start + length] = window
    view = sliding_windows(data, (known.n_fft,), (-1,))[..., ::hop, :]
    frames = view.astype(np.float64) * weights
    found = np.fft.rfft(frames) if known.onesided else np.fft.fft(frames)
    if known.normalized:
        found = found / np.sqrt(known.n_fft)
    parts = np.stack([found.real, found.imag], -1)
    return parts.swapaxes(-3, -2).astype(data.dtype)


def _stft_loops(data: te.Tensor, window: te.Tensor, out: te.Spec, known: StftAttrs) -> te.Tensor:
    hop, length = _lengths(known.n_fft, known.hop_length, known.win_length)
    start = (known.n_fft - length) // 2
    *batch, _, transforms, _ = out.shape
    scale = 1 / math.sqrt(known.n_fft) if known.normalized else 1.0

    def write(b: te.Builder, result: te.Buffer) -> None:
        wide = _wide(data.dtype, te.index(known.n_fft))
        transform = prepare_real(b, te.index(known.n_fft), wide)
        with spread(b, (*batch, transforms)) as (*image, number):

            def load(n: te.Expr) -> te.Expr:
                weight = te.cast(window[n - start], wide)
                if length < known.n_fft:
                    weight = te.select((n >= start) & (n < start + length), weight, 0.0)
                return te.cast(data[*image, number * hop + n], wide) * weight

            def keep(k: te.Expr, found: Complex) -> None:
                place(k, found)
                if not known.onesided:
                    with b.if_((k > 0) & (k * 2 < known.n_fft)):
                        place(known.n_fft - k, (found[0], -found[1]))

            def place(k: te.Expr, found: Complex) -> None:
                for part, value in enumerate(found):
                    b.store(result, (*image, k, number, part), te.cast(value * scale, out.dtype))

            transform(load, keep)

    return te.procedure([data, window], [(out.shape, out.dtype)], write, "stft")[0]


def stft(
    data: Expr,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Expr | None = None,
    normalized: bool = False,
    onesided: bool = True,
) -> Call:
    """The short-time Fourier transform; the default window is 1."""
    hop, length = _lengths(n_fft, hop_length or -1, win_length or -1)
    # ones of the element type of data, known after inference
    weights = cast_like(ones((length,), "float32"), data) if window is None else window
    return STFT(
        data,
        weights,
        n_fft=n_fft,
        hop_length=hop,
        win_length=length,
        normalized=normalized,
        onesided=onesided,
    )


def _transforms(site: Backward) -> Expr:
    """The transforms of all pieces of the signal."""
    data, window = site.args
    known: StftAttrs = site.attrs
    hop, length = _lengths(known.n_fft, known.hop_length, known.win_length)
    before = (known.n_fft - length) // 2
    widths = ((before, known.n_fft - length - before),)
    weights = build("nn.pad", window, const(0, site.type.dtype), pad_width=widths)
    pieces = build("sliding_window", data, axis=-1, window_shape=(known.n_fft,), strides=(hop,))
    pieces = pieces * weights
    if known.onesided:
        found = build("rfft", pieces)
    else:
        found = build("dft", pieces, build("zeros_like", pieces))
    parts = build("stack", [found[0], found[1]], axis=-1)
    batch = range(len(site.type.shape) - 3)
    made = build("transpose", parts, axes=(*batch, *(len(batch) + a for a in (1, 0, 2))))
    return made * site.number(1 / math.sqrt(known.n_fft)) if known.normalized else made


STFT = define(
    "stft",
    doc="The short-time Fourier transform of a signal. The last axis holds real and imaginary "
    "parts.",
    arguments=[
        ("data", "signals: (time,) or (batch, time)"),
        ("window", "the weights, of length win_length"),
    ],
    attrs=StftAttrs,
    relation=_stft_type,
    reference=with_attrs(StftAttrs, _stft),
    compute=with_attrs(StftAttrs, _stft_loops),
    helper=stft,
    samples=[
        sample((12,), (4,), n_fft=4),
        sample((2, 13), (3,), n_fft=6, hop_length=2, win_length=3, normalized=True),
        sample((2, 9), (5,), n_fft=5, hop_length=3, onesided=False, dtype="float64"),
        sample((1, 8), (2,), n_fft=8, win_length=2, dtype="float16"),
    ],
    gradient=Composed(_transforms),
)
