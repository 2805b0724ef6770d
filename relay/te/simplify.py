"""Index arithmetic made small: sums in one order, even divisions, conditions that always hold.

    (i*16 + j) // 16            ->  i           when 0 <= j < 16
    (i*16 + j) % 16             ->  j
    (x // 4) * 4 + x % 4        ->  x
    i*6 + r < 56                ->  true        when i < 9 and r < 6

A `Simplifier` knows the range of every variable. Whole numbers are held as sums of atoms (variables
and what is not linear) with coefficients. Only int64 expressions change: what a kernel computes
with floats stays as it was written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from relay import tree
from relay.te.expr import (
    INDEX,
    Binary,
    Cast,
    Compare,
    Const,
    Expr,
    Select,
    Unary,
    Var,
    binary,
    const,
    remake,
    select,
    width,
)

# From the smallest to the largest value, both included; None is unbounded.
Interval = tuple[int | None, int | None]
UNKNOWN: Interval = (None, None)


@dataclass(frozen=True)
class Linear:
    """constant + the sum of coefficient * atom."""

    terms: Mapping[Expr, int]
    constant: int = 0

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        terms = dict(self.terms)
        for atom, coefficient in other.terms.items():
            total = terms.get(atom, 0) + coefficient * factor
            if total:
                terms[atom] = total
            else:
                terms.pop(atom, None)
        return Linear(terms, self.constant + other.constant * factor)

    def times(self, factor: int) -> Linear:
        if factor == 0:
            return Linear({})
        scaled = {atom: coefficient * factor for atom, coefficient in self.terms.items()}
        return Linear(scaled, self.constant * factor)


class Simplifier:
    """Simplifies expressions over variables of known ranges."""

    def __init__(self, ranges: Mapping[Var, Interval] | None = None) -> None:
        self.ranges: dict[Var, Interval] = dict(ranges or {})
        self._linear: dict[Expr, Linear] = {}
        self._done: dict[Expr, Expr] = {}
        self._intervals: dict[Expr, Interval] = {}
        # atoms in the order they were met: sums come out the same in every run
        self._order: dict[Expr, int] = {}

    def bind(self, var: Var, extent: Expr) -> None:
        """`var` runs from 0 up to, not including, `extent`."""
        high = self.interval(extent)[1]
        self.ranges[var] = (0, None if high is None else high - 1)

    def __call__(self, expr: Expr) -> Expr:
        """The same value, written shorter."""
        if (known := self._done.get(expr)) is not None:
            return known
        result = tree.transform(expr, self._step)
        self._done[expr] = result
        return result

    def _step(self, before: Expr, after: Expr) -> Expr:
        if (known := self._done.get(before)) is not None:
            return known
        result = self._one(before, after)
        self._done[before] = result
        self._done.setdefault(result, result)
        return result

    def _one(self, before: Expr, after: Expr) -> Expr:
        match after:
            case Binary() if after.dtype == INDEX:
                return self._index(after)
            case Compare() if after.left.dtype == INDEX:
                truth = self._truth(after)
                return remake(before, after) if truth is None else const(truth, "bool")
            case Select():
                if after.dtype == INDEX and after.if_true == after.if_false:
                    return after.if_true
                return select(after.condition, after.if_true, after.if_false)
            case _:
                return remake(before, after)

    # --- sums

    def linear(self, expr: Expr) -> Linear:
        """An int64 expression as a sum; it should be simplified already."""
        if (known := self._linear.get(expr)) is not None:
            return known
        match expr:
            case Const():
                found = Linear({}, int(expr.value))
            case Binary(op="add"):
                found = self.linear(expr.left).plus(self.linear(expr.right))
            case Binary(op="sub"):
                found = self.linear(expr.left).plus(self.linear(expr.right), -1)
            case Binary(op="mul", right=Const(value=factor)):
                found = self.linear(expr.left).times(int(factor))
            case Binary(op="mul", left=Const(value=factor)):
                found = self.linear(expr.right).times(int(factor))
            case _:
                found = Linear({expr: 1})
        self._linear[expr] = found
        return found

    def build(self, total: Linear) -> Expr:
        """The sum as an expression, in a fixed order: larger coefficients first."""
        for atom in total.terms:
            self._order.setdefault(atom, len(self._order))
        ordered = sorted(
            total.terms.items(), key=lambda item: (-abs(item[1]), self._order[item[0]])
        )
        result: Expr | None = None
        for atom, coefficient in ordered:
            term = atom if abs(coefficient) == 1 else atom * abs(coefficient)
            if result is None:
                result = term if coefficient > 0 else atom * coefficient
            else:
                result = result + term if coefficient > 0 else result - term
        if result is None:
            return const(total.constant, INDEX)
        if total.constant:
            amount = abs(total.constant)
            result = result + amount if total.constant > 0 else result - amount
        self._linear[result] = total
        return result

    def _index(self, expr: Binary) -> Expr:
        left, right = self.linear(expr.left), self.linear(expr.right)
        constant_right = None if right.terms else right.constant
        match expr.op:
            case "add":
                return self._recombined(left.plus(right))
            case "sub":
                return self._recombined(left.plus(right, -1))
            case "mul":
                if constant_right is not None:
                    return self.build(left.times(constant_right))
                if not left.terms:
                    return self.build(right.times(left.constant))
            case "floordiv" | "mod" if constant_right is not None and constant_right > 0:
                return self._divided(left, constant_right, expr.op)
            case "floordiv" | "mod" if left == right and self._positive(expr.left):
                return const(1 if expr.op == "floordiv" else 0, INDEX)
            case "floordiv" | "mod" if self._fits_once(expr.left, expr.right):
                return const(0, INDEX) if expr.op == "floordiv" else expr.left
            case "truncdiv" | "truncmod" if constant_right is not None and constant_right > 0:
                low = self.interval(expr.left)[0]
                if low is not None and low >= 0:
                    same = "floordiv" if expr.op == "truncdiv" else "mod"
                    return self._divided(left, constant_right, same)
            case "min" | "max":
                return self._extremum(expr, left.plus(right, -1))
        return binary(expr.op, expr.left, expr.right)

    def _positive(self, expr: Expr) -> bool:
        low = self.interval(expr)[0]
        return low is not None and low > 0

    def _fits_once(self, value: Expr, divisor: Expr) -> bool:
        """Whether 0 <= value < divisor, whatever they are."""
        low, high = self.interval(value)
        bound = self.interval(divisor)[0]
        if low is None or high is None or bound is None:
            return False
        return low >= 0 and high < bound

    def _extremum(self, expr: Binary, difference: Linear) -> Expr:
        low, high = self.sum_interval(difference)
        if low is not None and low >= 0:  # left is never smaller
            return expr.left if expr.op == "max" else expr.right
        if high is not None and high <= 0:
            return expr.right if expr.op == "max" else expr.left
        return binary(expr.op, expr.left, expr.right)

    def _recombined(self, total: Linear) -> Expr:
        return self.build(self.recombined(total))

    def recombined(self, total: Linear) -> Linear:
        """(x // c) * (c*k) + (x % c) * k  ->  x * k"""
        for atom, coefficient in total.terms.items():
            if not (isinstance(atom, Binary) and atom.op == "mod"):
                continue
            quotient = self._quotient_of(atom)
            if quotient is None:
                continue
            terms, divisor = quotient
            if all(
                total.terms.get(part) == factor * divisor * coefficient
                for part, factor in terms.terms.items()
            ):
                remaining = total.plus(Linear({atom: 1}), -coefficient)
                remaining = remaining.plus(terms, -divisor * coefficient)
                whole = self.linear(atom.left).times(coefficient)
                return self.recombined(remaining.plus(whole))
        return total

    def _quotient_of(self, remainder: Binary) -> tuple[Linear, int] | None:
        """(x // c as a sum, c) for x % c."""
        divisor = remainder.right
        if not isinstance(divisor, Const):
            return None
        quotient = self._divided(self.linear(remainder.left), int(divisor.value), "floordiv")
        found = self.linear(quotient)
        return (found, int(divisor.value)) if found.terms else None

    def _divided(self, total: Linear, divisor: int, op: str) -> Expr:
        """`total // divisor` or `total % divisor`: the even part comes out."""
        if divisor == 1:
            return self.build(total) if op == "floordiv" else const(0, INDEX)
        even = {atom: c // divisor for atom, c in total.terms.items() if c % divisor == 0}
        odd = {atom: c for atom, c in total.terms.items() if c % divisor}
        # a smaller constant leaves a smaller rest: i*6 + 13 over 6 is i + 2 and 1 over
        whole, rest_constant = divmod(total.constant, divisor)
        rest = Linear(odd, rest_constant)
        low, high = self.sum_interval(rest)
        if low is not None and high is not None and low // divisor == high // divisor:
            if op == "mod":
                return self.build(rest.plus(Linear({}, (low // divisor) * divisor), -1))
            return self.build(Linear(even, whole + low // divisor))
        inner = self.build(rest)
        if op == "mod":
            return self._mod(inner, divisor)
        return self.build(Linear(even, whole).plus(Linear({self._floordiv(inner, divisor): 1})))

    def _floordiv(self, inner: Expr, divisor: int) -> Expr:
        match inner:
            case Binary(op="floordiv", right=Const(value=first)) if first > 0:
                # (x // a) // b  ->  x // (a*b)
                return self._divided(self.linear(inner.left), int(first) * divisor, "floordiv")
            case Binary(op="mod", right=Const(value=whole)) if whole > 0 and whole % divisor == 0:
                # (x % (a*b)) // b  ->  (x // b) % a
                quotient = self._divided(self.linear(inner.left), divisor, "floordiv")
                return self._divided(self.linear(quotient), int(whole) // divisor, "mod")
        # (a*4 + b) // 8 with b < 4  ->  a // 2
        total = self.linear(inner)
        for common in sorted({abs(c) for c in total.terms.values()}, reverse=True):
            if common == 1 or divisor % common:
                continue
            small = Linear(
                {atom: c for atom, c in total.terms.items() if c % common},
                total.constant % common,
            )
            low, high = self.sum_interval(small)
            if small.terms and (low is None or high is None or low < 0 or high >= common):
                continue
            large = Linear(
                {atom: c // common for atom, c in total.terms.items() if c % common == 0},
                total.constant // common,
            )
            return self._divided(large, divisor // common, "floordiv")
        return binary("floordiv", inner, divisor)

    def _mod(self, inner: Expr, divisor: int) -> Expr:
        match inner:
            case Binary(op="mod", right=Const(value=whole)) if whole > 0 and whole % divisor == 0:
                # (x % (a*b)) % b  ->  x % b
                return self._divided(self.linear(inner.left), divisor, "mod")
        total = self.linear(inner)
        for common in sorted({abs(c) for c in total.terms.values()}, reverse=True):
            if common == 1 or divisor % common:
                continue
            small = Linear(
                {atom: c for atom, c in total.terms.items() if c % common},
                total.constant % common,
            )
            low, high = self.sum_interval(small)
            if low is None or high is None or low < 0 or high >= common:
                continue
            large = Linear(
                {atom: c // common for atom, c in total.terms.items() if c % common == 0},
                total.constant // common,
            )  # (a*4 + b) % 8 with b < 4  ->  (a % 2)*4 + b
            high_part = self._divided(large, divisor // common, "mod")
            return self.build(self.linear(high_part).times(common).plus(small))
        return binary("mod", inner, divisor)

    # --- ranges

    def interval(self, expr: Expr) -> Interval:
        """What values an int64 expression can take."""
        if (known := self._intervals.get(expr)) is not None:
            return known
        for part in tree.postorder(expr, enter=lambda e: e.dtype == INDEX):
            if part not in self._intervals and part.dtype == INDEX:
                found = self._interval_of(part)
                if not isinstance(part, Var):
                    self._intervals[part] = found
        if isinstance(expr, Var):
            return self.ranges.get(expr, UNKNOWN)
        return self._intervals.get(expr, UNKNOWN)

    def _interval_of(self, expr: Expr) -> Interval:
        match expr:
            case Var():
                return self.ranges.get(expr, UNKNOWN)
            case Const():
                return int(expr.value), int(expr.value)
            case Binary(op="add" | "sub" | "mul"):
                total = self.linear(expr)
                if expr in total.terms:  # a product of variables
                    return _product(self.interval(expr.left), self.interval(expr.right))
                return self.sum_interval(total)
            case Binary():
                return _combined(expr.op, self.interval(expr.left), self.interval(expr.right))
            case Select():
                return _union(self.interval(expr.if_true), self.interval(expr.if_false))
            case Unary(op="neg"):
                low, high = self.interval(expr.operand)
                return (None if high is None else -high, None if low is None else -low)
            case Cast():
                return _of_dtype(expr.operand.dtype)
            case _:
                return UNKNOWN

    def sum_interval(self, total: Linear) -> Interval:
        """What values a sum can take."""
        low: int | None = total.constant
        high: int | None = total.constant
        for atom, coefficient in total.terms.items():
            below, above = self.interval(atom)
            if coefficient < 0:
                below, above = above, below
            low = None if low is None or below is None else low + below * coefficient
            high = None if high is None or above is None else high + above * coefficient
        return low, high

    # --- conditions

    def _truth(self, expr: Compare) -> bool | None:
        difference = self.linear(expr.left).plus(self.linear(expr.right), -1)
        low, high = self.sum_interval(difference)
        match expr.op:
            case "lt":
                return _decide(high is not None and high < 0, low is not None and low >= 0)
            case "le":
                return _decide(high is not None and high <= 0, low is not None and low > 0)
            case "gt":
                return _decide(low is not None and low > 0, high is not None and high <= 0)
            case "ge":
                return _decide(low is not None and low >= 0, high is not None and high < 0)
            case "eq" | "ne":
                always = low == 0 and high == 0
                never = (low is not None and low > 0) or (high is not None and high < 0)
                truth = _decide(always, never)
                return truth if truth is None or expr.op == "eq" else not truth
        return None

    def holds(self, condition: Expr) -> bool:
        """Whether a condition is always true."""
        simple = self(condition)
        return isinstance(simple, Const) and bool(simple.value)


def _decide(always: bool, never: bool) -> bool | None:
    return True if always else False if never else None


def _union(a: Interval, b: Interval) -> Interval:
    return (
        None if a[0] is None or b[0] is None else min(a[0], b[0]),
        None if a[1] is None or b[1] is None else max(a[1], b[1]),
    )


def _product(a: Interval, b: Interval) -> Interval:
    if a[0] is None or a[1] is None or b[0] is None or b[1] is None:
        both = a[0] is not None and a[0] >= 0 and b[0] is not None and b[0] >= 0
        return (a[0] * b[0], None) if both and a[0] and b[0] else (0, None) if both else UNKNOWN
    corners = [x * y for x in a for y in b if x is not None and y is not None]
    return min(corners), max(corners)


def _combined(op: str, a: Interval, b: Interval) -> Interval:
    divisor = b[0] if b[0] == b[1] else None
    match op:
        case "floordiv" if divisor is not None and divisor > 0:
            return (
                None if a[0] is None else a[0] // divisor,
                None if a[1] is None else a[1] // divisor,
            )
        case "floordiv" if a[0] is not None and a[0] >= 0 and b[0] is not None and b[0] > 0:
            return 0, a[1] if a[1] is None else a[1] // b[0]
        case "mod" if b[1] is not None and b[0] is not None and b[0] > 0:
            high = b[1] - 1
            if a[0] is not None and a[0] >= 0 and a[1] is not None:
                return 0, min(high, a[1])
            return 0, high
        case "min":
            high_bounds = [x for x in (a[1], b[1]) if x is not None]
            low = None if a[0] is None or b[0] is None else min(a[0], b[0])
            return low, min(high_bounds) if high_bounds else None
        case "max":
            low_bounds = [x for x in (a[0], b[0]) if x is not None]
            high_bound = None if a[1] is None or b[1] is None else max(a[1], b[1])
            return max(low_bounds) if low_bounds else None, high_bound
        case _:
            return UNKNOWN


def _of_dtype(dtype: str) -> Interval:
    if dtype.startswith("uint") or dtype == "bool":
        bits = width(dtype)
        return (0, (1 << bits) - 1) if bits < 64 else (0, None)
    if dtype.startswith("int"):
        bits = width(dtype)
        return -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return UNKNOWN
