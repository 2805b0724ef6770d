"""Derivatives of what a graph has computed, from the end to the beginning.

    let %y = multiply(%a, %b);   the derivative of z by y is %g
      ->   that by a is multiply(%g, %b), that by b is multiply(%g, %a)

What is known of an operator is a rule: the derivatives by its arguments, made of the derivative by
its result. Where an argument was stretched, its derivative is added up again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import pi, sqrt
from typing import Any

from relay import dtypes, op, tree
from relay.frontend.onnx.node import Node
from relay.immutable import frozen
from relay.ir.expr import Call, Expr, Op, Syntax, Var, const
from relay.ir.types import TensorType


@frozen
class Use:
    """A use of an operator, and the derivative by its result."""

    call: Call
    gradient: Expr

    @property
    def args(self) -> Sequence[Expr]:
        return self.call.args

    @property
    def attrs(self) -> Any:
        assert isinstance(self.call.op, Op)
        return self.call.op.make_attrs({}) if self.call.attrs is None else self.call.attrs  # type: ignore[attr-defined]

    def number(self, value: float) -> Expr:
        return const(value, _type(self.call).dtype)


# the derivatives by the arguments; None where there is none
Rule = Callable[[Use], Sequence[Expr | None]]


def _type(value: Expr) -> TensorType:
    found = value.type_annotation if isinstance(value, Var) else value.checked_type
    assert isinstance(found, TensorType)
    return found


def derivatives(node: Node, target: Expr, by: Sequence[Expr]) -> list[Expr]:
    """The derivatives of the sum of a tensor of the graph by other tensors of it."""
    found: dict[Expr, Expr] = {target: node.let(op.ones_like(target))}
    made_of = _made_of(node, by)
    for variable, value in reversed(list(node.scope.bindings)):
        if variable not in found or variable in by:
            continue
        found[value] = found[variable]
        for part in reversed([*tree.postorder(value)]):
            if not isinstance(part, Call) or part not in found or part not in made_of:
                continue
            # a part that other tensors share is looked at again with them
            gradients = _apply(node, part, found.pop(part))
            for argument, gradient in zip(part.args, gradients, strict=True):
                if gradient is not None and argument in made_of:
                    _add_to(node, found, argument, gradient)
    return [found[one] if one in found else node.let(op.zeros_like(one)) for one in by]


def _add_to(node: Node, found: dict[Expr, Expr], argument: Expr, gradient: Expr) -> None:
    if _type(argument).shape != node.shape(gradient):
        gradient = node.let(op.collapse_sum_like(gradient, argument))
    before = found.get(argument)
    found[argument] = gradient if before is None else node.let(op.add(before, gradient))


def _made_of(node: Node, some: Sequence[Expr]) -> set[Syntax]:
    """Everything in the graph that is made of some of its tensors."""
    found: set[Syntax] = set(some)
    for variable, value in node.scope.bindings:
        for part in tree.postorder(value):
            if any(child in found for child in tree.children(part)):
                found.add(part)
        if value in found:
            found.add(variable)
    return found


def _apply(node: Node, call: Call, gradient: Expr) -> Sequence[Expr | None]:
    name = call.op.name if isinstance(call.op, Op) else "a function"
    if not dtypes.is_float(_type(call).dtype):
        return [None] * len(call.args)
    if name not in RULES:
        raise node.refused(
            f"there is no derivative of `{name}` yet", expected=", ".join(sorted(RULES)), found=name
        )
    made = RULES[name](Use(call, gradient))
    return [None if one is None else node.let(one) for one in made]


# --- element by element ------------------------------------------------------------------------


def _add(use: Use) -> Sequence[Expr | None]:
    return [use.gradient, use.gradient]


def _subtract(use: Use) -> Sequence[Expr | None]:
    return [use.gradient, op.negative(use.gradient)]


def _multiply(use: Use) -> Sequence[Expr | None]:
    left, right = use.args
    return [op.multiply(use.gradient, right), op.multiply(use.gradient, left)]


def _divide(use: Use) -> Sequence[Expr | None]:
    _, right = use.args
    left = op.divide(use.gradient, right)
    return [left, op.negative(op.multiply(left, use.call))]


def _power(use: Use) -> Sequence[Expr | None]:
    base, exponent = use.args
    lower = op.power(base, op.subtract(exponent, use.number(1)))
    return [
        op.multiply(use.gradient, op.multiply(exponent, lower)),
        op.multiply(use.gradient, op.multiply(use.call, op.log(base))),
    ]


def _chosen(use: Use, first: Expr) -> Sequence[Expr | None]:
    zero = op.zeros_like(use.gradient)
    return [op.where(first, use.gradient, zero), op.where(first, zero, use.gradient)]


def _maximum(use: Use) -> Sequence[Expr | None]:
    return _chosen(use, op.greater_equal(*use.args))


def _minimum(use: Use) -> Sequence[Expr | None]:
    return _chosen(use, op.less_equal(*use.args))


def _where(use: Use) -> Sequence[Expr | None]:
    return [None, *_chosen(use, use.args[0])]


def _sloped(slope: Callable[[Use, Expr, Expr], Expr]) -> Rule:
    """The rule of an operator with one argument: its derivative, of the argument and the result."""

    def apply(use: Use) -> Sequence[Expr | None]:
        return [op.multiply(use.gradient, slope(use, use.args[0], use.call))]

    return apply


_SLOPES: Mapping[str, Callable[[Use, Expr, Expr], Expr]] = {
    "negative": lambda use, x, y: use.number(-1),
    "exp": lambda use, x, y: y,
    "log": lambda use, x, y: op.divide(use.number(1), x),
    "sqrt": lambda use, x, y: op.divide(use.number(0.5), y),
    "rsqrt": lambda use, x, y: op.multiply(use.number(-0.5), op.multiply(y, op.multiply(y, y))),
    "tanh": lambda use, x, y: op.subtract(use.number(1), op.multiply(y, y)),
    "sigmoid": lambda use, x, y: op.multiply(y, op.subtract(use.number(1), y)),
    "nn.relu": lambda use, x, y: op.cast(op.greater(x, use.number(0)), _type(x).dtype),
    "sin": lambda use, x, y: op.cos(x),
    "cos": lambda use, x, y: op.negative(op.sin(x)),
    "abs": lambda use, x, y: op.sign(x),
    "erf": lambda use, x, y: op.multiply(
        use.number(2 / sqrt(pi)), op.exp(op.negative(op.multiply(x, x)))
    ),
}


def _cast(use: Use) -> Sequence[Expr | None]:
    dtype = _type(use.args[0]).dtype
    return [op.cast(use.gradient, dtype) if dtypes.is_float(dtype) else None]


# --- shapes ------------------------------------------------------------------------------------


def _reshape(use: Use) -> Sequence[Expr | None]:
    return [op.reshape_like(use.gradient, use.args[0])]


def _transpose(use: Use) -> Sequence[Expr | None]:
    rank = len(_type(use.call).shape)
    axes = [axis % rank for axis in use.attrs.axes or reversed(range(rank))]
    return [op.transpose(use.gradient, tuple(axes.index(axis) for axis in range(rank)))]


def _broadcast_to(use: Use) -> Sequence[Expr | None]:
    return [op.collapse_sum_like(use.gradient, use.args[0])]


# --- sums --------------------------------------------------------------------------------------


def _spread(use: Use) -> Expr:
    """The derivative of a reduction at each place that was added up."""
    (data,) = use.args
    rank = len(_type(data).shape)
    axes = range(rank) if use.attrs.axis is None else use.attrs.axis
    gone = sorted({axis % rank for axis in axes})
    if use.attrs.exclude:
        gone = [axis for axis in range(rank) if axis not in gone]
    value = use.gradient
    if not use.attrs.keepdims:
        for axis in gone:
            value = op.expand_dims(value, axis)
    return op.broadcast_to_like(value, data)


def _sum(use: Use) -> Sequence[Expr | None]:
    return [_spread(use)]


def _mean(use: Use) -> Sequence[Expr | None]:
    (data,) = use.args
    dtype = _type(data).dtype
    counts = [op.cast(op.ndarray_size(one, "int64"), dtype) for one in (data, use.call)]
    return [op.divide(op.multiply(_spread(use), counts[1]), counts[0])]


def _softmax(use: Use) -> Sequence[Expr | None]:
    axis = use.attrs.axis
    weighted = op.multiply(use.gradient, use.call)
    total = op.sum(weighted, axis=axis, keepdims=True)
    return [op.subtract(weighted, op.multiply(use.call, total))]


# --- products ----------------------------------------------------------------------------------


def _factors(use: Use, product: Callable[..., Expr]) -> Sequence[Expr | None]:
    """The product c = a b, with either transposed before."""
    left, right = use.args
    a, b = bool(use.attrs.transpose_a), bool(use.attrs.transpose_b)
    g = use.gradient
    by_left = product(right, g, b, True) if a else product(g, right, False, not b)
    by_right = product(g, left, True, a) if b else product(left, g, not a, False)
    return [by_left, by_right]


def _batch_matmul(use: Use) -> Sequence[Expr | None]:
    def product(x: Expr, y: Expr, x_turned: bool, y_turned: bool) -> Expr:
        return op.nn.batch_matmul(x, y, transpose_a=x_turned, transpose_b=y_turned)

    return _factors(use, product)


def _matmul(use: Use) -> Sequence[Expr | None]:
    def product(x: Expr, y: Expr, x_turned: bool, y_turned: bool) -> Expr:
        return op.nn.matmul(x, y, transpose_a=x_turned, transpose_b=y_turned)

    left, right = use.args
    if len(_type(left).shape) == 2:
        return _factors(use, product)
    # all matrices on the left are one, of all their rows
    turned = bool(use.attrs.transpose_b)
    rows, gradients = _rows(left, _type(left)), _rows(use.gradient, _type(use.call))
    sides = (gradients, rows) if turned else (rows, gradients)
    return [product(use.gradient, right, False, not turned), product(*sides, True, False)]


def _rows(data: Expr, ty: TensorType) -> Expr:
    """(…, n) as (rows, n)"""
    for _ in ty.shape[2:]:
        data = op.reshape(data, (-3, -2))
    return data


def _dense(use: Use) -> Sequence[Expr | None]:
    """From data (…, k) and weight (n, k) come (…, n)."""
    data, weight = use.args
    rows, gradients = _rows(data, _type(data)), _rows(use.gradient, _type(use.call))
    turned = [op.transpose(one, (1, 0)) for one in (gradients, rows)]
    by_data = op.nn.dense(use.gradient, op.transpose(weight, (1, 0)))
    return [by_data, op.nn.dense(turned[0], turned[1])]


RULES: Mapping[str, Rule] = {
    **{name: _sloped(slope) for name, slope in _SLOPES.items()},
    "add": _add,
    "broadcast_to": _broadcast_to,
    "cast": _cast,
    "divide": _divide,
    "expand_dims": _reshape,
    "maximum": _maximum,
    "mean": _mean,
    "minimum": _minimum,
    "multiply": _multiply,
    "nn.batch_flatten": _reshape,
    "nn.batch_matmul": _batch_matmul,
    "nn.dense": _dense,
    "nn.matmul": _matmul,
    "nn.softmax": _softmax,
    "power": _power,
    "reshape": _reshape,
    "squeeze": _reshape,
    "subtract": _subtract,
    "sum": _sum,
    "transpose": _transpose,
    "where": _where,
}


# --- other arguments ---------------------------------------------------------------------------


def substituted(node: Node, target: Expr, changes: Mapping[Expr, Expr]) -> Expr:
    """A tensor of the graph as it would be, were some that it is made of others."""
    made: dict[Syntax, Syntax] = dict(changes.items())

    def change(before: Syntax, after: Syntax) -> Syntax:
        return made.get(before, after)

    for variable, value in list(node.scope.bindings):
        if variable in changes or not any(part in made for part in tree.postorder(value)):
            continue
        root: Syntax = value
        changed = tree.transform(root, change)
        assert isinstance(changed, Expr)
        made[variable] = node.let(changed)
    found = made.get(target, target)
    assert isinstance(found, Expr)
    return found
