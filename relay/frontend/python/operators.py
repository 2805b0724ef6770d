"""Arithmetic, comparison and logic.

    + - * ** @      as in NumPy; integers wrap         a < b < c, and, or, not    of scalars
    /               of integers: float32               & | ^ ~                    of all elements
    // %            rounded down, as in Python         xs + ys    of lists: one behind the other

Python numbers are computed at translation time, and take the element type of a tensor operand.
Integers become floats where the other operand is one; nothing else is converted silently.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any, cast

from relay import dtypes
from relay.errors import RelayError
from relay.frontend.python import statics
from relay.frontend.python.lifting import Lifting, declared
from relay.frontend.python.standard import List, Option
from relay.frontend.python.unit import Value
from relay.ir.expr import Call, Expr, If, Let, Op, get_op
from relay.ir.types import BOOL, IncompleteType, TensorType, Type, TypeCall
from relay.op.linalg.matmul import batch_matmul, matmul
from relay.op.tensor.convert import cast as cast_elements
from relay.tree import Steps

ARITHMETIC: Mapping[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("add", operator.add),
    ast.Sub: ("subtract", operator.sub),
    ast.Mult: ("multiply", operator.mul),
    ast.Div: ("divide", operator.truediv),
    ast.FloorDiv: ("floor_divide", operator.floordiv),
    ast.Mod: ("floor_mod", operator.mod),
    ast.Pow: ("power", operator.pow),
    ast.LShift: ("left_shift", operator.lshift),
    ast.RShift: ("right_shift", operator.rshift),
    ast.BitAnd: ("bitwise_and", operator.and_),
    ast.BitOr: ("bitwise_or", operator.or_),
    ast.BitXor: ("bitwise_xor", operator.xor),
    ast.MatMult: ("nn.matmul", operator.matmul),
}
COMPARISON: Mapping[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Eq: ("equal", operator.eq),
    ast.NotEq: ("not_equal", operator.ne),
    ast.Lt: ("less", operator.lt),
    ast.LtE: ("less_equal", operator.le),
    ast.Gt: ("greater", operator.gt),
    ast.GtE: ("greater_equal", operator.ge),
}
_ON_STATICS: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}


class Operators(Lifting):
    """Translates operators, given their operands."""

    def arithmetic(
        self, op: ast.operator, left: Value, right: Value, node: ast.AST
    ) -> Steps[Value]:
        """`left op right`"""
        name, on_statics = ARITHMETIC[type(op)]
        if (known := self.on_statics(on_statics, left, right, node)) is not statics.MISSING:
            return known
        if isinstance(op, ast.Add) and self._are_lists(left, right):
            return (yield self._joined(left, right, node))
        left, right = yield self.operands(left, right, node)
        if isinstance(op, ast.MatMult):
            return self._product(left, right, node)
        if isinstance(op, ast.Div):
            left, right = (self._as("float32", value, node) for value in (left, right))
        return self.operation(name, left, right, node)

    def on_statics(
        self, function: Callable[..., Any], left: Value, right: Value, node: ast.AST
    ) -> Value:
        """The result on Python values; tuples may hold expressions."""
        sequences = type(left) in (tuple, list) and type(left) is type(right)
        if function is operator.add and sequences:
            return left + right
        if not (statics.is_static(left) and statics.is_static(right)):
            return statics.MISSING
        try:
            return statics.compute(function, [left, right], {})
        except RelayError as error:
            raise self.error(node, str(error)) from None

    def operands(self, left: Value, right: Value, node: ast.AST) -> Steps[tuple[Expr, Expr]]:
        """Two values as expressions; a number takes the element type of the other operand, and
        integers become floats where the other operand is one."""
        if statics.is_number(left):
            right = yield self.lift(right, node)
            left = yield self.lift(left, node, self.type_of(right), open_=True)
        else:
            left = yield self.lift(left, node)
            right = yield self.lift(right, node, self.type_of(left), open_=True)
        types = [self.type_of(left), self.type_of(right)]
        floats = [t.dtype for t in types if isinstance(t, TensorType) and dtypes.is_float(t.dtype)]
        if len(floats) == 1:
            left, right = (self._as(floats[0], value, node) for value in (left, right))
        return left, right

    def operation(self, name: str, left: Expr, right: Expr, node: ast.AST) -> Expr:
        """A call of an operator of two arguments."""
        return self.placed(Call(get_op(name), (left, right)), node, left, right)

    def _as(self, dtype: str, value: Expr, node: ast.AST) -> Expr:
        """A tensor of integers as one of floats; anything else as it is."""
        ty = self.type_of(value)
        if isinstance(ty, TensorType) and dtypes.is_integer(ty.dtype):
            return self.placed(cast_elements(value, dtype), node, value)
        return value

    def _product(self, left: Expr, right: Expr, node: ast.AST) -> Expr:
        """`left @ right` of matrices, or of batches of matrices."""
        ranks = [
            len(ty.shape) for e in (left, right) if isinstance(ty := self.type_of(e), TensorType)
        ]
        if ranks == [2, 2]:
            return self.placed(matmul(left, right), node, left, right)
        if ranks == [3, 3]:
            made = batch_matmul(left, right, transpose_a=False, transpose_b=False)
            return self.placed(made, node, left, right)
        raise self.error(
            node,
            "`@` multiplies two matrices, or two tensors of rank 3",
            "ranks 2 and 2, or 3 and 3",
            " and ".join(str(self.type_of(e)) for e in (left, right)),
            "relay.nn.dense and relay.nn.batch_matmul take other forms",
        )

    # --- lists

    def is_list(self, ty: Type) -> bool:
        return isinstance(ty, TypeCall) and ty.func == declared(List).header

    def _are_lists(self, left: Value, right: Value) -> bool:
        return any(isinstance(v, Expr) and self.is_list(self.type_of(v)) for v in (left, right))

    def _joined(self, left: Value, right: Value, node: ast.AST) -> Steps[Expr]:
        first = yield self.lift(left, node)
        second = yield self.lift(right, node, self.type_of(first))
        concat = self.program.library("concat")
        return self.placed(Call(concat, (first, second)), node, first, second)

    # --- comparison and logic

    def comparison(self, op: ast.cmpop, left: Value, right: Value, node: ast.AST) -> Steps[Value]:
        """`left op right`, one of a chain."""
        if type(op) in _ON_STATICS:
            return self._identity(op, left, right, node)
        name, on_statics = COMPARISON[type(op)]
        if (known := self.on_statics(on_statics, left, right, node)) is not statics.MISSING:
            return known
        left, right = yield self.operands(left, right, node)
        return self.operation(name, left, right, node)

    def _identity(self, op: ast.cmpop, left: Value, right: Value, node: ast.AST) -> Value:
        if isinstance(op, ast.Is | ast.IsNot) and (left is None or right is None):
            other = right if left is None else left
            if not isinstance(other, Expr) or not self._may_be_none(other):
                return _ON_STATICS[type(op)](left, right)
            raise self.error(
                node,
                "whether a value is there is found out by taking it apart",
                found="`is None` of a value of the program",
                hint="match x: case Some(value): … case None: …",
            )
        known = self.on_statics(_ON_STATICS[type(op)], left, right, node)
        if known is statics.MISSING:
            raise self.error(
                node,
                "`is` and `in` ask about values of Python, not about those of a program",
                "== or !=, or values that are known when the program is made",
            )
        return known

    def _may_be_none(self, value: Expr) -> bool:
        """Whether a value is an option, or of unknown type."""
        if isinstance(value, Op):
            return False
        ty = self.type_of(value)
        if isinstance(ty, TypeCall):
            return bool(ty.func == declared(Option).header)
        return isinstance(ty, IncompleteType)

    def negation(self, value: Value, node: ast.AST) -> Steps[Value]:
        """`not value`"""
        if not isinstance(value, Expr):
            return not self.truth(value, node)
        value = yield self.lift(value, node)
        self.unify(self.type_of(value), BOOL, node, "`not` takes a scalar bool")
        return self.placed(Call(get_op("logical_not"), (value,)), node, value)

    def unary(self, op: ast.unaryop, value: Value, node: ast.AST) -> Steps[Value]:
        """`-value`, `+value`, `~value`"""
        if statics.is_number(value):
            known: dict[type[ast.unaryop], Callable[[Any], Any]] = {
                ast.USub: operator.neg,
                ast.UAdd: operator.pos,
                ast.Invert: operator.invert,
            }
            return statics.compute(known[type(op)], [value], {})
        value = yield self.lift(value, node)
        if isinstance(op, ast.UAdd):
            return value
        name = "negative"
        if isinstance(op, ast.Invert):
            ty = self.type_of(value)
            truth = isinstance(ty, TensorType) and ty.dtype == "bool"
            name = "logical_not" if truth else "bitwise_not"
        return self.placed(Call(get_op(name), (value,)), node, value)

    def truth(self, value: Value, node: ast.AST) -> bool:
        """The truth of a Python value."""
        if statics.is_static(value):
            return bool(value)
        raise self.error(
            node,
            "the truth of this is not known when the program is made",
            "a bool",
            f"a {type(value).__name__}",
        )

    def condition(self, value: Value, node: ast.expr) -> bool | Expr:
        """A condition: a Python bool, or a scalar bool of the program."""
        if not isinstance(value, Expr):
            return self.truth(value, node)
        ty = self.type_of(value)
        message = "the condition is not a scalar bool"
        if isinstance(ty, TensorType) and ty.dtype != "bool" and not ty.shape:
            self.report(node, message, str(BOOL), str(ty), f"say {ast.unparse(node)} != 0")
        elif isinstance(ty, TensorType) and ty.shape:
            hint = "relay.all(…) and relay.any(…) make it one"
            self.report(node, message, str(BOOL), str(ty), hint)
        else:
            self.unify(ty, BOOL, node, message)
        return value

    def choice(self, condition: Expr, then: Expr, other: Expr, node: ast.AST) -> Expr:
        """`then` where the condition holds, else `other`."""
        span = self.span(node)
        message = "the two sides of a condition have different types"
        ty = self.unify(self.type_of(other), self.type_of(then), node, message)
        return cast(Expr, self.typed(If(condition, then, other, span=span), ty))

    def named(self, name: str, value: Expr, node: ast.AST) -> tuple[Expr, Callable[[Expr], Expr]]:
        """A name for a value that is used more than once, and the binding around the uses."""
        variable = self.variable(name, self.type_of(value), self.span(node))

        def around(body: Expr) -> Expr:
            made = Let(variable, value, body, span=self.span(node))
            return cast(Expr, self.typed(made, self.type_of(body)))

        return variable, around
