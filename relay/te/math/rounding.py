"""floor, ceil, trunc and round, for targets without instructions for them."""

from __future__ import annotations

from relay.te.expr import Expr, absolute, call, select
from relay.te.math.floats import Floats


def round(f: Floats, x: Expr) -> Expr:
    return f.round(x)


def floor(f: Floats, x: Expr) -> Expr:
    if f.facts.has_rounding:
        return call("floor", x)
    near = f.round(x)
    return f.with_sign_of(select(near > x, near - f.number(1.0), near), x)


def ceil(f: Floats, x: Expr) -> Expr:
    if f.facts.has_rounding:
        return call("ceil", x)
    near = f.round(x)
    return f.with_sign_of(select(near < x, near + f.number(1.0), near), x)


def trunc(f: Floats, x: Expr) -> Expr:
    if f.facts.has_rounding:
        return call("trunc", x)
    size = absolute(x)
    near = f.round(size)
    return f.with_sign_of(select(near > size, near - f.number(1.0), near), x)
