"""Rules: arithmetic and selections with a shorter form.

    negative(negative(%x))                       ->  %x
    floor(floor(%x))                             ->  floor(%x)
    add(%x, negative(%y))                        ->  subtract(%x, %y)
    add(%x, %x)                                  ->  multiply(%x, 2f)
    divide(1f, sqrt(%x))                         ->  rsqrt(%x)
    divide(%x, sqrt(%v)) of (4, 8) and (4, 1)    ->  multiply(%x, rsqrt(%v))
    power(%x, 2f)                                ->  multiply(%x, %x)
    where(True, %x, %y)                          ->  %x

Integers give the same values. Floats are rounded once more or less where a quotient or a power
becomes a product.
"""

from __future__ import annotations

from relay import dtypes
from relay.ir.expr import Call, Expr, If, TupleGetItem, const
from relay.op.facts import Trait
from relay.op.tensor.binary import add, multiply, subtract
from relay.op.tensor.unary import rsqrt
from relay.transform.simplify.peephole import Rules, having
from relay.transform.simplify.rule_window import Window, covers, static_size
from relay.transform.simplify.uniform_operands import uniform

# --- one operator after another ------------------------------------------------------------------


def twice_is_none(call: Call, window: Window) -> Expr | None:
    """negative(negative(%x))  ->  %x"""
    inner = _same_before(call, window)
    return None if inner is None else inner.args[0]


def twice_is_once(call: Call, window: Window) -> Expr | None:
    """floor(floor(%x))  ->  floor(%x)"""
    return None if _same_before(call, window) is None else call.args[0]


def _same_before(call: Call, window: Window) -> Call | None:
    """The argument, if it is a call of the same unary operator with the same attributes."""
    inner = window.call_of(call.args[0], lambda op: op is call.op)
    if inner is None or len(call.args) > 1 or inner.attrs != call.attrs:
        return None
    return inner


def rounding_of_integers(call: Call, window: Window) -> Expr | None:
    """floor(%i) of integers  ->  %i"""
    return call.args[0] if dtypes.is_integer(window.dtype(call.args[0])) else None


def reverse_twice(call: Call, window: Window) -> Expr | None:
    """reverse(reverse(%x, axis=1), axis=1)  ->  %x"""
    inner, ty = window.call_of(call.args[0], "reverse"), window.tensor(call)
    if inner is None or ty is None:
        return None
    axes = [c.attrs.axis for c in (call, inner)]  # type: ignore[union-attr]
    first, second = (None if axis is None else axis % len(ty.shape) for axis in axes)
    return inner.args[0] if first == second else None


def copied(call: Call, window: Window) -> Expr | None:
    """copy(%x)  ->  %x: values do not change"""
    return call.args[0]


def plus_negative(call: Call, window: Window) -> Expr | None:
    """add(%x, negative(%y))  ->  subtract(%x, %y)"""
    left, right = call.args
    if (negated := window.call_of(right, "negative")) is not None:
        return subtract(left, negated.args[0])
    if (negated := window.call_of(left, "negative")) is not None and window.is_pure(left, right):
        return subtract(right, negated.args[0])
    return None


def minus_negative(call: Call, window: Window) -> Expr | None:
    """subtract(%x, negative(%y))  ->  add(%x, %y)"""
    negated = window.call_of(call.args[1], "negative")
    return None if negated is None else add(call.args[0], negated.args[0])


# --- sums, quotients and powers ------------------------------------------------------------------


def twice_the_same(call: Call, window: Window) -> Expr | None:
    """add(%x, %x)  ->  multiply(%x, 2), and of bool  ->  %x"""
    left, right = call.args
    dtype = window.dtype(left)
    if left is not right or window.is_constant(left) or not dtype:
        return None
    return left if dtype == "bool" else multiply(left, const(2, dtype))


def by_square_root(call: Call, window: Window) -> Expr | None:
    """divide(1, sqrt(%x))  ->  rsqrt(%x); of fewer elements than the result, a product with it"""
    top, bottom = call.args
    root = window.call_of(bottom, "sqrt")
    if root is None or window.is_constant(bottom) or not window.is_used_once(bottom):
        return None
    value = uniform(top, window)
    is_one = value is not None and bool(value == 1)
    if is_one and covers(window.tensor(bottom), window.tensor(top)):
        return rsqrt(root.args[0])
    few, many = static_size(window.tensor(bottom)), static_size(window.tensor(call))
    if few is None or many is None or few >= many:
        return None
    return multiply(top, rsqrt(root.args[0]))


def small_power(call: Call, window: Window) -> Expr | None:
    """power(%x, 2)  ->  multiply(%x, %x), and a third power likewise"""
    base, exponent = call.args
    value = uniform(exponent, window)
    if value is None or window.is_constant(base):
        return None
    if not covers(window.tensor(base), window.tensor(exponent)):
        return None
    square = multiply(base, base)
    if bool(value == 2):
        return square
    return multiply(square, base) if bool(value == 3) else None


# --- choices -------------------------------------------------------------------------------------


def known_choice(call: Call, window: Window) -> Expr | None:
    """where(True, %x, %y)  ->  %x, and where(%c, %x, %x)  ->  %x"""
    condition, x, y = call.args
    if x is y:
        whole = covers(window.tensor(x), window.tensor(condition))
        return x if whole and window.is_pure(condition) else None
    value = uniform(condition, window)
    if value is None:
        return None
    taken, left = (x, y) if bool(value) else (y, x)
    others = (window.tensor(condition), window.tensor(left))
    whole = all(covers(window.tensor(taken), other) for other in others)
    return taken if whole and window.is_pure(condition, left) else None


def known_branch(e: If, window: Window) -> Expr | None:
    """`if (True) { a } else { b }`  ->  a"""
    value = window.value(e.cond)
    if value is None or not window.is_pure(e.cond):
        return None
    return e.true_branch if bool(value) else e.false_branch


def same_extremum(call: Call, window: Window) -> Expr | None:
    """maximum(%x, %x)  ->  %x"""
    return call.args[0] if call.args[0] is call.args[1] else None


def known_field(e: TupleGetItem, window: Window) -> Expr | None:
    """(a, b).0  ->  a"""
    fields = window.fields(e.tuple_value)
    if fields is None:
        return None
    others = fields[: e.index] + fields[e.index + 1 :]
    return fields[e.index] if window.is_pure(*others) else None


RULES: Rules = {
    having(Trait.INVOLUTION): (twice_is_none,),
    having(Trait.ROUNDS): (rounding_of_integers,),
    having(Trait.IDEMPOTENT): (twice_is_once,),
    "reverse": (reverse_twice,),
    "copy": (copied,),
    "add": (plus_negative, twice_the_same),
    "subtract": (minus_negative,),
    "divide": (by_square_root,),
    "power": (small_power,),
    "maximum": (same_extremum,),
    "minimum": (same_extremum,),
    "where": (known_choice,),
    If: (known_branch,),
    TupleGetItem: (known_field,),
}
