"""The gamma function: its logarithm, derivatives and integrals, and Hurwitz's zeta function."""

from __future__ import annotations

import math
from collections.abc import Sequence

from relay import op
from relay.frontend.common.builder import Builder
from relay.frontend.common.loops import counted
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node, Number
from relay.frontend.pytorch.operators.special.evaluation import c, in_double
from relay.ir import dims
from relay.ir.expr import Expr

table = Converters()

SHIFT = 8  # arguments below are moved up, where the asymptotic series is exact
# B(2n) / (2n (2n - 1)): the series of the logarithm
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
# B(2n) / (2n): that of its derivative
DERIVATIVE = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
# (2n)! / B(2n): those of Euler and Maclaurin
EULER = (
    12.0, -720.0, 30240.0, -1209600.0, 47900160.0, -1307674368000 / 691, 74724249600.0,
)  # fmt: skip


def _polynomial(node: Node, table: Sequence[float], x: Expr) -> Expr:
    found = c(table[-1])
    for number in reversed(table[:-1]):
        found = node.let(found * x + c(number))
    return found


def _sine(node: Node, x: Expr) -> Expr:
    """sin(pi x), exact where x is a whole number."""
    rest = node.let(x - c(2) * op.floor(x * c(0.5)))
    turned = node.let(op.where(rest > c(1), c(1) - rest, rest))
    inside = op.where(op.abs(turned) > c(0.5), op.sign(turned) * c(1) - turned, turned)
    return node.let(op.sin(inside * c(math.pi)))


def _above(node: Node, x: Expr) -> Expr:
    """Lgamma for x > 0."""
    small = node.let(x < c(SHIFT))
    factor = c(1)
    for step in range(SHIFT):
        factor = node.let(factor * (x + c(step)))
    y = node.let(op.where(small, x + c(SHIFT), x))
    inverse = node.let(c(1) / y)
    series = _polynomial(node, STIRLING, node.let(inverse * inverse))
    found = (y - c(0.5)) * op.log(y) - y + c(math.log(2 * math.pi) / 2) + series * inverse
    found = node.let(found - op.where(small, op.log(factor), c(0)))
    return node.let(op.where(op.isinf(y), y, found))


def log_gamma(node: Node, x: Expr) -> Expr:
    below = node.let(x < c(0.5))
    size = node.let(op.where(below, c(1) - x, x))
    found = _above(node, size)
    sine = node.let(op.abs(_sine(node, x)))
    mirrored = node.let(c(math.log(math.pi)) - op.log(sine) - found)
    mirrored = op.where(op.equal(sine, c(0)), c(math.inf), mirrored)
    return node.let(op.where(op.isinf(x), c(math.inf), op.where(below, mirrored, found)))


@table("lgamma", "special_gammaln")
def lgamma(node: Node, self: Expr) -> Expr:
    return in_double(node, lambda x: log_gamma(node, x), self)


def psi(node: Node, x: Expr) -> Expr:
    """The derivative of lgamma."""
    below = node.let(x < c(0))
    size = node.let(op.where(below, c(1) - x, x))
    small = node.let(size < c(SHIFT))
    terms = c(0)
    for step in range(SHIFT):
        terms = node.let(terms + c(1) / (size + c(step)))
    y = node.let(op.where(small, size + c(SHIFT), size))
    inverse = node.let(c(1) / y)
    square = node.let(inverse * inverse)
    found = op.log(y) - c(0.5) * inverse - square * _polynomial(node, DERIVATIVE, square)
    found = node.let(found - op.where(small, terms, c(0)))
    sine = _sine(node, x)
    cosine = _sine(node, node.let(x + c(0.5)))
    mirrored = op.where(op.equal(sine, c(0)), c(math.nan), found - c(math.pi) * cosine / sine)
    found = op.where(below, mirrored, found)
    return node.let(op.where(op.equal(x, c(0)), c(-1) / x, found))


@table("digamma", "special_digamma", "special_psi")
def digamma(node: Node, self: Expr) -> Expr:
    return in_double(node, lambda x: psi(node, x), self)


# --- Hurwitz's zeta function ---------------------------------------------------------------------

LAST = 9.0  # terms up to here are added up, the rest is the series of Euler and Maclaurin
MOST = 10_000


def _bounded(node: Node, count: Expr, most: int) -> Expr:
    """The greatest element as a number of turns; NaN counts as none."""
    known = op.where(op.isnan(count), c(0), op.minimum(op.maximum(count, c(0)), c(most)))
    return node.let(op.cast(op.max(node.let(known)), "int64"))


