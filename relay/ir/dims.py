"""Dimensions of tensors: integers, named dynamic dimensions, arithmetic over them, and `Any`.

A dimension is an int, an atom, or a polynomial over atoms. Atoms are variables and what cannot be
written as a polynomial: `a // b`, `min`, `max`. Every expression has one canonical form, so

    n + 1 + n  ==  2 * n + 1      (2 * n + 1) // 2  ==  n      (n // 2 + 1) // 3  ==  (n + 2) // 6

hold by construction and equality is comparison. `a % b` is `a - b * (a // b)`, so that quotient and
remainder always add up. `Any` is an unknown dimension; arithmetic on it is `Any`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import gcd
from operator import index
from typing import Final

# A larger expression becomes `Any`, which is always sound.
MAX_TERMS: Final = 64  # of a sum, a minimum or a maximum
MAX_NESTING: Final = 32  # of quotients, minima and maxima inside each other
MAX_SIZE: Final = 512  # factors, terms and arguments in all


class Symbol:
    """A dimension that is not an integer literal; arithmetic on it gives canonical dimensions."""

    __slots__ = ()
    __array_ufunc__ = None  # NumPy's integers leave arithmetic with a symbol to the symbol

    def form_hash(self) -> int:
        """A hash that does not depend on which variables occur, so renaming keeps it."""
        return 0x5EED

    def __add__(self, other: Dim) -> Dim:
        return add(self, _operand(other))

    def __radd__(self, other: Dim) -> Dim:
        return add(_operand(other), self)

    def __sub__(self, other: Dim) -> Dim:
        return subtract(self, _operand(other))

    def __rsub__(self, other: Dim) -> Dim:
        return subtract(_operand(other), self)

    def __neg__(self) -> Dim:
        return multiply(self, -1)

    def __mul__(self, other: Dim) -> Dim:
        return multiply(self, _operand(other))

    def __rmul__(self, other: Dim) -> Dim:
        return multiply(_operand(other), self)

    def __floordiv__(self, other: Dim) -> Dim:
        return floor_divide(self, _operand(other))

    def __rfloordiv__(self, other: Dim) -> Dim:
        return floor_divide(_operand(other), self)

    def __mod__(self, other: Dim) -> Dim:
        return remainder(self, _operand(other))

    def __rmod__(self, other: Dim) -> Dim:
        return remainder(_operand(other), self)


Dim = int | Symbol


def _operand(value: Dim) -> Dim:
    """What stands beside a symbol: another, or any integer; TypeError for the rest."""
    return value if type(value) is int or isinstance(value, Symbol) else index(value)


class Any(Symbol):
    """An unknown dimension, written `?`. Any two compare equal as types, but need not be equal at
    run time."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Any)

    def __hash__(self) -> int:
        return hash(Any)

    def form_hash(self) -> int:
        return hash(Any)

    def __repr__(self) -> str:
        return "?"


ANY: Final = Any()

# A product of atoms with their powers; the empty product is the constant term.
Monomial = frozenset[tuple[Symbol, int]]
ONE: Final[Monomial] = frozenset()


class _Compound(Symbol):
    """A dimension with parts: its hashes, nesting and size are computed once."""

    __slots__ = ("_form_hash", "_hash", "nesting", "size")
    _form_hash: int
    _hash: int
    nesting: int
    size: int

    def __hash__(self) -> int:
        return self._hash

    def form_hash(self) -> int:
        return self._form_hash

    def __repr__(self) -> str:
        return render(self)


class DimExpr(_Compound):
    """A polynomial of at least two terms, or one term that is not a bare atom."""

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[Monomial, int]) -> None:
        self.terms: dict[Monomial, int] = dict(terms)
        self.nesting = max((_nesting(a) for m in terms for a, _ in m), default=0)
        self.size = len(terms) + sum(_size(a) * p for m in terms for a, p in m)
        self._hash = hash(frozenset(terms.items()))
        forms = ((sorted((structural_hash(a), p) for a, p in m), c) for m, c in terms.items())
        self._form_hash = hash(frozenset((tuple(form), c) for form, c in forms))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, DimExpr) or self._hash != other._hash:
            return False
        return self.terms == other.terms

    __hash__ = _Compound.__hash__


