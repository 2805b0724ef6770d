"""A dense layer whose weight has few bits: integers in words of 32 bits, with scales of groups.

A word of the weight has consecutive elements of a row, the first one in its lowest bits. The
elements of a group of a row have a scale and a zero point: `(integer - zero_point) * scale`.
"""

from __future__ import annotations

import numpy as np

from relay import te
from relay.ir.attrs import Attrs, attrs
from relay.ir.expr import Expr, Tuple, const
from relay.ir.types import TensorType, Type
from relay.op.building.numerics import matrix_product
from relay.op.gradient_rules import Backward, Composed, build
from relay.op.opdef import FusionKind, Tensor, define, sample
from relay.op.site import Site

WORD = 32
SIZES = (2, 4, 8)  # bits of an element
MANTISSA = 23  # bits of float32
ONE = 0x3F800000  # 1.0 as a word


@attrs
class DenseNbitsAttrs(Attrs):
    """bits: those of an element of weight: 2, 4 or 8"""

    bits: int = 4


def _type(site: Site) -> Type | None:
    """(…, k) x words (k * bits / 32, units), scales (groups, units) -> (…, units)"""
    site.require_rank(0, at_least=1)
    data, weight, scale = site.tensor(0), site.tensor(1, rank=2), site.tensor(2, rank=2)
    bits: int = site.attrs.bits
    site.require(bits in SIZES, "there are no elements of that size", "2, 4 or 8 bits", str(bits))
    if data is None or weight is None or scale is None:
        return None
    for index, wanted in enumerate(("float32", "uint32", "float32", "float32")):
        ty = site.tensor(index)
        if ty is not None and ty.dtype != wanted:
            site.fail("the element type does not fit", wanted, str(ty))
    words, units = weight.shape
    per = WORD // bits
    site.require_equal(scale.shape[1], units, "columns of weight and scale")
    zero_point = site.tensor(3)
    if zero_point is None or zero_point.shape:
        site.expect(3, scale.shape, "float32")
    groups = scale.shape[0]
    site.require_equal(data.shape[-1], words * per, "the depth of data and weight")
    site.require_some(groups, (), "there is no group", "1 or more", str(scale))
    uneven, wanted = "the words are not those of whole groups", f"a multiple of {groups}"
    site.require_multiple(words, groups, uneven, wanted, str(words))
    return TensorType((*data.shape[:-1], units), "float32")


