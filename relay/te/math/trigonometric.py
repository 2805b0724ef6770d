"""sin, cos and tan, accurate for arguments of any magnitude.

    x = q * pi/2 + r,   |r| <= pi/4

A polynomial approximates the function of r; q modulo four selects the function and the sign. The
larger x, the more digits of pi are needed: up to a limit, pi/2 in a few parts; beyond, the product
of x and 2/pi in integers, of which only the bits around the binary point are computed (Payne and
Hanek).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from relay.te.expr import (
    Const,
    Expr,
    absolute,
    bitcast,
    cast,
    const,
    equal,
    not_equal,
    select,
    width,
)
from relay.te.math import coefficients
from relay.te.math.floats import Floats

WORD = "uint64"
LOW = 0xFFFF_FFFF


def _word(value: int) -> Const:
    return const(value, WORD)


def _of_rest(f: Floats, x: Expr, function: Callable[[Expr, Expr], Expr]) -> Expr:
    """`function(r, q)` of a positive number, with q modulo four as an unsigned integer.

    Small and large arguments are selected at the end only: vector code can then skip the expensive
    reduction of large ones if there are none.
    """
    wide = Floats("float64", f.facts)
    limit, far = (2.0**25, _far_single) if f.dtype == "float32" else (2.0**20, _far_double)

    def result(r: Expr, q: Expr) -> Expr:
        return function(cast(r, f.dtype), cast(q, f.unsigned))

    exact = cast(x, "float64")
    magic = wide.number(wide.magic)
    total = wide.fma(exact, wide.number(2 / math.pi), magic)
    count, rest = total - magic, exact
    for part in coefficients.HALF_PI[f.dtype]:
        rest = wide.fma(count, wide.number(-part), rest)
    return select(x < f.number(limit), result(rest, wide.bits(total)), result(*far(f, x)))


def _far_single(f: Floats, x: Expr) -> tuple[Expr, Expr]:
    """(r, q) of a float32 from 2**25 on, in float64 and uint64."""
    bits = f.bits(x)
    mantissa = cast(bits & 0x7F_FFFF | 0x80_0000, WORD)
    skip = (bits >> 23) - (127 + 25)  # the bits of 2/pi that contribute only whole turns
    second, third = not_equal(skip & 32, f.word(0)), not_equal(skip & 64, f.word(0))
    shift = cast(skip & 31, WORD)
    table = coefficients.TWO_OVER_PI["float32"]
    words = []
    for i in range(3):
        # 32 bits at a bit offset, out of two adjacent words
        pairs = [_word(table[i + j] << 32 | table[i + j + 1]) for j in range(4)]
        lower, upper = select(second, pairs[1], pairs[0]), select(second, pairs[3], pairs[2])
        words.append((select(third, upper, lower) << shift) >> 32)
    # the fraction of a whole turn, in 64 bits
    turn = ((mantissa * words[0]) << 32) + mantissa * words[1] + ((mantissa * words[2]) >> 32)
    rounded = turn + _word(1 << 61)
    quarters = rounded >> 62
    rest = rounded & ((1 << 62) - 1)  # biased by half a quarter: not negative
    high = _to_float(rest >> 31) - const(2.0**30, "float64")
    scaled = high * const(2.0**31, "float64") + _to_float(rest & ((1 << 31) - 1))
    return scaled * const(math.pi / 2 * 2.0**-62, "float64"), quarters


def _far_double(f: Floats, x: Expr) -> tuple[Expr, Expr]:
    """(r, q) of a float64 from 2**20 on."""
    bits = f.bits(x)
    mantissa = bits & ((1 << 52) - 1) | (1 << 52)
    low, high = mantissa & LOW, mantissa >> 32
    skip = (bits >> 52) - (1023 + 20)
    w = _window(skip)
    # products of 32-bit digits, by the position of their lower half; lower ones are dropped
    places: list[list[Expr]] = [[], [], [], []]
    for factor, offset in ((low, 3), (high, 4)):
        for i in range(6):
            place = offset - i
            if place < -1 or place > 3:
                continue
            product = factor * w[i]
            if place >= 0:
                places[place].append(product & LOW)
            if place + 1 <= 3:
                places[place + 1].append(product >> 32)
    digits: list[Expr] = []
    carry: Expr = _word(0)
    for terms in places:
        total = carry
        for term in terms:
            total = total + term
        digits.append(total & LOW)
        carry = total >> 32
    top = digits[3] + _word(1 << 29)
    quarters = top >> 30
    signed = _to_float(top & ((1 << 30) - 1)) - const(2.0**29, "float64")
    shift = const(2.0**32, "float64")
    upper = signed * shift + _to_float(digits[2])
    lower = _to_float(digits[1]) * shift + _to_float(digits[0])
    value = upper * const(2.0**64, "float64") + lower
    return value * const(math.pi / 2 * 2.0**-126, "float64"), quarters


def _window(skip: Expr) -> list[Expr]:
    """Six words of 2/pi from bit `skip` on; whole words are skipped by binary selection."""
    words: list[Expr] = [_word(word) for word in coefficients.TWO_OVER_PI["float64"]]
    for step in (16, 8, 4, 2, 1):
        skips = not_equal(skip & (32 * step), _word(0))
        needed = 7 + step - 1
        words = [select(skips, words[i + step], words[i]) for i in range(needed)]
    shift = skip & 31
    return [(((words[i] << 32) | words[i + 1]) << shift) >> 32 for i in range(6)]


def _to_float(word: Expr) -> Expr:
    """An integer below 2**52 as a float64, by placing it in the low bits of 2**52."""
    base = 2.0**52
    return bitcast(word | (1023 + 52 << 52), "float64") - const(base, "float64")


def _sin_of_rest(f: Floats, r: Expr, square: Expr) -> Expr:
    return f.fma(r * square, f.polynomial(square, coefficients.SIN[f.dtype]), r)


def _cos_of_rest(f: Floats, square: Expr) -> Expr:
    further = square * square * f.polynomial(square, coefficients.COS[f.dtype])
    # compensates the rounding error of 1 - z/2
    half = square * f.number(0.5)
    first = f.number(1.0) - half
    return first + (((f.number(1.0) - first) - half) + further)


def _wave(f: Floats, x: Expr, ahead: int) -> Expr:
    """The sine of |x| + ahead * pi/2."""

    def value(r: Expr, q: Expr) -> Expr:
        q = q + ahead if ahead else q
        square = r * r
        odd = not_equal(q & 1, f.word(0))
        size = select(odd, _cos_of_rest(f, square), _sin_of_rest(f, r, square))
        sign = (q & 2) << width(f.dtype) - 2
        return f.from_bits(f.bits(size) ^ sign)

    return _finite(f, x, _of_rest(f, absolute(x), value))


def _finite(f: Floats, x: Expr, result: Expr) -> Expr:
    return select(absolute(x) < f.infinity, result, f.nan)


def _odd(f: Floats, x: Expr, positive: Expr) -> Expr:
    """The value of an odd function from that of |x|; zeros keep their sign."""
    signed = select(x < f.number(0.0), -positive, positive)
    return select(equal(x, f.number(0.0)), x, signed)


def sin(f: Floats, x: Expr) -> Expr:
    return _odd(f, x, _wave(f, x, 0))


def cos(f: Floats, x: Expr) -> Expr:
    return _wave(f, x, 1)


def tan(f: Floats, x: Expr) -> Expr:
    def value(r: Expr, q: Expr) -> Expr:
        square = r * r
        sine, cosine = _sin_of_rest(f, r, square), _cos_of_rest(f, square)
        odd = not_equal(q & 1, f.word(0))
        return select(odd, -cosine, sine) / select(odd, sine, cosine)

    return _odd(f, x, _finite(f, x, _of_rest(f, absolute(x), value)))
