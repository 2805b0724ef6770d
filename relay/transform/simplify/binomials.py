"""Rules: sums of products that are the square of a sum.

    x * x + 2 * x * y + y * y   ->  (x + y) * (x + y)
    x * x - 2 * x * y + y * y   ->  (x - y) * (x - y)

with terms and factors in any order. Integers give the same values; floats are rounded less often,
and a difference of nearly equal numbers keeps its digits.
"""

from __future__ import annotations

from relay.ir.expr import Call, Expr
from relay.op.tensor.binary import add, multiply, subtract
from relay.transform.simplify.peephole import Rules
from relay.transform.simplify.rule_window import Window
from relay.transform.simplify.uniform_operands import uniform


def square_of_sum(call: Call, window: Window) -> Expr | None:
    """%x * %x + 2 * %x * %y + %y * %y  ->  (%x + %y) * (%x + %y), and the same with a minus"""
    terms = _terms(call, window)
    if terms is None:
        return None
    squares = [factors[0] for _, factors in terms if len(factors) == 2 and _is_square(factors)]
    if len(squares) != 2 or not window.is_pure(*squares):
        return None
    x, y = squares
    for sign, factors in terms:
        rest = _without_two(factors, window)
        if rest is None or {id(f) for f in rest} != {id(x), id(y)} or x is y:
            continue
        if all(s > 0 for s, others in terms if others is not factors):
            root = add(x, y) if sign > 0 else subtract(x, y)
            return multiply(root, root)
    return None


Term = tuple[int, list[Expr]]


def _terms(call: Call, window: Window) -> list[Term] | None:
    """The three terms of a sum as (sign, factors); None where there are more or fewer."""
    terms: list[Term] = []
    pending: list[tuple[int, Expr, bool]] = [(1, call, True)]
    while pending:
        sign, e, is_root = pending.pop()
        sum_ = window.call_of(e, "add", "subtract")
        if sum_ is not None and (is_root or window.is_used_once(e)) and len(pending) < 3:
            minus = sum_.op.name == "subtract"  # type: ignore[attr-defined]
            pending += [
                (-sign if minus else sign, sum_.args[1], False),
                (sign, sum_.args[0], False),
            ]
            continue
        factors = _factors(e, window)
        if factors is None or len(terms) == 3:
            return None
        terms.append((sign, factors))
    return terms if len(terms) == 3 else None


def _factors(e: Expr, window: Window) -> list[Expr] | None:
    """The factors of a product of two or three."""
    product = window.call_of(e, "multiply")
    if product is None or not window.is_used_once(e):
        return None
    factors: list[Expr] = []
    for arg in product.args:
        inner = window.call_of(arg, "multiply") if len(factors) < 2 else None
        factors += [arg] if inner is None or not window.is_used_once(arg) else inner.args
    return factors if len(factors) <= 3 else None


def _is_square(factors: list[Expr]) -> bool:
    return factors[0] is factors[1]


def _without_two(factors: list[Expr], window: Window) -> list[Expr] | None:
    """The other factors, where one of three is 2."""
    if len(factors) != 3:
        return None
    for i, factor in enumerate(factors):
        value = uniform(factor, window)
        if value is not None and not window.tensor(factor).shape and bool(value == 2):  # type: ignore[union-attr]
            return factors[:i] + factors[i + 1 :]
    return None


RULES: Rules = {"add": (square_of_sum,), "subtract": (square_of_sum,)}
