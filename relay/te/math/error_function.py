"""erf: an odd polynomial up to 1, and one for the tail."""

from __future__ import annotations

from relay.te.expr import Expr, absolute, select
from relay.te.math import coefficients, exponential
from relay.te.math.floats import Floats


def erf(f: Floats, x: Expr) -> Expr:
    size = absolute(x)
    square = x * x
    near = f.fma(size, f.polynomial(square, coefficients.ERF[f.dtype]), size)
    far = _tail(f, f.at_most(size, coefficients.ERF_END[f.dtype]))
    return f.with_sign_of(select(size < f.number(1.0), near, far), x)


def _tail(f: Floats, size: Expr) -> Expr:
    """erf(size) for size >= 1."""
    x = size - f.number(coefficients.ERF_SHIFT[f.dtype])
    if f.dtype == "float32":
        return f.at_most(f.polynomial(x, coefficients.ERF_TAIL["float32"]), 1.0)
    exponent = f.polynomial(x, coefficients.ERFC_EXPONENT["float64"])
    return f.number(1.0) - exponential.exp(f, -exponent)
