"""Fast Fourier transforms as loops, in float64, of lines of any length.

A length that is a product of 2, 3, 5 and 7 takes a pass for each factor, from one side of a buffer
to the other (Stockham). Any other length N is a convolution with exp(pi i n^2 / N) (Bluestein),
which transforms of a power of two turn into products.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from relay import te
from relay.op.loop_nest import spread

Complex = tuple[te.Expr, te.Expr]  # real and imaginary part

Load = Callable[[te.Expr], Complex]  # (position) -> element of the line
Keep = Callable[[te.Expr, Complex], None]  # (frequency, number) stores it
# transforms one line, and keeps so many of its first frequencies
Transform = Callable[[Load, Keep, te.Scalar], None]

_RADICES = (4, 2, 3, 5, 7)


def prepare(b: te.Builder, length: te.Expr, inverse: bool = False) -> Transform:
    """Makes the tables for lines of that length; what it gives can be used in parallel loops.

    The sums are those of data[n] * exp(-2 pi i n k / N), or with exp(+…) for the inverse, which is
    not divided by N.
    """
    radices = _factors(int(length.value)) if isinstance(length, te.Const) else None
    if radices is None:
        return _convolution(b, length, inverse)
    roots = _roots(b, length, length)

    def transform(load: Load, keep: Keep, count: te.Scalar) -> None:
        line = _Numbers.local(b, (2, length))
        with b.loop(length) as n:
            line.store((0, n), load(n))
        side = _passes(b, line, roots, length, radices, inverse)
        with b.loop(count) as k:
            keep(k, line[side, k])

    return transform


# --- complex numbers ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Numbers:
    """A buffer of complex numbers."""

    b: te.Builder
    re: te.Buffer
    im: te.Buffer

    @staticmethod
    def local(b: te.Builder, shape: tuple[te.Scalar, ...]) -> _Numbers:
        return _Numbers(b, b.local("float64", shape, "re"), b.local("float64", shape, "im"))

    def __getitem__(self, place: te.Scalar | tuple[te.Scalar, ...]) -> Complex:
        """The number there, read now."""
        return self.b.let(self.re[place]), self.b.let(self.im[place])

    def store(self, place: te.Scalar | tuple[te.Scalar, ...], value: Complex) -> None:
        self.b.store(self.re, place, value[0])
        self.b.store(self.im, place, value[1])


def _times(left: Complex, right: Complex) -> Complex:
    (a, b), (c, d) = left, right
    return a * c - b * d, a * d + b * c


def _conjugate(value: Complex, really: bool = True) -> Complex:
    return (value[0], -value[1]) if really else value


def _turn(part: te.Expr, whole: te.Expr) -> Complex:
    """exp(-2 pi i part / whole)"""
    angle = te.cast(part, "float64") * (-2 * math.pi) / te.cast(whole, "float64")
    return te.call("cos", angle), te.call("sin", angle)


def _roots(b: te.Builder, length: te.Expr, room: te.Expr) -> _Numbers:
    """exp(-2 pi i k / length) for every k."""
    roots = _Numbers.local(b, (room,))
    with spread(b, (length,)) as (k,):
        roots.store(k, _turn(k, length))
    return roots


# --- products of small primes ------------------------------------------------------------------


def _factors(length: int) -> tuple[int, ...] | None:
    """The radices of the passes; None where there is a prime too large."""
    found: list[int] = []
    rest = max(length, 1)
    for radix in _RADICES:
        while rest % radix == 0:
            found.append(radix)
            rest //= radix
    return tuple(found) if rest == 1 else None


def _passes(
    b: te.Builder,
    line: _Numbers,
    roots: _Numbers,
    length: te.Expr,
    radices: Iterable[int] | None,
    inverse: bool,
) -> te.Expr:
    """Transforms a line that lies on side 0, and gives the side where it ends; without radices a
    length that is a power of two."""
    if radices is not None:
        side, span, stride = te.index(0), length, te.index(1)
        for radix in radices:
            _pass(b, line, roots, side, span, stride, radix, inverse)
            side, span, stride = 1 - side, span // radix, stride * radix
        return side
    turned = b.variable("int64", 0, "side")
    whole = b.variable("int64", length, "span")
    with b.while_(whole[()] > 1):
        now = b.let(whole[()])
        _pass(b, line, roots, b.let(turned[()]), now, length // now, 2, inverse)
        b.store(turned, (), 1 - turned[()])
        b.store(whole, (), now // 2)
    return turned[()]


def _pass(
    b: te.Builder,
    line: _Numbers,
    roots: _Numbers,
    side: te.Expr,
    span: te.Expr,
    stride: te.Expr,
    radix: int,
    inverse: bool,
) -> None:
    """Each transform of `span` numbers, `stride` apart, as `radix` shorter ones on the other side,
    radix times as far apart."""
    part = span // radix
    with b.loop(part) as p:
        turns = [_conjugate(roots[stride * p * u], inverse) for u in range(1, radix)]
        with b.loop(stride) as q:
            taken = [line[side, q + stride * (p + part * t)] for t in range(radix)]
            for u, value in enumerate(_short_transform(taken, inverse)):
                turned = _times(value, turns[u - 1]) if u else value
                line.store((1 - side, q + stride * (p * radix + u)), turned)


def _short_transform(values: list[Complex], inverse: bool) -> list[Complex]:
    """The transform of a few numbers, term by term."""
    count = len(values)
    found = []
    for u in range(count):
        re: list[tuple[float, te.Expr]] = []
        im: list[tuple[float, te.Expr]] = []
        for t, (a, b) in enumerate(values):
            cosine, sine = _root(t * u % count, count)
            sine = -sine if inverse else sine
            re += [(cosine, a), (-sine, b)]
            im += [(cosine, b), (sine, a)]
        found.append((_weighted(re), _weighted(im)))
    return found


def _root(part: int, whole: int) -> tuple[float, float]:
    """exp(-2 pi i part / whole), exact at quarter turns."""
    if part * 4 % whole == 0:
        quarters: list[tuple[float, float]] = [(1, 0), (0, -1), (-1, 0), (0, 1)]
        return quarters[part * 4 // whole]
    angle = -2 * math.pi * part / whole
    return math.cos(angle), math.sin(angle)


def _weighted(terms: list[tuple[float, te.Expr]]) -> te.Expr:
    """The sum of the terms, of which the first counts once."""
    (_, total), *rest = terms
    for weight, value in rest:
        if weight == 1:
            total = total + value
        elif weight == -1:
            total = total - value
        elif weight != 0:
            total = total + value * weight
    return total


# --- any length --------------------------------------------------------------------------------


def _convolution(b: te.Builder, length: te.Expr, inverse: bool) -> Transform:
    """As n k = (n^2 + k^2 - (k - n)^2) / 2, the transform is a convolution between two products
    with exp(-pi i n^2 / N). It is as long as a power of two that is 2 N - 1 or more."""
    power, room = _power_of_two(b, length * 2 - 1)
    radices = _factors(int(power.value)) if isinstance(power, te.Const) else None
    roots = _roots(b, power, room)
    chirp = _Numbers.local(b, (length,))
    with spread(b, (length,)) as (n,):
        # the square modulo 2 N keeps the angle, and with it its error, small
        chirp.store(n, _conjugate(_turn(n * n % (length * 2), length * 2), inverse))
    weights = _Numbers.local(b, (2, room))
    with spread(b, (power,)) as (n,):
        distance = te.minimum(n, power - n)
        with b.if_(distance < length):
            weights.store((0, n), _conjugate(chirp[distance]))
        with b.else_():
            weights.store((0, n), (te.const(0, "float64"), te.const(0, "float64")))
    weights_side = _passes(b, weights, roots, power, radices, False)

    def transform(load: Load, keep: Keep, count: te.Scalar) -> None:
        line = _Numbers.local(b, (2, room))
        with b.loop(power) as n:
            with b.if_(n < length):
                line.store((0, n), _times(load(n), chirp[n]))
            with b.else_():
                line.store((0, n), (te.const(0, "float64"), te.const(0, "float64")))
        side = _passes(b, line, roots, power, radices, False)
        product = _Numbers.local(b, (2, room))
        with b.loop(power) as n:
            product.store((0, n), _times(line[side, n], weights[weights_side, n]))
        side = _passes(b, product, roots, power, radices, True)
        share = b.let(te.const(1.0, "float64") / te.cast(power, "float64"))
        with b.loop(count) as k:
            re, im = _times(product[side, k], chirp[k])
            keep(k, (re * share, im * share))

    return transform


def _power_of_two(b: te.Builder, least: te.Expr) -> tuple[te.Expr, te.Expr]:
    """The power of two that is `least` or next above it, and what it is at most."""
    if isinstance(least, te.Const):
        power = te.index(1 << max(int(least.value) - 1, 0).bit_length())
        return power, power
    found = b.variable("int64", 1, "power")
    with b.while_(found[()] < least):
        b.store(found, (), found[()] * 2)
    return b.let(found[()]), te.maximum(least, 1) * 2
