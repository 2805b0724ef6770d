"""Padding, mirror padding and dilation.

A width is the number of elements added at one end of an axis; a negative width crops. Constant
padding is a window on data in an infinite constant; the other modes pad with the elements that
remain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from relay import dtypes, te
from relay.ir import dims
from relay.ir.attrs import Attrs, attrs
from relay.ir.dims import Dim
from relay.ir.expr import Call, Constant, Expr, TupleWrapper, const
from relay.ir.types import TensorType, Type
from relay.op.building import layout_rules
from relay.op.building.numerics import convert
from relay.op.facts import Precision, Trait
from relay.op.gradient_rules import ArgumentGradient, Backward, build, scattering
from relay.op.known import is_known
from relay.op.opdef import (
    FusionKind,
    OpDef,
    Tensor,
    define,
    get,
    sample,
)
from relay.op.quantization import Kind, Quantization
from relay.op.site import Site, running

Widths = tuple[tuple[int, int], ...]

# The extent that padding by a width requires.
_NEEDED: dict[str, Callable[[int], int]] = {
    "constant": lambda width: 0,
    "edge": lambda width: min(width, 1),
    "reflect": lambda width: width + 1 if width else 0,
    "REFLECT": lambda width: width + 1 if width else 0,
    "SYMMETRIC": lambda width: width,
    "wrap": lambda width: min(width, 1),
}


def _padded_type(site: Site, data: TensorType, widths: Widths, mode: str) -> TensorType:
    """Each extent grows by its two widths."""
    site.require(
        len(widths) == len(data.shape),
        "`pad_width` does not fit the rank",
        f"{len(data.shape)} pairs",
        f"pad_width = {widths}",
    )
    shape: list[Dim] = []
    for axis, (extent, (before, after)) in enumerate(zip(data.shape, widths, strict=True)):
        wanted = dims.add(extent, before + after)
        own = _NEEDED[mode](max(before, after, 0))
        needed = own + _taken(before) + _taken(after)
        if mode == "constant":
            needed = max(-before - after, 0)
        site.require_natural(
            dims.subtract(extent, needed),
            f"axis {axis} is too short to be padded with its own elements"
            if own
            else f"axis {axis} is too short for so many elements to be taken away",
            f"{needed} elements or more",
            f"{data} and pad_width = {widths}",
        )
        shape.append(wanted)
    return TensorType(tuple(shape), data.dtype)


def _taken(width: int) -> int:
    """The number of elements that a width crops."""
    return max(-width, 0)


def _with_own_elements(data: np.ndarray, widths: Widths, mode: str) -> np.ndarray:
    """Data padded with its own elements; dynamic extents are checked here."""
    ty = TensorType(data.shape, dtypes.canonical(data.dtype))
    _padded_type(running("pad", ("data",), (ty,), None), ty, widths, mode)
    left = tuple(
        slice(_taken(before), extent - _taken(after))
        for extent, (before, after) in zip(data.shape, widths, strict=True)
    )
    how: Any = mode.lower()
    grown = [(max(before, 0), max(after, 0)) for before, after in widths]
    return np.pad(data[left], grown, how) if data.ndim else data


def padded(
    data: te.Tensor,
    out: te.Spec,
    widths: Sequence[tuple[te.Scalar, te.Scalar]],
    mode: str,
    value: te.Expr | None = None,
) -> te.Tensor:
    """Data padded by these widths before and after each axis."""
    # the mirror image of k is -k, or -1 - k if the edge is repeated
    edge = 1 if mode == "SYMMETRIC" else 0

    def own(place: te.Expr, extent: te.Expr) -> te.Expr:
        if mode == "edge":
            return te.minimum(te.maximum(place, 0), extent - 1)
        if mode == "wrap":
            return place % extent
        behind = te.select(place < extent, place, (extent - 1) * 2 + edge - place)
        return te.select(place < 0, -place - edge, behind)

    def element(*i: te.Expr) -> te.Expr:
        inside: list[te.Expr] = []
        source: list[te.Expr] = []
        for k, extent, (before, after) in zip(i, data.shape, widths, strict=True):
            place = k - before
            if (before, after) == (0, 0):
                place = k
            elif value is not None:
                inside += [place >= 0, place < extent]
            else:
                first, behind = _away(before), _away(after)
                place = own(place - first, extent - first - behind) + first
            source.append(place)
        read = data[tuple(source)]
        return read if value is None else te.select(te.every(*inside), read, value)

    return te.compute(out.shape, element, "pad")


def _away(width: te.Scalar) -> te.Scalar:
    """The number of elements that a width, possibly dynamic, crops."""
    return _taken(width) if isinstance(width, int) else te.maximum(-width, 0)


# --- padding -----------------------------------------------------------------------------------


@attrs
class PadAttrs(Attrs):
    """pad_width: for each axis, the numbers of elements before and after; negative ones crop
    pad_mode: "constant" is the given value, "edge" the nearest element, "reflect" the elements
    mirrored at the edge, which is not repeated, "wrap" the elements from the other end
    """

    pad_width: tuple[tuple[int, int], ...]
    pad_mode: Literal["constant", "edge", "reflect", "wrap"] = "constant"


def _pad_type(site: Site) -> Type | None:
    """Each extent grows by its two widths; the value is a scalar."""
    site.tensor(1, rank=0)
    if (data := site.tensor(0)) is None:
        return None
    return _padded_type(site, data, site.attrs.pad_width, site.attrs.pad_mode)


def _pad(data: np.ndarray, pad_value: np.ndarray, pad_width: Widths, pad_mode: str) -> np.ndarray:
    if pad_mode != "constant":
        return _with_own_elements(data, pad_width, pad_mode)
    value = convert(pad_value, dtypes.canonical(data.dtype))
    axes = list(zip(data.shape, pad_width, strict=True))
    padded = np.full([before + d + after for d, (before, after) in axes], value, data.dtype)
    # cropping everything leaves nothing; such an end must not be negative
    there = tuple(slice(max(b, 0), max(d + b, 0)) for d, (b, _) in axes)
    here = tuple(slice(_taken(b), max(d + min(a, 0), 0)) for d, (b, a) in axes)
    padded[there] = data[here]
    return padded


def _pad_compute(
    data: te.Tensor, pad_value: te.Tensor, out: te.Spec, pad_width: Widths, pad_mode: str
) -> te.Tensor:
    value = te.cast(pad_value[()], out.dtype) if pad_mode == "constant" else None
    return padded(data, out, pad_width, pad_mode, value)


_scattered = scattering()


def _pad_gradient(site: Backward) -> Sequence[ArgumentGradient]:
    """The gradient of the padding is that of its value."""
    if site.attrs.pad_mode != "constant":
        return _scattered(site)
    value = site.args[1]
    widths = [(-before, -after) for before, after in site.attrs.pad_width]
    # cropped elements have no gradient, nor are they padding
    by_data = PAD(site.gradient, site.number(0), pad_width=widths)
    inside = PAD(build("ones_like", site.args[0]), site.number(0), pad_width=site.attrs.pad_width)
    by_value = site.gradient * (build("ones_like", inside) - inside)
    return [by_data, build("cast", build("sum", by_value), dtype=site.tensor_type(value).dtype)]


def _pads_with_zeros(call: Call) -> bool:
    value = call.args[1]
    return isinstance(value, Constant) and not value.data.array.any()


def _dilate_gradient(site: Backward) -> Sequence[ArgumentGradient]:
    rank = len(site.type.shape)
    strides = list(site.attrs.strides)
    bounds = {"begin": [0] * rank, "end": [2**31 - 1] * rank, "strides": strides}
    return [build("strided_slice", site.gradient, **bounds) if rank else site.gradient]


def pad(
    data: Expr,
    pad_width: Sequence[Sequence[int]] | Expr,
    pad_value: Expr | float = 0,
    pad_mode: str = "constant",
) -> Call:
    """Pad data along each axis; `pad_value` may be a number, and `pad_width` a tensor with a row
    per axis."""
    value = pad_value if isinstance(pad_value, Expr | TupleWrapper) else const(pad_value)
    if not is_known(pad_width):
        return get("dyn.nn.pad")(data, pad_width, value, pad_mode=pad_mode)
    return PAD(data, value, pad_width=pad_width, pad_mode=pad_mode)


PAD: OpDef = define(
    "nn.pad",
    doc="data padded, or cropped, along each axis. The value is converted to the element type of "
    "data, as `cast` does.",
    arguments=[("data", "the input"), ("pad_val", "the value in mode constant, a scalar")],
    attrs=PadAttrs,
    relation=_pad_type,
    reference=_pad,
    compute=_pad_compute,
    fusion=FusionKind.INJECTIVE,
    layout=layout_rules.pad,
    precision=Precision.FOLLOW,
    quantization=Quantization(Kind.THROUGH, when=_pads_with_zeros),
    helper=pad,
    samples=[
        sample((2, 3), (), pad_width=((1, 2), (0, 3))),
        sample((2, 3), Tensor((), "float32"), dtype="int8", pad_width=((1, 0), (2, 2))),
        sample((2, 3), (), pad_width=((1, 0), (2, 2)), pad_mode="edge"),
        sample((3, 4), (), pad_width=((2, 1), (0, 3)), pad_mode="reflect"),
        sample((3, 4), (), pad_width=((2, 1), (9, 3)), pad_mode="wrap"),
        sample((4, 5), (), pad_width=((-1, 1), (2, -3))),
        sample((4, 5), (), pad_width=((-4, 3), (-1, -2)), dtype="int8"),
        sample((4, 5), (), pad_width=((2, -1), (-3, 4)), pad_mode="edge"),
        sample((4, 5), (), pad_width=((2, -1), (-1, -2)), pad_mode="reflect"),
        sample((4, 5), (), pad_width=((7, -1), (-3, 5)), pad_mode="wrap"),
        sample((), (), pad_width=()),
    ],
    gradient=_pad_gradient,
)


@attrs
class MirrorPadAttrs(Attrs):
    """mode: elements mirrored at the edge of data ("SYMMETRIC"), or at the middle of the last
    element, which is then not repeated ("REFLECT")
    pad_width: for each axis, the numbers of elements before and after; negative ones crop
    """

    mode: Literal["SYMMETRIC", "REFLECT"] = "SYMMETRIC"
    pad_width: tuple[tuple[int, int], ...]


def _mirror_pad_type(site: Site) -> Type | None:
    """Each extent grows by its two widths."""
    if (data := site.tensor(0)) is None:
        return None
    return _padded_type(site, data, site.attrs.pad_width, site.attrs.mode)


def mirror_pad(data: Expr, pad_width: Sequence[Sequence[int]], mode: str = "SYMMETRIC") -> Call:
    """Pad data along each axis with its mirrored elements."""
    return MIRROR_PAD(data, mode=mode, pad_width=pad_width)


MIRROR_PAD = define(
    "nn.mirror_pad",
    doc="data padded along each axis with its mirrored elements.",
    arguments=[("data", "the input")],
    attrs=MirrorPadAttrs,
    relation=_mirror_pad_type,
    reference=lambda data, mode, pad_width: _with_own_elements(data, pad_width, mode),
    compute=lambda data, out, mode, pad_width: padded(data, out, pad_width, mode),
    fusion=FusionKind.INJECTIVE,
    layout=layout_rules.pad,
    traits=Trait.MOVES,
    helper=mirror_pad,
    samples=[
        sample((2, 3), pad_width=((1, 2), (0, 3))),
        sample((3, 4), pad_width=((2, 1), (0, 3)), mode="REFLECT", dtype="int8"),
        sample((3, 4), pad_width=((-1, 2), (2, -2))),
        sample((3, 4, 2), pad_width=((0, 0), (4, 1), (1, 2)), dtype="bfloat16"),
        sample((), pad_width=()),
    ],
    gradient=scattering(),
)

# --- dilation ----------------------------------------------------------------------------------


@attrs
class DilateAttrs(Attrs):
    """strides: for each axis, the distance between adjacent elements
    dilation_value: the value between them
    """

    strides: tuple[int, ...] = (1, 1)
    dilation_value: float = 0.0


def _dilate_type(site: Site) -> Type | None:
    """(extent - 1) * stride + 1 along each axis; 0 for an empty one."""
    if (data := site.tensor(0)) is None:
        return None
    strides = site.attrs.strides
    if len(strides) != len(data.shape) or any(stride < 1 for stride in strides):
        site.fail(
            "`strides` does not fit",
            f"{len(data.shape)} values of 1 or more",
            f"strides = {strides}",
        )
    shape: list[Dim] = []
    for extent, stride in zip(data.shape, strides, strict=True):
        spread = dims.add(dims.multiply(dims.subtract(extent, 1), stride), 1)
        shape.append(dims.maximum(spread, 0) if stride > 1 else extent)
    return TensorType(tuple(shape), data.dtype)


def _dilate(data: np.ndarray, strides: Sequence[int], dilation_value: float) -> np.ndarray:
    value = convert(np.array(dilation_value), dtypes.canonical(data.dtype))
    shape = [max((d - 1) * s + 1, 0) for d, s in zip(data.shape, strides, strict=True)]
    spread = np.full(shape, value, data.dtype)
    spread[tuple(slice(None, None, stride) for stride in strides)] = data
    return spread


def _dilate_compute(
    data: te.Tensor, out: te.Spec, strides: Sequence[int], dilation_value: float
) -> te.Tensor:
    value = te.cast(te.const(dilation_value, "float64"), out.dtype)

    def element(*i: te.Expr) -> te.Expr:
        steps = list(zip(i, strides, strict=True))
        between = [te.not_equal(k % stride, 0) for k, stride in steps if stride > 1]
        read = data[tuple(k // stride for k, stride in steps)]
        return te.select(te.some(*between), value, read)

    return te.compute(out.shape, element)


dilate = define(
    "nn.dilate",
    doc="data with a value inserted between its elements. The value is converted to the element "
    "type of data, as `cast` does.",
    arguments=[("x", "the input")],
    attrs=DilateAttrs,
    relation=_dilate_type,
    reference=_dilate,
    compute=_dilate_compute,
    fusion=FusionKind.INJECTIVE,
    samples=[
        sample((2, 3)),
        sample((2, 3, 4), strides=(1, 3, 2), dilation_value=1.5),
        sample((3, 2), strides=(2, 2), dilation_value=-7.5, dtype="int8"),
        sample((0, 3), strides=(2, 2)),
        sample((), strides=(), dtype="float16"),
    ],
    gradient=_dilate_gradient,
)
