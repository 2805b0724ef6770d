"""Products of matrices."""

from __future__ import annotations

from relay import op
from relay.frontend.common.builder import int64
from relay.frontend.common.products import contractible, of_equation, product
from relay.frontend.tensorflow.converters import Table
from relay.frontend.tensorflow.node import Node
from relay.ir.expr import Expr, Tuple
from relay.op.linalg.einsum import parse_equation

table = Table()


@table("MatMul")
def matmul(node: Node, left: Expr, right: Expr) -> Expr:
    node.must_have_axes(left, 2, "matrices")
    node.must_have_axes(right, 2, "matrices")
    turned = [node.flag("transpose_a"), node.flag("transpose_b")]
    left, right = contractible(node, left, right, 0 if turned[0] else 1, 1 if turned[1] else 0)
    return op.nn.matmul(left, right, transpose_a=turned[0], transpose_b=turned[1])


@table("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
def batch_matmul(node: Node, left: Expr, right: Expr) -> Expr:
    dtype = node.named_type("Tout", node.dtype(left))
    if node.operator == "BatchMatMulV3":
        left, right = node.as_dtype(left, dtype), node.as_dtype(right, dtype)
    both = [
        node.let(op.transpose(one, _turned(node.rank(one)))) if node.flag(name) else one
        for one, name in ((left, "adj_x"), (right, "adj_y"))
    ]
    return product(node, *both)


def _turned(rank: int) -> list[int]:
    return [*range(rank - 2), rank - 1, rank - 2]


@table("Einsum")
def einsum(node: Node, *operands: Expr) -> Expr:
    text = node.text("equation")
    equation = parse_equation(text)
    if equation is not None and len(equation.operands) == len(operands):
        operands = of_equation(node, equation, operands)
    return op.einsum(Tuple(tuple(operands)), equation=text)


@table("Cross")
def cross(node: Node, left: Expr, right: Expr) -> Expr:
    """The cross products of vectors of three numbers."""

    def turned(one: Expr, by: int) -> Expr:
        return op.take(one, int64([(place + by) % 3 for place in range(3)]), axis=-1)

    return turned(left, 1) * turned(right, 2) - turned(left, 2) * turned(right, 1)
