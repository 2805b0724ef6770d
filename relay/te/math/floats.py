"""Operations on float32 and float64 that the functions are built from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from relay.immutable import frozen
from relay.te.expr import (
    Const,
    Expr,
    absolute,
    bitcast,
    call,
    const,
    equal,
    not_equal,
    select,
)

if TYPE_CHECKING:
    from relay.te.legalize import Facts


def isnan(f: Floats, x: Expr) -> Expr:
    return not_equal(x, x)


def isinf(f: Floats, x: Expr) -> Expr:
    return equal(absolute(x), f.infinity)


def isfinite(f: Floats, x: Expr) -> Expr:
    return absolute(x) < f.infinity


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
    def infinity(self) -> Const:
        return self.number(math.inf)

    @property
    def nan(self) -> Const:
        return self.number(math.nan)

    def number(self, value: float) -> Const:
        return const(value, self.dtype)

    def word(self, value: int) -> Const:
        return const(value, self.unsigned)

    def bits(self, x: Expr) -> Expr:
        return bitcast(x, self.unsigned)

    def from_bits(self, bits: Expr) -> Expr:
        return bitcast(bits, self.dtype)

    def fma(self, a: Expr, b: Expr, c: Expr) -> Expr:
        """a*b + c, rounded once where the target has fma."""
        return call("fma", a, b, c) if self.facts.has_fma else a * b + c

    def polynomial(self, x: Expr, coefficients: Sequence[float]) -> Expr:
        """Horner's rule."""
        result: Expr = self.number(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            result = self.fma(result, x, self.number(coefficient))
        return result

    def at_most(self, x: Expr, high: float) -> Expr:
        """min(x, high), with NaN propagated."""
        return select(x > self.number(high), self.number(high), x)

    def at_least(self, x: Expr, low: float) -> Expr:
        """max(x, low), with NaN propagated."""
        return select(x < self.number(low), self.number(low), x)

    def with_sign_of(self, magnitude: Expr, sign: Expr) -> Expr:
        return call("copysign", magnitude, sign)

    def is_negative(self, x: Expr) -> Expr:
        """Whether the sign bit is set."""
        return bitcast(x, self.unsigned.removeprefix("u")) < 0

    def round(self, x: Expr) -> Expr:
        """Round half to even."""
        if self.facts.has_rounding:
            return call("round", x)
        size = absolute(x)
        limit = self.number(2.0**self.fraction)
        # larger floats are integers
        near = select(size < limit, (size + limit) - limit, size)
        return self.with_sign_of(near, x)

    def is_integer(self, x: Expr) -> Expr:
        return equal(self.round(x), x)

    def two_sum(self, a: Expr, b: Expr) -> tuple[Expr, Expr]:
        """The sum and its rounding error."""
        total = a + b
        back = total - a
        return total, (a - (total - back)) + (b - back)

    def fast_two_sum(self, a: Expr, b: Expr) -> tuple[Expr, Expr]:
        """The same, if a is zero or |a| >= |b|."""
        total = a + b
        return total, b - (total - a)

    def two_product(self, a: Expr, b: Expr) -> tuple[Expr, Expr]:
        """The product and its rounding error."""
        product = a * b
        if self.facts.has_fma:
            return product, call("fma", a, b, -product)
        # Dekker: products of half-width parts are exact
        (a_high, a_low), (b_high, b_low) = self._halves(a), self._halves(b)
        rest = ((a_high * b_high - product) + a_high * b_low) + a_low * b_high
        return product, rest + a_low * b_low

    def _halves(self, x: Expr) -> tuple[Expr, Expr]:
        scaled = x * self.number(2.0 ** ((self.fraction + 2) // 2) + 1)
        high = scaled - (scaled - x)
        return high, x - high