def unpacked(weight: np.ndarray, bits: int) -> np.ndarray:
    """The integers (k, units) of words (k * bits / 32, units)."""
    places = np.arange(0, WORD, bits, dtype=np.uint32)[None, :, None]
    parts = (weight[:, None, :] >> places) & np.uint32((1 << bits) - 1)
    words, units = weight.shape
    return parts.reshape(words * (WORD // bits), units)


def packed(elements: np.ndarray, bits: int) -> np.ndarray:
    """The words of integers (k, units); beyond the end are zeros."""
    per = WORD // bits
    rest = -len(elements) % per
    whole = np.pad(elements.astype(np.uint32), ((0, rest), (0, 0)))
    places = np.arange(0, WORD, bits, dtype=np.uint32)[None, :, None]
    parts = whole.reshape(-1, per, elements.shape[1]) << places
    found: np.ndarray = np.bitwise_or.reduce(parts, axis=1)
    return found


def _reference(
    data: np.ndarray, weight: np.ndarray, scale: np.ndarray, zero_point: np.ndarray, bits: int
) -> np.ndarray:
    integers = unpacked(weight, bits).astype(np.float64)
    groups = max(len(scale), 1)
    block = len(integers) // groups
    zeros = np.broadcast_to(zero_point, scale.shape)
    scales, zeros = (np.repeat(one.astype(np.float64), block, 0) for one in (scale, zeros))
    found = matrix_product(data.astype(np.float64), (integers - zeros) * scales)
    finite = np.isfinite(data).all(-1, keepdims=True)
    result: np.ndarray = np.where(finite, found, np.nan).astype(np.float32)
    return result


def _compute(
    data: te.Tensor,
    weight: te.Tensor,
    scale: te.Tensor,
    zero_point: te.Tensor,
    out: te.Spec,
    bits: int,
) -> te.Tensor:
    """The bits of an element are the highest ones of the mantissa of a number from 1 to 2, which
    takes no conversion; what that adds to the sum of a group is known from the sum of its data.

    y[m, n] = sum(scale[g, n] * (2^bits * p[m, g, n] - (2^bits + zero[g, n]) * d[m, g]) for g)
    p[m, g, n] = sum(x[m, k] * (1 + q[k, n] / 2^bits) for k);  d[m, g] = sum(x[m, k] for k)
    """
    per, levels = WORD // bits, float(1 << bits)
    groups, units = scale.shape
    length = weight.shape[0] // te.maximum(groups, 1)
    head = data.shape[:-1]
    mask = te.const(((1 << bits) - 1) << MANTISSA - bits, "uint32")

    def element(word: te.Expr, place: te.Expr) -> te.Expr:
        # shifted to the left first: so the shift is the same for all lanes, and never negative
        highest = word << te.cast(WORD - bits - place * bits, "uint32")
        moved = highest >> te.const(WORD - MANTISSA, "uint32")
        return te.bitcast((moved & mask) | te.const(ONE, "uint32"), "float32")

    def depth(group: te.Expr, word: te.Expr, place: te.Expr) -> te.Expr:
        return (group * length + word) * per + place

    word, place = te.axis(length, "w"), te.axis(per, "t")
    of_data = te.compute(
        (*head, groups),
        lambda *i: te.sum(data[(*i[:-1], depth(i[-1], word, place))], (word, place)),
        "of_data",
    )
    word, place = te.axis(length, "w"), te.axis(per, "t")
    parts = te.compute(
        (*head, groups, units),
        lambda *i: te.sum(
            data[(*i[:-2], depth(i[-2], word, place))]
            * element(weight[i[-2] * length + word, i[-1]], place),
            (word, place),
        ),
        "parts",
    )
    group = te.axis(groups, "g")

    def total(*i: te.Expr) -> te.Expr:
        at = (group, i[-1])
        zero = zero_point[at] if zero_point.rank else zero_point[()]
        known = of_data[(*i[:-1], group)] * (zero + levels)
        return te.sum(scale[at] * (parts[(*i[:-1], *at)] * levels - known), group)

    return te.compute(out.shape, total, "dense_nbits")


def _as_dense(site: Backward) -> Expr:
    """The same with the weight in floats."""
    data, weight, scale, zero_point = site.args
    bits: int = site.attrs.bits
    mask = const((1 << bits) - 1, "uint32")
    parts = tuple(
        build("bitwise_and", build("right_shift", weight, const(place, "uint32")), mask)
        for place in range(0, WORD, bits)
    )
    elements = build("cast", build("stack", Tuple(parts), axis=1), dtype="float32")
    words, units = site.tensor_type(weight).shape
    groups = site.tensor_type(scale).shape[0]
    in_groups = build("reshape", elements, newshape=(groups, -1, units))
    if site.tensor_type(zero_point).shape:
        zero_point = build("expand_dims", zero_point, axis=1)
    shifted = build("subtract", in_groups, zero_point)
    scaled = build("multiply", shifted, build("expand_dims", scale, axis=1))
    rows = build("reshape", scaled, newshape=(words * (WORD // bits), units))
    return build("nn.matmul", data, rows)


dense_nbits = define(
    "nn.dense_nbits",
    doc="data times the transpose of a weight of 2, 4 or 8 bits, with scales and zero points of "
    "groups of its elements. Rows of data that are not finite give NaN.",
    arguments=[
        ("data", "the input, (…, k)"),
        (
            "weight",
            "words of consecutive elements of a row, the first in the lowest bits: "
            "(k * bits / 32, units), uint32",
        ),
        ("scale", "of the elements of a group, (groups, units)"),
        ("zero_point", "the element that stands for 0, (groups, units) or one for all"),
    ],
    attrs=DenseNbitsAttrs,
    relation=_type,
    reference=_reference,
    compute=_compute,
    fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
    samples=[
        sample((2, 64), Tensor((8, 5), "uint32", 0, 2**32 - 1), (2, 5), (2, 5)),
        sample((1, 32), Tensor((8, 20), "uint32", 0, 2**32 - 1), (4, 20), (), bits=8),
        sample((2, 3, 32), Tensor((2, 3), "uint32", 0, 2**32 - 1), (1, 3), (1, 3), bits=2),
        sample((16,), Tensor((2, 5), "uint32", 0, 2**32 - 1), (1, 5), ()),
    ],
    gradient=Composed(_as_dense),
)
