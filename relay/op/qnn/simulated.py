"""Simulated quantization: rounding to quantized values in floating point.

The simulated element type is a value, so that it can be chosen at run time.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from relay import dtypes, te
from relay.errors import RelayError, did_you_mean
from relay.ir.attrs import Attrs, attrs
from relay.ir.expr import Call, Expr, const
from relay.ir.types import Type
from relay.op.building.numerics import limits
from relay.op.gradient_rules import INTEGER_ARITHMETIC
from relay.op.opdef import FusionKind, OpDef, define, sample
from relay.op.qnn import parameters as qnn
from relay.op.site import Site

# The codes of simulated element types.
CODES: Final = {"disable": 0, "int8": 1, "uint8": 2, "int32": 3}
_SIMULATED: Final = {code: dtypes.to_numpy(name) for name, code in CODES.items() if code}


@attrs
class SimulatedAttrs(Attrs):
    """axis: the axis that scales and zero points belong to, if they are per axis"""

    axis: int = -1


def _simulated_type(site: Site) -> Type | None:
    """The type of data, which is float32."""
    if (data := site.tensor(0)) is None:
        return None
    site.expect(0, data.shape, qnn.SCALE)
    if (code := site.tensor(1)) is None:
        return None
    site.require(
        code.shape == () and code.dtype == "int32",
        f"{site.argument(1)} is no code of an element type",
        "Tensor[(), int32]",
        str(code),
    )
    known = qnn.parameters_known(site, (2,), (3,), qnn.axis_extent(site, data, "axis", 2, 3))
    return data if known else None


def _simulated_quantize(
    data: np.ndarray, code: np.ndarray, *parameters: np.ndarray, axis: int
) -> Any:
    if (simulated := _SIMULATED.get(int(code))) is None:
        return data
    low, high = (data.dtype.type(end) for end in limits(simulated))
    scale, zero_point = (qnn.spread(p, data.ndim, axis) for p in parameters)
    shifted = np.rint(data / scale) + zero_point.astype(data.dtype)
    return np.minimum(np.maximum(shifted, low), high)


def _simulated_dequantize(
    data: np.ndarray, code: np.ndarray, *parameters: np.ndarray, axis: int
) -> Any:
    if int(code) not in _SIMULATED:
        return data
    scale, zero_point = (qnn.spread(p, data.ndim, axis) for p in parameters)
    return (data - zero_point.astype(data.dtype)) * scale


def _simulated_quantize_compute(
    data: te.Tensor, code: te.Tensor, *parameters: te.Tensor, out: te.Spec, axis: int
) -> te.Tensor:
    def element(*i: te.Expr) -> te.Expr:
        factor, zero = qnn.parameters_at(parameters, i, axis)
        shifted = te.call("round", data[i] / factor) + te.cast(zero, out.dtype)
        found: te.Expr = data[i]
        for number, simulated in _SIMULATED.items():
            low, high = map(float, limits(simulated))
            clipped = te.minimum(te.maximum(shifted, low), high)
            found = te.select(te.equal(code[()], number), clipped, found)
        return found

    return te.compute(out.shape, element)


def _simulated_dequantize_compute(
    data: te.Tensor, code: te.Tensor, *parameters: te.Tensor, out: te.Spec, axis: int
) -> te.Tensor:
    known = te.some(*(te.equal(code[()], number) for number in _SIMULATED))

    def element(*i: te.Expr) -> te.Expr:
        factor, zero = qnn.parameters_at(parameters, i, axis)
        return te.select(known, (data[i] - te.cast(zero, out.dtype)) * factor, data[i])

    return te.compute(out.shape, element)


def _code(dtype: str | Expr) -> Expr:
    """The code of an element type, possibly an expression."""
    if isinstance(dtype, Expr):
        return dtype
    if dtype not in CODES:
        hint = did_you_mean(dtype, CODES) or f"it is one of {', '.join(CODES)}"
        raise RelayError(f"`{dtype}` is no element type to simulate; {hint}")
    return const(CODES[dtype], "int32")


def simulated_quantize(
    data: Expr,
    output_scale: Expr,
    output_zero_point: Expr,
    axis: int = -1,
    out_dtype: str | Expr = "int8",
) -> Call:
    """`quantize` in floating point; "disable" returns data. The element type may be an expression
    with one of the values of `CODES`."""
    return SIMULATED_QUANTIZE(data, _code(out_dtype), output_scale, output_zero_point, axis=axis)


def simulated_dequantize(
    data: Expr,
    input_scale: Expr,
    input_zero_point: Expr,
    axis: int = -1,
    in_dtype: str | Expr = "int8",
) -> Call:
    """`dequantize` of integers in floating point; "disable" returns data."""
    return SIMULATED_DEQUANTIZE(data, _code(in_dtype), input_scale, input_zero_point, axis=axis)


def _define(name: str, doc: str, data: str, reference: Any, compute: Any, build: Any) -> OpDef:
    side = "out" if name == "quantize" else "in"
    return define(
        f"qnn.simulated_{name}",
        gradient=INTEGER_ARITHMETIC,
        doc=f"`qnn.{name}` {doc}. The simulated element type is a code: 1 int8, 2 uint8, 3 int32; "
        "any other returns data.",
        arguments=[
            ("data", data),
            (f"{side}_dtype", "the code of an element type"),
            (f"{side}put_scale", "the scale"),
            (f"{side}put_zero_point", "the zero point"),
        ],
        attrs=SimulatedAttrs,
        relation=_simulated_type,
        reference=reference,
        compute=compute,
        fusion=FusionKind.ELEMWISE,
        helper=build,
        samples=[
            sample((2, 3), np.int32(1), *qnn.affine(0.01, 3)),
            sample((2, 3), np.int32(2), *qnn.affine_vectors(3)),
            sample((2, 3), np.int32(3), *qnn.affine_vectors(2), axis=0),
            sample((3,), np.int32(0), *qnn.affine(0.5, 1)),
        ],
    )


SIMULATED_QUANTIZE = _define(
    "quantize",
    "with a result in floating point",
    "the input",
    _simulated_quantize,
    _simulated_quantize_compute,
    simulated_quantize,
)
SIMULATED_DEQUANTIZE = _define(
    "dequantize",
    "of integers in floating point",
    "integers",
    _simulated_dequantize,
    _simulated_dequantize_compute,
    simulated_dequantize,
)
