"""Group attention into one primitive function, however it is written:

%0 = nn.batch_matmul(%q, %k, transpose_b=True);
%1 = add(multiply(%0, 0.125f), %mask);
nn.batch_matmul(nn.softmax(%1), %v)
->
fn (%p0, %p1, %p2, %p3, Primitive=1, Pattern="attention") {
  %0 = nn.batch_matmul(%p0, %p1, transpose_b=True);
  %1 = add(multiply(%0, 0.125f), %p2);
  nn.batch_matmul(nn.softmax(%1), %p3)
}(%q, %k, %mask, %v)

for %q, %k: Tensor[(8, 16, 64), float32], %v: Tensor[(8, 16, 64), float32],
%mask: Tensor[(16, 16), float32]

The scores, the first product, may be scaled and masked, by addition or by `where`, in any order;
they may be converted, and axes before the last two split and joined. The softmax is over the keys,
the last axis: the operator, or max, subtract, exp, sum and divide. Only the second product uses any
of it. FuseOps keeps the function as it is: a kernel for all of it never stores all scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay import tree
from relay.immutable import frozen
from relay.ir.expr import Call, Expr, Function, Syntax
from relay.ir.function_attrs import is_sealed
from relay.ir.types import TensorType
from relay.op.opdef import OpDef
from relay.transform.base import FunctionPass
from relay.transform.fusion.fusion_cost import elements_of
from relay.transform.fusion.fusion_dataflow import Dataflow
from relay.transform.fusion.fusion_kernels import Kernels
from relay.transform.fusion.fusion_reductions import reduction_of

__all__ = ["ATTENTION", "PATTERN", "RecognizeAttention"]

PATTERN = "Pattern"  # the attribute that says which known pattern a primitive function is
ATTENTION = "attention"

PRODUCT = "nn.batch_matmul"
SOFTMAX = ("nn.softmax", "nn.fast_softmax")
# operators between the products, on scores and on the result of softmax
CONVERSIONS = ("cast", "reshape", "expand_dims", "squeeze")
STEPS = ("multiply", "divide", "add", "subtract", "where", *CONVERSIONS)
FAR = 32  # operators to search


@frozen
class RecognizeAttention(FunctionPass):
    """Groups every attention into a primitive function, marked `Pattern="attention"`."""

    opt_level = 2
    required = ("InferType",)

    def rewrite(self, function: Function) -> Function:
        body: Syntax = function
        calls = (node for node in tree.postorder(body) if isinstance(node, Call))
        if is_sealed(function) or not any(_name(call) == PRODUCT for call in calls):
            return function
        flow = Dataflow(function)
        if not flow.may_move:
            return function
        root = list(range(len(flow.nodes)))
        found: set[int] = set()
        for i in range(len(flow.nodes)):
            inside = _Attention(flow).of(i)
            # the first product of one attention may be the second of another
            if inside and all(root[member] == member and member not in found for member in inside):
                found.add(i)
                for member in inside:
                    root[member] = i
        if not found:
            return function
        return Kernels(flow, root, found, {PATTERN: ATTENTION}).of(function)


class _Attention:
    """Matches one attention from its last product."""

    def __init__(self, flow: Dataflow) -> None:
        self._flow = flow
        self._inside: set[int] = set()

    def of(self, last: int) -> set[int] | None:
        """The nodes of the attention whose second product is node `last`; None if there is none."""
        product = self._call(last)
        if product is None or _name(product) != PRODUCT or _attrs(product).transpose_a:
            return None
        self._inside = {last}
        normal = self._follow(product.args[0], CONVERSIONS, (*SOFTMAX, "divide"))
        scores = None if normal is None else self._softmax(normal)
        start = None if scores is None else self._follow(scores, STEPS, (PRODUCT,))
        first = self._take(start, PRODUCT)
        if first is None or not self._is_closed(last):
            return None
        return self._inside if self._has_shape_of(first) else None

    def _follow(self, e: Expr, steps: Sequence[str], to: Sequence[str]) -> Expr | None:
        """The call of an operator of `to` that reaches `e` through `steps`, if there is one."""
        came: dict[int, int] = {}
        pending = [self._flow.number(e)]
        for number in pending:
            call = self._call(number)
            if call is None or number is None or len(pending) > FAR:
                continue
            if _name(call) in to:
                while number in came:
                    number = came[number]
                    self._inside.add(number)
                return call
            if _name(call) in steps:
                for arg in call.args:
                    before = self._flow.number(arg)
                    # a smaller operand is a mask, not the scores
                    if before is not None and elements_of(arg) == elements_of(call):
                        came.setdefault(before, number)
                        pending.append(before)
        return None

    def _softmax(self, e: Expr) -> Expr | None:
        """The argument of the softmax `e`."""
        call = self._call(self._flow.number(e))
        if call is None:
            return None
        if _name(call) in SOFTMAX:
            return call.args[0] if _is_over_last_axis(call) and self._take(e, *SOFTMAX) else None
        return self._softmax_by_hand(e)

    def _softmax_by_hand(self, e: Expr) -> Expr | None:
        """divide(%0, sum(%0)) with %0 = exp(subtract(%1, max(%1))), or without the maximum"""
        quotient = self._take(e, "divide")
        total = self._take(quotient and quotient.args[1], "sum")
        power = self._take(quotient and quotient.args[0], "exp")
        if quotient is None or total is None or power is None:
            return None
        if not self._is_same(total.args[0], quotient.args[0]) or not _is_over_last_axis(total):
            return None
        distance = self._call(self._flow.number(power.args[0]))
        if distance is not None and _name(distance) == "subtract":
            most = self._call(self._flow.number(distance.args[1]))
            if most is not None and _name(most) == "max":
                if not self._is_same(most.args[0], distance.args[0]):
                    return None
                self._take(power.args[0], "subtract")
                self._take(distance.args[1], "max")
                return distance.args[0] if _is_over_last_axis(most) else None
        return power.args[0]

    def _call(self, number: int | None) -> Call | None:
        expr = None if number is None else self._flow.nodes[number].expr
        return expr if isinstance(expr, Call) and isinstance(expr.op, OpDef) else None

    def _take(self, e: Expr | None, *names: str) -> Call | None:
        """`e` as a call of one of the operators, which is added to the match."""
        number = None if e is None else self._flow.number(e)
        call = self._call(number)
        if call is None or number is None or _name(call) not in names:
            return None
        self._inside.add(number)
        return call

    def _is_same(self, one: Expr, other: Expr) -> bool:
        number = self._flow.number(one)
        return number is not None and number == self._flow.number(other)

    def _is_closed(self, last: int) -> bool:
        """Whether only the result is used outside."""
        nodes = self._flow.nodes
        return all(
            nodes[i].leaves_to is None and all(user in self._inside for user, _ in nodes[i].outputs)
            for i in self._inside
            if i != last
        )

    def _has_shape_of(self, first: Call) -> bool:
        """Whether all intermediate values have the shape of the scores."""
        ends = _shape(first)[-2:]
        for i in self._inside:
            call = self._call(i)
            if call is None:
                return False
            if _name(call) in (PRODUCT, "sum", "max"):
                continue
            if _shape(call)[-2:] != ends or elements_of(call) != elements_of(first):
                return False
        return True


def _name(call: Call) -> str:
    return call.op.name if isinstance(call.op, OpDef) else ""


def _attrs(call: Call) -> Any:
    assert isinstance(call.op, OpDef)
    return call.op.make_attrs({}) if call.attrs is None else call.attrs


def _is_over_last_axis(call: Call) -> bool:
    """Whether a reduction is over the last axis only and keeps it."""
    reduction = reduction_of(call)
    last = len(_shape(call.args[0])) - 1
    return reduction is not None and reduction.axes == {last} and reduction.result != "gone"


def _shape(e: Expr) -> tuple[Any, ...]:
    ty = e.checked_type
    return ty.shape if isinstance(ty, TensorType) else ()
