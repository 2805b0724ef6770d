"""asin, acos, atan and atan2."""

from __future__ import annotations

import math

from relay.te.expr import Expr, absolute, call, equal, select
from relay.te.math import coefficients
from relay.te.math.floats import Floats


def _asin_by_half(f: Floats, size: Expr) -> tuple[Expr, Expr]:
    """(whether |x| > 1/2; then asin(sqrt((1 - |x|) / 2)), half of acos(|x|), else asin(|x|))"""
    large = size > f.number(0.5)
    square = select(large, (f.number(1.0) - size) * f.number(0.5), size * size)
    root = select(large, call("sqrt", square), size)
    series = f.polynomial(square, coefficients.ASIN[f.dtype])
    return large, f.fma(root * square, series, root)


def _multiple(f: Floats, quarters: Expr, rest: Expr) -> Expr:
    """The angle quarters * pi/4 + rest."""
    high, low = map(f.number, coefficients.QUARTER_PI[f.dtype])
    return f.fma(quarters, high, f.fma(quarters, low, rest))


def asin(f: Floats, x: Expr) -> Expr:
    large, angle = _asin_by_half(f, absolute(x))
    from_right = _multiple(f, f.number(2.0), -(angle + angle))
    return f.with_sign_of(select(large, from_right, angle), x)


def acos(f: Floats, x: Expr) -> Expr:
    large, angle = _asin_by_half(f, absolute(x))
    negative = x < f.number(0.0)
    twice = angle + angle
    near_one = select(negative, _multiple(f, f.number(4.0), -twice), twice)
    middle = _multiple(f, f.number(2.0), select(negative, angle, -angle))
    return select(large, near_one, middle)


def _angle(f: Floats, y: Expr, x: Expr, turned: Expr | None) -> Expr:
    """The angle of (x, y), both positive; of (-x, y) where `turned`.

    The smaller over the larger is at most one; if it is above tan(pi/8), atan((a - b) / (a + b)) is
    the angle less pi/4. So the polynomial serves |t| <= tan(pi/8), and one division is enough.
    """
    steep = y > x
    small, large = select(steep, x, y), select(steep, y, x)
    middle = small > large * f.number(math.tan(math.pi / 8))
    above, below = select(middle, small - large, small), select(middle, small + large, large)
    t = above / below
    square = t * t
    rest = f.fma(t * square, f.polynomial(square, coefficients.ATAN[f.dtype]), t)
    quarters = select(middle, f.number(1.0), select(steep, f.number(2.0), f.number(0.0)))
    rest = select(steep, -rest, rest)
    if turned is not None:
        quarters = select(turned, f.number(4.0) - quarters, quarters)
        rest = select(turned, -rest, rest)
    return _multiple(f, quarters, rest)


def atan(f: Floats, x: Expr) -> Expr:
    # 1 / infinity is 0, as required
    return f.with_sign_of(_angle(f, absolute(x), f.number(1.0), None), x)


def atan2(f: Floats, y: Expr, x: Expr) -> Expr:
    tall, wide = absolute(y), absolute(x)
    # the sum must not overflow, and infinity / infinity counts as 1
    largest = select(tall > wide, tall, wide)
    scale = select(largest > f.number(2.0 ** (f.bias - 3)), f.number(2.0**-4), f.number(1.0))
    both = equal(tall, f.infinity) & equal(wide, f.infinity)
    nothing = equal(largest, f.number(0.0))
    one = f.number(1.0)
    tall = select(both, one, tall * scale)
    wide = select(both | nothing, one, wide * scale)
    return f.with_sign_of(_angle(f, tall, wide, f.is_negative(x)), y)