class DimCall(_Compound):
    """An atom that is a function of dimensions: `//`, `min` or `max`."""

    __slots__ = ("_key", "args", "function")

    def __init__(self, function: str, args: tuple[Dim, ...]) -> None:
        self.function = function
        self.args = args
        self.nesting = 1 + max(_nesting(a) for a in args)
        self.size = 1 + sum(_size(a) for a in args)
        self._key: object = args if function == "//" else frozenset(args)
        self._hash = hash((function, self._key))
        hashes = [structural_hash(a) for a in args]
        self._form_hash = hash((function, *(hashes if function == "//" else sorted(hashes))))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, DimCall) or self._hash != other._hash:
            return False
        return self.function == other.function and self._key == other._key

    __hash__ = _Compound.__hash__


def structural_hash(dim: Dim) -> int:
    """A hash of the form of a dimension: one that renaming keeps."""
    return hash(dim) if isinstance(dim, int) else dim.form_hash()


def _nesting(dim: Dim) -> int:
    return dim.nesting if isinstance(dim, _Compound) else 0


def _size(dim: Dim) -> int:
    return dim.size if isinstance(dim, _Compound) else 1


def _terms(dim: Dim) -> Mapping[Monomial, int]:
    if isinstance(dim, int):
        return {ONE: int(dim)}
    if isinstance(dim, DimExpr):
        return dim.terms
    return {frozenset(((dim, 1),)): 1}


def _from_terms(terms: dict[Monomial, int]) -> Dim:
    terms = {m: c for m, c in terms.items() if c}
    if not terms:
        return 0
    if len(terms) > MAX_TERMS:
        return ANY
    if len(terms) == 1:
        ((monomial, coefficient),) = terms.items()
        if monomial == ONE:
            return coefficient
        if coefficient == 1 and len(monomial) == 1:
            ((atom, power),) = monomial
            if power == 1:
                return atom
    made = DimExpr(terms)
    return made if made.size <= MAX_SIZE else ANY


def _call(function: str, *args: Dim) -> Dim:
    made = DimCall(function, args)
    small = len(args) <= MAX_TERMS and made.nesting <= MAX_NESTING and made.size <= MAX_SIZE
    return made if small else ANY


def add(a: Dim, b: Dim) -> Dim:
    """A + b"""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if isinstance(a, Any) or isinstance(b, Any):
        return ANY
    total = dict(_terms(a))
    for monomial, coefficient in _terms(b).items():
        total[monomial] = total.get(monomial, 0) + coefficient
    return _from_terms(total)


def subtract(a: Dim, b: Dim) -> Dim:
    """A - b"""
    return add(a, multiply(b, -1))


def multiply(a: Dim, b: Dim) -> Dim:
    """A * b"""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    if a == 0 or b == 0:
        return 0
    if isinstance(a, Any) or isinstance(b, Any):
        return ANY
    product: dict[Monomial, int] = {}
    for left, x in _terms(a).items():
        for right, y in _terms(b).items():
            powers = dict(left)
            for atom, power in right:
                powers[atom] = powers.get(atom, 0) + power
            monomial = frozenset(powers.items())
            product[monomial] = product.get(monomial, 0) + x * y
    return _from_terms(product)


