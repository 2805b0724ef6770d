"""Matrix products and einsum."""

from __future__ import annotations

from relay import dtypes, op
from relay.frontend.common.broadcast import broadcastable
from relay.frontend.common.products import contractible, of_equation, product
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.ir.expr import Expr, Tuple, const
from relay.op.linalg.einsum import parse_equation

table = Converters()
table.add_unary({"Det": op.determinant})


table.add("MatMul", product)


@table("Gemm")
def gemm(node: Node, left: Expr, right: Expr, addend: Expr | None = None) -> Expr:
    """`alpha * left @ right + beta * addend`"""
    for matrix in (left, right):
        node.must_have_axes(matrix, 2, "factors")
    transposed = [bool(node.attribute(name, 0)) for name in ("transA", "transB")]
    left, right = contractible(
        node, left, right, 0 if transposed[0] else 1, 1 if transposed[1] else 0
    )
    whole = op.nn.matmul(left, right, transpose_a=transposed[0], transpose_b=transposed[1])
    found = node.let(_scaled(node, node.let(whole), node.attribute("alpha", 1.0)))
    beta = node.attribute("beta", 1.0)
    if addend is None or beta == 0:
        return found
    addend = node.let(_scaled(node, addend, beta))
    return op.add(*broadcastable(node, found, addend))


def _scaled(node: Node, value: Expr, factor: float) -> Expr:
    if factor == 1:
        return value
    dtype = node.dtype(value)
    if dtypes.is_integer(dtype):
        return op.cast(op.cast(value, "float64") * const(factor, "float64"), dtype)
    return value * node.number(factor, value)


@table("Einsum")
def einsum(node: Node, *operands: Expr) -> Expr:
    text = node.required("equation")
    equation = parse_equation(text)
    if equation is not None and len(equation.operands) == len(operands):
        operands = of_equation(node, equation, operands)
    return op.einsum(Tuple(tuple(operands)), equation=text)
