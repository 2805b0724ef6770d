"""cast and reinterpret."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relay import dtypes, te
from relay.ir.attrs import Attrs, attrs
from relay.ir.expr import Expr
from relay.ir.types import TensorType, Type
from relay.op.building import layout_rules
from relay.op.building.elements import elementwise
from relay.op.building.numerics import convert
from relay.op.facts import Sign
from relay.op.gradient_rules import Backward, only_first
from relay.op.opdef import (
    DType,
    FusionKind,
    OpDef,
    Tensor,
    define,
    sample,
)
from relay.op.site import Site

_RULES = (
    "Floats to integers truncate and saturate, NaN becomes 0; to narrower floats they are rounded "
    "to nearest, ties to even, and overflow to infinity, to NaN in types without it, or to the "
    "largest number in types without either (to saturate, use `clip` first); integers keep their "
    "low bits; everything but 0 is True."
)


@attrs
class CastAttrs(Attrs):
    """dtype: the element type of the result"""

    dtype: DType


def _cast_type(site: Site) -> Type | None:
    """The shape of data, with `dtype` elements."""
    data = site.tensor(0)
    return None if data is None else TensorType(data.shape, site.attrs.dtype)


def _cast_sign(signs: Sequence[Sign], attrs: Any) -> Sign:
    # narrower types underflow and saturate
    return signs[0] if attrs.dtype in ("float32", "float64") else Sign.UNKNOWN


def _cast_gradient(site: Backward) -> Sequence[Expr | None]:
    dtype = site.tensor_type(site.args[0]).dtype
    return [cast(site.gradient, dtype=dtype) if dtypes.is_float(dtype) else None]


cast = define(
    "cast",
    doc=f"data with its elements converted. {_RULES}",
    arguments=[("data", "the input")],
    attrs=CastAttrs,
    relation=_cast_type,
    reference=convert,
    compute=elementwise(te.cast),
    fusion=FusionKind.ELEMWISE,
    layout=layout_rules.elementwise,
    sign=_cast_sign,
    gradient=_cast_gradient,
    samples=[
        sample((2, 3), low=-300, high=300, attrs={"dtype": "int8"}),
        sample(np.array([np.nan, np.inf, -2.7], "float32"), attrs={"dtype": "int32"}),
        sample((4,), dtype="int32", low=-300, high=300, attrs={"dtype": "uint8"}),
        sample((), dtype="bool", attrs={"dtype": "bfloat16"}),
        sample((0,), dtype="float16", attrs={"dtype": "bool"}),
    ],
)


def _cast_like_type(site: Site) -> Type | None:
    """The shape of data, with the elements of dtype_like."""
    if (operands := site.tensors()) is None:
        return None
    data, like = operands
    return TensorType(data.shape, like.dtype)


cast_like: OpDef = define(
    "cast_like",
    doc=f"data with its elements converted to the type of another tensor. {_RULES}",
    arguments=[("data", "the input"), ("dtype_like", "a tensor of the wanted element type")],
    relation=_cast_like_type,
    reference=lambda data, like: convert(data, dtypes.canonical(like.dtype)),
    compute=lambda data, like, out: elementwise(te.cast)(data, out=out, dtype=out.dtype),
    fusion=FusionKind.ELEMWISE,
    samples=[
        sample((2, 3), Tensor((5,), "int8")),
        sample((), Tensor((), "float64"), dtype="int32"),
    ],
    gradient=only_first(lambda site: cast_like(site.gradient, site.args[0])),
)

# --- bits --------------------------------------------------------------------------------------


def _reinterpret_type(site: Site) -> Type | None:
    """The shape of data, with an element type of as many bits."""
    if (data := site.tensor(0)) is None:
        return None
    wanted = site.attrs.dtype
    site.require(
        dtypes.bits(data.dtype) == dtypes.bits(wanted),
        "element types differ in width",
        f"an element type of {dtypes.bits(data.dtype)} bits",
        f"{wanted}, for {data}",
    )
    return TensorType(data.shape, wanted)


def _reinterpret(data: np.ndarray, dtype: str) -> np.ndarray:
    dense = np.ascontiguousarray(data)
    bits = dtypes.bits(dtype)
    if 1 < bits < 8:
        # stored in 8 bits, of which the upper ones are undefined
        low = dense.view(np.uint8) & np.uint8((1 << bits) - 1)
        dense = convert(low, dtype) if dtypes.is_integer(dtype) else low
    return dense.view(dtypes.to_numpy(dtype)).reshape(data.shape)


def _reinterpret_element(data: te.Expr, dtype: str) -> te.Expr:
    # bool: one bit
    return te.bitcast(data, dtype) if dtypes.bits(dtype) > 1 else te.cast(data, dtype)


reinterpret = define(
    "reinterpret",
    doc="The same bits read as elements of another type of the same width.",
    arguments=[("data", "the input")],
    attrs=CastAttrs,
    relation=_reinterpret_type,
    reference=_reinterpret,
    compute=elementwise(_reinterpret_element),
    fusion=FusionKind.ELEMWISE,
    layout=layout_rules.elementwise,
    samples=[
        sample((2, 3), attrs={"dtype": "int32"}),
        sample((5,), dtype="float16", attrs={"dtype": "bfloat16"}),
        sample((), dtype="int64", attrs={"dtype": "float64"}),
        sample((0, 2), dtype="int8", attrs={"dtype": "uint8"}),
        sample((3,), dtype="bool", attrs={"dtype": "bool"}),
        sample((5,), dtype="int4", low=-8, high=8, attrs={"dtype": "float4_e2m1fn"}),
        sample((7,), dtype="float4_e2m1fn", low=-6, high=6, attrs={"dtype": "int4"}),
        sample((4,), dtype="uint2", low=0, high=4, attrs={"dtype": "int2"}),
    ],
    gradient="its result depends on the bits",
)
