"""Products and quotients of complex numbers, and sums of them.

Products are four products of real numbers, by the converters of these.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from relay import op
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node
from relay.frontend.pytorch.operators.complex_numbers import (
    adding,
    as_parts,
    by_parts,
    conjugate,
    moving,
    own,
)
from relay.frontend.pytorch.operators.fourier import paired, parts
from relay.frontend.pytorch.operators.scans import scanned
from relay.frontend.pytorch.operators.slicing import cut
from relay.frontend.pytorch.scope import Complex
from relay.frontend.pytorch.types import COMPLEX
from relay.ir.expr import Expr

table = Converters(complex_numbers=True)


_PRODUCTS = (
    *("mul", "matmul", "mm", "bmm", "mv", "dot", "outer", "ger", "kron", "inner"),
    *("tensordot", "linalg_matmul", "__matmul__", "linalg_cross", "cross"),
)


@table(*_PRODUCTS)
def product(node: Node, self: Any, other: Any, *more: Any, **named: Any) -> Complex:
    """(a + bi)(c + di) = ac - bd + (ad + bc)i"""
    (a, b), (c, d) = as_parts(node, self), as_parts(node, other)

    def times(one: Any, another: Any) -> Expr:
        return own(node, one, another, *more, **named)  # type: ignore[no-any-return]

    if not isinstance(other, Complex | complex):
        return paired(node, times(a, c), times(b, c))
    if not isinstance(self, Complex | complex):
        return paired(node, times(a, c), times(a, d))
    return paired(node, times(a, c) - times(b, d), times(a, d) + times(b, c))


@table("vdot", "linalg_vecdot")
def conjugate_product(node: Node, self: Complex, other: Complex, **named: Any) -> Complex:
    return product(node, conjugate(node, self), other, **named)


@table("linear")
def linear(node: Node, input: Any, weight: Any, bias: Any = None) -> Complex:
    found = product(node, input, weight)
    if bias is None:
        return found
    (a, b), (c, d) = parts(node, found), as_parts(node, bias)
    return paired(node, a + c, b + d)


_SUMMED = {"addmm": "mm", "baddbmm": "bmm", "addmv": "mv", "addr": "outer", "addbmm": "bmm"}


@table(*_SUMMED)
def sum_of_products(
    node: Node, self: Any, one: Any, other: Any, *, beta: Any = 1, alpha: Any = 1
) -> Complex:
    """`beta * self + alpha * product`"""
    name = node.operator.removeprefix("aten.")
    times = replace(node, operator=f"aten.{_SUMMED[name]}", overload="default", declared=None)
    scale = replace(times, operator="aten.mul", overload="Tensor")
    found = product(times, one, other)
    if name == "addbmm":
        first, second = (op.sum(part, axis=(0,)) for part in parts(node, found))
        found = paired(node, first, second)
    found = found if alpha == 1 else product(scale, found, alpha)
    if beta == 0:
        return found
    addend = self if beta == 1 else product(scale, self, beta)
    (a, b), (c, d) = parts(node, found), as_parts(node, addend)
    return paired(node, a + c, b + d)


@table("addcmul", "addcdiv")
def sum_with(node: Node, self: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Complex:
    """`self + value * tensor1 * tensor2`, or by a quotient."""
    times = replace(node, operator="aten.mul", overload="Tensor", declared=None)
    join = product if node.operator == "aten.addcmul" else div
    found = join(times, tensor1, tensor2)
    found = found if value == 1 else product(times, found, value)
    return adding(replace(times, operator="aten.add"), self, found)  # type: ignore[no-any-return]


@table(
    *("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"),
)
def convolution(
    node: Node, input: Any, weight: Any, bias: Any = None, *more: Any, **named: Any
) -> Complex:
    (a, b), (c, d) = as_parts(node, input), as_parts(node, weight)

    def over(data: Expr, kernel: Expr) -> Expr:
        return own(node, data, kernel, None, *more, **named)  # type: ignore[no-any-return]

    first = node.let(over(a, c) - over(b, d))
    second = node.let(over(a, d) + over(b, c))
    if bias is not None:
        axis = node.rank(first) - node.rank(c) + 1
        e, f = as_parts(node, bias)
        first, second = op.nn.bias_add(first, e, axis), op.nn.bias_add(second, f, axis)
    return paired(node, first, second)


@table("square")
def square(node: Node, self: Complex) -> Complex:
    a, b = parts(node, self)
    return paired(node, a * a - b * b, a * b + a * b)


@table("div", "true_divide")
def div(node: Node, self: Any, other: Any, *_: Any, **__: Any) -> Complex:
    a, b = as_parts(node, self)

    def over(one: Any, another: Any) -> Expr:
        return by_parts(node, "div", "Tensor", one, another)  # type: ignore[no-any-return]

    if not isinstance(other, Complex | complex):
        return paired(node, over(a, other), over(b, other))
    flipped = reciprocal_parts(node, other)

    def times(one: Any, another: Any) -> Expr:
        return by_parts(node, "mul", "Tensor", one, another)  # type: ignore[no-any-return]

    c, d = flipped
    return paired(node, times(a, c) - times(b, d), times(a, d) + times(b, c))


def reciprocal_parts(node: Node, value: Any) -> tuple[Any, Any]:
    """1 / (c + di) = (c - di) / (c² + d²)"""
    if isinstance(value, complex):
        return (1 / value).real, (1 / value).imag
    c, d = as_parts(node, value)
    length = node.let(c * c + d * d)
    return node.let(c / length), node.let(-d / length)


@table("reciprocal")
def reciprocal(node: Node, self: Complex) -> Complex:
    return paired(node, *reciprocal_parts(node, self))


# --- of many numbers -----------------------------------------------------------------------------


@table("einsum")
def einsum(node: Node, equation: str, tensors: Sequence[Any], *, path: Any = None) -> Complex:
    """The real equation for each choice of parts; two imaginary parts make a sign."""
    given = [as_parts(node, one) for one in tensors]
    kinds = [(0, 1) if isinstance(one, Complex) else (0,) for one in tensors]
    found: list[Expr | None] = [None, None]
    for choice in itertools.product(*kinds):
        chosen = [pair[place] for pair, place in zip(given, choice, strict=True)]
        term = own(node, equation, chosen)
        count = sum(choice)
        term = -term if count % 4 in (2, 3) else term
        before = found[count % 2]
        found[count % 2] = node.let(term if before is None else before + term)
    first, second = found
    assert first is not None and second is not None
    return paired(node, first, second)


@table("cumprod")
def cumprod(node: Node, self: Complex, dim: int, *, dtype: Any = None) -> Complex:
    given = parts(node, self)
    if dtype in COMPLEX:
        given = tuple(node.as_dtype(one, COMPLEX[dtype]) for one in given)  # type: ignore[assignment]
    if node.rank(given[0]) == 0:
        return paired(node, *given)

    def times(before: list[Expr], after: list[Expr]) -> list[Expr]:
        (a, b), (c, d) = before, after
        return [a * c - b * d, a * d + b * c]

    blanks = [node.number(1, given[0]), node.number(0, given[0])]
    axis = node.axis(given[0], dim)
    first, second = scanned(node, list(given), axis, blanks, times)
    return paired(node, first, second)


@table("ldexp")
def ldexp(node: Node, self: Any, other: Any) -> Complex:
    power = by_name(node, "exp2", other)
    return product(replace(node, operator="aten.mul", overload="Tensor"), self, power)


def by_name(node: Node, name: str, *args: Any, **named: Any) -> Any:
    """What the converter of another operator on complex numbers gives."""
    from relay.frontend.pytorch.converters import COMPLEX as DOMAIN
    from relay.frontend.pytorch.converters import built_in, find

    converter = find(built_in(), f"{DOMAIN}aten", name, node.overload)
    assert converter is not None
    return converter(replace(node, operator=f"aten.{name}", declared=None), *args, **named)


@table("lerp")
def lerp(node: Node, self: Any, end: Any, weight: Any) -> Complex:
    """`self + weight * (end - self)`"""
    times = replace(node, operator="aten.mul", overload="Tensor", declared=None)
    apart = adding(replace(times, operator="aten.sub"), end, self)
    found = product(times, apart, weight)
    return adding(replace(times, operator="aten.add"), self, found)  # type: ignore[no-any-return]


@table("trapezoid", "trapz", "cumulative_trapezoid")
def trapezoid(node: Node, y: Any, *given: Any, dim: int = -1, **named: Any) -> Any:
    """The area under points; where their x are complex, heights are multiplied with them."""
    if not (given and isinstance(given[0], Complex)):
        return moving(node, y, *given, dim=dim, **named)
    times = replace(node, operator="aten.mul", overload="Tensor", declared=None)
    heights, widths = as_parts(node, y), as_parts(node, given[0])
    axis = node.axis(heights[0], dim)
    along = axis if node.rank(widths[0]) == node.rank(heights[0]) else 0

    def neighbors(data: Expr, at: int) -> tuple[Expr, Expr]:
        return cut(node, data, at, 1, None), cut(node, data, at, 0, -1)

    sums: list[Expr] = []
    steps: list[Expr] = []
    for height, width in zip(heights, widths, strict=True):
        after, before = neighbors(height, axis)
        sums.append(node.let((after + before) * node.number(0.5, after)))
        after, before = neighbors(width, along)
        step = node.let(after - before)
        behind = node.rank(height) - axis - 1
        if node.rank(width) < node.rank(height) and behind:
            step = node.let(op.expand_dims(step, 1, behind))
        steps.append(step)
    areas = product(times, paired(node, *sums), paired(node, *steps))
    total = op.cumsum if node.operator == "aten.cumulative_trapezoid" else op.sum
    first, second = (total(one, axis=axis) for one in parts(node, areas))
    return paired(node, first, second)
