"""Legalization: scalar expressions in instructions that the target has.

    x + y                 of float16     ->   float32(x) + float32(y), rounded where it is stored
    a*b + c               of floats      ->   fma(a, b, c), where the target has it
    exp(x)                               ->   a polynomial (relay.te.math)
    int32(x)              of float32     ->   saturating
    uint8(round(x) + 3)   of float32     ->   int32 nearest to x limited to [-3, 252], plus 3

Narrow floats are computed in float32 and rounded when stored or cast; 2-bit and 4-bit integers are
computed in 8 bits and wrapped. The result has only float32, float64, bool and integers of 8 to 64
bits, except at reads and in the last cast before a store.
"""

from __future__ import annotations

from relay import dtypes, tree
from relay.immutable import frozen
from relay.te import expr as te
from relay.te import math as elementary
from relay.te import narrow
from relay.te.instruction import INSTRUCTIONS
from relay.te.loops import Let, Statement, Store, map_expressions


@frozen
class Facts:
    """The instructions of the target."""

    has_fma: bool = True
    has_f16c: bool = True
    has_rounding: bool = True  # floor, ceil, trunc, round
    has_nearest: bool = False  # from float32 to the nearest int32
    # of `relay.te.instruction`, by name, and functions of `relay.scalar_functions` that stay calls
    instructions: frozenset[str] = frozenset()


def carrier(dtype: str) -> str:
    """The type that values of `dtype` are computed in."""
    if dtype in narrow.NARROW_FLOATS:
        return "float32"
    return narrow.STORAGE.get(dtype, dtype)


def legalize(statement: Statement, facts: Facts) -> Statement:
    """Legalize every expression of a statement."""
    done: dict[te.Expr, te.Expr] = {}
    carried: dict[te.Var, te.Var] = {}  # variables in their carrier types

    def step(before: te.Expr, after: te.Expr) -> te.Expr:
        if isinstance(before, te.Var) and (kind := carrier(before.dtype)) != before.dtype:
            return carried.setdefault(before, te.Var(kind, before.name))
        if (known := done.get(before)) is None:
            known = done[before] = _one(before, after, facts)
        return known

    def change(expr: te.Expr) -> te.Expr:
        return tree.transform(expr, step)

    def store(before: Statement, after: Statement) -> Statement:
        if isinstance(after, Let) and after.var in carried:
            return Let(carried[after.var], after.value, after.body)
        if isinstance(after, Store):
            value = stored(after.value, after.buffer.dtype, facts)
            return Store(after.buffer, after.indices, value, after.streaming)
        return after

    return tree.transform(map_expressions(statement, change), store)


def stored(value: te.Expr, dtype: str, facts: Facts) -> te.Expr:
    """A value in its carrier, converted to the storage type."""
    return narrow.to_narrow(value, dtype, facts) if dtype in narrow.NARROW_FLOATS else value


def _one(before: te.Expr, after: te.Expr, facts: Facts) -> te.Expr:
    """The legal form of `before`; the children of `after` are legal."""
    kind = carrier(before.dtype)
    match after:
        case te.Const():
            return te.const(after.value, kind)
        case te.Read():
            if before.dtype in narrow.NARROW_FLOATS:
                return narrow.from_narrow(after, facts)
            if kind == after.dtype:
                return after
            # the upper bits of the byte are undefined
            return narrow.low_bits(te.Read(kind, after.source, after.indices), before.dtype)
        case te.Binary():
            if dtypes.is_float(kind):
                return _float_binary(after.op, after.left, after.right, facts)
            return narrow.low_bits(te.binary(after.op, after.left, after.right), before.dtype)
        case te.Unary():
            return narrow.low_bits(te.unary(after.op, after.operand), before.dtype)
        case te.Select():
            return te.select(after.condition, after.if_true, after.if_false)
        case te.Cast():
            assert isinstance(before, te.Cast)
            return narrow.expand_cast(after.operand, before.operand.dtype, before.dtype, facts)
        case te.Bitcast():
            assert isinstance(before, te.Bitcast)
            bits = stored(after.operand, before.operand.dtype, facts)
            if before.dtype in narrow.NARROW_FLOATS:
                return narrow.from_narrow(te.Bitcast(before.dtype, bits), facts)
            return narrow.low_bits(te.Bitcast(kind, bits), before.dtype)
        case te.Call():
            if before.dtype in narrow.STORAGE and after.function in ("popcount", "clz"):
                counted = _of_few_bits(after, te.width(before.dtype))
                return narrow.low_bits(counted, before.dtype)
            if after.function in INSTRUCTIONS:
                one = INSTRUCTIONS[after.function]
                return after if after.function in facts.instructions else one.expand(after)
            return elementary.expand(te.Call(kind, after.function, after.args), facts)
        case _:
            return te.remake(before, after)


def _of_few_bits(expr: te.Call, bits: int) -> te.Expr:
    """Expand popcount or clz of the low bits, in 8 bits."""
    counted = te.call(expr.function, *(arg & ((1 << bits) - 1) for arg in expr.args))
    return counted - (8 - bits) if expr.function == "clz" else counted


def _float_binary(op: str, left: te.Expr, right: te.Expr, facts: Facts) -> te.Expr:
    match op:
        case "add" | "sub" if facts.has_fma:
            if isinstance(left, te.Binary) and left.op == "mul":
                return te.call("fma", left.left, left.right, right if op == "add" else -right)
            if isinstance(right, te.Binary) and right.op == "mul":
                factor = right.left if op == "add" else -right.left
                return te.call("fma", factor, right.right, left)
        case "truncdiv":
            return elementary.expand(te.call("trunc", left / right), facts)
        case "truncmod":
            return elementary.expand(te.call("fmod", left, right), facts)
        case "mod" | "floordiv":
            rest = elementary.expand(te.call("fmod", left, right), facts)
            zero, one = te.const(0, right.dtype), te.const(1, right.dtype)
            # the remainder takes the sign of the divisor
            wrong = te.not_equal(rest, 0.0) & ((rest < 0.0) ^ (right < 0.0))
            if op == "mod":
                sign = te.call("copysign", zero, right)
                return te.select(te.equal(rest, 0.0), sign, te.select(wrong, rest + right, rest))
            exact = (left - rest) / right
            quotient = elementary.expand(
                te.call("round", exact - te.select(wrong, one, zero)), facts
            )
            # a zero takes the sign of the quotient
            signed = te.call("copysign", quotient, left / right)
            return te.select(te.equal(right, 0.0), left / right, signed)
    return te.binary(op, left, right)
