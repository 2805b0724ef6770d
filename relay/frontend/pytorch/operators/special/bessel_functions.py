"""Bessel functions of order 0 and 1, and the Airy function."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from relay import op
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node
from relay.frontend.pytorch.operators.special import series as of
from relay.frontend.pytorch.operators.special.evaluation import c, chebyshev, in_double, within
from relay.ir.expr import Expr

table = Converters()

EDGE = 8.0  # between the series near 0 and those far out
K_EDGE, AIRY_EDGE, AIRY_FIRST = 2.0, 3.0, 3.0


def _near(node: Node, series: Sequence[float], x: Expr, edge: float) -> Expr:
    """A series in x."""
    size = within(x, 0, edge)
    return chebyshev(node, series, node.let(size * c(2 / edge) - c(1)))


def _squares(node: Node, series: Sequence[float], x: Expr, edge: float) -> Expr:
    """A series in the square of x."""
    size = node.let(within(x, 0, edge))
    return chebyshev(node, series, node.let(size * size * c(2 / edge**2) - c(1)))


def _far(node: Node, series: Sequence[float], x: Expr, edge: float) -> Expr:
    """A series in 1 / x."""
    return chebyshev(node, series, node.let(c(2 * edge) / op.maximum(x, c(edge)) - c(1)))


def _far_squares(node: Node, series: Sequence[float], x: Expr, edge: float) -> Expr:
    """A series in the square of 1 / x."""
    part = node.let(c(edge) / op.maximum(x, c(edge)))
    return chebyshev(node, series, node.let(c(2) * part * part - c(1)))


# --- I and K -------------------------------------------------------------------------------------


def scaled_i(node: Node, order: int, size: Expr) -> Expr:
    """exp(-x) I(x) for x >= 0."""
    near = _near(node, of.I1_NEAR if order else of.I0_NEAR, size, EDGE)
    far = _far(node, of.I1_FAR if order else of.I0_FAR, size, EDGE)
    small = node.let(near * size) if order else near
    large = node.let(far / op.sqrt(op.maximum(size, c(EDGE))))
    return node.let(op.where(size < c(EDGE), small, large))


def _of_i(order: int, scaled: bool) -> Callable[[Node, Expr], Expr]:
    def computed(node: Node, x: Expr) -> Expr:
        size = node.let(op.abs(x))
        found = scaled_i(node, order, size)
        if not scaled:
            found = node.let(found * op.exp(size))
        return op.where(x < c(0), -found, found) if order else found

    return computed


def _of_k(order: int, scaled: bool) -> Callable[[Node, Expr], Expr]:
    def computed(node: Node, x: Expr) -> Expr:
        size = node.let(within(x, 0, K_EDGE))
        log = node.let(op.log(size * c(0.5)))
        i = node.let(scaled_i(node, order, size) * op.exp(size))
        if order:
            rest = _squares(node, of.K1_NEAR, size, K_EDGE)
            near = node.let(rest * size + c(1) / size + log * i)
        else:
            near = node.let(_squares(node, of.K0_NEAR, size, K_EDGE) - log * i)
        far = _far(node, of.K1_FAR if order else of.K0_FAR, x, K_EDGE)
        far = node.let(far / op.sqrt(op.maximum(x, c(K_EDGE))))
        if scaled:
            near = node.let(near * op.exp(size))
        else:
            far = node.let(far * op.exp(-x))
        found = op.where(x > c(K_EDGE), far, near)
        found = op.where(op.equal(x, c(0)), c(math.inf), found)
        return op.where(x < c(0), c(math.nan), found)

    return computed


# --- J and Y -------------------------------------------------------------------------------------


def _waves(node: Node, order: int, x: Expr) -> tuple[Expr, Expr]:
    """J(x) and Y(x) far from 0."""
    size = node.let(op.maximum(x, c(EDGE)))
    cosine = _far_squares(node, of.COSINE_1 if order else of.COSINE_0, size, EDGE)
    sine = _far_squares(node, of.SINE_1 if order else of.SINE_0, size, EDGE)
    sine = node.let(sine / size)
    # sin and cos of x - pi / 4, and for order 1 of a quarter of a turn less
    a, b = op.cos(size), op.sin(size)
    half = c(math.sqrt(0.5))
    cos, sin = node.let((a + b) * half), node.let((b - a) * half)
    if order:
        cos, sin = sin, node.let(-cos)
    root = node.let(op.sqrt(c(2 / math.pi) / size))
    return node.let((cosine * cos - sine * sin) * root), node.let(
        (cosine * sin + sine * cos) * root
    )


def _near_j(node: Node, order: int, size: Expr) -> Expr:
    found = _squares(node, of.J1_NEAR if order else of.J0_NEAR, size, EDGE)
    return node.let(found * size) if order else found


def _of_j(order: int) -> Callable[[Node, Expr], Expr]:
    def computed(node: Node, x: Expr) -> Expr:
        size = node.let(op.abs(x))
        far, _ = _waves(node, order, size)
        far = op.where(op.isinf(size), c(0), far)
        near = _near_j(node, order, node.let(within(size, 0, EDGE)))
        found = node.let(op.where(size < c(EDGE), near, far))
        return op.where(x < c(0), -found, found) if order else found

    return computed


def _of_y(order: int) -> Callable[[Node, Expr], Expr]:
    def computed(node: Node, x: Expr) -> Expr:
        _, far = _waves(node, order, x)
        far = op.where(op.isinf(x), c(0), far)
        size = node.let(within(x, 0, EDGE))
        log = node.let(c(2 / math.pi) * op.log(size) * _near_j(node, order, size))
        rest = _squares(node, of.Y1_NEAR if order else of.Y0_NEAR, size, EDGE)
        if order:
            rest = node.let(rest * size - c(2 / math.pi) / size)
        found = op.where(x < c(EDGE), rest + log, far)
        found = op.where(op.equal(x, c(0)), c(-math.inf), found)
        return op.where(x < c(0), c(math.nan), found)

    return computed


def airy(node: Node, x: Expr) -> Expr:
    """Ai(x)."""
    size = node.let(op.maximum(op.abs(x), c(AIRY_FIRST)))
    z = node.let(size * op.sqrt(size) * c(2 / 3))
    root = node.let(op.sqrt(op.sqrt(size)) * c(math.sqrt(math.pi)))
    decaying = _far(node, of.AIRY_FAR, z, AIRY_EDGE)
    far = node.let(decaying * op.exp(-z) / (c(2) * root))
    cosine = _far_squares(node, of.AIRY_COSINE, z, AIRY_EDGE)
    sine = node.let(_far_squares(node, of.AIRY_SINE, z, AIRY_EDGE) / z)
    angle = node.let(z - c(math.pi / 4))
    waves = node.let((cosine * op.cos(angle) + sine * op.sin(angle)) / root)
    near = node.let(within(x, -AIRY_FIRST, AIRY_FIRST) / c(AIRY_FIRST))
    found = op.where(x > c(AIRY_FIRST), far, chebyshev(node, of.AIRY_NEAR, near))
    found = op.where(x < c(-AIRY_FIRST), waves, found)
    return op.where(op.isinf(x), c(math.nan), found)


def spherical(node: Node, x: Expr) -> Expr:
    """sin(x) / x."""
    small = op.abs(x) < c(1e-4)
    found = op.where(small, c(1) - x * x * c(1 / 6), op.sin(x) / x)
    return op.where(op.isinf(x), c(0), found)


FUNCTIONS: dict[str, Callable[[Node, Expr], Expr]] = {
    "i0": _of_i(0, False),
    "special_i0": _of_i(0, False),
    "special_i0e": _of_i(0, True),
    "special_i1": _of_i(1, False),
    "special_i1e": _of_i(1, True),
    "special_modified_bessel_i0": _of_i(0, False),
    "special_modified_bessel_i1": _of_i(1, False),
    "special_modified_bessel_k0": _of_k(0, False),
    "special_modified_bessel_k1": _of_k(1, False),
    "special_scaled_modified_bessel_k0": _of_k(0, True),
    "special_scaled_modified_bessel_k1": _of_k(1, True),
    "special_bessel_j0": _of_j(0),
    "special_bessel_j1": _of_j(1),
    "special_bessel_y0": _of_y(0),
    "special_bessel_y1": _of_y(1),
    "special_airy_ai": airy,
    "special_spherical_bessel_j0": spherical,
}


@table(*FUNCTIONS)
def bessel(node: Node, self: Expr) -> Expr:
    function = FUNCTIONS[node.operator.removeprefix("aten.")]
    return in_double(node, lambda x: function(node, x), self)