def hurwitz(node: Node, x: Expr, q: Expr) -> Expr:
    """The sum of (q + n)^-x."""
    first = node.let(op.power(q, -x))
    turns = _bounded(node, node.let(c(LAST) - op.floor(op.minimum(q, c(0)))), MOST)
    is_whole = op.equal(x, op.floor(x))

    def body(there: Builder, number: Expr, state: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
        at, total, last = state
        early = op.less(op.cast(number, "float64"), c(LAST))
        again = there.let(op.logical_or(early, at <= c(LAST)))
        following = there.let(op.where(again, at + c(1), at))
        term = there.let(op.where(again, op.power(following, -x), last))
        return [following, there.let(op.where(again, total + term, total)), term], []

    state = [node.let(q + op.zeros_like(first)), first, first]
    (at, total, last), _ = counted(node, body, turns, dims.ANY, state)
    found = node.let(total + last * at / (x - c(1)) - c(0.5) * last)
    factor, power, step = c(1), last, c(0)
    for number in EULER:
        factor = node.let(factor * (x + step))
        power = node.let(power / at)
        found = node.let(found + factor * power / c(number))
        step = node.let(step + c(1))
        factor = node.let(factor * (x + step))
        power = node.let(power / at)
        step = node.let(step + c(1))
    found = op.where(op.isinf(q), c(0), found)
    is_pole = op.equal(q, op.floor(q))
    outside = op.where(is_pole, c(math.inf), op.where(is_whole, found, c(math.nan)))
    found = op.where(q <= c(0), outside, found)
    found = op.where(x < c(1), c(math.nan), found)
    return node.let(op.where(op.equal(x, c(1)), c(math.inf), found))


@table("special_zeta")
def zeta(node: Node, self: Number, other: Number) -> Expr:
    return in_double(node, lambda x, q: hurwitz(node, x, q), self, other)


@table("polygamma", "special_polygamma")
def polygamma(node: Node, n: int, self: Expr) -> Expr:
    if n == 0:
        return digamma(node, self)

    def computed(x: Expr) -> Expr:
        factor = float((-1) ** (n + 1)) * math.exp(math.lgamma(n + 1))
        if n > 1:
            return c(factor) * hurwitz(node, c(n + 1), x)
        below = node.let(x < c(0.5))
        size = node.let(op.where(below, c(1) - x, x))
        found = hurwitz(node, c(2), size)
        sine = node.let(_sine(node, x) * c(1 / math.pi))
        return op.where(below, c(1) / (sine * sine) - found, found)

    return in_double(node, computed, self)


# --- integrals -----------------------------------------------------------------------------------


def _turns(node: Node, a: Expr) -> Expr:
    """How many terms the series and the fraction need: more, the larger `a` is."""
    return _bounded(node, node.let(c(80) + c(12) * op.sqrt(op.abs(a))), MOST)


def regularized(node: Node, a: Expr, x: Expr) -> tuple[Expr, Expr]:
    """The parts of the integral of gamma(a) below and above x."""
    upper = node.let(op.logical_and(x > c(1), x > a))
    # what stands before both
    front = node.let(op.exp(a * op.log(x) - x - log_gamma(node, a)))
    near = node.let(op.where(upper, c(1), x))
    far = node.let(op.where(upper, x, a + c(2)))
    one = node.let(op.ones_like(front))
    limit = _turns(node, node.let(a + op.zeros_like(front)))

    def terms(there: Builder, number: Expr, state: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
        term, total = state
        step = op.cast(number, "float64") + c(1)
        term = there.let(term * near / (a + step))
        return [term, there.let(total + term)], []

    (_, total), _ = counted(node, terms, limit, dims.ANY, [one, one])
    below = node.let(front * total / a)
    tiny = c(1e-300)

    def parts(there: Builder, number: Expr, state: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
        # the continued fraction by Lentz's method
        c_n, d_n, product = state
        step = there.let(op.cast(number, "float64") + c(1))
        over = there.let(-step * (step - a))
        under = there.let(far - a + c(1) + step + step)
        d_n = there.let(c(1) / _apart(under + over * d_n, tiny))
        c_n = there.let(_apart(under + over / c_n, tiny))
        return [c_n, d_n, there.let(product * c_n * d_n)], []

    begin = node.let(_apart(node.let(far - a + c(1)), tiny))
    first = node.let(c(1) / begin)
    state = [node.let(one / tiny), node.let(one * first), node.let(one * first)]
    (_, _, product), _ = counted(node, parts, limit, dims.ANY, state)
    above = node.let(front * product)
    low = node.let(op.where(upper, c(1) - above, below))
    high = node.let(op.where(upper, above, c(1) - below))
    return low, high


def _apart(value: Expr, tiny: Expr) -> Expr:
    """A divisor that is not 0."""
    return op.where(op.equal(value, c(0)), tiny, value)


def _limits(node: Node, a: Expr, x: Expr, found: Expr, low: float, high: float) -> Expr:
    """Where the integral is empty, or is over everything: `low` is the value at x = 0."""
    found = op.where(op.isinf(a), op.where(op.isinf(x), c(math.nan), c(low)), found)
    found = op.where(op.logical_and(op.isinf(x), op.isfinite(a)), c(high), found)
    found = op.where(op.equal(a, c(0)), op.where(x > c(0), c(high), c(math.nan)), found)
    is_zero = op.logical_and(op.equal(x, c(0)), a > c(0))
    found = op.where(is_zero, c(low), found)
    return op.where(op.logical_or(a < c(0), x < c(0)), c(math.nan), found)


@table("igamma", "special_gammainc")
def igamma(node: Node, self: Expr, other: Expr) -> Expr:
    def computed(a: Expr, x: Expr) -> Expr:
        return _limits(node, a, x, regularized(node, a, x)[0], 0.0, 1.0)

    return in_double(node, computed, self, other)


@table("igammac", "special_gammaincc")
def igammac(node: Node, self: Expr, other: Expr) -> Expr:
    def computed(a: Expr, x: Expr) -> Expr:
        return _limits(node, a, x, regularized(node, a, x)[1], 1.0, 0.0)

    return in_double(node, computed, self, other)
