"""Operations on float32 and float64 that the functions are built from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from relay.immutable import frozen
from relay.te import expr as te

if TYPE_CHECKING:
    from relay.te.legalize import Facts


def isnan(f: Floats, x: te.Expr) -> te.Expr:
    return te.not_equal(x, x)


def isinf(f: Floats, x: te.Expr) -> te.Expr:
    return te.equal(te.absolute(x), f.infinity)


def isfinite(f: Floats, x: te.Expr) -> te.Expr:
    return te.absolute(x) < f.infinity


@frozen
class Floats:
    """A float type on a target; methods build expressions without branches."""

    dtype: str
    facts: Facts

    @property
    def fraction(self) -> int:
        """The number of fraction bits."""
        return 23 if self.dtype == "float32" else 52

    @property
    def bias(self) -> int:
        return 127 if self.dtype == "float32" else 1023

    @property
    def unsigned(self) -> str:
        """The unsigned integer type of the same width."""
        return "uint32" if self.dtype == "float32" else "uint64"

    @property
    def magic(self) -> float:
        """Adding it rounds a smaller number to an integer, held in the low bits of the sum."""
        return 1.5 * 2.0**self.fraction

    @property
    def infinity(self) -> te.Const:
        return self.number(math.inf)

    @property
    def nan(self) -> te.Const:
        return self.number(math.nan)

    def number(self, value: float) -> te.Const:
        return te.const(value, self.dtype)

    def word(self, value: int) -> te.Const:
        return te.const(value, self.unsigned)

    def bits(self, x: te.Expr) -> te.Expr:
        return te.bitcast(x, self.unsigned)

    def from_bits(self, bits: te.Expr) -> te.Expr:
        return te.bitcast(bits, self.dtype)

    def fma(self, a: te.Expr, b: te.Expr, c: te.Expr) -> te.Expr:
        """a*b + c, rounded once where the target has fma."""
        return te.call("fma", a, b, c) if self.facts.has_fma else a * b + c

    def polynomial(self, x: te.Expr, coefficients: Sequence[float]) -> te.Expr:
        """Horner's rule."""
        result: te.Expr = self.number(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            result = self.fma(result, x, self.number(coefficient))
        return result

    def at_most(self, x: te.Expr, high: float) -> te.Expr:
        """min(x, high), with NaN propagated."""
        return te.select(x > self.number(high), self.number(high), x)

    def at_least(self, x: te.Expr, low: float) -> te.Expr:
        """max(x, low), with NaN propagated."""
        return te.select(x < self.number(low), self.number(low), x)

    def with_sign_of(self, magnitude: te.Expr, sign: te.Expr) -> te.Expr:
        return te.call("copysign", magnitude, sign)

    def is_negative(self, x: te.Expr) -> te.Expr:
        """Whether the sign bit is set."""
        return te.bitcast(x, self.unsigned.removeprefix("u")) < 0

    def round(self, x: te.Expr) -> te.Expr:
        """Round half to even."""
        if self.facts.has_rounding:
            return te.call("round", x)
        size = te.absolute(x)
        limit = self.number(2.0**self.fraction)
        # larger floats are integers
        near = te.select(size < limit, (size + limit) - limit, size)
        return self.with_sign_of(near, x)

    def is_integer(self, x: te.Expr) -> te.Expr:
        return te.equal(self.round(x), x)

    def two_sum(self, a: te.Expr, b: te.Expr) -> tuple[te.Expr, te.Expr]:
        """The sum and its rounding error."""
        total = a + b
        back = total - a
        return total, (a - (total - back)) + (b - back)

    def fast_two_sum(self, a: te.Expr, b: te.Expr) -> tuple[te.Expr, te.Expr]:
        """The same, if a is zero or |a| >= |b|."""
        total = a + b
        return total, b - (total - a)

    def two_product(self, a: te.Expr, b: te.Expr) -> tuple[te.Expr, te.Expr]:
        """The product and its rounding error."""
        product = a * b
        if self.facts.has_fma:
            return product, te.call("fma", a, b, -product)
        # Dekker: products of half-width parts are exact
        (a_high, a_low), (b_high, b_low) = self._halves(a), self._halves(b)
        rest = ((a_high * b_high - product) + a_high * b_low) + a_low * b_high
        return product, rest + a_low * b_low

    def _halves(self, x: te.Expr) -> tuple[te.Expr, te.Expr]:
        scaled = x * self.number(2.0 ** ((self.fraction + 2) // 2) + 1)
        high = scaled - (scaled - x)
        return high, x - high
