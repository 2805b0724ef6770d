"""Machine instructions that do several steps of a reduction at once.

    c + u[0]*s[0] + u[1]*s[1] + u[2]*s[2] + u[3]*s[3]        dot4(c, u[0:4], s[0:4])

An `Instruction` is defined by a reduction over placeholder operands; a reduction of the same form
can use it (`schedule.tensorize`). In loops it is a call of that name: the accumulator, then each
operand at every step.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay import tree
from relay.immutable import frozen
from relay.te import expr as te
from relay.te.reduction import SUM

_COMMUTE = ("add", "mul", "min", "max", "and", "or", "xor")


@frozen
class Instruction:
    """`reduction` has one value and one axis; the sources it reads are the operands."""

    name: str
    reduction: te.Reduce

    @property
    def steps(self) -> int:
        """The number of reduction steps it does."""
        extent = self.reduction.axes[0].extent
        assert isinstance(extent, te.Const)
        return int(extent.value)

    @property
    def operands(self) -> list[te.Source]:
        return [read.source for read in te.reads(self.reduction.values[0])]

    def match(self, reduction: te.Reduce) -> tuple[te.Expr, ...] | None:
        """The operands, if the reduction has the form of the instruction; None if not."""
        if reduction.combiner is not self.reduction.combiner or len(reduction.values) != 1:
            return None
        found = _match(self.reduction.values[0], reduction.values[0], {})
        return None if found is None else tuple(found[operand] for operand in self.operands)

    def call(self, start: te.Expr, operands: Sequence[Sequence[te.Expr]]) -> te.Expr:
        """The call; `operands` has the values of each operand at every step."""
        each = [value for operand in operands for value in operand]
        return te.Call(start.dtype, self.name, (start, *each))

    def expand(self, call: te.Call) -> te.Expr:
        """The steps of a call one by one, for targets without the instruction."""
        total, *values = call.args
        for step in range(self.steps):
            given = {id(one): values[i * self.steps + step] for i, one in enumerate(self.operands)}

            def put(before: te.Expr, after: te.Expr, given: dict[int, te.Expr] = given) -> te.Expr:
                return (
                    given[id(after.source)]
                    if isinstance(after, te.Read)
                    else te.remake(before, after)
                )

            value = tree.transform(self.reduction.values[0], put)
            (total,) = self.reduction.combiner.combine((total,), (value,))
        return total


def _match(
    pattern: te.Expr, value: te.Expr, found: dict[te.Source, te.Expr]
) -> dict[te.Source, te.Expr] | None:
    """Bind the sources of a pattern; recursion is as deep as the pattern."""
    if pattern.dtype != value.dtype:
        return None
    if isinstance(pattern, te.Read):
        return {**found, pattern.source: value}
    below, under = tree.children(pattern), tree.children(value)
    if type(pattern) is not type(value) or len(below) != len(under):
        return None
    if isinstance(pattern, te.Binary) and isinstance(value, te.Binary):
        if pattern.op != value.op:
            return None
        if pattern.op in _COMMUTE:
            turned = _match_all(below, under[::-1], found)
            return _match_all(below, under, found) or turned
    return _match_all(below, under, found)


def _match_all(
    patterns: Sequence[te.Expr], values: Sequence[te.Expr], found: dict[te.Source, te.Expr]
) -> dict[te.Source, te.Expr] | None:
    current: dict[te.Source, te.Expr] | None = found
    for pattern, value in zip(patterns, values, strict=True):
        if current is not None:
            current = _match(pattern, value, current)
    return current


def _dot(name: str, steps: int, left: str, right: str) -> Instruction:
    """A dot product of narrow integers, accumulated in int32."""
    step = te.Axis(te.INDEX, "t", te.const(steps, te.INDEX))
    factors = (te.Source(side, (step.extent,), side) for side in (left, right))
    first, second = (te.cast(factor[step], "int32") for factor in factors)
    return Instruction(name, te.Reduce("int32", SUM, (step,), (first * second,)))


DOT4 = _dot("dot4", 4, "uint8", "int8")
DOT4_SIGNED = _dot("dot4s", 4, "int8", "int8")
DOT4_UNSIGNED = _dot("dot4u", 4, "uint8", "uint8")
DOT2 = _dot("dot2", 2, "int16", "int16")
INSTRUCTIONS = {one.name: one for one in (DOT4, DOT4_SIGNED, DOT4_UNSIGNED, DOT2)}
