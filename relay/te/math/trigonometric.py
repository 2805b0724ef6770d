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

from relay.te import expr as te
from relay.te.math import coefficients
from relay.te.math.floats import Floats

WORD = "uint64"
LOW = 0xFFFF_FFFF


def _word(value: int) -> te.Const:
    return te.const(value, WORD)


def _of_rest(f: Floats, x: te.Expr, function: Callable[[te.Expr, te.Expr], te.Expr]) -> te.Expr:
    """`function(r, q)` of a positive number, with q modulo four as an unsigned integer.

    Small and large arguments are selected at the end only: vector code can then skip the expensive
    reduction of large ones if there are none.
    """
    wide = Floats("float64", f.facts)
    limit, far = (2.0**25, _far_single) if f.dtype == "float32" else (2.0**20, _far_double)

    def result(r: te.Expr, q: te.Expr) -> te.Expr:
        return function(te.cast(r, f.dtype), te.cast(q, f.unsigned))

    exact = te.cast(x, "float64")
    magic = wide.number(wide.magic)
    total = wide.fma(exact, wide.number(2 / math.pi), magic)
    count, rest = total - magic, exact
    for part in coefficients.HALF_PI[f.dtype]:
        rest = wide.fma(count, wide.number(-part), rest)
    return te.select(x < f.number(limit), result(rest, wide.bits(total)), result(*far(f, x)))


def _far_single(f: Floats, x: te.Expr) -> tuple[te.Expr, te.Expr]:
    """(r, q) of a float32 from 2**25 on, in float64 and uint64."""
    bits = f.bits(x)
    mantissa = te.cast(bits & 0x7F_FFFF | 0x80_0000, WORD)
    skip = (bits >> 23) - (127 + 25)  # the bits of 2/pi that contribute only whole turns
    second, third = te.not_equal(skip & 32, f.word(0)), te.not_equal(skip & 64, f.word(0))
    shift = te.cast(skip & 31, WORD)
    table = coefficients.TWO_OVER_PI["float32"]
    words = []
    for i in range(3):
        # 32 bits at a bit offset, out of two adjacent words
        pairs = [_word(table[i + j] << 32 | table[i + j + 1]) for j in range(4)]
        lower, upper = te.select(second, pairs[1], pairs[0]), te.select(second, pairs[3], pairs[2])
        words.append((te.select(third, upper, lower) << shift) >> 32)
    # the fraction of a whole turn, in 64 bits
    turn = ((mantissa * words[0]) << 32) + mantissa * words[1] + ((mantissa * words[2]) >> 32)
    rounded = turn + _word(1 << 61)
    quarters = rounded >> 62
    rest = rounded & ((1 << 62) - 1)  # biased by half a quarter: not negative
    high = _to_float(rest >> 31) - te.const(2.0**30, "float64")
    scaled = high * te.const(2.0**31, "float64") + _to_float(rest & ((1 << 31) - 1))
    return scaled * te.const(math.pi / 2 * 2.0**-62, "float64"), quarters


def _far_double(f: Floats, x: te.Expr) -> tuple[te.Expr, te.Expr]:
    """(r, q) of a float64 from 2**20 on."""
    bits = f.bits(x)
    mantissa = bits & ((1 << 52) - 1) | (1 << 52)
    low, high = mantissa & LOW, mantissa >> 32
    skip = (bits >> 52) - (1023 + 20)
    w = _window(skip)
    # products of 32-bit digits, by the position of their lower half; lower ones are dropped
    places: list[list[te.Expr]] = [[], [], [], []]
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
    digits: list[te.Expr] = []
    carry: te.Expr = _word(0)
    for terms in places:
        total = carry
        for term in terms:
            total = total + term
        digits.append(total & LOW)
        carry = total >> 32
    top = digits[3] + _word(1 << 29)
    quarters = top >> 30
    signed = _to_float(top & ((1 << 30) - 1)) - te.const(2.0**29, "float64")
    shift = te.const(2.0**32, "float64")
    upper = signed * shift + _to_float(digits[2])
    lower = _to_float(digits[1]) * shift + _to_float(digits[0])
    value = upper * te.const(2.0**64, "float64") + lower
    return value * te.const(math.pi / 2 * 2.0**-126, "float64"), quarters


def _window(skip: te.Expr) -> list[te.Expr]:
    """Six words of 2/pi from bit `skip` on; whole words are skipped by binary selection."""
    words: list[te.Expr] = [_word(word) for word in coefficients.TWO_OVER_PI["float64"]]
    for step in (16, 8, 4, 2, 1):
        skips = te.not_equal(skip & (32 * step), _word(0))
        needed = 7 + step - 1
        words = [te.select(skips, words[i + step], words[i]) for i in range(needed)]
    shift = skip & 31
    return [(((words[i] << 32) | words[i + 1]) << shift) >> 32 for i in range(6)]


def _to_float(word: te.Expr) -> te.Expr:
    """An integer below 2**52 as a float64, by placing it in the low bits of 2**52."""
    base = 2.0**52
    return te.bitcast(word | (1023 + 52 << 52), "float64") - te.const(base, "float64")


def _sin_of_rest(f: Floats, r: te.Expr, square: te.Expr) -> te.Expr:
    return f.fma(r * square, f.polynomial(square, coefficients.SIN[f.dtype]), r)


def _cos_of_rest(f: Floats, square: te.Expr) -> te.Expr:
    further = square * square * f.polynomial(square, coefficients.COS[f.dtype])
    # compensates the rounding error of 1 - z/2
    half = square * f.number(0.5)
    first = f.number(1.0) - half
    return first + (((f.number(1.0) - first) - half) + further)


def _wave(f: Floats, x: te.Expr, ahead: int) -> te.Expr:
    """The sine of |x| + ahead * pi/2."""

    def value(r: te.Expr, q: te.Expr) -> te.Expr:
        q = q + ahead if ahead else q
        square = r * r
        odd = te.not_equal(q & 1, f.word(0))
        size = te.select(odd, _cos_of_rest(f, square), _sin_of_rest(f, r, square))
        sign = (q & 2) << te.width(f.dtype) - 2
        return f.from_bits(f.bits(size) ^ sign)

    return _finite(f, x, _of_rest(f, te.absolute(x), value))


def _finite(f: Floats, x: te.Expr, result: te.Expr) -> te.Expr:
    return te.select(te.absolute(x) < f.infinity, result, f.nan)


def _odd(f: Floats, x: te.Expr, positive: te.Expr) -> te.Expr:
    """The value of an odd function from that of |x|; zeros keep their sign."""
    signed = te.select(x < f.number(0.0), -positive, positive)
    return te.select(te.equal(x, f.number(0.0)), x, signed)


def sin(f: Floats, x: te.Expr) -> te.Expr:
    return _odd(f, x, _wave(f, x, 0))


def cos(f: Floats, x: te.Expr) -> te.Expr:
    return _wave(f, x, 1)


def tan(f: Floats, x: te.Expr) -> te.Expr:
    def value(r: te.Expr, q: te.Expr) -> te.Expr:
        square = r * r
        sine, cosine = _sin_of_rest(f, r, square), _cos_of_rest(f, square)
        odd = te.not_equal(q & 1, f.word(0))
        return te.select(odd, -cosine, sine) / te.select(odd, sine, cosine)

    return _odd(f, x, _finite(f, x, _of_rest(f, te.absolute(x), value)))
