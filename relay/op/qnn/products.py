"""Shared parts of quantized convolutions and matrix products.

Zero points are subtracted first; products are accumulated in integers of `out_dtype`, which wrap.
The result has zero point 0 and the product of the scales as its scale; `requantize` follows. Zero
points come before the scales, unlike in other operators.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np

from relay import dtypes, te
from relay.ir.dims import Dim
from relay.ir.types import Type
from relay.op.opdef import DType
from relay.op.qnn import parameters
from relay.op.site import Site

PARAMETERS: Final = [
    ("input_zero_point", "the zero point of data"),
    ("kernel_zero_point", "the zero point of weight, or one for each output channel"),
    ("input_scale", "the scale of data"),
    ("kernel_scale", "the scale of weight, or one for each output channel"),
]
SUM_DTYPE: Final = DType("int32")


def factors(site: Site) -> Site:
    """The site of the float operator on the two factors; checks the widths of factors and
    accumulators."""
    for index in (0, 1):
        site.require_elements(index, parameters.FACTORS)
    parameters.require_dtype(site, site.attrs.out_dtype, parameters.ACCUMULATORS)
    return replace(site, args=site.args[:2])


def with_parameters(site: Site, result: Type | None, outputs: Dim | None) -> Type | None:
    """The type of the result, once the scales and zero points are known; those of the weight may be
    per output channel."""
    known = (
        parameters.parameters_known(site, (4,), (2,)),
        parameters.parameters_known(site, (5,), (3,), outputs),
    )
    return result if all(known) else None


def shifted(data: np.ndarray, zero_point: np.ndarray, dtype: str) -> Any:
    """Data minus its zero point, in that type."""
    kind = dtypes.to_numpy(dtype)
    return data.astype(kind) - zero_point.astype(kind)


def shifted_compute(data: te.Tensor, zero_point: Callable[..., te.Expr], dtype: str) -> te.Tensor:
    """Each element of data at (i, j, …) minus `zero_point(i, j, …)`, in that type."""
    return te.compute(
        data.shape,
        lambda *i: te.cast(data[i], dtype) - te.cast(zero_point(*i), dtype),
        "shifted",
    )


def shifted_by_one(data: te.Tensor, zero_point: te.Tensor, dtype: str) -> te.Tensor:
    """Data minus its zero point, in that type."""
    return shifted_compute(data, lambda *_: parameters.parameter_at(zero_point), dtype)


# --- samples -----------------------------------------------------------------------------------


def scalars(input_zero_point: int = 0, kernel_zero_point: int = 0) -> list[Any]:
    """Zero points and scales."""
    zero_points = [np.int32(input_zero_point), np.int32(kernel_zero_point)]
    return [*zero_points, np.float32(0.1), np.float32(0.2)]


def vectors(outputs: int) -> list[Any]:
    """Zero points and scales; those of the weight are per output channel."""
    scale, zero_point = parameters.affine_vectors(outputs)
    return [np.int32(3), zero_point, np.float32(0.1), scale]