def floor_divide(a: Dim, b: Dim) -> Dim:
    """A // b, rounding towards minus infinity; what divides evenly leaves the quotient."""
    if b == 0:
        raise ZeroDivisionError("a dimension is divided by zero")
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    if b == 1:
        return a
    if isinstance(a, Any) or isinstance(b, Any):
        return ANY
    if isinstance(b, int) and b < 0:
        return floor_divide(multiply(a, -1), -b)
    if not isinstance(b, int):
        exact = exact_quotient(a, b)
        return exact if exact is not None else _call("//", a, b)

    whole: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for monomial, coefficient in _terms(a).items():
        times, left = divmod(coefficient, b)
        if monomial == ONE or left == 0:
            whole[monomial] = times
            rest[monomial] = left
        else:
            rest[monomial] = coefficient
    dynamic = [c for m, c in rest.items() if m != ONE and c]
    if not dynamic:
        return _from_terms(whole)
    common = gcd(b, *dynamic)
    divisor = b // common
    constant = rest.get(ONE, 0) // common
    remaining = _from_terms({m: c // common for m, c in rest.items() if m != ONE})
    quotient = _call("//", add(remaining, constant), divisor)
    if isinstance(remaining, DimCall) and remaining.function == "//":
        numerator, inner = remaining.args
        if isinstance(inner, int):  # (x // i + c) // d  ==  (x + c * i) // (i * d)
            quotient = floor_divide(add(numerator, constant * inner), inner * divisor)
    return add(_from_terms(whole), quotient)


def remainder(a: Dim, b: Dim) -> Dim:
    """A % b, of the sign of b"""
    return subtract(a, multiply(b, floor_divide(a, b)))


def exact_quotient(a: Dim, b: Dim) -> Dim | None:
    """The q with q * b == a, where b is a single term and divides every term of a; else None."""
    if isinstance(a, Any) or isinstance(b, Any) or b == 0:
        return None
    if a == 0 or a == b:
        return 0 if a == 0 else 1
    divisor = _terms(b)
    if len(divisor) != 1:
        return None
    ((monomial, coefficient),) = divisor.items()
    quotient: dict[Monomial, int] = {}
    for left, c in _terms(a).items():
        powers = dict(left)
        for atom, power in monomial:
            powers[atom] = powers.get(atom, 0) - power
        if c % coefficient or any(p < 0 for p in powers.values()):
            return None
        quotient[frozenset((s, p) for s, p in powers.items() if p)] = c // coefficient
    return _from_terms(quotient)


def minimum(a: Dim, b: Dim) -> Dim:
    """min(a, b)"""
    return _extremum("min", a, b)


def maximum(a: Dim, b: Dim) -> Dim:
    """max(a, b)"""
    return _extremum("max", a, b)


def _extremum(function: str, a: Dim, b: Dim) -> Dim:
    if isinstance(a, Any) or isinstance(b, Any):
        return ANY
    difference = subtract(a, b)
    sign = sign_of(difference)
    if sign is not None:
        return a if (sign >= 0) == (function == "max") else b
    parts = _parts(function, a)
    for part in _parts(function, b):
        if not any(_decides(function, other, part) for other in parts):
            parts = [other for other in parts if not _decides(function, part, other)]
            parts.append(part)
    return _call(function, *parts) if len(parts) > 1 else parts[0]


def _parts(function: str, dim: Dim) -> list[Dim]:
    """The operands of the minimum or maximum `dim`."""
    return list(dim.args) if isinstance(dim, DimCall) and dim.function == function else [dim]


def _decides(function: str, a: Dim, b: Dim) -> bool:
    """Whether `a` is always at least as small, or as large, as `b`."""
    sign = sign_of(subtract(a, b))
    return sign is not None and (sign >= 0 if function == "max" else sign <= 0)


def sign_of(dim: Dim) -> int | None:
    """1, 0 or -1 when `dim` is always at least, exactly or at most 0; else None.

    Variables are never negative. The recursion is bounded by MAX_NESTING.
    """
    if isinstance(dim, int):
        return (dim > 0) - (dim < 0)
    if isinstance(dim, Any):
        return None
    calls = (atom for m in _terms(dim) for atom, _ in m if isinstance(atom, DimCall))
    if not all(map(_never_negative, calls)):
        return None
    coefficients = _terms(dim).values()
    if all(c >= 0 for c in coefficients):
        return 1
    return -1 if all(c <= 0 for c in coefficients) else None


def _never_negative(call: DimCall) -> bool:
    signs = [sign_of(arg) for arg in call.args]
    if call.function == "max":
        return any(sign is not None and sign >= 0 for sign in signs)
    return all(sign is not None and sign >= 0 for sign in signs)


def atoms(dim: Dim) -> Iterator[Symbol]:
    """Every variable in `dim`, those inside `//`, `min` and `max` included, with repetition.

    The order depends on names, not on identities, so that it is the same in every run.
    """
    pending = [dim]
    while pending:
        current = pending.pop()
        if isinstance(current, DimExpr):
            for monomial in reversed(current.terms):
                pending.extend(sorted((a for a, _ in monomial), key=str, reverse=True))
        elif isinstance(current, DimCall):
            pending.extend(reversed(current.args))
        elif isinstance(current, Symbol) and not isinstance(current, Any):
            yield current


def substitute(dim: Dim, value_of: Callable[[Symbol], Dim]) -> Dim:
    """`dim` in canonical form with every variable replaced by `value_of` it.

    The recursion is bounded by MAX_NESTING.
    """
    if isinstance(dim, int | Any):
        return dim
    if isinstance(dim, DimCall):
        args = [substitute(a, value_of) for a in dim.args]
        if dim.function == "//":
            return floor_divide(*args)
        result = args[0]
        for other in args[1:]:
            result = _extremum(dim.function, result, other)
        return result
    if isinstance(dim, DimExpr):
        total: Dim = 0
        for monomial, coefficient in dim.terms.items():
            product: Dim = coefficient
            for atom, power in monomial:
                replaced = substitute(atom, value_of)
                for _ in range(power):
                    product = multiply(product, replaced)
            total = add(total, product)
        return total
    return value_of(dim)


def linear_in(dim: Dim, variable: Symbol) -> tuple[int, Dim] | None:
    """(c, r) with dim == c * variable + r and r free of `variable`; None when there is none."""
    coefficient = 0
    rest: dict[Monomial, int] = {}
    bare: Monomial = frozenset(((variable, 1),))
    for monomial, c in _terms(dim).items():
        if monomial == bare:
            coefficient = c
        elif any(variable in atoms(a) for a, _ in monomial):
            return None
        else:
            rest[monomial] = c
    return (coefficient, _from_terms(rest)) if coefficient else None


def equal(a: Dim, b: Dim) -> bool | None:
    """True: equal for all values of the variables; False: not for all; None: undecided.

    Polynomials over plain variables are always decided; quotients, minima and `Any` may not be.
    """
    if isinstance(a, Any) or isinstance(b, Any):
        return None
    difference = subtract(a, b)
    if difference == 0:
        return True
    if isinstance(difference, int):
        return False
    if isinstance(difference, Any):
        return None
    opaque = any(isinstance(atom, DimCall) for m in _terms(difference) for atom, _ in m)
    return None if opaque else False


def render(dim: Dim, name_of: Callable[[Symbol], str] = str) -> str:
    """The text form; `name_of` spells the variables."""
    return _render(dim, name_of, 0)


def _render(dim: Dim, name_of: Callable[[Symbol], str], binding: int) -> str:
    """`binding`: how tightly the context binds (0 loose, 1 inside a product or quotient)."""
    if isinstance(dim, int):
        return str(int(dim)) if dim >= 0 or not binding else f"({int(dim)})"
    if isinstance(dim, Any):
        return "?"
    if isinstance(dim, DimCall):
        if dim.function == "//":
            text = " // ".join(_render(a, name_of, 1) for a in dim.args)
            return f"({text})" if binding else text
        parts = sorted(_render(a, name_of, 0) for a in dim.args)
        return f"{dim.function}({', '.join(parts)})"
    if not isinstance(dim, DimExpr):
        return name_of(dim)
    rendered = []
    for monomial, coefficient in dim.terms.items():
        factors = sorted(
            _render(atom, name_of, 1) for atom, power in monomial for _ in range(power)
        )
        size = abs(coefficient)
        if size != 1 or not factors:
            factors.insert(0, str(size))
        degree = sum(p for _, p in monomial)
        rendered.append((-degree, " * ".join(factors), coefficient < 0))
    rendered.sort(key=lambda term: (term[0] == 0, term[2], term[0], term[1]))
    text = ("-" if rendered[0][2] else "") + rendered[0][1]
    for _, term, negative in rendered[1:]:
        text += (" - " if negative else " + ") + term
    return f"({text})" if binding else text
