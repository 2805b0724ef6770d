"""Fast Fourier transforms as loops, for lines of any length, in the element type of the line.

A length with small prime factors takes a pass for each factor r, from one side of a buffer to the
other, which turns transforms of m r numbers into r times as many of m numbers. Adjacent transforms
are computed in vector lanes. Any other length N is a convolution with exp(pi i n^2 / N)
(Bluestein), computed by transforms of a longer line with small factors; so is a dynamic length.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce

from relay import te
from relay.immutable import frozen
from relay.op.loop_nest import spread
from relay.te.loops import Kind

Complex = tuple[te.Expr, te.Expr]  # real and imaginary part

# (position) -> element of the line, loaded on demand
Load = Callable[[te.Expr], Complex]
Keep = Callable[[te.Expr, Complex], None]  # (frequency, number) stores it
# transforms one line, and keeps its first frequencies
Transform = Callable[[Load, Keep, te.Scalar], None]

RealLoad = Callable[[te.Expr], te.Expr]
RealTransform = Callable[[RealLoad, Keep], None]

LANES = {"float32": 16, "float64": 8}
LARGEST = 31  # the largest prime with a pass; the cost of a pass is quadratic


def prepare(b: te.Builder, length: te.Expr, dtype: str, inverse: bool = False) -> Transform:
    """Build the tables for lines of that length; the result can be used in parallel loops.

    The sums are those of data[n] * exp(-2 pi i n k / N), or with exp(+…) for the inverse, which is
    not divided by N. They are computed in `dtype`, float32 or float64.
    """
    radices = _factors(int(length.value)) if isinstance(length, te.Const) else None
    if radices is None or not isinstance(length, te.Const):
        return _convolution(b, length, dtype, inverse)
    run = _passes(b, int(length.value), radices, dtype)

    def transform(load: Load, keep: Keep, count: te.Scalar) -> None:
        run(load, _first(b, keep, length, count), inverse)

    return transform


def prepare_real(b: te.Builder, length: te.Expr, dtype: str) -> RealTransform:
    """The same for lines of real numbers, for frequencies up to N / 2.

    If N is even, the odd elements of the line are the imaginary parts of a line half as long; its
    frequencies k and N/2 - k are separated.
    """
    if not isinstance(length, te.Const) or int(length.value) % 2 or int(length.value) == 0:
        whole = prepare(b, length, dtype)
        zero = te.const(0, dtype)
        return lambda load, keep: whole(lambda n: (load(n), zero), keep, length // 2 + 1)
    half = int(length.value) // 2
    run = prepare(b, te.index(half), dtype)
    turns = _Numbers.local(b, dtype, (half + 1,))
    with spread(b, (half + 1,)) as (k,):
        turns.store(k, _quarter(_turn(k, length), inverse=False))

    def transform(load: RealLoad, keep: Keep) -> None:
        pairs = _Numbers.local(b, dtype, (half + 1,))
        run(lambda n: (load(n * 2), load(n * 2 + 1)), pairs.store, half)
        pairs.store(half, pairs[0])

        def step(k: te.Expr) -> None:
            here, there = _named(b, pairs[k]), _conjugate(_named(b, pairs[half - k]))
            even, odd = (_named(b, how(here, there)) for how in (_plus, _minus))
            re, im = _plus(even, _named(b, _times(b, odd, turns[k])))
            keep(k, (re * 0.5, im * 0.5))

        _each(b, te.index(half + 1), LANES[dtype], step)

    return transform


def _first(b: te.Builder, keep: Keep, length: te.Expr, count: te.Scalar) -> Keep:
    """Keep the first frequencies."""
    wanted = te.index(count)
    sizes = [int(size.value) for size in (wanted, length) if isinstance(size, te.Const)]
    if wanted is length or (len(sizes) == 2 and sizes[0] == sizes[1]):
        return keep

    def some(k: te.Expr, number: Complex) -> None:
        with b.if_(k < wanted):
            keep(k, number)

    return some


# --- complex numbers ---------------------------------------------------------------------------


@frozen
class _Numbers:
    """A buffer of complex numbers."""

    b: te.Builder
    re: te.Buffer
    im: te.Buffer

    @staticmethod
    def local(b: te.Builder, dtype: str, shape: tuple[te.Scalar, ...]) -> _Numbers:
        return _Numbers(b, b.local(dtype, shape, "re"), b.local(dtype, shape, "im"))

    def __getitem__(self, place: te.Scalar | tuple[te.Scalar, ...]) -> Complex:
        return self.re[place], self.im[place]

    def store(self, place: te.Scalar | tuple[te.Scalar, ...], value: Complex) -> None:
        self.b.store(self.re, place, te.cast(value[0], self.re.dtype))
        self.b.store(self.im, place, te.cast(value[1], self.im.dtype))

    def reader(self, side: te.Scalar) -> Load:
        return lambda n: self[side, n]

    def writer(self, side: te.Scalar) -> Keep:
        return lambda n, value: self.store((side, n), value)


def _named(b: te.Builder, value: Complex) -> Complex:
    """The number, computed once, here."""
    return b.let(value[0]), b.let(value[1])


def _plus(left: Complex, right: Complex) -> Complex:
    return left[0] + right[0], left[1] + right[1]


def _minus(left: Complex, right: Complex) -> Complex:
    return left[0] - right[0], left[1] - right[1]


def _times(b: te.Builder, left: Complex, right: Complex) -> Complex:
    """A complex product; its terms are named so that they are rounded before addition: results do
    not depend on fma."""
    (x, y), (c, d) = left, right
    return b.let(x * c) - b.let(y * d), b.let(x * d) + b.let(y * c)


def _conjugate(value: Complex, really: bool = True) -> Complex:
    return (value[0], -value[1]) if really else value


def _turn(part: te.Expr, whole: te.Expr) -> Complex:
    """exp(-2 pi i part / whole) in float64, for parts of one turn. The angle is reduced to an
    eighth of a turn, exactly at quarters."""
    eighths = part * 8
    is_behind = eighths > whole * 4
    eighths = te.select(is_behind, whole * 8 - eighths, eighths)
    is_left = eighths > whole * 2
    eighths = te.select(is_left, whole * 4 - eighths, eighths)
    is_steep = eighths > whole
    eighths = te.select(is_steep, whole * 2 - eighths, eighths)
    angle = te.cast(eighths, "float64") * (math.pi / 4) / te.cast(whole, "float64")
    flat, high = te.call("cos", angle), te.call("sin", angle)
    cosine, sine = te.select(is_steep, high, flat), te.select(is_steep, flat, high)
    return te.select(is_left, -cosine, cosine), te.select(is_behind, sine, -sine)


def _root(part: int, whole: int) -> tuple[float, float]:
    """The same for a static length."""
    eighths = part * 8
    is_behind = eighths > whole * 4
    eighths = whole * 8 - eighths if is_behind else eighths
    is_left = eighths > whole * 2
    eighths = whole * 4 - eighths if is_left else eighths
    is_steep = eighths > whole
    eighths = whole * 2 - eighths if is_steep else eighths
    angle = eighths * (math.pi / 4) / whole
    cosine, sine = math.cos(angle), math.sin(angle)
    cosine, sine = (sine, cosine) if is_steep else (cosine, sine)
    return -cosine if is_left else cosine, sine if is_behind else -sine


def _each(b: te.Builder, count: te.Expr, lanes: int, body: Callable[[te.Expr], None]) -> None:
    """`body` for every index below `count`, in vector lanes."""
    whole = count // lanes
    with b.loop(whole) as block, b.loop(lanes, kind=Kind.VECTOR) as lane:
        body(block * lanes + lane)
    is_known = isinstance(count, te.Const)
    with b.loop(count % lanes, kind=Kind.VECTOR if is_known else Kind.SERIAL) as lane:
        body(whole * lanes + lane)


# --- passes ------------------------------------------------------------------------------------


@frozen
class _Pass:
    """`apart` transforms of `radix * near` numbers each become radix times as many of `near`.
    turns(u, i) is exp(-2 pi i u i / (radix near)); there are none where near is 1."""

    radix: int
    near: te.Expr
    apart: te.Expr
    turns: Callable[[int, te.Expr], Complex] | None


# (load, keep, inverse) transforms one line
Run = Callable[[Load, Keep, bool], None]


def _factors(length: int) -> tuple[int, ...] | None:
    """The radices of the passes; None if a prime factor is too large."""
    found: list[int] = []
    rest = max(length, 1)
    for radix in (8, 4, 2, *range(3, LARGEST + 1, 2)):
        while rest % radix == 0:
            found.append(radix)
            rest //= radix
    # 2 first, as in pocketfft (NumPy, SciPy), for the same rounding
    return tuple(sorted(found, key=lambda radix: radix != 2)) if rest == 1 else None


def _passes(b: te.Builder, length: int, radices: Sequence[int], dtype: str) -> Run:
    """Build the tables of the passes for a static length."""
    passes = []
    near, apart = length, 1
    for radix in radices:
        near //= radix
        turns = _table(b, radix, near, dtype) if near > 1 else None
        passes.append(_Pass(radix, te.index(near), te.index(apart), turns))
        apart *= radix

    def run(load: Load, keep: Keep, inverse: bool) -> None:
        if not passes:
            with b.loop(length) as n:
                keep(n, load(n))
        line = _Numbers.local(b, dtype, (2, length))
        for number, one in enumerate(passes):
            read = line.reader(number % 2) if number else load
            write = keep if one is passes[-1] else line.writer((number + 1) % 2)
            _pass(b, one, read, write, inverse, LANES[dtype])

    return run


def _table(b: te.Builder, radix: int, near: int, dtype: str) -> Callable[[int, te.Expr], Complex]:
    table = _Numbers.local(b, dtype, (radix - 1, near))
    with spread(b, (radix - 1,)) as (row,):

        def step(i: te.Expr) -> None:
            table.store((row, i), _turn((row + 1) * i, te.index(radix * near)))

        _each(b, te.index(near), LANES["float64"], step)
    return lambda u, i: table[u - 1, i]


def _passes_of_power(b: te.Builder, power: te.Expr, room: te.Expr, dtype: str) -> Run:
    """Build the table for a dynamic power of two of at most `room`."""
    lanes = LANES[dtype]
    roots = _Numbers.local(b, dtype, (room,))
    with spread(b, (power,)) as (k,):
        roots.store(k, _turn(k, power))

    def run(load: Load, keep: Keep, inverse: bool) -> None:
        line = _Numbers.local(b, dtype, (2, room))
        _each(b, power, lanes, lambda n: line.store((0, n), load(n)))
        side = b.variable("int64", 0, "side")
        span = b.variable("int64", power, "span")

        def step(radix: int) -> None:
            near, own = b.let(span[()] // radix), b.let(side[()])
            apart = b.let(power // (near * radix))
            one = _Pass(radix, near, apart, lambda u, i: roots[i * apart * u])
            _pass(b, one, line.reader(own), line.writer(1 - own), inverse, lanes)
            b.store(side, (), 1 - own)
            b.store(span, (), near)

        with b.while_(span[()] > 1):
            with b.if_(te.equal(span[()] % 4, 0)):
                step(4)
            with b.else_():
                step(2)
        last = b.let(side[()])
        _each(b, power, lanes, lambda k: keep(k, line[last, k]))

    return run


def _pass(b: te.Builder, one: _Pass, read: Load, write: Keep, inverse: bool, lanes: int) -> None:
    radix, near, apart = one.radix, one.near, one.apart

    def step(which: te.Expr, i: te.Expr) -> None:
        first = i + which * near * radix
        taken = [_named(b, read(first + near * t)) for t in range(radix)]
        for u, value in enumerate(_short_transform(b, taken, inverse)):
            if u and one.turns is not None:
                value = _times(b, _named(b, value), _conjugate(one.turns(u, i), inverse))
            write(i + (which + apart * u) * near, _named(b, value))

    if one.turns is None:
        _each(b, apart, lanes, lambda which: step(which, te.index(0)))
        return
    with b.loop(apart) as which:
        _each(b, near, lanes, lambda i: step(which, i))


# --- small transforms -------------------------------------------------------------------------


def _short_transform(b: te.Builder, values: list[Complex], inverse: bool) -> list[Complex]:
    match values:
        case [first, second]:
            return [_plus(first, second), _minus(first, second)]
        case [_, _, _, _]:
            return _transform_of_four(b, values, inverse)
        case [_, _, _, _, _, _, _, _]:
            return _transform_of_eight(b, values, inverse)
    return _transform_of_odd(b, values, inverse)


def _transform_of_four(b: te.Builder, values: list[Complex], inverse: bool) -> list[Complex]:
    even, odd = (
        [_named(b, how(one, other)) for how in (_plus, _minus)]
        for one, other in (values[::2], values[1::2])
    )
    odd[1] = _quarter(odd[1], inverse)
    return [how(even[u], odd[u]) for how in (_plus, _minus) for u in range(2)]


def _transform_of_eight(b: te.Builder, values: list[Complex], inverse: bool) -> list[Complex]:
    even, odd = (
        [_named(b, one) for one in _transform_of_four(b, part, inverse)]
        for part in (values[::2], values[1::2])
    )
    odd[1] = _named(b, _eighth(odd[1], inverse))
    odd[2] = _quarter(odd[2], inverse)
    odd[3] = _quarter(_named(b, _eighth(odd[3], inverse)), inverse)
    return [how(even[u], odd[u]) for how in (_plus, _minus) for u in range(4)]


def _quarter(value: Complex, inverse: bool) -> Complex:
    """A quarter of a turn: times exp(-2 pi i / 4)."""
    re, im = value
    return (-im, re) if inverse else (im, -re)


def _eighth(value: Complex, inverse: bool) -> Complex:
    """An eighth of a turn: times exp(-2 pi i / 8)."""
    re, im = value
    sides = (re - im, im + re) if inverse else (re + im, im - re)
    return sides[0] * math.sqrt(0.5), sides[1] * math.sqrt(0.5)


def _transform_of_odd(b: te.Builder, values: list[Complex], inverse: bool) -> list[Complex]:
    """Elements at opposite distances from the first share cosines and negate sines: their sums and
    differences serve two frequencies."""
    count = len(values)
    pairs = list(zip(values[1:], reversed(values[1:]), strict=True))[: count // 2]
    sums, differences = (
        [_named(b, how(one, other)) for one, other in pairs] for how in (_plus, _minus)
    )
    found = [values[0]] * count
    for one in sums:
        found[0] = _plus(found[0], one)
    for u in range(1, count // 2 + 1):
        roots = [_root(u * t % count, count) for t in range(1, count // 2 + 1)]
        sines = [-sine if inverse else sine for _, sine in roots]
        same = values[0]
        for (cosine, _), (re, im) in zip(roots, sums, strict=True):
            same = _plus(same, _named(b, (re * cosine, im * cosine)))
        terms = [
            _named(b, (im * sine, re * sine))
            for sine, (re, im) in zip(sines, differences, strict=True)
        ]
        re, im = reduce(_plus, terms)
        same, turned = _named(b, same), _named(b, (-re, im))
        found[u], found[count - u] = _plus(same, turned), _minus(same, turned)
    return found


# --- any length --------------------------------------------------------------------------------


def _convolution(b: te.Builder, length: te.Expr, dtype: str, inverse: bool) -> Transform:
    """As n k = (n^2 + k^2 - (k - n)^2) / 2, the transform is a convolution between two products
    with exp(-pi i n^2 / N). It takes transforms of 2 N - 1 numbers or more."""
    if isinstance(length, te.Const):
        size = _next_smooth(int(length.value) * 2 - 1)
        whole = room = te.index(size)
        run = _passes(b, size, _factors(size) or (), dtype)
    else:
        whole, room = _power_of_two(b, length * 2 - 1)
        run = _passes_of_power(b, whole, room, dtype)
    chirp, weights = (_Numbers.local(b, dtype, (room,)) for _ in range(2))

    def within(n: te.Expr, value: Complex) -> Complex:
        """The number, or 0 beyond the line."""
        re, im = (te.select(n < length, part, te.const(0, part.dtype)) for part in value)
        return re, im

    with spread(b, (whole,)) as (n,):
        # the square modulo 2 N keeps the angle, and its error, small
        turn = _turn(n * n % (length * 2), length * 2)
        chirp.store(n, within(n, _conjugate(turn, inverse)))
    run(lambda n: _conjugate(chirp[te.minimum(n, whole - n)]), weights.store, False)
    share = b.let(te.const(1.0, dtype) / te.cast(whole, dtype))

    def transform(load: Load, keep: Keep, count: te.Scalar) -> None:
        product = _Numbers.local(b, dtype, (room,))

        def end(k: te.Expr, number: Complex) -> None:
            re, im = _times(b, number, chirp[k])
            keep(k, (re * share, im * share))

        run(
            lambda n: _times(b, within(n, load(n)), chirp[n]),
            lambda k, number: product.store(k, _times(b, number, weights[k])),
            False,
        )
        run(lambda n: product[n], _first(b, end, whole, count), True)

    return transform


def _next_smooth(least: int) -> int:
    """The smallest number of at least `least` with small factors."""
    powers = {odd: max(-(-least // odd) - 1, 0).bit_length() for odd in (1, 3, 5, 9, 15)}
    return min(odd << power for odd, power in powers.items())


def _power_of_two(b: te.Builder, least: te.Expr) -> tuple[te.Expr, te.Expr]:
    """The smallest power of two of at least `least`, and an upper bound of it."""
    found = b.variable("int64", 1, "power")
    with b.while_(found[()] < least):
        b.store(found, (), found[()] * 2)
    return b.let(found[()]), te.maximum(least, 1) * 2
