"""Simplification of index arithmetic: canonical sums, exact division, provable conditions.

    (i*16 + j) // 16            ->  i           when 0 <= j < 16
    (i*16 + j) % 16             ->  j
    (x // 4) * 4 + x % 4        ->  x
    i*6 + r < 56                ->  true        when i < 9 and r < 6

A `Simplifier` knows the range of every variable, and linear forms that are negative: `i - n`, where
i runs up to a dynamic n. Integers are linear combinations of atoms (variables and nonlinear terms).
Only int64 expressions are simplified, never floats.

Indices are assumed not to overflow, so unbounded variables count as small. Values read from memory
may be anything: sums of them that could overflow get only rewrites that hold modulo 2^64.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relay import tree
from relay.immutable import frozen
from relay.te.expr import (
    INDEX,
    Binary,
    Cast,
    Compare,
    Const,
    Expr,
    Extent,
    Select,
    Unary,
    Var,
    binary,
    const,
    remake,
    select,
    variables,
)
from relay.te.intervals import (
    ANY_NUMBER,
    NATURAL,
    UNKNOWN,
    Interval,
    combined,
    contains,
    of_dtype,
    product,
    union,
)

_LARGE: Interval = (-(2**62), 2**62)


@frozen
class Linear:
    """A linear form: constant + sum of coefficient * atom."""

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

    def __init__(
        self, ranges: Mapping[Var, Interval] | None = None, negative: Sequence[Linear] = ()
    ) -> None:
        self.ranges: dict[Var, Interval] = dict(ranges or {})
        self.negative = tuple(negative)  # linear forms known to be negative
        self._ends: dict[Var, Linear] = {}  # var - extent, by variable
        self.lanes: set[Var] = set()  # variables that vary between vector lanes
        self._linear: dict[Expr, Linear] = {}
        self._done: dict[Expr, Expr] = {}
        self._intervals: dict[Expr, Interval] = {}
        self._built: dict[tuple[frozenset[tuple[Expr, int]], int], Expr] = {}
        # order of first occurrence, for deterministic output
        self._order: dict[Expr, int] = {}

    def assuming(
        self, ranges: Mapping[Var, Interval] | None = None, negative: Sequence[Linear] = ()
    ) -> Simplifier:
        """A simplifier with further assumptions; its results are not shared with this one."""
        made = Simplifier({**self.ranges, **(ranges or {})}, (*self.negative, *negative))
        made._ends = dict(self._ends)
        made.lanes = set(self.lanes)
        return made

    def bind(self, var: Var, extent: Expr) -> None:
        """Assume 0 <= var < extent."""
        high = self.interval(extent)[1]
        self.limit(var, (0, None if high is None else high - 1))
        end = None if high is not None else Linear({var: 1}).plus(self.exact(self(extent)), -1)
        if self._ends.get(var) != end:
            if var in self._ends:
                self._done.clear()
                del self._ends[var]
            if end is not None:
                self._ends[var] = end

    def limit(self, var: Var, interval: Interval) -> None:
        """Assume that `var` lies in the interval."""
        if var in self.ranges and not contains(self.ranges[var], interval):
            # earlier results relied on a smaller range
            self._done.clear()
            self._intervals.clear()
        self.ranges[var] = interval

    def __call__(self, expr: Expr) -> Expr:
        """An equal, simpler expression."""
        found: dict[int, Expr] = {}
        pending: list[tuple[Expr, list[Expr] | None]] = [(expr, None)]
        while pending:
            before, below = pending.pop()
            if id(before) in found:
                continue
            if below is None:
                # looked up on the way down, before visiting children
                if (known := self._done.get(before)) is not None:
                    found[id(before)] = known
                    continue
                below = tree.children(before)
                if below:
                    pending.append((before, below))
                    pending += [(child, None) for child in reversed(below)]
                    continue
            after = tree.rebuild(before, [found[id(child)] for child in below])
            result = self._one(before, after)
            # interned: equal expressions become one object
            found[id(before)] = result = self._done.setdefault(result, result)
            if hash(before) != hash(result):  # otherwise they are equal
                self._done[before] = result
        return found[id(expr)]

    def _one(self, before: Expr, after: Expr) -> Expr:
        match after:
            case Binary() if after.dtype == INDEX:
                return self._index(after)
            case Unary(op="neg") if after.dtype == INDEX:
                return self.build(self.linear(after))
            case Compare() if after.left.dtype == INDEX:
                truth = self._truth(after)
                return remake(before, after) if truth is None else const(truth, "bool")
            case Select():
                if after.dtype == INDEX and after.if_true == after.if_false:
                    return after.if_true
                return select(after.condition, after.if_true, after.if_false)
            case _:
                return remake(before, after)

    # --- linear forms

    def linear(self, expr: Expr) -> Linear:
        """A simplified int64 expression as a linear form, modulo 2^64."""
        if (known := self._linear.get(expr)) is not None:
            return known
        match expr:
            case Const():
                found = Linear({}, int(expr.value))
            case Binary(op="add"):
                found = self.linear(expr.left).plus(self.linear(expr.right))
            case Binary(op="sub"):
                found = self.linear(expr.left).plus(self.linear(expr.right), -1)
            case Unary(op="neg"):
                found = self.linear(expr.operand).times(-1)
            case Binary(op="mul", right=Const(value=factor)):
                found = self.linear(expr.left).times(int(factor))
            case Binary(op="mul", left=Const(value=factor)):
                found = self.linear(expr.right).times(int(factor))
            case _:
                found = Linear({expr: 1})
        self._linear[expr] = found
        return found

    def exact(self, expr: Expr) -> Linear:
        """An int64 expression as a linear form without overflow: a single atom where it might."""
        total = self.linear(expr)
        return Linear({expr: 1}) if self._wraps(total) else total

    def build(self, total: Linear) -> Expr:
        """The expression of a linear form, larger coefficients first."""
        key = (frozenset(total.terms.items()), total.constant)
        if (known := self._built.get(key)) is not None:
            return known
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
        self._linear.setdefault(result, total)
        self._built[key] = result
        return result

    def _index(self, expr: Binary) -> Expr:
        if expr.op in ("add", "sub"):
            return self.build(self.recombined(self.linear(expr)))
        left, right = self.exact(expr.left), self.exact(expr.right)
        constant_right = None if right.terms else right.constant
        match expr.op:
            case "mul" if constant_right is not None or not left.terms:
                return self.build(self.linear(expr))
            case "floordiv" | "mod" if constant_right is not None and constant_right > 0:
                return self._divided(left, constant_right, expr.op)
            case "floordiv" | "mod" if left == right and self._positive(expr.left):
                return const(1 if expr.op == "floordiv" else 0, INDEX)
            case "floordiv" | "mod" if self._fits_once(expr.left, expr.right):
                return const(0, INDEX) if expr.op == "floordiv" else expr.left
            case "truncdiv" | "truncmod" if constant_right is not None and constant_right > 0:
                low = self.interval(expr.left)[0]
                if low is not None and low >= 0:
                    floored = "floordiv" if expr.op == "truncdiv" else "mod"
                    return self._divided(left, constant_right, floored)
            case "min" | "max":
                return self._extremum(expr, left.plus(right, -1))
        return binary(expr.op, expr.left, expr.right)

    def _positive(self, expr: Expr) -> bool:
        low = self.interval(expr)[0]
        return low is not None and low > 0

    def _fits_once(self, value: Expr, divisor: Expr) -> bool:
        """Whether 0 <= value < divisor is proven by intervals."""
        low, high = self.interval(value)
        bound = self.interval(divisor)[0]
        if low is None or high is None or bound is None:
            return False
        return low >= 0 and high < bound

    def _extremum(self, expr: Binary, difference: Linear) -> Expr:
        low, high = self._sign(difference)
        if low is not None and low >= 0:  # left is never smaller
            return expr.left if expr.op == "max" else expr.right
        if high is not None and high <= 0:
            return expr.right if expr.op == "max" else expr.left
        return binary(expr.op, expr.left, expr.right)

    def recombined(self, total: Linear) -> Linear:
        """(x // c) * (c*k) + (x % c) * k  ->  x * k"""
        found: Linear | None = total
        while found is not None:
            total, found = found, self._recombined_once(found)
        return total

    def _recombined_once(self, total: Linear) -> Linear | None:
        for atom, coefficient in total.terms.items():
            if not (isinstance(atom, Binary) and atom.op == "mod"):
                continue
            if not isinstance(atom.right, Const):
                # the quotient appears multiplied by its divisor
                whole = self.linear(
                    binary("mul", binary("floordiv", atom.left, atom.right), atom.right)
                )
                if all(total.terms.get(part) == c * coefficient for part, c in whole.terms.items()):
                    remaining = total.plus(Linear({atom: 1}), -coefficient)
                    remaining = remaining.plus(whole, -coefficient)
                    return remaining.plus(self.linear(atom.left).times(coefficient))
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
                return remaining.plus(self.linear(atom.left).times(coefficient))
        return None

    def _quotient_of(self, remainder: Binary) -> tuple[Linear, int] | None:
        """(x // c as a linear form, c) for x % c."""
        divisor = int(remainder.right.value) if isinstance(remainder.right, Const) else 0
        if divisor <= 0:
            return None
        quotient = self._divided(self.exact(remainder.left), divisor, "floordiv")
        found = self.linear(quotient)
        return (found, divisor) if found.terms else None

    def _divided(self, total: Linear, divisor: int, op: str) -> Expr:
        """`total // divisor` or `total % divisor`, with multiples of the divisor taken out."""
        if divisor == 1:
            return self.build(total) if op == "floordiv" else const(0, INDEX)
        even = {atom: c // divisor for atom, c in total.terms.items() if c % divisor == 0}
        odd = {atom: c for atom, c in total.terms.items() if c % divisor}
        # reduce the constant too: (i*6 + 13) // 6 is i + 2 + 1 // 6
        whole, rest_constant = divmod(total.constant, divisor)
        rest = Linear(odd, rest_constant)
        low, high = self.sum_interval(rest)
        if low is not None and high is not None and low // divisor == high // divisor:
            if op == "mod":
                return self.build(rest.plus(Linear({}, (low // divisor) * divisor), -1))
            return self.build(Linear(even, whole + low // divisor))
        if self._wraps(rest):
            return binary(op, self.build(total), divisor)
        inner = self.build(rest)
        if op == "mod":
            return self._mod(inner, divisor)
        return self.build(Linear(even, whole).plus(Linear({self._floordiv(inner, divisor): 1})))

    def _floordiv(self, inner: Expr, divisor: int) -> Expr:
        match inner:
            case Binary(op="floordiv", right=Const(value=first)) if 0 < first * divisor < 2**63:
                # (x // a) // b  ->  x // (a*b)
                return self._divided(self.exact(inner.left), int(first) * divisor, "floordiv")
            case Binary(op="mod", right=Const(value=whole)) if whole > 0 and whole % divisor == 0:
                # (x % (a*b)) // b  ->  (x // b) % a
                quotient = self._divided(self.exact(inner.left), divisor, "floordiv")
                return self._divided(self.exact(quotient), int(whole) // divisor, "mod")
        if (parts := self._parts(self.exact(inner), divisor)) is not None:
            large, _, common = parts  # (a*4 + b) // 8 with b < 4  ->  a // 2
            return self._divided(large, divisor // common, "floordiv")
        return binary("floordiv", inner, divisor)

    def _mod(self, inner: Expr, divisor: int) -> Expr:
        match inner:
            case Binary(op="mod", right=Const(value=whole)) if whole > 0 and whole % divisor == 0:
                # (x % (a*b)) % b  ->  x % b
                return self._divided(self.exact(inner.left), divisor, "mod")
        if (parts := self._parts(self.exact(inner), divisor)) is not None:
            large, small, common = parts  # (a*4 + b) % 8 with b < 4  ->  (a % 2)*4 + b
            high_part = self._divided(large, divisor // common, "mod")
            return self.build(self.linear(high_part).times(common).plus(small))
        return binary("mod", inner, divisor)

    def _parts(self, total: Linear, divisor: int) -> tuple[Linear, Linear, int] | None:
        """(large, small, c) with total = large*c + small, 0 <= small < c, and c divides
        `divisor`."""
        for common in sorted({abs(c) for c in total.terms.values()}, reverse=True):
            if common == 1 or divisor % common:
                continue
            large_constant, small_constant = divmod(total.constant, common)
            small = Linear({a: c for a, c in total.terms.items() if c % common}, small_constant)
            if contains((0, common - 1), self.sum_interval(small)):
                large = {a: c // common for a, c in total.terms.items() if c % common == 0}
                return Linear(large, large_constant), small, common
        return None

    # --- intervals

    def interval(self, expr: Expr) -> Interval:
        """The interval of an int64 expression."""
        if isinstance(expr, Var):
            return self.ranges.get(expr, NATURAL if isinstance(expr, Extent) else UNKNOWN)
        if (known := self._intervals.get(expr)) is not None:
            return known
        for part in tree.postorder(expr, enter=lambda e: e.dtype == INDEX):
            if part.dtype == INDEX and not isinstance(part, Var) and part not in self._intervals:
                self._intervals[part] = self._interval_of(part)
        return self._intervals.get(expr, UNKNOWN)

    def _interval_of(self, expr: Expr) -> Interval:
        match expr:
            case Const():
                return int(expr.value), int(expr.value)
            case Binary(op="add" | "sub" | "mul") | Unary(op="neg"):
                total = self.linear(expr)
                if isinstance(expr, Binary) and expr in total.terms:  # a product of variables
                    return product(self.interval(expr.left), self.interval(expr.right))
                return ANY_NUMBER if self._wraps(total) else self.sum_interval(total)
            case Binary():
                return combined(expr.op, self.interval(expr.left), self.interval(expr.right))
            case Select():
                return union(self.interval(expr.if_true), self.interval(expr.if_false))
            case Cast():
                return of_dtype(expr.operand.dtype)
            case _:
                return ANY_NUMBER

    def sum_interval(self, total: Linear) -> Interval:
        """The interval of a linear form, without overflow."""
        (low, high), (no_low, no_high) = self._bounds(total)
        return None if no_low else low, None if no_high else high

    def _bounds(self, total: Linear) -> tuple[tuple[int, int], tuple[bool, bool]]:
        """Bounds of the bounded terms, and whether there are unbounded ones below and above."""
        low = high = total.constant
        no_low = no_high = False
        for atom, coefficient in total.terms.items():
            below, above = self.interval(atom)
            if coefficient < 0:
                below, above = above, below
            no_low, no_high = no_low or below is None, no_high or above is None
            low += (below or 0) * coefficient
            high += (above or 0) * coefficient
        return (low, high), (no_low, no_high)

    def _wraps(self, total: Linear) -> bool:
        bounds, unbounded = self._bounds(total)
        # unbounded terms count as small
        return not contains(_LARGE if any(unbounded) else ANY_NUMBER, bounds)

    # --- conditions

    def _truth(self, expr: Compare) -> bool | None:
        difference = self.exact(expr.left).plus(self.exact(expr.right), -1)
        low, high = self._sign(difference)
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

    def _sign(self, total: Linear) -> Interval:
        """The interval of a linear form, improved around 0 by known negative forms."""
        low, high = self.sum_interval(total)
        if not self.negative and not self._ends:
            return low, high
        if high is None or high > 0:
            high = 0 if self._is_natural(total.times(-1)) else high
        if high is None or high == 0:
            high = -1 if self._is_negative(total) else high
        if low is None or low < 0:
            low = 0 if self._is_natural(total) else low
        if low == 0:
            low = 1 if self._is_negative(total.times(-1)) else low
        return low, high

    def _is_negative(self, total: Linear) -> bool:
        """Whether a linear form is provably negative."""
        if not total.terms:
            return total.constant < 0
        return self._follows(total) or self._is_digit(total)

    def _follows(self, total: Linear) -> bool:
        """Whether a known negative form is at least as large."""
        known = list(self.negative)
        for var, end in self._ends.items():
            # only inside its loop: elsewhere the extent may be 0
            if any(var in variables(atom) for atom in total.terms):
                known.append(end)
        for other in known:
            above = self.sum_interval(total.plus(other, -1))[1]
            if above is not None and above <= 0:
                return True
        return False

    def _is_natural(self, total: Linear) -> bool:
        """Whether total >= 0, by -total - 1 < 0."""
        return self._is_negative(total.times(-1).plus(Linear({}, -1)))

    def _is_digit(self, total: Linear) -> bool:
        """Whether x // p < b follows from x < b*p, or x % p < p from p > 0."""
        for atom, coefficient in total.terms.items():
            if coefficient != 1 or not isinstance(atom, Binary) or isinstance(atom.right, Const):
                continue
            if atom.op not in ("floordiv", "mod") or not contains(
                NATURAL, self.interval(atom.left)
            ):
                continue
            bound = total.plus(Linear({atom: 1}), -1).times(-1)
            if atom.op == "floordiv":
                whole = self(self.build(bound) * atom.right)
                if self._is_below(atom.left, whole):
                    return True
            elif bound == self.linear(atom.right) and self._is_positive_factor(
                atom.left, atom.right
            ):
                return True
        return False

    def _is_below(self, left: Expr, right: Expr) -> bool:
        difference = self.exact(left).plus(self.exact(right), -1)
        above = self.sum_interval(difference)[1]
        return above < 0 if above is not None else self._follows(difference)

    def _is_positive_factor(self, value: Expr, unit: Expr) -> bool:
        """Whether a loop variable of `value` has an extent with factor `unit`, so that unit > 0."""
        for var in variables(value):
            if (end := self._ends.get(var)) is not None:
                extent = end.plus(Linear({var: 1}), -1)
                if len(extent.terms) == 1 and not extent.constant:
                    (atom,) = extent.terms
                    if unit in _factors(atom):
                        return True
        return False

    def holds(self, condition: Expr) -> bool:
        """Whether a condition is provably true."""
        simple = self(condition)
        return isinstance(simple, Const) and bool(simple.value)


def _factors(product: Expr) -> list[Expr]:
    """All factors of a product: its operands, and those of nested products."""
    found = [product]
    while isinstance(product, Binary) and product.op == "mul":
        found += [product.left, product.right]
        product = product.left
    return found


def _decide(always: bool, never: bool) -> bool | None:
    return True if always else False if never else None
